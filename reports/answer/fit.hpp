#pragma once

#include "reports/answer/more_samples.hpp"
#include "reports/result/result.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace spillway::answer {

/// The one change that helps most.
struct FitChange {
  std::string words;             ///< "one more drive on nvme"
  std::vector<std::string> set;  ///< "path=value" on the scenario that it changes
  std::optional<double> tokens_per_s;
  std::optional<double> price_usd;  ///< of the machine with it
  /// Of what makes something fit, and of a fused loss: with more samples a step there.
  std::optional<MoreSamples> more_samples{};
  /// To be paid for it; more than the machine costs more where what is replaced brings nothing.
  std::optional<double> outlay_usd{};
};

/// What a way to train would need of every tier, reserves included.
struct FitNeed {
  std::string words;  ///< "zero_offload, micro-batch 1"
  std::optional<result::RunsWith> runs_with;
  std::map<std::string, std::uint64_t> needed_bytes;  ///< by tier: gpu host ssd
  std::map<std::string, std::uint64_t> has_bytes;     ///< of the same tiers
  text::Text why_not;                                 ///< which are too small
};

/// What `spillway fit` answers: does a model train on a box, how fast, and what would help?
struct FitAnswer {
  bool fits = false;  ///< with what people can run, where that was asked for; else with anything
  /// By tier: of the answer where it fits, else of what needs least; absent: not known.
  std::optional<std::map<std::string, std::uint64_t>> needed_bytes;
  text::Text why_not;  ///< what stops the one that needs least; "" where it fits
  /// Where nothing that people can run fits: what that would need, the cheapest to buy for first.
  std::vector<FitNeed> needs;
  std::optional<result::Result> runnable;  ///< the fastest that a maintained program trains
  std::optional<result::Result> best;      ///< the fastest of all; the same where it is
  /// Where something that people can run fits, what makes it faster; else what makes such fit.
  std::optional<FitChange> change;
  /// Of what people can run, where more samples a step make it faster; absent: they do not, or a
  /// step has several micro-batches already.
  std::optional<MoreSamples> more_samples;
  /// Of what people can run, with settings that cost nothing, where that is faster: a loss that
  /// never holds whole logits, or experts as modules. Where nothing that people can run fits: a
  /// base in 16 bits in place of fewer, with which such fits.
  std::optional<FitChange> fused_loss{};
  std::optional<double> price_usd;  ///< of the machine as it is asked about
  /// Of each, where it swaps parts of its system: "lohan + pinned exact"; else empty.
  std::string runnable_way{}, best_way{};
  std::vector<std::string> untried;  ///< systems that may be faster than `best`
  std::vector<text::Text> notes;
  std::uint64_t bounded = 0, simulated = 0;
  bool whole = true;             ///< false: time was up before all was tried
  std::uint64_t unanswered = 0;  ///< simulations that could not be done: they may have fitted

  /// The one to act on.
  const result::Result* answer() const { return runnable ? &*runnable : best ? &*best : nullptr; }
};

// Schema spillway/answer/fit/1; as in simulation.hpp.
void to_json(nlohmann::json& json, const FitChange& change);
void from_json(const nlohmann::json& json, FitChange& change);
void to_json(nlohmann::json& json, const FitNeed& need);
void from_json(const nlohmann::json& json, FitNeed& need);
void to_json(nlohmann::json& json, const FitAnswer& answer);
void from_json(const nlohmann::json& json, FitAnswer& answer);

}  // namespace spillway::answer
