#include "explore/trials/card_splits.hpp"

#include <fmt/format.h>

namespace spillway::explore {

std::string CardSplit::name() const {
  std::string name;
  if (tensor > 1) name += fmt::format(", tensor {}", tensor);
  if (pipeline > 1) name += fmt::format(", pipeline {}", pipeline);
  if (one_at_a_time) name += ", one stage at a time";
  if (expert > 1) name += fmt::format(", expert {}", expert);
  return name;
}

std::vector<std::string> CardSplit::of_layers() const {
  std::vector<std::string> all;
  if (tensor > 1) all.push_back(fmt::format("parallel.tensor={}", tensor));
  if (pipeline > 1) all.push_back(fmt::format("parallel.pipeline={}", pipeline));
  if (one_at_a_time) all.push_back("parallel.schedule=sequential");
  if (expert > 1) all.push_back(fmt::format("parallel.expert={}", expert));
  return all;
}

std::vector<std::string> CardSplit::overrides() const {
  std::vector<std::string> all = of_layers();
  all.push_back(fmt::format("parallel.data={}", data));
  return all;
}

std::vector<CardSplit> splits_of_layers(std::uint64_t nodes, std::uint64_t own) {
  std::vector<CardSplit> splits;
  for (std::uint64_t pipeline = 1; pipeline <= own; ++pipeline)
    for (std::uint64_t tensor = 1; tensor * pipeline <= own; ++tensor)
      if (tensor * pipeline > 1 && own % (tensor * pipeline) == 0)
        splits.push_back({nodes * own / (tensor * pipeline), tensor, pipeline});
  if (nodes > 1 && own > 1) splits.push_back({1, own, nodes});
  return splits;
}

}  // namespace spillway::explore
