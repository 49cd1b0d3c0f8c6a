#pragma once

#include "strategies/counting/counting_machine.hpp"

#include <string>
#include <vector>

namespace spillway::strategies {

/// Seconds for which each resource works at least in one step, at the rates of the machine file and
/// with nothing in its way: no schedule of the same demand is faster.
///   Leaves out   latencies, mixed traffic, sends, and collectives over a node's own GPU links
///   Nodes        of several that are simulated the busiest; of the cores and the DRAM, whose work
///                is counted for all of them together, the mean, which is no more
struct Bounds {
  double gpu = 0;      ///< of the busiest rank: the longer of its two streams
  double h2d = 0;      ///< of the busiest rank, with what collectives send through PCIe
  double d2h = 0;      ///< likewise
  double network = 0;  ///< of the busiest rank, to other nodes
  double cpu = 0;      ///< the cores of a node
  double host_memory = 0;
  std::vector<double> storages;  ///< as machine.storage

  /// The longest of them.
  double step() const;
};

/// Lower bounds of one step's demand on the scenario's machine.
///   Throws  ScenarioError when it has no compute rate for the training's element type
Bounds bounds_of(const Demand& demand, const description::Scenario& scenario);

/// Seconds of matrix products that follow one another in a step of a pipeline: a stage does those
/// of all its micro-batches, and before and behind them the stages before it do those of one.
///   demand   of the ranks of all stages
///   layers   of each stage
///   Result   0 without stages, and where backward is split or stages have several pieces
///   Throws   as bounds_of
double pipeline_seconds(const Demand& demand, const description::Scenario& scenario,
                        const std::vector<std::size_t>& layers);

}  // namespace spillway::strategies
