#pragma once

#include "reports/result/result.hpp"
#include "scenarios/reading/read_scenario.hpp"
#include "strategies/counting/counting_machine.hpp"
#include "strategies/layout/layer_plan.hpp"
#include "strategies/run/counting_probe.hpp"
#include "strategies/run/run.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

/// Scenarios and whole runs for the tests of systems and parts.
namespace spillway::strategies {

using Overrides = std::vector<std::string>;

inline constexpr double gib = 1 << 30;

/// The example `name` of scenarios/examples, resolved with further overrides. Here and below
/// without reserves for the system, which overrides may set.
description::Scenario example(const std::string& name, const Overrides& overrides = {});

/// Models of two blocks, 1024 wide, 64 tokens at most: gpt2 llama t5 bert mixtral opt, and
/// llama_tied.
description::Scenario small_model(const std::string& model, const std::string& system,
                                  const Overrides& overrides = {});
const std::vector<std::string>& small_models();

/// A resolved scenario's JSON, read again.
description::Scenario reread(const nlohmann::json& scenario);

/// What is said of a scenario when it is read.
std::vector<std::string> warnings_of(const nlohmann::json& scenario,
                                     const Overrides& overrides = {});

/// One run of a scenario and what its machine counted.
struct Counted {
  result::Result result;
  std::vector<Demand> demands;
  std::vector<StepRecord> steps;
};
Counted count(const description::Scenario& scenario);
result::Result simulate(const description::Scenario& scenario);

/// What became of a scenario on machines whose tiers grow; `auto` is settled first.
struct Needs {
  result::Result counted, simulated;
};
Needs needs_of(const description::Scenario& scenario);

/// Bytes of a purpose at a tier's peak, all ranks; 0 when it was not alive then.
std::uint64_t at_peak(const result::PeakBytes& peak, const std::string& purpose);

models::Model model_of(const description::Scenario& scenario);

/// Bytes of storage that the states of each of a rank's sub-groups take, in its order.
std::vector<std::uint64_t> state_bytes(const description::Scenario& scenario);

/// Sum over weights of n x width, each padded to `unit`, for a rank that holds 1/ways.
std::uint64_t padded(const models::Model& model, std::uint64_t width, std::uint64_t unit,
                     std::uint64_t ways = 1);

/// Bytes of `plan.saved`.
std::uint64_t saved_bytes(const LayerPlan& plan);

/// The next power of two.
std::uint64_t power(std::uint64_t bytes);
std::uint64_t sectors(std::uint64_t bytes);

}  // namespace spillway::strategies
