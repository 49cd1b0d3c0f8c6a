#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {

/// ZeRO-Infinity whose drives update the states that lie on them: gradients go down in fp32, only
/// new weights come back. Each storage with `near_storage` works for itself.
///   Source  Smart-Infinity (HPCA'24); gradients uncompressed
System smart_infinity() {
  System system;
  system.name = "smart_infinity";
  system.summary = "ZeRO-Infinity whose drives do the update: only new weights come back";
  system.source = "Smart-Infinity (HPCA'24)";
  system.program = Program::authors;
  system.schedule = Schedule::streaming;
  system.defaults = [] {
    description::Strategy strategy = defaults_of("zero_infinity");
    strategy.system = "smart_infinity";
    strategy.optimizer.device = description::OptimizerDevice::near_storage;
    strategy.optimizer.paths = {{"*", std::nullopt}};
    return strategy;
  };
  return system;
}

}  // namespace spillway::strategies
