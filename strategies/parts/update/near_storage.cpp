#include "strategies/parts/update/near_storage.hpp"

#include <set>

namespace spillway::strategies {

namespace {

using models::Access;

View all_of(const Stored& extent) { return View(extent.block(), 0, extent.block()->charged); }

}  // namespace

NearStorage::NearStorage(Machine& machine, Rank rank, const Job& job, StateStore& states)
    : machine_(machine), rank_(rank), job_(job), states_(states), fresh_(job.subgroups.size()) {}

Task<> NearStorage::init() {
  for (std::uint32_t group = 0; group < fresh_.size(); ++group) {
    if (!states_.swapped(group)) continue;
    const Range last = places(group).back();
    fresh_[group] =
        co_await machine_.store(states_.storage(group), rank_, Bytes(last.offset + last.bytes),
                                Purpose::weights, states_.drive(group));
  }
}

std::pair<StorageId, std::uint32_t> NearStorage::drive_of(std::uint32_t group) const {
  return {states_.storage(group), states_.drive(group).value_or(0)};
}

std::uint64_t NearStorage::largest_round() const {
  std::set<std::pair<StorageId, std::uint32_t>> drives;
  for (std::uint32_t group = 0; group < states_.count(); ++group)
    if (states_.swapped(group)) drives.insert(drive_of(group));
  return drives.size();
}

std::vector<std::vector<std::uint32_t>> NearStorage::rounds(
    const std::vector<std::uint32_t>& order) const {
  std::vector<std::vector<std::uint32_t>> all;
  std::set<std::pair<StorageId, std::uint32_t>> busy;
  for (const std::uint32_t group : order) {
    if (!states_.swapped(group)) continue;
    const std::pair drive = drive_of(group);
    if (all.empty() || !busy.insert(drive).second) {
      all.emplace_back();
      busy = {drive};
    }
    all.back().push_back(group);
  }
  return all;
}

std::vector<Range> NearStorage::places(std::uint32_t group) const {
  std::vector<Range> all;
  std::uint64_t offset = 0;
  for (const Subgroup::Member& member : job_.subgroups[group].members) {
    const std::uint64_t bytes = in_sectors(job_.row(member.weight).weight.bytes(member.elements));
    all.push_back({offset, bytes});
    offset += bytes;
  }
  return all;
}

Op NearStorage::update(std::uint32_t group, const StepNumbers& numbers) {
  const Subgroup& members = job_.subgroups[group];
  StateStore::OnStorage states = states_.on_storage(group);
  StorageKernel kernel;
  kernel.elements = members.elements;
  for (const Subgroup::Member& member : members.members)
    kernel.read += job_.row(member.weight).updated_bytes(member.elements);
  kernel.written = kernel.read;
  kernel.drive = states_.drive(group);
  kernel.group = &members;
  kernel.numbers = numbers;
  const auto use = [&](View view, Access access, Role role, ElementType type, std::uint32_t index) {
    kernel.operands.emplace_back(std::move(view), access, role, type, index);
  };
  constexpr std::uint32_t whole = BoundOperand::whole_group;
  const auto use_state = [&](const Stored& extent, Role role, StateKind kind) {
    use(all_of(extent), Access::read_write, role, states_.format(members, kind).type, whole);
  };
  use_state(*states.master, Role::master, StateKind::master);
  use_state(*states.momentum, Role::momentum, StateKind::momentum);
  use_state(*states.variance, Role::variance, StateKind::variance);
  for (std::uint32_t i = 0; i < members.members.size(); ++i) {
    const StateStore::GradientHome home = states_.gradient_home(members.members[i].weight);
    use(View(home.extent->block(), home.range.offset, home.range.bytes), Access::read,
        Role::gradient, home.format.type, i);
  }
  const std::vector<Range> into = places(group);
  for (std::uint32_t i = 0; i < into.size(); ++i)
    use(View(fresh_[group].block(), into[i].offset, into[i].bytes), Access::write, Role::weight,
        job_.row(members.members[i].weight).weight.type, i);
  return machine_.run(rank_, states_.storage(group), std::move(kernel), states.gradient_writes);
}

std::vector<Op> NearStorage::read_back(std::uint32_t group, const Buffer& into, const Op& updated) {
  std::vector<Op> reads;
  std::uint64_t offset = 0;
  for (const Range& range : places(group)) {
    reads.push_back(
        machine_.read(rank_, fresh_[group], range, into.view(offset, range.bytes), updated));
    offset += range.bytes;
  }
  return reads;
}

}  // namespace spillway::strategies
