#include "strategies/decide/gpu_share.hpp"

#include "strategies/decide/tensors.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::strategies {

namespace {

/// What one rank updates, and in how many tensors: no sub-group is less than one.
struct Updated {
  std::uint64_t elements = 0;
  std::size_t tensors = 0;
};

Updated updated_in(const TensorTable& table) {
  Updated sum;
  for (const TensorRow& row : table.rows()) {
    if (!row.subgroup) continue;
    sum.elements += row.share(row.shards.state_ways());
    ++sum.tensors;
  }
  return sum;
}

/// Rounded down to two digits, as people write it.
std::uint64_t two_digits(std::uint64_t value) {
  std::uint64_t unit = 1;
  while (value / unit >= 100) unit *= 10;
  return value / unit * unit;
}

/// "20 % of 4"; where their product is whole and numbers of 64 bits have a little less, both.
text::Text gpu_part(double cpu_share, std::size_t subgroups) {
  text::Text words = text::filled(
      "{} of {}", {text::number(1 - cpu_share, text::Quantity::part), text::count(subgroups)});
  constexpr double almost = 1 - 1e-9;
  const double product = (1 - cpu_share) * static_cast<double>(subgroups);
  if (product > almost)
    words += text::filled(" ({} in numbers of 64 bits)", {text::plain(product)});
  return words;
}

/// A size of sub-groups with which the GPU has some in each table, and what it has of how many in
/// the first.
struct Remedy {
  std::uint64_t subgroup = 0;
  std::size_t of_gpu = 0, all = 0;
};

std::optional<Remedy> remedy_for(description::Scenario scenario, const Prepared& prepared,
                                 const TensorTable& table) {
  const double share = scenario.strategy.optimizer.cpu_share;
  const Updated updated = updated_in(table);
  auto least = static_cast<std::size_t>(1 / (1 - share));
  while (least <= updated.tensors && subgroups_of_gpu(share, least) == 0) ++least;
  if (least > updated.tensors) return {};
  constexpr int tries = 6;  // tensors of other sizes make fewer sub-groups than their sum says
  std::uint64_t size = updated.elements / least;
  for (int i = 0; i < tries && size > 0; ++i, size /= 2) {
    scenario.strategy.optimizer.subgroup = description::Params(two_digits(size));
    const std::vector<TensorTable> tables = decide_tensors(scenario, prepared);
    if (std::all_of(tables.begin(), tables.end(), [share](const TensorTable& one) {
          return subgroups_of_gpu(share, subgroups_in(one)) > 0;
        })) {
      const std::size_t all = subgroups_in(tables.front());
      return Remedy{two_digits(size), subgroups_of_gpu(share, all), all};
    }
  }
  return {};
}

}  // namespace

std::size_t subgroups_of_gpu(double cpu_share, std::size_t subgroups) {
  return static_cast<std::size_t>((1 - cpu_share) * static_cast<double>(subgroups));
}

std::size_t subgroups_in(const TensorTable& table) {
  std::size_t count = 0;
  for (const TensorRow& row : table.rows())
    if (row.subgroup) count = std::max<std::size_t>(count, *row.subgroup + 1);
  return count;
}

text::Text idle_share_note(const description::Scenario& scenario, const Prepared& prepared,
                           const std::vector<TensorTable>& tables) {
  const double share = scenario.strategy.optimizer.cpu_share;
  if (share >= 1 || tables.empty()) return {};
  std::size_t most = 0;
  const TensorTable* largest = nullptr;
  for (const TensorTable& table : tables) {
    const std::size_t count = subgroups_in(table);
    if (subgroups_of_gpu(share, count) > 0) return {};
    if (count > most) most = count, largest = &table;
  }
  if (!largest) return {};
  text::Text words = text::filled(
      "optimizer.cpu_share {} (DeepSpeed's ratio) changes nothing: of a rank's {} sub-group{} the "
      "GPU would take {}, rounded down to none, so the CPU updates all",
      {text::plain(share), text::count(most), most == 1 ? "" : "s", gpu_part(share, most)});
  if (const auto remedy = remedy_for(scenario, prepared, *largest))
    words += text::filled(
        "; with optimizer.subgroup {} (sub_group_size) it takes {} of {}",
        {text::number(static_cast<double>(remedy->subgroup), text::Quantity::plain, "params"),
         text::count(remedy->of_gpu), text::count(remedy->all)});
  return words;
}

}  // namespace spillway::strategies
