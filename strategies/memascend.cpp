#include "strategies/systems.hpp"

namespace spillway::strategies {

/// ZeRO-Infinity's schedule over four other parts, each usable elsewhere: a pool by tensor shape,
/// pinned memory without rounding, an overflow check in one pass, and an I/O engine without a file
/// system.
///   Source  MemAscend, section IV
description::Strategy memascend_defaults() {
  description::Strategy strategy = zero_infinity_defaults();
  strategy.system = "memascend";
  strategy.weights.pool = description::PoolKind::adaptive;
  strategy.overflow_check = description::OverflowCheck::fused;
  strategy.pinned = description::PinnedPolicy::exact;
  strategy.io_engine = description::IoEngine::direct;
  return strategy;
}

}  // namespace spillway::strategies
