#include "strategies/parts/update/old_values.hpp"

namespace spillway::strategies {

std::vector<View> OldValues::written(std::uint32_t group) const {
  StateStore::Loaded in_host;
  in_host.group = group;
  std::vector<View> views;
  for (BoundOperand& state : states_.operands(in_host)) views.push_back(std::move(state.view));
  for (const Subgroup::Member& member : job_.subgroups[group].members)
    if (weights_.in_host(member.weight)) views.push_back(weights_.share(member.weight));
  return views;
}

void OldValues::init() {
  for (std::uint32_t group = 0; group < job_.subgroups.size(); ++group) {
    std::uint64_t bytes = 0;
    for (const View& view : written(group)) bytes += view.bytes;
    kept_.push_back(
        machine_.allocate_now(TierId::pageable, rank_, Bytes(bytes), Purpose::optimizer_states));
  }
}

std::vector<Op> OldValues::copy(std::uint32_t group, bool back) {
  std::vector<Op> copies;
  std::uint64_t offset = 0;
  for (const View& live : written(group)) {
    const View kept = kept_[group].view(offset, live.bytes);
    offset += live.bytes;
    copies.push_back(machine_.copy(rank_, back ? live : kept, back ? kept : live));
  }
  return copies;
}

std::vector<Op> OldValues::keep(std::uint32_t group) { return copy(group, false); }

std::vector<Op> OldValues::put_back(std::uint32_t group) { return copy(group, true); }

}  // namespace spillway::strategies
