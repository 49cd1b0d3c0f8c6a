#pragma once

#include "reports/answer/trial.hpp"

namespace spillway::answer {

/// Which parts a box has, and how many of each.
struct BoxParts {
  std::string gpu, host, drive;  ///< names of the price list; `drive` is "" without drives
  std::uint64_t gpus = 0, drives = 0, host_memory_bytes = 0;
};

/// A box and the best that was simulated on it.
struct BoxOffer {
  std::string change;  ///< what makes it another box than the answer: "one drive fewer"
  std::string words;   ///< "2 x RTX 4090, desktop, 128 GiB, 3 x 990 PRO 2TB"
  BoxParts box;
  double price_usd = 0;
  bool meets = false;  ///< what is asked for, price aside
  Trial trial;         ///< of its best setting
};

/// Where another box becomes the cheapest, when the prices of all memory or of all drives move
/// together.
struct PriceBreak {
  std::string part;   ///< "dram", "ssd"
  std::string drive;  ///< whose price stands for all drives; "" of memory
  double factor = 1;  ///< of the prices of the list, above or below 1
  double usd = 0;     ///< now: of a GiB of memory, of that drive
  std::string words;  ///< the winner beyond it
};

/// What `spillway plan machine` answers: the cheapest box that trains a model fast enough.
struct BestMachine {
  std::string list;                           ///< the price list's name
  std::vector<std::string> cards;             ///< all that it has
  double tokens_per_day = 0, budget_usd = 0;  ///< that are asked for
  std::optional<BoxOffer> answer;             ///< absent: no box within the budget does it
  std::vector<BoxOffer> neighbours;           ///< a part more, less or other than the answer
  std::vector<BoxOffer> systems;              ///< the answer's box, the best of each other system
  std::vector<BoxOffer> runners_up;           ///< the cheapest with other cards or another host
  /// Without an answer: the fastest within the budget whose drives last, and the cheapest above it
  /// that does.
  std::optional<BoxOffer> nearest, dearer;
  /// The cheapest that does it with what people can run and many samples a step, where it costs
  /// less than the answer or there is none; absent too where the question says how many.
  std::optional<BoxOffer> more_samples;
  std::uint64_t accumulation = 0;  ///< micro-batches a step of `more_samples`
  bool whole = true;               ///< every cheaper box is ruled out or misses it
  std::uint64_t boxes = 0;         ///< within the budget
  std::uint64_t cheaper = 0;       ///< than the answer; without one, all within the budget
  std::uint64_t ruled_out = 0;     ///< of them, by bounds alone
  std::uint64_t missed = 0;        ///< of them, by simulation of all that bounds leave
  std::uint64_t meeting = 0;       ///< other boxes that were simulated and do it
  std::uint64_t late_missed = 0, bounded = 0, simulated = 0;
  std::uint64_t unanswered = 0;           ///< simulations that could not be done
  std::uint64_t late_looks = 0;           ///< explore::BoxSearch
  std::vector<std::string> late_systems;  ///< that were tried on the answer and cheaper boxes only
  std::vector<std::string> untried;       ///< systems that plan for one box: they were not searched
  std::vector<PriceBreak> break_even;
  double least_usd = 0;  ///< of the list's cheapest box, where none is within the budget
  /// Of the answer, with what each next piece of hardware would bring.
  std::optional<result::Result> result;
  std::vector<std::string> price_days;      ///< "gpu of 2026-09-01"
  std::vector<std::string> assumed_prices;  ///< that nobody states: "dram_per_gib"
  Certainty certainty;
  std::string old_prices;
};

// Schema spillway/answer/machine/1; as in plan.hpp.
void to_json(nlohmann::json& json, const BoxOffer& offer);
void from_json(const nlohmann::json& json, BoxOffer& offer);
void to_json(nlohmann::json& json, const BestMachine& machine);
void from_json(const nlohmann::json& json, BestMachine& machine);

}  // namespace spillway::answer
