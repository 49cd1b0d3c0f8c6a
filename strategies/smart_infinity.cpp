#include "strategies/systems.hpp"

namespace spillway::strategies {

/// ZeRO-Infinity whose drives update the states that lie on them: gradients go down in fp32, only
/// new weights come back. Each storage with `near_storage` works for itself.
///   Source  Smart-Infinity (HPCA'24); gradients uncompressed
description::Strategy smart_infinity_defaults() {
  description::Strategy strategy = zero_infinity_defaults();
  strategy.system = "smart_infinity";
  strategy.optimizer.device = description::OptimizerDevice::near_storage;
  strategy.optimizer.paths = {{"*", std::nullopt}};
  return strategy;
}

}  // namespace spillway::strategies
