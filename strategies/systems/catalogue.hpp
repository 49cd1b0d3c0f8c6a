#pragma once

#include "scenarios/description/scenario.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace spillway::strategies {

/// Who trains as a system does, apart from spillway.
enum class Program : unsigned char { deepspeed, trainer, colossal_ai, authors, none };

/// Which schedules carry a system out.
///   streaming  layers and sub-groups come and go by: schedules/stories.hpp has one for each way
///   planned    plans of whole steps, tensor by tensor
enum class Schedule : unsigned char { streaming, planned };

/// Another form of a system, in which people start it as well.
struct Form {
  const char* name = "";     ///< behind the system's: " with weights on the GPU (ZeRO-2)"
  const char* parts = "{}";  ///< of `strategy`, beside the system, as JSON
  unsigned zero_stage = 3;   ///< parallel.zero_stage
};

/// A setting that a system's own search chooses for its job, where a scenario has to say it.
struct Choice {
  const char* part = "";         ///< of `strategy`: "optimizer"
  const char* key = "";          ///< "delayed_share"
  std::vector<double> values{};  ///< that are tried
};

/// One system: a schedule over parts, from one paper. Adding one is its file in systems/, its test
/// and its name in the catalogue.
struct System {
  const char* name = "";
  const char* summary = "";
  const char* source = "";
  /// What people start to train so: a maintained program ("DeepSpeed"), code that a paper's authors
  /// published, or no program that can be had.
  Program program = Program::none;
  Schedule schedule = Schedule::streaming;
  /// The parts and knobs it has when a scenario says nothing.
  description::Strategy (*defaults)() = nullptr;
  std::optional<Form> other_form{};
  /// What it does differs by the version of its program, each a preset that ships; the defaults are
  /// of none of them.
  bool has_versions = false;
  std::vector<Choice> choices{};
};

/// All systems, in the order of their papers.
std::span<const System> catalogue();
/// Null when there is none of this name.
const System* find_system(const std::string& name);

/// The parts and knobs of a system that is there, for another that differs from it in some.
description::Strategy defaults_of(const std::string& name);

/// Its schedule carries out plans of whole steps, tensor by tensor.
bool plans_steps(const std::string& system);

}  // namespace spillway::strategies
