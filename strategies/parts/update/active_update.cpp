#include "strategies/parts/update/active_update.hpp"

#include "strategies/layout/landing.hpp"
#include "strategies/machine/cpu_kernels.hpp"

#include <algorithm>

namespace spillway::strategies {

using description::OverflowCheck;

ActiveUpdate::ActiveUpdate(Machine& machine, Rank rank, const Job& job, CpuOptimizer& optimizer,
                           SumFormat sums)
    : machine_(machine),
      rank_(rank),
      job_(job),
      optimizer_(optimizer),
      sums_(sums),
      naive_(job.scenario.strategy.gradients.policy == description::GradientPolicy::active_naive),
      waits_(job.scenario.strategy.optimizer.wait),
      hands_over_(job.scenario.strategy.optimizer.roll_back),
      speculates_(hands_over_ && (job.scenario.strategy.overflow_check != OverflowCheck::none ||
                                  optimizer.norm())),
      publishes_later_(speculates_ || (hands_over_ && job.scenario.strategy.weights.h2d ==
                                                          description::WeightCopy::typed)),
      places_(job.model.weights.size()),
      members_(job.subgroups.size()) {
  ENSURE(speculates_ || job.scenario.strategy.overflow_check == OverflowCheck::none,
         "an active update cannot skip a step");
  for (std::size_t i = 0; i < job.subgroups.size(); ++i) groups_.emplace_back(machine.scheduler());
}

/// Where each gradient lies in its sub-group's buffer.
///   Result  bytes of the largest buffer
std::uint64_t ActiveUpdate::lay_out() {
  std::uint64_t largest = 0;
  for (std::uint32_t group = 0; group < job_.subgroups.size(); ++group) {
    std::uint64_t offset = 0;
    for (const Subgroup::Member& member : job_.subgroups[group].members) {
      const std::uint64_t bytes = sums_.of(job_.row(member.weight)).bytes(member.elements);
      places_[member.weight] = {group, offset, bytes};
      offset += in_sectors(bytes);
    }
    largest = std::max(largest, offset);
  }
  return largest;
}

/// The order in which sub-groups begin and end to arrive.
///   Result  the most that are incomplete at once
std::uint64_t ActiveUpdate::plan() {
  std::vector<std::vector<std::uint32_t>> arrivals;  // sub-groups, by layer
  for (const models::Layer& layer : job_.model.layers) {
    auto& of_layer = arrivals.emplace_back();
    for (const std::uint32_t weight : layer.weights) {
      if (!job_.trains(weight)) continue;
      of_layer.push_back(places_[weight].group);
      ++members_[places_[weight].group];
    }
  }
  std::vector<std::uint32_t> seen(members_.size());
  std::uint64_t open = 0, most = 0;
  for (auto layer = arrivals.rbegin(); layer != arrivals.rend(); ++layer)
    for (const std::uint32_t group : *layer) {
      if (seen[group]++ == 0) {
        opening_.push_back(group);
        most = std::max(most, ++open);
      }
      if (seen[group] < members_[group]) continue;
      order_.push_back(group);
      --open;
    }
  ENSURE(order_.size() == groups_.size(), "a sub-group without gradients");
  return most;
}

Task<> ActiveUpdate::init() {
  const std::uint64_t largest = lay_out();
  const std::uint64_t open = plan();
  if (hands_over_) {
    std::uint64_t most = 0;
    for (const Subgroup& group : job_.subgroups) most = std::max(most, group.span);
    handed_over_ = machine_.allocate_now(TierId::pinned, rank_, Bytes(fp32_numbers.bytes(most)),
                                         Purpose::optimizer_gradient_buffers);
    co_return;
  }
  if (gradients_of_a_step(job_.scenario) > 1) co_return;
  lands_ = true;
  const std::uint64_t count = std::min<std::uint64_t>(open + 2, groups_.size());
  landing_ = std::make_unique<BufferPool>(machine_, TierId::pinned, rank_, count, Bytes(largest),
                                          Purpose::optimizer_gradient_buffers);
  const std::vector<Buffer> all = co_await landing_->take(count);
  for (const Buffer& buffer : all) co_await cleared(buffer);
}

Task<> ActiveUpdate::cleared(const Buffer& buffer) {
  const Op zeroed = machine_.run(rank_, zeros(buffer.view()));
  co_await zeroed;
}

View ActiveUpdate::gradient(std::uint32_t weight) const {
  const LandedRange& place = places_[weight];
  return groups_[place.group].landing.view(place.offset, place.bytes);
}

View ActiveUpdate::sectors(std::uint32_t weight) const {
  const LandedRange& place = places_[weight];
  return groups_[place.group].landing.view(place.offset, in_sectors(place.bytes));
}

// ---- While backward goes on

void ActiveUpdate::begin(CpuOptimizer::Flat gradient, CpuOptimizer::Flat sectors,
                         const StepNumbers& numbers) {
  for (std::uint32_t i = 0; i < groups_.size(); ++i) {
    Group& group = groups_[i];
    group.open.reset();
    group.complete.reset();
    group.read.reset();
    group.looked_through.reset();
    group.checks.clear();
    group.missing = members_[i];
    group.computed.clear();
    group.arrived.clear();
  }
  taken_back_ = false;
  optimizer_.begin_update(std::move(gradient), std::move(sectors), numbers);
  if (lands()) running_.push_back(machine_.spawn(open_in_turn()));
  if (naive_) {
    running_.push_back(machine_.spawn(one_by_one()));
    return;
  }
  running_.push_back(machine_.spawn(read_in_turn()));
  running_.push_back(machine_.spawn(update_in_turn()));
}

/// Two layers leave the GPU at once: buffers go to sub-groups in the order in which they begin, or
/// one could take what an older one needs to be complete.
Task<> ActiveUpdate::open_in_turn() {
  for (const std::uint32_t group : opening_) {
    groups_[group].landing = co_await landing_->take();
    groups_[group].open.set();
  }
}

Task<> ActiveUpdate::room(std::uint32_t weight) {
  if (lands()) co_await groups_[places_[weight].group].open;
}

void ActiveUpdate::arrives(std::uint32_t weight, Op computed, Op arrived) {
  Group& group = groups_[places_[weight].group];
  group.computed.push_back(std::move(computed));
  group.arrived.push_back(std::move(arrived));
  if (--group.missing == 0) group.complete.set();
}

Task<> ActiveUpdate::computed(std::uint32_t group) {
  co_await groups_[group].complete;
  for (const Op& op : groups_[group].computed) co_await op;
}

Task<> ActiveUpdate::arrived(std::uint32_t group) {
  co_await groups_[group].complete;
  for (const Op& op : groups_[group].arrived) co_await op;
}

Task<> ActiveUpdate::one_by_one() {
  for (const std::uint32_t group : order_) {
    co_await arrived(group);
    StateStore::Loaded loaded = co_await optimizer_.states().load(group);
    const Op updated = optimizer_.start_adam(loaded, {});
    co_await updated;
    co_await write(group, std::move(loaded), updated);
  }
}

Task<> ActiveUpdate::read_in_turn() {
  const std::uint64_t ahead = job_.scenario.strategy.optimizer.read_ahead;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (i >= ahead) co_await computed(order_[i - ahead]);
    Group& group = groups_[order_[i]];
    group.loaded = co_await optimizer_.states().load(order_[i]);
    group.read.set();
  }
}

Task<> ActiveUpdate::update_in_turn() {
  std::vector<Pending<>> writes;
  if (waits_) last_adam_ = Op();
  std::uint32_t before = 0;
  StateStore::Loaded unwritten;
  for (const std::uint32_t i : order_) {
    Group& group = groups_[i];
    co_await group.read;
    co_await group.complete;
    StateStore::Loaded loaded = std::exchange(group.loaded, StateStore::Loaded());
    std::vector<Op> after = group.arrived;
    if (speculates_) after = speculate(i);
    after.push_back(last_adam_);
    if (hands_over_) after.push_back(hand_over(i, after));
    last_adam_ = optimizer_.start_adam(loaded, after);
    if (publishes_later_) {
      group.loaded = std::move(loaded);
      group.updated = last_adam_;
      continue;
    }
    if (waits_) {
      writes.push_back(machine_.spawn(write(i, std::move(loaded), last_adam_)));
      continue;
    }
    if (i != order_.front())
      writes.push_back(machine_.spawn(write_unasked(before, std::move(unwritten))));
    before = i;
    unwritten = std::move(loaded);
  }
  if (!waits_) writes.push_back(machine_.spawn(write_unasked(before, std::move(unwritten))));
  for (Pending<>& one : writes) co_await one;
}

/// Result  what an update that may be taken back must follow, beside the one before it
std::vector<Op> ActiveUpdate::speculate(std::uint32_t group) {
  Group& subject = groups_[group];
  std::vector<Op> after = subject.arrived;
  if (optimizer_.old_values())
    for (Op& copy : optimizer_.old_values()->keep(group)) after.push_back(std::move(copy));
  if (job_.scenario.strategy.overflow_check != OverflowCheck::fused) return after;
  subject.checks = optimizer_.look_for_overflow(group, subject.arrived);
  subject.looked_through.set();
  after.insert(after.end(), subject.checks.begin(), subject.checks.end());
  return after;
}

/// To the process that updates, when all of `after` is done.
///   Result  empty where its gradients are in the flat buffer alone
Op ActiveUpdate::hand_over(std::uint32_t group, const std::vector<Op>& after) {
  const View gradients = optimizer_.states().gradients(group);
  if (!gradients) return Op();
  return machine_.copy(rank_, handed_over_.view(0, gradients.bytes), gradients, after);
}

Task<bool> ActiveUpdate::overflows() {
  bool found = false;
  for (const std::uint32_t i : order_) {
    co_await groups_[i].looked_through;
    for (const Op& check : groups_[i].checks) {
      co_await check;
      found = found || check.found();
    }
  }
  co_return found;
}

Task<> ActiveUpdate::updated() {
  for (Pending<>& one : running_) co_await one;
  running_.clear();
  for (const Group& group : groups_) co_await group.updated;
}

Task<> ActiveUpdate::update_again(const StepNumbers& numbers) {
  ENSURE(optimizer_.old_values(), "a step to be made again whose old values nobody kept");
  co_await updated();
  optimizer_.begin_again(numbers);
  for (const std::uint32_t i : order_) {
    std::vector<Op> after = optimizer_.old_values()->put_back(i);
    after.push_back(last_adam_);
    after.push_back(hand_over(i, after));
    last_adam_ = optimizer_.start_adam(groups_[i].loaded, after);
    groups_[i].updated = last_adam_;
  }
}

/// What an update made of a sub-group, to where it lives; then its gradients' place is free.
Task<> ActiveUpdate::write(std::uint32_t group, StateStore::Loaded loaded, Op updated) {
  co_await updated;
  if (taken_back_) {
    ENSURE(optimizer_.old_values(), "a step to be taken back whose old values nobody kept");
    const std::vector<Op> copies = optimizer_.old_values()->put_back(group);
    for (const Op& copy : copies) co_await copy;
    co_return;
  }
  co_await optimizer_.write_back(std::move(loaded), updated);
  if (landing_) groups_[group].landing.reset();
}

/// Without a look at its Adam; but new weights lie where its gradients arrive.
Task<> ActiveUpdate::write_unasked(std::uint32_t group, StateStore::Loaded loaded) {
  co_await arrived(group);
  co_await write(group, std::move(loaded), Op());
}

Task<> ActiveUpdate::finish(bool taken_back) {
  taken_back_ = taken_back;
  co_await updated();
  if (publishes_later_)
    for (std::uint32_t i = 0; i < groups_.size(); ++i)
      co_await write(i, std::exchange(groups_[i].loaded, StateStore::Loaded()),
                     std::exchange(groups_[i].updated, Op()));
  co_await optimizer_.finish_update();
}

}  // namespace spillway::strategies
