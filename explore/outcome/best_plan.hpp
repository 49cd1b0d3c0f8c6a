#pragma once

#include "explore/outcome/lower_plans.hpp"
#include "explore/outcome/outcomes.hpp"
#include "strategies/bounds/mandatory.hpp"
#include "strategies/run/run.hpp"

namespace spillway::explore {

/// A result without who can run it, and what was decided for it.
struct DecidedRun {
  result::Result result;
  strategies::Decision decision;
};

/// Runs what was decided on a machine of the backend.
result::Result run_decided(const Backend& backend, const strategies::Decision& decision,
                           result::Trace* trace = nullptr);

/// The run of the plan for all of the machine.
DecidedRun decide_and_run(const Backend& backend, const description::Scenario& written,
                          WhenFull full, result::Trace* trace = nullptr,
                          const strategies::Probe& probe = strategies::counting_probe());

/// A scenario at first as it is written, then as the best plan below it that was found.
class BestPlan {
 public:
  BestPlan(const Backend& backend, const description::Scenario& written, result::Result own);
  /// probe  with which `own` was decided: it remembers what the plans have in common
  BestPlan(const Backend& backend, const description::Scenario& written, const DecidedRun& own,
           strategies::Probe probe);

  /// Tries plans round by round, as long as one is better.
  ///   in_children  those of a round side by side; else one after the other, in this process
  void search(bool in_children);

  /// Of what finish() gives.
  const description::Scenario& scenario() const { return plan_.scenario; }
  bool found() const { return is_better(best_, own_, worth_another_plan); }
  std::uint64_t simulated() const { return simulated_; }
  /// The same, of plans that were run in this process.
  strategies::Decision decision() const;

  /// The best as a result of the scenario as it is written, with a note on the plan.
  result::Result finish();

 private:
  strategies::StandsFor stands_for() const;
  bool improve(bool in_children);
  bool is_longer(const LowerPlan& plan);
  bool was_tried(const LowerPlan& plan);
  bool moves_as_one_before(const strategies::Decision& decision) const;
  bool take_run(const LowerPlan& plan, std::vector<text::Text> words,
                const strategies::Decision& above);
  bool take(const LowerPlan& plan, std::vector<text::Text> words, result::Result lower);
  std::vector<Outcome> all_of(const std::vector<LowerPlan>& plans);

  const Backend& backend_;
  strategies::Probe probe_;
  LowerPlan plan_;
  std::vector<text::Text> words_;
  std::uint64_t simulated_ = 0;  ///< in children
  result::Result own_, best_;
  std::optional<strategies::Decision> own_decision_, best_decision_;  ///< run in this process
  std::vector<nlohmann::json> tried_;      ///< scenarios of plans, in this process
  std::vector<strategies::Decision> run_;  ///< of those that were run
  /// What no plan does without; nothing where that is not known. Counted when first asked for.
  std::optional<std::optional<strategies::Mandatory>> mandatory_;
};

}  // namespace spillway::explore
