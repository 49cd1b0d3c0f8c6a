#pragma once

#include "strategies/layout/fates.hpp"
#include "strategies/layout/prepared.hpp"

#include <functional>

namespace spillway::strategies {

/// What a run takes of memory, counted.
struct Peaks {
  bool fits = true;                     ///< no allocation failed
  std::uint64_t gpu = 0;                ///< bytes of the fullest rank
  std::uint64_t host = 0;               ///< bytes of a node
  std::uint64_t swap_buffers = 0;       ///< of optimizer states, a node's, at the peak of `host`
  std::uint64_t swap_buffer_bytes = 0;  ///< of one
  std::optional<std::uint64_t> subgroups{};  ///< of a node, where optimizer states are on storage
};

/// A scenario and what becomes of its saved tensors, to be tried.
struct Candidate {
  const description::Scenario& scenario;
  const Prepared& prepared;
  const ActivationPlan& fates;
  bool grows = false;      ///< tiers that are too small grow, and hide nothing of the others
  bool only_fits = false;  ///< of the peaks `fits` alone is asked, in host memory without end
};

/// Says what a candidate takes. Who runs strategies hands one in, so that a decision is made
/// without knowing how they run.
using Probe = std::function<Peaks(const Candidate&)>;

/// What one step of the scenario takes if its activations go as `fates` says, in memories without
/// end.
Peaks peaks_with(const Probe& probe, description::Scenario scenario, const Prepared& prepared,
                 const ActivationPlan& fates);
/// Whether that step finds room on the machine's GPUs, in host memory without end.
bool fits_gpus(const Probe& probe, description::Scenario scenario, const Prepared& prepared,
               const ActivationPlan& fates);

}  // namespace spillway::strategies
