#pragma once

#include "explore/outcomes.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace spillway::answers {

/// Does this model train on this machine, and how well?
struct FitQuestion {
  std::string model;                     ///< a name of models/library, a file, a folder
  nlohmann::json machine;                ///< a machine file, or its name
  std::optional<std::uint64_t> context;  ///< tokens of a sample; absent: 4096, or the model's limit
  std::optional<double> tokens;          ///< of the finished run
  bool runnable = false;                 ///< only what a maintained program trains
  std::vector<std::string> overrides;    ///< "path=value" of everything that is tried
};

/// The one change that helps most.
struct FitChange {
  std::string words;             ///< "one more drive: 1,240 tokens/s in place of 800"
  std::vector<std::string> set;  ///< "path=value" on the scenario that it changes
  std::optional<double> tokens_per_s;
  std::optional<double> price_usd;  ///< of the machine with it
};

/// What a way to train would need of every tier, reserves included.
struct FitNeed {
  std::string words;  ///< "zero_offload, micro-batch 1"
  std::optional<result::RunsWith> runs_with;
  std::map<std::string, std::uint64_t> needed_bytes;  ///< by tier: gpu host ssd
  std::map<std::string, std::uint64_t> has_bytes;     ///< of the same tiers
  std::string why_not;                                ///< which are too small
};

struct FitAnswer {
  bool fits = false;  ///< with what people can run, where that was asked for; else with anything
  /// By tier: of the answer where it fits, else of what needs least; absent: not known.
  std::optional<std::map<std::string, std::uint64_t>> needed_bytes;
  std::string why_not;  ///< what stops the one that needs least; "" where it fits
  /// Where nothing that people can run fits: what that would need, the cheapest to buy for first.
  std::vector<FitNeed> needs;
  std::optional<result::Result> runnable;  ///< the fastest that a maintained program trains
  std::optional<result::Result> best;      ///< the fastest of all; the same where it is
  /// Where something that people can run fits, what makes it faster; else what makes such fit.
  std::optional<FitChange> change;
  std::optional<double> price_usd;  ///< of the machine as it is asked about
  std::vector<std::string> notes;
  std::uint64_t bounded = 0, simulated = 0;

  /// The one to act on.
  const result::Result* answer() const { return runnable ? &*runnable : best ? &*best : nullptr; }
};

/// `schema` of its JSON.
inline constexpr const char* fit_schema = "spillway/answer/fit/1";

/// Answers with about twenty simulations; where nothing fits, with one of each way and a few more.
///   Throws  ScenarioError when the words mean nothing
FitAnswer fit(const explore::Backend& backend, const FitQuestion& question);

void to_json(nlohmann::json& json, const FitChange& change);
void from_json(const nlohmann::json& json, FitChange& change);
void to_json(nlohmann::json& json, const FitNeed& need);
void to_json(nlohmann::json& json, const FitAnswer& answer);

}  // namespace spillway::answers
