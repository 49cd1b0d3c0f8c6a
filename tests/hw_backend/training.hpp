#pragma once

#include "hw_backend/real_run.hpp"

#include <string>
#include <vector>

/// Whole trainings on the machine that the tests run on.
namespace spillway::hw_backend {

using Overrides = std::vector<std::string>;

/// A llama of two blocks, 1024 wide, tensors large enough to be swapped; 32 tokens, three steps on
/// storages `nvme` and `second`, each a directory.
description::Scenario small_training(const std::string& system, const Overrides& overrides = {});

/// Runs it in new directories, which are gone afterwards; the first storages where `options` has
/// them.
///   on_disk  else in memory, where there is such a file system: without O_DIRECT
RealRun train_for_real(const description::Scenario& scenario, RealRunOptions options = {},
                       bool on_disk = false);

/// Elements of all masters that differ in a bit.
std::uint64_t different(const Trained& one, const Trained& other);

}  // namespace spillway::hw_backend
