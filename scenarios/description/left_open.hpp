#pragma once

namespace spillway::description {

/// What of a step's demand the value of a knob leaves to the machine that it finds: no bound that
/// holds on all machines may have it.
struct LeftOpen {
  bool recomputation = false;  ///< which activations stay, leave or are computed again
  bool states = false;         ///< which states spare host memory keeps off the drives
  bool placement = false;      ///< where every tensor is, or which updates a step has
  bool operator==(const LeftOpen&) const = default;
};

/// What one of the two, or both, leave open.
constexpr LeftOpen operator|(const LeftOpen& one, const LeftOpen& other) {
  return {one.recomputation || other.recomputation, one.states || other.states,
          one.placement || other.placement};
}

}  // namespace spillway::description
