#pragma once

#include "hw_backend/machine/real_run.hpp"
#include "hw_backend/storage/open_engine.hpp"
#include "tests/hw_backend/faulty_device.hpp"
#include "tests/hw_backend/storage/fixture.hpp"
#include "tests/strategies/machine/machines.hpp"

/// RealMachines without a training: what a test itself makes them do.
namespace spillway::hw_backend {

// What a test makes a machine do, in the words of strategies.
using strategies::Buffer;
using strategies::gpu_buffer;
using strategies::GpuKernel;
using strategies::host_buffer;
using strategies::Machine;
using strategies::mib;
using strategies::Op;
using strategies::rank0;
using strategies::Task;

struct RigOptions {
  EngineOptions engine{};
  bool paced = false;  ///< from the set-up on; kernels then compute nothing
  bool trace = false;
  double answer_s = 300;
  double rest_s = rest_limit_s;
  DevicePlan device_faults{};
  MakeDevice make_device{};  ///< absent: host devices
  decltype(RealRunOptions::around_engine) around_engine{};
};

/// A machine, what it needs, and directories of its own for the scenario's storages.
class Rig {
 public:
  explicit Rig(description::Scenario scenario, RigOptions options = {});

  RealMachine& machine() { return *machine_; }
  IoEngine& engine() { return *engine_; }
  const std::filesystem::path& directory() const { return scratch_.path(); }
  /// Runs the tasks as ranks, in their order.
  template <class... More>
  void run(strategies::Task<> first, More... more) {
    std::vector<strategies::Task<>> ranks;
    ranks.push_back(std::move(first));
    (ranks.push_back(std::move(more)), ...);
    machine_->run_ranks(std::move(ranks));
  }
  /// The machine is gone; files and directories that are there all the same.
  std::vector<std::string> left_behind();

 private:
  ScratchDirectory scratch_;
  description::Scenario scenario_;
  strategies::Prepared prepared_;
  std::unique_ptr<IoEngine> engine_;
  MemoryBudget memory_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unique_ptr<RealMachine> machine_;
};

}  // namespace spillway::hw_backend
