#pragma once

#include "hw_backend/machine/real_machine.hpp"
#include "hw_backend/storage/open_engine.hpp"
#include "reports/result/validation.hpp"

namespace spillway::hw_backend {

/// What stands for the GPUs of a run: called on one thread for each rank, in their order.
using MakeDevice = std::function<std::unique_ptr<Device>(std::uint32_t rank)>;

struct RealRunOptions {
  std::vector<RealStorage> storages;  ///< parallel to the scenario's
  EngineOptions engine{};
  bool paced = false;
  bool synthetic = false;
  bool trace = false;
  double answer_s = 300;
  MakeDevice make_device{};  ///< absent: host devices
  /// Puts an engine around the run's, for transfers of device memory; absent: there are none.
  std::function<std::unique_ptr<IoEngine>(std::unique_ptr<IoEngine>)> around_engine{};
};

struct RealRun {
  result::Result result;
  result::Trace trace;
  Trained trained;
  std::vector<strategies::Delays> delays;  ///< of updates that no step waited for, by rank
  std::string device;
  std::optional<result::Pacing> pacing;
  result::MemoryBooks memory;
  std::map<std::string, result::StorageTotals> storage;
  IoCounters io;
  std::uint64_t pins_in_steps = 0;  ///< see RealMachine
  std::vector<text::Text> notes;    ///< what was asked for and is not in use; what was removed
};

/// Says no before anything runs.
///   Throws  ScenarioError naming each thing of the scenario that no device computes
void require_support(const description::Scenario& scenario, const strategies::Prepared& prepared);

/// Runs what was decided on this server. Whatever ends it, directories are left as they were.
///   Throws  ScenarioError, DeviceError, InternalError, Interrupted
RealRun run_for_real(const strategies::Decision& decision, const RealRunOptions& options);

}  // namespace spillway::hw_backend
