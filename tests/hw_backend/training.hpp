#pragma once

#include "hw_backend/real_machine.hpp"
#include "hw_backend/storage/open_engine.hpp"

#include <string>
#include <vector>

/// Whole trainings on the machine that the tests run on.
namespace spillway::hw_backend {

using Overrides = std::vector<std::string>;

/// A llama of two blocks, 1024 wide, tensors large enough to be swapped; 32 tokens, three steps on
/// storages `nvme` and `second`, each a directory.
description::Scenario small_training(const std::string& system, const Overrides& overrides = {});

/// A run and what it left.
struct Real {
  result::Result result;
  Trained trained;
  MemoryCheck memory;
  IoCounters io;
};

struct RunOptions {
  EngineOptions engine{};
  bool paced = false;
  bool synthetic = false;
  bool on_disk = false;  ///< else in memory, where there is such a file system: no O_DIRECT
};
/// Runs it in new directories, which are gone afterwards.
Real run_for_real(const description::Scenario& scenario, const RunOptions& options = {});

/// Elements of all masters that differ in a bit.
std::uint64_t different(const Trained& one, const Trained& other);

}  // namespace spillway::hw_backend
