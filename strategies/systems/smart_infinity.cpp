#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {

/// ZeRO-Infinity whose drives update the states that lie on them: gradients go down in 16 bits,
/// only new weights come back. A sub-group lies on one drive; the drives update one each, and begin
/// the next when the new weights of all are where they live.
///   Source  Smart-Infinity (HPCA'24) and its code (stage3.py, cpu_adam.cpp); gradients
///           uncompressed
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
    strategy.gradients.policy = description::GradientPolicy::ssd_fp16;
    strategy.optimizer.device = description::OptimizerDevice::near_storage;
    strategy.optimizer.paths = {{"*", std::nullopt}};
    return strategy;
  };
  return system;
}

}  // namespace spillway::strategies
