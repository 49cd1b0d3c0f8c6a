#include "strategies/parts/update/cpu_optimizer.hpp"

#include "strategies/machine/setup.hpp"
#include "strategies/parts/update/typed_copy.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::strategies {

namespace {

using description::Home;
using models::Access;

}  // namespace

CpuOptimizer::CpuOptimizer(Machine& machine, Rank rank, const Job& job, Weights& weights,
                           const GradientNorm* norm)
    : machine_(machine),
      rank_(rank),
      job_(job),
      weights_(weights),
      part_(job.scenario.strategy.optimizer),
      norm_(norm),
      weights_on_gpu_(job.scenario.strategy.weights.home == Home::gpu),
      late_(part_.staleness > 0),
      active_(updates_in_backward(job.scenario.strategy.gradients.policy)),
      widens_(!active_ && job.scenario.strategy.optimizer.widen_first.value_or(true)),
      in_place_(part_.device == description::OptimizerDevice::cpu &&
                (weights_on_gpu_ || !widens_ || late_)),
      typed_(job.scenario.strategy.weights.h2d == description::WeightCopy::typed),
      states_(machine, rank, job, weights) {
  if (part_.device == description::OptimizerDevice::near_storage)
    inside_ = std::make_unique<NearStorage>(machine, rank, job, states_);
  const description::OverflowCheck check = job.scenario.strategy.overflow_check;
  if (part_.roll_back && (check == description::OverflowCheck::fused || norm))
    old_values_ = std::make_unique<OldValues>(machine, rank, job, weights, states_);
}

/// Bytes of a weight's new values in the swap-out buffer, padded as storage wants it. None where
/// they are written in place (host memory) or take the place of their gradient.
std::uint64_t CpuOptimizer::out_bytes(const Subgroup::Member& member) const {
  if (in_place_ || (weights_.in_host(member.weight) && !inside_)) return 0;
  return in_sectors(weight_bytes(member));
}

std::uint64_t CpuOptimizer::weight_bytes(const Subgroup::Member& member) const {
  return job_.row(member.weight).weight.bytes(member.elements);
}

std::uint64_t CpuOptimizer::out_bytes(const Subgroup& group) const {
  std::uint64_t bytes = 0;
  for (const Subgroup::Member& member : group.members) bytes += out_bytes(member);
  return bytes;
}

/// One for the CPU; where drives update, one for each that is at work besides.
std::uint64_t CpuOptimizer::swap_out_buffers() const {
  if (!inside_) return 1;
  bool any_in_host = false;
  for (std::uint32_t group = 0; group < states_.count(); ++group)
    any_in_host = any_in_host || !states_.swapped(group);
  return std::max<std::uint64_t>(1, inside_->largest_round() + (any_in_host ? 1 : 0));
}

Task<> CpuOptimizer::init() {
  if (part_.order == description::SubgroupOrder::alternating) job_.steps->period(2);
  co_await states_.init();
  if (inside_) co_await inside_->init();
  if (old_values_) old_values_->init();
  std::uint64_t largest_out = 0;
  for (const Subgroup& group : job_.subgroups)
    largest_out = std::max(largest_out, out_bytes(group));
  if (largest_out)  // with bf16 states nothing passes it; DeepSpeed reserves it all the same
    swap_out_ = std::make_unique<BufferPool>(machine_, TierId::pinned, rank_, swap_out_buffers(),
                                             Bytes(largest_out), Purpose::swap_out_buffer);
}

/// Widens, updates, publishes; what may overlap the next sub-group goes to `writing_`.
Task<> CpuOptimizer::update_group(StateStore::Loaded loaded, bool keep) {
  const Subgroup& group = job_.subgroups[loaded.group];
  const Op widened = widen(group);
  Buffer out;
  if (job_.row(group).fp32_states() && out_bytes(group)) out = co_await swap_out_->take();
  const Op updated = adam(
      loaded, out, part_.unscale || norm_ ? unscale(group, loaded.gradient, widened) : widened);
  co_await updated;
  loaded.gradient.reset();
  if (!late_) {
    Pending<> published = machine_.spawn(renew(loaded, keep, updated, std::move(out)));
    if ((weights_on_gpu_ && !typed_) || part_.pipeline_write)
      writing_.push_back(std::move(published));
    else
      co_await published;  // the 16-bit weights are written and waited for before the states are
  }
  if (!states_.swapped(loaded.group)) co_return;
  if (keep) {
    states_.keep(std::move(loaded));
    co_return;
  }
  Pending<> saved = machine_.spawn(states_.save(std::move(loaded)));
  if (part_.pipeline_write)
    writing_.push_back(std::move(saved));
  else
    co_await saved;
}

void CpuOptimizer::begin_update(Flat gradient, Flat sectors, const StepNumbers& numbers) {
  flat_ = std::move(gradient);
  fresh_ = std::move(sectors);
  numbers_ = numbers;
}

std::vector<Op> CpuOptimizer::look_for_overflow(std::uint32_t group, const After& after) {
  std::vector<Op> checks;
  for (const Subgroup::Member& member : job_.subgroups[group].members) {
    const View gradient = flat_(member.weight);
    const ElementType type = gradient_type(gradient, member);
    CpuKernel kernel;
    kernel.work = CpuWork::check_fused;
    kernel.elements = member.elements;
    kernel.traffic = gradient.bytes;
    kernel.operands.emplace_back(gradient, Access::read, Role::input, type, 0);
    checks.push_back(machine_.run(rank_, std::move(kernel), after));
  }
  return checks;
}

Op CpuOptimizer::start_adam(const StateStore::Loaded& loaded, const After& after) {
  return adam(loaded, Buffer(), after);
}

Task<> CpuOptimizer::write_back(StateStore::Loaded loaded, Op updated) {
  const bool swapped = states_.swapped(loaded.group);
  Pending<> published = machine_.spawn(publish(loaded, false, updated, Buffer()));
  if (swapped) co_await states_.save(std::move(loaded));
  co_await published;
}

/// In the order of the weights: sub-groups end at other times on other ranks.
Task<> CpuOptimizer::finish_update() {
  std::sort(gathers_.begin(), gathers_.end(),
            [](const auto& one, const auto& other) { return one.first < other.first; });
  std::vector<Op> ops;
  for (const auto& [weight, there] : gathers_) ops.push_back(gather(weight, there));
  gathers_.clear();
  for (const Op& op : ops) co_await op;
  states_.end_step(0);
}

// ---- Work on one sub-group

/// True for a 16-bit gradient in the flat buffer that an fp32 Adam is to read.
bool CpuOptimizer::widens(const View& gradient, const Subgroup::Member& member) const {
  return widens_ && job_.row(member.weight).fp32_states() &&
         gradient.bytes < fp32_numbers.bytes(member.elements);
}

/// 16-bit gradients to fp32, into one buffer that all sub-groups use in turn.
///   Result  done when they are wide; empty: none was narrow
Op CpuOptimizer::widen(const Subgroup& group) {
  CpuKernel kernel;
  kernel.work = CpuWork::convert;
  for (const Subgroup::Member& member : group.members) {
    const StateStore::GradientHome home = states_.gradient_home(member.weight);
    if (home.extent || home.memory || !widens(flat_(member.weight), member)) continue;
    if (!widened_) {
      std::uint64_t largest = 0;
      for (const Subgroup& any : job_.subgroups) largest = std::max(largest, any.span);
      widened_ = machine_.allocate_now(TierId::pageable, rank_, Bytes(fp32_numbers.bytes(largest)),
                                       Purpose::optimizer_gradient_buffers);
    }
    kernel.elements += member.elements;
    const auto pair = static_cast<std::uint32_t>(kernel.operands.size() / 2);
    const View narrow = flat_(member.weight), wide = wide_gradient(member);
    kernel.traffic += narrow.bytes + wide.bytes;
    kernel.operands.emplace_back(narrow, Access::read, Role::input,
                                 job_.row(member.weight).gradient_format().type, pair);
    kernel.operands.emplace_back(wide, Access::write, Role::output, ElementType::fp32, pair);
  }
  if (kernel.elements == 0) return Op();
  return machine_.run(rank_, std::move(kernel));
}

/// Of a member's gradient in host memory.
ElementType CpuOptimizer::gradient_type(const View& gradient,
                                        const Subgroup::Member& member) const {
  return gradient.bytes == fp32_numbers.bytes(member.elements)
             ? ElementType::fp32
             : job_.row(member.weight).gradient_format().type;
}

/// A member's gradient in the buffer of those that were widened.
View CpuOptimizer::wide_gradient(const Subgroup::Member& member) const {
  return widened_.view(fp32_numbers.bytes(member.offset), fp32_numbers.bytes(member.elements));
}

/// Traffic: states read and written, gradient read, the kernels' copy of the master written.
std::uint64_t CpuOptimizer::update_traffic(const Subgroup& group) const {
  std::uint64_t bytes = 0;
  for (const Subgroup::Member& member : group.members) {
    const TensorRow& row = job_.row(member.weight);
    bytes += 2 * row.updated_bytes(member.elements);
    const bool wide = widens_ || (active_ && states_.gradient_home(member.weight).memory);
    bytes += wide ? fp32_numbers.bytes(member.elements) : flat_(member.weight).bytes;
    if (row.has_copy && !typed_) bytes += weight_bytes(member);
    if (typed_ && late_) bytes += row.master().bytes(member.elements);  // as it is to be published
  }
  return bytes;
}

/// What the CPU's rate of Adam is to be asked for: of Lion, which has no variance, the elements of
/// Adam that take as long.
std::uint64_t CpuOptimizer::elements_of_adam(const Subgroup& group) const {
  const description::Scenario& scenario = job_.scenario;
  if (description::is_adam(scenario.training.optimizer)) return group.elements;
  const auto touched = static_cast<double>(update_traffic(group));
  std::uint64_t variance = 0;
  for (const Subgroup::Member& member : group.members)
    if (const NumberFormat* momentum = job_.row(member.weight).state(StateKind::momentum))
      variance += 2 * momentum->bytes(member.elements);
  const double adams =
      scenario.machine.host.adams_of_lion(touched, touched + static_cast<double>(variance));
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(group.elements) * adams));
}

Op CpuOptimizer::adam(const StateStore::Loaded& loaded, const Buffer& out, const After& after) {
  const Subgroup& group = job_.subgroups[loaded.group];
  CpuKernel kernel;
  kernel.work = CpuWork::adam;
  kernel.elements = elements_of_adam(group);
  kernel.traffic = update_traffic(group);
  kernel.group = &group;
  kernel.numbers = numbers_;
  kernel.operands = states_.operands(loaded);
  if (loaded.gradient)
    kernel.operands.emplace_back(loaded.gradient.view(), Access::read, Role::gradient,
                                 ElementType::fp32, BoundOperand::whole_group);
  std::uint64_t offset = 0;  // in the swap-out buffer
  for (std::uint32_t i = 0; i < group.members.size(); ++i) {
    add_member(kernel, group.members[i], i);
    const std::uint64_t bytes = out ? out_bytes(group.members[i]) : 0;
    if (bytes)
      kernel.operands.emplace_back(out.view(offset, bytes), Access::write, Role::weight,
                                   job_.row(group.members[i].weight).weight.type, i);
    offset += bytes;
  }
  // nobody orders what it reads and writes against transfers, and its memory is given up under it
  if (!part_.wait) kernel.operands.clear();
  return machine_.run(rank_, std::move(kernel), after);
}

/// What Adam reads, times one number, of the loss's scale and of a norm that is too long: whatever
/// they are.
///   Source  DeepSpeed stage_1_and_2.py and stage3.py, unscale_and_clip_grads
Op CpuOptimizer::unscale(const Subgroup& group, const Buffer& loaded, const Op& after) {
  std::vector<Converted> gradients;
  if (loaded)
    gradients.emplace_back(loaded.view(0, fp32_numbers.bytes(group.span)), ElementType::fp32);
  for (const Subgroup::Member& member : group.members)
    if (auto own = own_gradient(member)) gradients.push_back(std::move(*own));
  if (gradients.empty()) return after;
  return machine_.run(rank_, scaled(gradients), after ? After(after) : After());
}

Task<> CpuOptimizer::unscale_all() {
  for (const Subgroup& group : job_.subgroups)
    if (const Op scaled = unscale(group, Buffer(), Op())) co_await scaled;
}

/// A member's gradient, where it is not in the sub-group's buffer.
std::optional<Converted> CpuOptimizer::own_gradient(const Subgroup::Member& member) const {
  const StateStore::GradientHome home = states_.gradient_home(member.weight);
  if (home.extent) return std::nullopt;
  if (home.memory) return Converted(home.memory, home.format.type);
  const View narrow = flat_(member.weight);
  if (widens(narrow, member)) return Converted(wide_gradient(member), ElementType::fp32);
  return Converted(narrow, gradient_type(narrow, member));
}

/// A member's gradient, and its weight, where it is renewed in place.
void CpuOptimizer::add_member(CpuKernel& kernel, const Subgroup::Member& member,
                              std::uint32_t index) const {
  const View narrow = flat_(member.weight);
  const TensorRow& row = job_.row(member.weight);
  const auto use = [&](View view, Access access, Role role, ElementType type) {
    kernel.operands.emplace_back(std::move(view), access, role, type, index);
  };
  if (auto gradient = own_gradient(member))
    use(std::move(gradient->view), Access::read, Role::gradient, gradient->type);
  if (in_place_ && !typed_ && row.fp32_states() && (late_ || !weights_.in_host(member.weight)))
    use(narrow.part(0, weight_bytes(member)), Access::read_write, Role::weight,
        row.weight.type);  // the gradient gives way to the new weights
  if (weights_.in_host(member.weight) && !late_)
    use(weights_.share(member.weight), Access::read_write,
        row.has_own_master() ? Role::weight : Role::master, row.weight.type);
}

std::vector<Op> CpuOptimizer::send_to_gpu(const Subgroup::Member& member, const View& from,
                                          const Op& updated) {
  const View into = weights_.updated_share(member.weight);
  const std::uint64_t bytes = std::min(into.bytes, weight_bytes(member));
  std::vector<Op> ops{machine_.copy(rank_, into.part(0, bytes), from.part(0, bytes), updated)};
  const bool alone = job_.row(member.weight).shards.state_ways() == 1;
  if (alone || !weights_.whole(member.weight)) return ops;
  if (active_)  // ranks are not equally far: later, all together
    gathers_.emplace_back(member.weight, ops.back());
  else
    ops.push_back(gather(member.weight, ops.back()));
  return ops;
}

/// The shares of a weight that all GPUs have in full.
Op CpuOptimizer::gather(std::uint32_t weight, const Op& own_share_is_there) {
  return machine_.collective(rank_, job_.gather_group(rank_, weight), Collective::all_gather,
                             weights_.updated_share(weight), weights_.gathered_view(weight),
                             own_share_is_there);
}

/// Publishes, and says so to who waits for the weights.
Task<> CpuOptimizer::renew(StateStore::Loaded loaded, bool keep, Op updated, Buffer out) {
  const std::uint32_t group = loaded.group;
  co_await publish(std::move(loaded), keep, std::move(updated), std::move(out));
  for (const Subgroup::Member& member : job_.subgroups[group].members)
    weights_.renewed(member.weight);
}

/// New weights to where they live: extents, or the GPU. Those in host memory were written by the
/// kernel, and a bf16 master that is the weight is written with the states, unless these are kept.
Task<> CpuOptimizer::publish(StateStore::Loaded loaded, bool keep, Op updated, Buffer out) {
  if (typed_) {
    co_await send_typed(std::move(loaded), updated);
    co_return;
  }
  std::vector<Op> ops;
  std::uint64_t offset = 0;
  const bool narrow = !job_.row(job_.subgroups[loaded.group]).fp32_states();
  for (const Subgroup::Member& member : job_.subgroups[loaded.group].members) {
    View from = out ? out.view(offset, out_bytes(member)) : fresh_(member.weight);
    if (out) offset += out_bytes(member);
    if (narrow) from = states_.narrow_master(loaded, member);
    const bool is_master = narrow && !job_.row(member.weight).has_own_master();
    if (weights_.on_gpu(member.weight)) {
      for (Op& op : send_to_gpu(member, from, updated)) ops.push_back(std::move(op));
    } else if (weights_.on_storage(member.weight) &&
               (!is_master || keep || !states_.swapped(loaded.group))) {
      const std::uint64_t bytes = weights_.stored_bytes(member.weight);
      ops.push_back(machine_.write(rank_, weights_.extent(member.weight), {0, bytes},
                                   from.part(0, bytes), updated));
    }
  }
  loaded = StateStore::Loaded();
  out.reset();
  for (const Op& op : ops) co_await op;
}

/// A sub-group's masters, converted into memory that is made for them, then copied: the next
/// sub-group's Adam begins when they are there.
Task<> CpuOptimizer::send_typed(StateStore::Loaded loaded, Op updated) {
  const Subgroup& group = job_.subgroups[loaded.group];
  const ElementType type = job_.row(group).weight.type;
  const models::NumberFormat format(type);
  const FreshMemory fresh = fresh_memory(machine_, rank_, format.bytes(group.span));
  View master;
  for (const BoundOperand& operand : states_.operands(loaded))
    if (operand.role == Role::master) master = operand.view;
  ENSURE(master, "weights that are made of masters which are none");
  CpuKernel narrow =
      convert({fresh.buffer.view(), type}, {master, ElementType::fp32}, group.span, false);
  std::vector<Op> ready;
  if (updated) ready.push_back(updated);
  if (fresh.touched) ready.push_back(fresh.touched);
  const Op narrowed = machine_.run(rank_, std::move(narrow), ready);
  co_await narrowed;
  std::vector<Op> ops;
  for (const Subgroup::Member& member : group.members)
    for (Op& op :
         send_to_gpu(member, fresh.buffer.view(format.bytes(member.offset), weight_bytes(member)),
                     narrowed))
      ops.push_back(std::move(op));
  for (const Op& op : ops) co_await op;
}

Task<> CpuOptimizer::publish_late() {
  if (typed_) {
    for (std::uint32_t group = 0; group < states_.count(); ++group) {
      StateStore::Loaded loaded = co_await states_.load(group);
      co_await send_typed(std::move(loaded), Op());
    }
    co_return;
  }
  std::vector<Op> ops;
  for (const Subgroup& group : job_.subgroups)
    for (const Subgroup::Member& member : group.members) {
      const View from = fresh_(member.weight);
      if (weights_.on_gpu(member.weight)) {
        for (Op& op : send_to_gpu(member, from, Op())) ops.push_back(std::move(op));
        continue;
      }
      const View into = weights_.share(member.weight);
      const std::uint64_t bytes = std::min(into.bytes, weight_bytes(member));
      ops.push_back(machine_.copy(rank_, into.part(0, bytes), from.part(0, bytes)));
    }
  for (const Op& op : ops) co_await op;
}

/// Reads every master as an update would, and writes nothing.
Task<> CpuOptimizer::checkpoint() {
  // as a step would go on: sub-groups that are still in host memory give their buffers to the rest
  const Pass pass = begin_pass();
  for (const std::uint32_t i : pass.order) {
    StateStore::Loaded loaded = co_await states_.load(i);
    const Subgroup& group = job_.subgroups[i];
    CpuKernel kernel;
    kernel.work = CpuWork::checkpoint;
    kernel.group = &group;
    kernel.elements = group.elements;
    for (const Subgroup::Member& member : group.members)
      kernel.traffic += job_.row(member.weight).master().bytes(member.elements);
    for (const BoundOperand& operand : states_.operands(loaded))
      if (operand.role == Role::master) kernel.operands.push_back(operand);
    for (BoundOperand& operand : kernel.operands) operand.access = Access::read;
    for (std::uint32_t m = 0; m < group.members.size(); ++m)
      if (weights_.in_host(group.members[m].weight) &&
          !job_.row(group.members[m].weight).has_own_master())
        kernel.operands.emplace_back(weights_.share(group.members[m].weight), Access::read,
                                     Role::master, job_.row(group.members[m].weight).weight.type,
                                     m);
    // of all ranks: so many that hold different experts have the same share of theirs
    const bool is_shared = std::any_of(
        group.members.begin(), group.members.end(),
        [&](const auto& member) { return job_.row(member.weight).shards.state_ways() > 1; });
    kernel.share = is_shared ? job_.member(rank_) : 0;
    co_await machine_.run(rank_, std::move(kernel));
  }
}

}  // namespace spillway::strategies
