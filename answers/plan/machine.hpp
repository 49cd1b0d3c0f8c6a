#pragma once

#include "answers/plan/question.hpp"
#include "reports/answer/machine.hpp"
#include "scenarios/document/price_list.hpp"

namespace spillway::answers {

/// What is the cheapest box that trains a model fast enough?
struct MachineQuestion : WayOptions {
  scenarios::PriceList list;  ///< at the prices that hold
  std::string model, precision = "bf16_mixed";
  std::optional<std::uint64_t> sequence;  ///< tokens of a sample; absent: sample_tokens
  double tokens_per_day = 0, budget_usd = 0;
  double years = 0;                    ///< that its drives have to last; 0: however long
  std::uint64_t most = 5000;           ///< simulations at most before the answer stands
  std::vector<std::string> overrides;  ///< "path=value" of everything that is tried
  std::vector<std::string> prices;     ///< the same, for prices by the hour
  std::optional<double> tokens;        ///< of the finished run
  bool range = false;
  std::string today;  ///< as in PlanQuestion
};

/// The cheapest box of the list, and those that files are written of.
struct MachineFound {
  answer::BestMachine answer;
  nlohmann::json machine;  ///< the machine file of the answer; null without one
};

///   progress  told of the price of the boxes that are looked at
///   Throws    ScenarioError when no setting goes with any box
MachineFound machine(const explore::Backend& backend, const MachineQuestion& question,
                     const std::function<void(double price_usd)>& progress = {});

}  // namespace spillway::answers
