#include "strategies/parts/update/near_storage.hpp"

namespace spillway::strategies {

namespace {

using models::Access;

View all_of(const Stored& extent) { return View(extent.block(), 0, extent.block()->charged); }

}  // namespace

NearStorage::NearStorage(Machine& machine, Rank rank, const Job& job, Weights& weights,
                         StateStore& states)
    : machine_(machine),
      rank_(rank),
      job_(job),
      weights_(weights),
      states_(states),
      others_(job.subgroups.size()) {}

Task<> NearStorage::init() {
  for (std::uint32_t group = 0; group < others_.size(); ++group) {
    if (!states_.swapped(group)) continue;
    std::uint64_t bytes = 0;
    for (const Subgroup::Member& member : job_.subgroups[group].members)
      if (!renews(group, member.weight))
        bytes += in_sectors(job_.row(member.weight).weight.bytes(member.elements));
    if (bytes)
      others_[group] =
          co_await machine_.store(states_.storage(group), rank_, Bytes(bytes), Purpose::weights);
  }
}

bool NearStorage::renews(std::uint32_t group, std::uint32_t weight) const {
  return weights_.on_storage(weight) &&
         weights_.extent(weight).block()->storage == states_.storage(group);
}

std::vector<NearStorage::WeightRange> NearStorage::places(std::uint32_t group) const {
  std::vector<WeightRange> all;
  std::uint64_t offset = 0;
  for (const Subgroup::Member& member : job_.subgroups[group].members) {
    if (renews(group, member.weight)) {
      all.push_back({&weights_.extent(member.weight), {0, weights_.stored_bytes(member.weight)}});
      continue;
    }
    const std::uint64_t bytes = in_sectors(job_.row(member.weight).weight.bytes(member.elements));
    all.push_back({&others_[group], {offset, bytes}});
    offset += bytes;
  }
  return all;
}

Op NearStorage::update(std::uint32_t group, const Numbers& numbers) {
  const Subgroup& members = job_.subgroups[group];
  StateStore::OnStorage states = states_.on_storage(group);
  StorageKernel kernel;
  kernel.elements = members.elements;
  for (const Subgroup::Member& member : members.members)
    kernel.read += job_.row(member.weight).updated_bytes(member.elements);
  kernel.written = kernel.read;
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
  use(all_of(*states.gradient), Access::read, Role::gradient, ElementType::fp32, whole);
  const std::vector<WeightRange> into = places(group);
  for (std::uint32_t i = 0; i < into.size(); ++i)
    use(View(into[i].extent->block(), into[i].range.offset, into[i].range.bytes), Access::write,
        Role::weight, job_.row(members.members[i].weight).weight.type, i);
  std::vector<Op> after = std::move(states.gradient_writes);
  Op& last = last_[states.storage];
  after.push_back(last);
  last = machine_.run(rank_, states.storage, std::move(kernel), after);
  return last;
}

std::vector<Op> NearStorage::read_back(std::uint32_t group, const Buffer& into, const Op& updated) {
  std::vector<Op> reads;
  std::uint64_t offset = 0;
  for (const WeightRange& place : places(group)) {
    reads.push_back(machine_.read(rank_, *place.extent, place.range,
                                  into.view(offset, place.range.bytes), updated));
    offset += place.range.bytes;
  }
  return reads;
}

}  // namespace spillway::strategies
