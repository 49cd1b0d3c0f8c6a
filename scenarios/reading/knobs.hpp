#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scenarios/reading/read_scenario.hpp"

namespace spillway::scenarios {

/// One value of a scenario or a machine that a person may set.
struct Knob {
  std::string path;                  ///< "strategy.weights.home"; "machine.storage.NAME.read"
  std::string words;                 ///< what it means
  std::string values;                ///< "gpu, host or ssd"; "a size such as \"24 GiB\", or auto"
  std::vector<std::string> choices;  ///< the words among them: gpu, host, ssd; true, false; auto
  bool only_choices = false;         ///< nothing else may be said
  std::string deepspeed;             ///< the key of its configuration; "" where it has none
  std::string systems;               ///< who reads it; "": every system that has use for it
  bool required = false;
  /// Default -> systems that have it; one entry without systems where it is everybody's.
  std::vector<std::pair<std::string, std::vector<std::string>>> defaults;
};

/// All of them, the scenario's first, then the machine's, by path; values from the schemas, words
/// from scenarios/knobs.
///   Throws  InternalError: a knob without words, or words of no knob
std::vector<Knob> knobs(const std::vector<SystemInfo>& systems);

/// Those that `asked` means: the knob of that path ("training.micro_batch"; list items by any
/// name), else those below it ("strategy.weights"), else those of which DeepSpeed's key has the
/// same steps ("offload_optimizer.device"), else those whose last keys it is ("micro_batch"), else
/// those in whose path it stands ("power"), else those whose key of DeepSpeed it is, or a part of
/// that key ("stage3_prefetch_bucket_size", "offload_param").
///   Result  empty when there is none
std::vector<Knob> knobs_named(const std::vector<Knob>& all, const std::string& asked);

}  // namespace spillway::scenarios
