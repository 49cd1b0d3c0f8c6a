#pragma once

#include "hw_backend/machine/real_run.hpp"
#include "tests/long_test.hpp"

#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

/// Whole trainings on the machine that the tests run on.
namespace spillway::hw_backend {

using Overrides = std::vector<std::string>;

/// A llama, 256 wide, whose feed-forward matrices are its only large tensors.
struct Size {
  std::uint64_t blocks = 2;
  /// 2048: 1 MiB a matrix in 16 bits, the least that is swapped; a rank of two needs twice that.
  std::uint64_t feed_forward = 2048;
};

// A sanitizer needs ten times as long, and sees nothing new in the tenth whole training.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SPILLWAY_SANITIZED
#endif

/// The first statement of a long test of whole trainings by many systems or in many ways, of which
/// a sanitizer sees some in shorter tests.
#ifdef SPILLWAY_SANITIZED
#define MANY_SYSTEMS_TEST() GTEST_SKIP() << "many systems, under a sanitizer"
#else
#define MANY_SYSTEMS_TEST() LONG_TEST()
#endif

/// Of what is trained in a loop every `step`-th, the first among them: all with the long tests,
/// every third in ./check alone and under a sanitizer.
std::size_t sample_step();
template <class All>
auto sampled(const All& all) {
  std::vector<std::decay_t<decltype(all[0])>> some;
  for (std::size_t i = 0; i < std::size(all); i += sample_step()) some.push_back(all[i]);
  return some;
}

/// Names of the catalogue but `resident`, which the others are compared with.
std::vector<std::string> systems_under_test();

/// Its GPU updates columns of weights beside the update of them all: in bf16 or fp32 by Adam with
/// fp32 states.
bool selects_columns(const std::string& system);

/// A training of 32 tokens and three steps on storages `nvme` and `second`, each a directory.
description::Scenario small_training(const std::string& system, const Overrides& overrides = {},
                                     const Size& size = {});

/// Runs it in new directories, which are gone afterwards, and fails the test when the run itself
/// left something in them.
///   on_disk  else in memory, where there is such a file system: without O_DIRECT
///   replay   delays that a reference repeats
///   plan     instead of what the policy of activations stands for
RealRun train_for_real(const description::Scenario& scenario, RealRunOptions options = {},
                       bool on_disk = false,
                       const std::optional<strategies::ActivationPlan>& plan = std::nullopt,
                       const std::vector<strategies::Delays>& replay = {});

/// The run that `scenario` must end like; made once for all that have its numerics, of scenarios
/// that are otherwise the same.
///   way  what distinguishes them from others
const RealRun& reference_run(const description::Scenario& scenario, const std::string& way);

/// Trains it for real, and fails the test where it does not fit, learns nothing, or ends with other
/// bits than its reference, which repeats the delays of a system that no two runs of are alike.
///   way  as of reference_run()
void expect_its_references_end(const description::Scenario& scenario, const std::string& way);

/// `all`, and behind them `more`.
Overrides joined(Overrides all, const Overrides& more);

/// Elements of all masters that differ in a bit.
std::uint64_t different(const Trained& one, const Trained& other);

}  // namespace spillway::hw_backend
