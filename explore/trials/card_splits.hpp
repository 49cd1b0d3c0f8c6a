#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spillway::explore {

/// How the cards of a machine share the work.
struct CardSplit {
  std::uint64_t data = 1;      ///< ranks with samples of their own
  std::uint64_t tensor = 1;    ///< cards that cut each layer
  std::uint64_t pipeline = 1;  ///< cards, or groups that cut layers, with layers of their own
  bool one_at_a_time = false;  ///< of the stages of a pipeline one is at work
  std::uint64_t expert = 1;    ///< data-parallel ranks that share the experts of a layer

  /// ", tensor 2, pipeline 4, expert 2"; "" where data is all there is.
  std::string name() const;
  /// "parallel.tensor=2" and the others of `parallel` but data, where they are not the usual.
  std::vector<std::string> of_layers() const;
  /// Those, and "parallel.data=1".
  std::vector<std::string> overrides() const;
};

/// Every split beside that by data alone which has work for all cards: by tensor, pipeline, or
/// both, inside a node, and the rest by data. Stages are whole nodes in one of them, as Megatron-LM
/// advises for what one node does not hold: what cut layers exchange stays in a node.
///   nodes   of the machine
///   own     cards of each node
///   Source  arXiv:2104.04473, section 3.2, takeaway 1
std::vector<CardSplit> splits_of_layers(std::uint64_t nodes, std::uint64_t own);

}  // namespace spillway::explore
