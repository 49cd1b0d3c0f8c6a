#pragma once

#include "hw_backend/storage/faulty_engine.hpp"
#include "hw_backend/storage/uring_engine.hpp"

namespace spillway::hw_backend {

struct EngineOptions {
  UringOptions uring{};
  double watchdog_s = 60;  ///< without progress for that long, transfers fail
  bool checked = false;    ///< generation and hash of every sector; always on with faults
  std::optional<FaultPlan> faults{};
};

/// Checked(Watched(Faulty(Uring))), those that are asked for.
///   Throws  DeviceError when io_uring cannot be had
std::unique_ptr<IoEngine> open_engine(const EngineOptions& options);

}  // namespace spillway::hw_backend
