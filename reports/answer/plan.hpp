#pragma once

#include "reports/answer/more_samples.hpp"
#include "reports/answer/simulation.hpp"
#include "reports/answer/trial.hpp"

namespace spillway::answer {

/// What `spillway plan largest` answers: the largest model, the longest context and the largest
/// batch that fit on a machine.
struct Largest {
  std::string model, system;    ///< of the largest; "": none fits
  std::uint64_t context = 0;    ///< tokens of a sample, of all but `contexts`
  std::vector<Trial> models;    ///< the smallest first, each with its fastest system
  std::vector<Trial> contexts;  ///< of `model` at micro-batch 1, the shortest first
  std::vector<Trial> batches;   ///< of `model`, the smallest first
  TrialCounts counts;
  Certainty certainty;
  std::string old_prices;  ///< which prices are more than a year old; "": none is

  /// Of `models`; nullptr: none fits.
  const Trial* largest() const;
};

/// Drives of one kind, from one of them on.
struct DriveClass {
  std::string name;
  double price_usd = 0;       ///< of one; 0: no price is known
  std::vector<Trial> trials;  ///< by count, from 1
  /// The fewest that are nearly as good as the best of all and last; absent: no number is.
  std::optional<std::uint64_t> drives;

  const Trial* enough() const { return drives ? &trials.at(*drives - 1) : nullptr; }
  /// Of those that are enough.
  double cost_usd() const { return price_usd * static_cast<double>(drives.value_or(0)); }
};

/// What `spillway plan drives` answers: how many drives are enough, of which kind, and how long
/// they last.
struct Drives {
  /// Tokens a second of the fastest that was tried, of which as many are enough.
  static constexpr double enough_speed = 0.98;

  std::vector<DriveClass> classes;  ///< the machine's own first
  double years = 0;                 ///< that their flash has to last; 0: however long
  TrialCounts counts;
  /// With the drives that are enough, and what each next piece of hardware would bring.
  std::optional<result::Result> result;
  std::vector<text::Text> notes;  ///< where none is enough: what would do without drives
  Certainty certainty;
  std::string old_prices;

  /// The class of which enough drives cost least; nullptr: none is enough.
  const DriveClass* cheapest() const;
  /// Whether the flash of a trial that fits stands `years`; the maker's warranty may end before.
  bool lasts(const Trial& trial) const;
  /// Of all that fits the one that lasts longest; nullptr: nothing fits or nothing wears.
  const Trial* longest_lasting() const;
};

/// What DeepSpeed makes of the settings that it can run.
struct DeepSpeedChoice {
  std::string words;     ///< the trial that it is made of
  bool is_best = false;  ///< that trial is the fastest of all
  std::string version;   ///< "0.18"
  double tokens_per_s = 0;
  nlohmann::json scenario;       ///< what DeepSpeed does with it
  bool needs_nvme_path = false;  ///< its file is not whole without the folder on the drives
  nlohmann::json ds_config;
  std::vector<text::Text> notes;
};

/// What `spillway plan settings` answers about one model: the best system and batch on a machine.
struct BestSettings {
  std::string model;
  std::vector<Trial> trials;
  std::optional<std::uint64_t> best;  ///< of `trials`, the fastest; absent: none fits
  TrialCounts counts;
  std::optional<DeepSpeedChoice> deepspeed;  ///< the fastest that DeepSpeed can run; absent: none
  std::string refusal;  ///< why DeepSpeed cannot run a faster one, or any; "": it runs the fastest
  /// Of the fastest that people can run; absent: it is no faster, or the question says how many
  /// samples a step has.
  std::optional<MoreSamples> more_samples;
  std::vector<FasterSettings> faster;  ///< than the fastest of the trials, the shortest step first
  Certainty certainty;
  std::string old_prices;

  const Trial* best_trial() const { return best ? &trials.at(*best) : nullptr; }
};

// Schemas: spillway/answer/largest/1, drives/1, settings/1. Reading, as in simulation.hpp, takes
// what an older release wrote and throws ScenarioError.
void to_json(nlohmann::json& json, const Largest& largest);
void from_json(const nlohmann::json& json, Largest& largest);
void to_json(nlohmann::json& json, const Drives& drives);
void from_json(const nlohmann::json& json, Drives& drives);
void to_json(nlohmann::json& json, const BestSettings& settings);
void from_json(const nlohmann::json& json, BestSettings& settings);

}  // namespace spillway::answer
