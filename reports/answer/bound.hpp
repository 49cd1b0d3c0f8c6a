#pragma once

#include <nlohmann/json.hpp>

#include <map>
#include <optional>
#include <string>

namespace spillway::answer {

/// Bytes that a run holds at once at least, and what there is of them.
struct MemoryFloor {
  double floor_bytes = 0;
  double capacity_bytes = 0;  ///< without what is reserved; 0: no limit
};

/// What can be said of a scenario without a simulation, in about a millisecond: no run of it is
/// faster, and none needs less. That nothing is too small does not say that it fits.
struct Bound {
  bool known = false;     ///< false: it trains nothing, or its system says nothing before it runs
  std::string too_small;  ///< "host", "gpu" or "ssd", which cannot hold it; "": none is known to be
  double step_time_s = 0;                     ///< at least
  std::optional<double> tokens_per_s;         ///< at most; absent: no bound
  std::string limited_by;                     ///< what works longest in a step: a name of busy_s
  std::map<std::string, double> busy_s;       ///< at least, of a step: gpu h2d d2h network cpu
                                              ///< host_memory, and drives by name
  std::map<std::string, MemoryFloor> memory;  ///< gpu (the fullest), host, ssd; of a node
  std::map<std::string, double> io_bytes_per_step;  ///< at least: h2d d2h ssd_read ssd_write
  std::optional<double> price_usd;                  ///< of all nodes
};

void to_json(nlohmann::json& json, const MemoryFloor& floor);
void from_json(const nlohmann::json& json, MemoryFloor& floor);

/// {"schema": "spillway/answer/bound/1", ...}.
void to_json(nlohmann::json& json, const Bound& bound);
/// What is missing has its default.
///   Throws  ScenarioError on another schema, and with the path of a value of the wrong type
void from_json(const nlohmann::json& json, Bound& bound);

}  // namespace spillway::answer
