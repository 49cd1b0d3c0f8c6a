#include "strategies/layout/weight_layout.hpp"

#include <algorithm>

namespace spillway::strategies {

using description::Home;

WeightLayout::WeightLayout(const Job& job) {
  for (const TensorRow& row : job.tensors.rows()) {
    home.push_back(row.home);
    whole.push_back(row.whole);
    const std::uint64_t ways = row.shards.weight_ways(), states = row.shards.state_ways();
    // what is whole has room for the shares of who updates it
    share_bytes.push_back(ways > 1 ? row.share_bytes(row.weight, ways)
                                   : in_sectors(row.weight.bytes(row.share(states) * states)));
  }
}

bool WeightLayout::any(Home where) const {
  return std::find(home.begin(), home.end(), where) != home.end();
}

std::uint64_t first_element(const Job& job, Rank rank, std::uint32_t weight) {
  const std::uint64_t ways = job.row(weight).shards.weight_ways();
  return ways > 1 ? job.member(rank, weight) * job.share(weight, ways) : 0;
}

}  // namespace spillway::strategies
