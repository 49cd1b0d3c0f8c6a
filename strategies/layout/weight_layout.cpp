#include "strategies/layout/weight_layout.hpp"

#include <algorithm>

namespace spillway::strategies {

using description::Home;

namespace {

bool persistent(const Job& job, std::uint32_t weight) {
  const auto& part = job.scenario.strategy.weights;
  if (job.elements(weight) <= part.persistence_threshold.value()) return true;
  if (part.home != Home::ssd) return false;
  return !job.model.weights[weight].decays() ||
         job.share(weight, job.partition.weight_ways()) * job.weight_bytes < Job::smallest_swapped;
}

}  // namespace

WeightLayout::WeightLayout(const Job& job)
    : home(job.model.weights.size()),
      whole(job.model.weights.size()),
      share_bytes(job.model.weights.size()) {
  const auto& part = job.scenario.strategy.weights;
  const std::uint64_t ways = job.partition.weight_ways();
  std::uint64_t host_room = part.max_in_host.value();
  for (std::uint32_t weight = 0; weight < size(); ++weight) {
    whole[weight] = ways == 1 || persistent(job, weight);
    const std::uint64_t elements = job.share(weight, ways);
    share_bytes[weight] = elements * job.weight_bytes;
    if (ways == 1) {  // whole, with room for the shares of who updates it
      const std::uint64_t states = job.partition.state_ways();
      share_bytes[weight] = in_sectors(job.share(weight, states) * states * job.weight_bytes);
    }
    if (part.home == Home::gpu || persistent(job, weight)) {
      home[weight] = Home::gpu;
    } else if (part.home == Home::host || elements <= host_room) {
      home[weight] = Home::host;
      if (part.home == Home::ssd) host_room -= elements;
    } else {
      home[weight] = Home::ssd;
    }
  }
}

bool WeightLayout::any(Home where) const {
  return std::find(home.begin(), home.end(), where) != home.end();
}

std::uint64_t first_element(const Job& job, Rank rank, std::uint32_t weight) {
  const std::uint64_t ways = job.partition.weight_ways();
  return ways > 1 ? job.member(rank) * job.share(weight, ways) : 0;
}

}  // namespace spillway::strategies
