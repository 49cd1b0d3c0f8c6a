#pragma once

#include "explore/outcome/outcomes.hpp"
#include "explore/points/points.hpp"
#include "explore/store/store.hpp"
#include "reports/result/number.hpp"

#include <span>

namespace spillway::explore {

/// What a space says of a scenario's numbers.
struct Judgement {
  std::string verdict;        ///< accepted, rejected, infeasible, failed
  std::string reason;         ///< of all but the first
  nlohmann::json objectives;  ///< {path: value} of what fits
  std::vector<double> costs;  ///< of what is accepted: by objective, the smaller the better
};

/// The constraints and objectives of a space, read and checked once.
class Measures {
 public:
  /// What stands for a name: a number of a result, or one that the point itself decides.
  struct Name {
    std::string path;
    std::optional<Points::Source> source;  ///< absent: of the result
  };
  struct Constraint {
    std::string text;
    Expression expression;
    std::vector<Name> names;  ///< as the expression's
  };
  struct Goal {
    std::string path;
    bool smaller = true;
  };

  /// Throws  ScenarioError: what is no expression; what neither a result nor the scenario has
  explicit Measures(const Points& points);

  /// What came of a scenario, with the numbers that this space and people ask for.
  ScenarioRow row_of(const Outcome& outcome, double seconds) const;
  /// Whether a row, maybe of another space, has all that this one asks for; one that failed has
  /// nothing.
  bool complete(const ScenarioRow& row) const;
  Judgement judge(const ScenarioRow& row, const Coordinates& at) const;

  const std::vector<Constraint>& constraints() const { return constraints_; }
  const std::vector<Goal>& goals() const { return goals_; }

 private:
  void add_constraint(const scenarios::Condition& condition, const Points& points,
                      std::vector<description::Complaint>& complaints);

  std::vector<Constraint> constraints_;
  std::vector<Goal> goals_;
  std::vector<std::string> asked_;  ///< paths of results
};

/// Whether results have such a path.
bool result_has(const std::string& path);

using result::number_in;

}  // namespace spillway::explore
