#include "strategies/machine/topology.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>

namespace spillway::strategies {

using description::Bytes;
using description::BytesPerSecond;

namespace {

constexpr StorageId nowhere{~std::uint32_t{0}};

/// Bytes per second that are read and written back; members without rates count alike.
double cycle_rate(const StorageInfo& storage) {
  const double read = storage.read.value(), write = storage.write.value();
  return read > 0 && write > 0 ? 1 / (1 / read + 1 / write) : 1;
}

Stripe striped(const Topology& topology, std::vector<StorageId> members) {
  Stripe stripe;
  double sum = 0;
  for (const StorageId member : members) sum += cycle_rate(topology.storages[member.index]);
  stripe.info.wears = true;
  stripe.info.node = topology.storages[members.front().index].node;
  stripe.info.drives = 0;
  double end = 0, read = 0, write = 0, capacity = 0;
  for (const StorageId id : members) {
    const StorageInfo& member = topology.storages[id.index];
    const double share = cycle_rate(member) / sum;
    // the member that takes longest for its share, or is full first, decides
    const auto at_most = [&](double& of_all, double own) {
      of_all = end == 0 ? own / share : std::min(of_all, own / share);
    };
    at_most(read, member.read.value());
    at_most(write, member.write.value());
    at_most(capacity, static_cast<double>(member.capacity.value()));
    stripe.info.name += (stripe.info.name.empty() ? "" : "+") + member.name;
    stripe.info.drives += member.drives;
    stripe.ends.push_back(end += share);
  }
  stripe.ends.back() = 1;
  stripe.info.read = BytesPerSecond(read);
  stripe.info.write = BytesPerSecond(write);
  stripe.info.capacity = Bytes(static_cast<std::uint64_t>(capacity));
  stripe.members = std::move(members);
  return stripe;
}

}  // namespace

std::uint32_t Topology::ranks_of(std::uint32_t node) const {
  return ranks_per_node == 0 ? ranks : std::min(ranks_per_node, ranks - node * ranks_per_node);
}

std::string Topology::title(StorageId storage) const {
  const StorageInfo& own = info(storage);
  return simulated_nodes() == 1 ? own.name : "node " + std::to_string(own.node) + " " + own.name;
}

std::vector<StorageId> Topology::drives() const {
  std::vector<StorageId> ids;
  for (std::uint32_t i = 0; i < storages.size(); ++i)
    if (storages[i].wears) ids.push_back(StorageId{i});
  return ids;
}

std::vector<StorageId> Topology::drives(Rank rank) const {
  std::vector<StorageId> ids = drives();
  std::erase_if(ids, [&](StorageId id) {
    if (storages[id.index].node != node_of(rank)) return true;
    const auto& gpus = storages[id.index].gpus;
    const std::uint64_t gpu = ranks_per_node == 0 ? rank.index : rank.index % ranks_per_node;
    return !gpus.empty() && std::find(gpus.begin(), gpus.end(), gpu) == gpus.end();
  });
  return ids;
}

StorageId Topology::home(Rank rank) const {
  ENSURE(rank.index < homes.size() && homes[rank.index] != nowhere,
         "rank " + std::to_string(rank.index) + " reaches no drive");
  return homes[rank.index];
}

const StorageInfo& Topology::info(StorageId id) const {
  if (!is_stripe(id)) return storages[id.index];
  ENSURE(id.index - storages.size() < stripes.size(), "no such storage");
  return stripes[id.index - storages.size()].info;
}

void find_homes(Topology& topology) {
  topology.homes.clear();
  topology.stripes.clear();
  for (std::uint32_t rank = 0; rank < topology.ranks; ++rank) {
    std::vector<StorageId> reached = topology.drives(Rank{rank});
    if (reached.size() < 2) {
      topology.homes.push_back(reached.empty() ? nowhere : reached.front());
      continue;
    }
    auto& stripes = topology.stripes;
    const auto known = std::find_if(stripes.begin(), stripes.end(), [&](const Stripe& stripe) {
      return stripe.members == reached;
    });
    const auto place = static_cast<std::size_t>(known - stripes.begin());
    if (known == stripes.end()) stripes.push_back(striped(topology, std::move(reached)));
    topology.homes.push_back(
        StorageId{static_cast<std::uint32_t>(topology.storages.size() + place)});
  }
}

std::uint64_t Topology::size(Group group) const {
  return local_size(group) * (group.index < group_nodes.size() ? group_nodes[group.index] : 1);
}

}  // namespace spillway::strategies
