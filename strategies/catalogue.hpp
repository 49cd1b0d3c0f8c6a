#pragma once

#include "strategies/job.hpp"
#include "strategies/numerics.hpp"

#include <span>

namespace spillway::strategies {

/// Who trains as a system does, apart from spillway.
enum class Program : unsigned char { deepspeed, trainer, colossal_ai, authors, none };

/// One system: a schedule over parts, from one paper. Adding one is its file, its test and one line
/// in the catalogue.
struct System {
  const char* name;
  const char* summary;
  const char* source;
  /// What people start to train so: a maintained program ("DeepSpeed"), code that a paper's authors
  /// published, or no program that can be had.
  Program program;
  /// The parts and knobs it has when a scenario says nothing.
  description::Strategy (*defaults)();
  /// One rank of it, set-up and all steps.
  Task<> (*train)(Machine& machine, Rank rank, const Job& job);
  /// What decides the bits of its masters.
  Numerics (*numerics)(const description::Scenario& scenario);
};

/// All systems, in the order of their papers.
std::span<const System> catalogue();
/// Null when there is none of this name.
const System* find_system(const std::string& name);

/// Its schedule carries out plans of whole steps, tensor by tensor.
bool plans_steps(const std::string& system);

}  // namespace spillway::strategies
