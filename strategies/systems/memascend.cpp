#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {

/// ZeRO-Infinity's schedule over four other parts, each usable elsewhere: a pool by tensor shape,
/// pinned memory without rounding, an overflow check in one pass, and an I/O engine without a file
/// system.
///   Source  MemAscend, section IV
System memascend() {
  System system;
  system.name = "memascend";
  system.summary =
      "ZeRO-Infinity with half its host memory: pool by shape, exact pinning, direct I/O";
  system.source = "MemAscend (see its section IV)";
  system.program = Program::none;
  system.schedule = Schedule::streaming;
  system.defaults = [] {
    description::Strategy strategy = defaults_of("zero_infinity");
    strategy.system = "memascend";
    strategy.weights.pool = description::PoolKind::adaptive;
    strategy.overflow_check = description::OverflowCheck::fused;
    strategy.pinned = description::PinnedPolicy::exact;
    strategy.io_engine = description::IoEngine::direct;
    return strategy;
  };
  return system;
}

}  // namespace spillway::strategies
