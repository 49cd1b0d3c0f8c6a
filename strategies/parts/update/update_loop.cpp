#include "strategies/parts/update/update_loop.hpp"

#include "strategies/machine/cpu_kernels.hpp"

#include <algorithm>

namespace spillway::strategies {

using models::Access;

UpdateLoop::UpdateLoop(Machine& machine, Rank rank, const Job& job, RenewedWeights& weights,
                       CpuOptimizer& optimizer, LooseGradients& gradients)
    : machine_(machine),
      rank_(rank),
      job_(job),
      weights_(weights),
      optimizer_(optimizer),
      gradients_(gradients),
      states_(optimizer.states()),
      delays_(job.shared->delays[rank.index]),
      member_of_(job.model.weights.size()),
      fetches_(job.subgroups.size()) {
  delays_.published.resize(job.subgroups.size());
  delays_.applied.resize(job.model.weights.size());
  for (std::uint32_t group = 0; group < job.subgroups.size(); ++group) {
    saved_.emplace_back(machine.scheduler()).set();
    for (std::uint32_t i = 0; i < job.subgroups[group].members.size(); ++i)
      member_of_[job.subgroups[group].members[i].weight] = {group, i};
  }
}

Task<> UpdateLoop::init() {
  std::uint64_t largest = 0;
  for (const Subgroup& group : job_.subgroups) largest = std::max(largest, group.span);
  wide_ = machine_.allocate_now(TierId::pageable, rank_, Bytes(fp32_numbers.bytes(largest)),
                                Purpose::optimizer_gradient_buffers);
  const Op cleared = machine_.run(rank_, zeros(wide_.view()));
  co_await cleared;
}

View UpdateLoop::wide(const Subgroup::Member& member) const {
  return wide_.view(fp32_numbers.bytes(member.offset), fp32_numbers.bytes(member.elements));
}

void UpdateLoop::start(const StepNumbers& numbers) {
  numbers_ = numbers;
  if (!loop_) loop_ = machine_.spawn(turn_by_turn());
}

Task<> UpdateLoop::stop() {
  stopping_ = true;
  gradients_.news().set();
  if (loop_) co_await loop_;
  loop_.reset();
  for (Pending<>& save : saving_) co_await save;
  saving_.clear();
  for (Pending<StateStore::Loaded>& fetch : fetches_) {
    if (!fetch) continue;
    const StateStore::Loaded unused = co_await std::move(fetch);
    fetch.reset();
  }
}

/// Each of its gradients has come since it was updated last.
bool UpdateLoop::ready(std::uint32_t group) const {
  const auto& members = job_.subgroups[group].members;
  return std::all_of(members.begin(), members.end(), [this](const Subgroup::Member& member) {
    return gradients_.has_news(member.weight);
  });
}

void UpdateLoop::fetch(std::uint32_t group) {
  if (!fetches_[group]) fetches_[group] = machine_.spawn(load(group));
}

Task<StateStore::Loaded> UpdateLoop::load(std::uint32_t group) {
  co_await saved_[group];
  co_return co_await states_.load(group);
}

Task<> UpdateLoop::save(StateStore::Loaded loaded) {
  const std::uint32_t group = loaded.group;
  co_await states_.save(std::move(loaded));
  saved_[group].set();
}

Task<> UpdateLoop::turn_by_turn() {
  const auto count = static_cast<std::uint32_t>(job_.subgroups.size());
  const bool ahead = job_.scenario.strategy.optimizer.pipeline_read && count > 1;
  for (std::uint32_t group = 0; !stopping_; group = (group + 1) % count) {
    if (ahead) fetch(group);
    while (!stopping_ && !ready(group)) {
      gradients_.news().reset();
      co_await gradients_.news();
    }
    if (stopping_) break;
    fetch(group);
    StateStore::Loaded loaded = co_await std::move(fetches_[group]);
    fetches_[group].reset();
    const std::uint32_t next = (group + 1) % count;
    if (ahead) fetch(next);
    co_await update(std::move(loaded));
  }
}

/// Widens the sums, which then begin anew.
Op UpdateLoop::take(const Subgroup& group) {
  CpuKernel kernel;
  kernel.work = CpuWork::convert;
  kernel.elements = group.elements;
  std::vector<Op> arrived;
  for (std::uint32_t i = 0; i < group.members.size(); ++i) {
    const Subgroup::Member& member = group.members[i];
    const View sum = gradients_.gradient(member.weight);
    kernel.traffic += sum.bytes + fp32_numbers.bytes(member.elements);
    kernel.operands.emplace_back(sum, Access::read, Role::input,
                                 gradients_.format(member.weight).type, i);
    kernel.operands.emplace_back(wide(member), Access::write, Role::output, ElementType::fp32, i);
    arrived.push_back(gradients_.arrived(member.weight));
  }
  const Op taken = machine_.run(rank_, std::move(kernel), arrived);
  for (const Subgroup::Member& member : group.members)
    delays_.applied[member.weight].push_back(gradients_.taken(member.weight, taken));
  return taken;
}

Task<> UpdateLoop::update(StateStore::Loaded loaded) {
  const std::uint32_t index = loaded.group;
  const Subgroup& group = job_.subgroups[index];
  const Op taken = take(group);
  StepNumbers numbers = numbers_;
  numbers.update = delays_.published[index].size() + 1;
  const auto gradient = [this](std::uint32_t weight) {
    const auto& [its_group, member] = member_of_[weight];
    return wide(job_.subgroups[its_group].members[member]);
  };
  optimizer_.begin_update(gradient, gradient, numbers);
  const Op updated = optimizer_.start_adam(loaded, taken);
  co_await updated;
  if (states_.swapped(index)) {
    saved_[index].reset();
    Pending<> saving = machine_.spawn(save(std::move(loaded)));
    if (job_.scenario.strategy.optimizer.pipeline_write)
      saving_.push_back(std::move(saving));
    else
      co_await saving;
  }
  std::vector<Op> published;
  for (const Subgroup::Member& member : group.members)
    published.push_back(weights_.renew(
        member.weight,
        wide(member).part(0, job_.row(member.weight).weight.bytes(member.elements))));
  delays_.published[index].push_back(machine_.recorder().steps().size());
  for (const Op& copy : published) co_await copy;
  while (!saving_.empty() && saving_.front().done()) {
    co_await saving_.front();
    saving_.pop_front();
  }
}

}  // namespace spillway::strategies
