#pragma once

#include "scenarios/description/errors.hpp"
#include "strategies/systems/catalogue.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace spillway::explore {

/// A system with its own parts, or the parts of a scenario.
struct Way {
  std::string name;  ///< "lohan", "resident with recomputation", "lohan + pinned exact"
  /// `strategy={...}`, which comes first, and what else it sets.
  std::vector<std::string> overrides;
  bool plans = false;          ///< tensor by tensor for one box: that takes its time
  bool splits_layers = false;  ///< a loop of one's own, all on the GPUs: they may share layers too
  /// The way that is the same but for what the system's own search chooses (System::choices): of
  /// these only the fastest matters. "": it is none of these.
  std::string beside{};
};

/// The systems that are asked for; without any, all of the catalogue whose updates come in time.
/// What keeps everything on the GPU has three ways: blocks keep what backward needs, or compute it
/// again, or what they keep waits in host memory; what has another form (strategies::Form) has that
/// too, and what searches for some of its settings (System::choices) has chosen_ways. Then the
/// mixes that are asked for; without any and without systems, those that ship.
///   systems  names
///   mixes    files or names of scenarios/examples; "none": no mixes
///   Throws   ScenarioError: systems that the catalogue lacks; a mix that cannot be read or has no
///            strategy
std::vector<Way> ways_of(const std::vector<std::string>& systems,
                         const std::vector<std::string>& mixes);

/// The same, with expert_ways where the model has experts, without those that the user's overrides
/// rule out as ways of their own.
///   job        a scenario that names a machine, with or without a strategy
///   overrides  the user's: of two ways that they make the same the first stays
///   Throws     ScenarioError: one of them names a system, which all ways would then be
std::vector<Way> ways_of(const std::vector<std::string>& systems,
                         const std::vector<std::string>& mixes, const nlohmann::json& job,
                         const std::vector<std::string>& overrides);

/// A system with each combination of what its own search chooses, but for its defaults.
std::vector<Way> chosen_ways(const strategies::System& system);

/// What overrides of a strategy swap, behind the name of a way: " + gradients.accumulation fp16".
std::string parts_in_name(const std::vector<std::string>& overrides);

/// What is wrong with the names of systems that `--system` asks for; none: nothing.
///   mixes  whether a name of way_named is one too
std::vector<description::Complaint> unknown_systems(const std::vector<std::string>& systems,
                                                    bool mixes);

/// A system by its name, or the parts of a scenario that ships as an example.
Way way_named(const std::string& name);
/// Whether way_named takes it for a scenario's parts.
bool is_mix(const std::string& name);

}  // namespace spillway::explore
