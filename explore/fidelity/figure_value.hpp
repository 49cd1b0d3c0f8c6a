#pragma once

#include "explore/expressions/expression.hpp"
#include "explore/outcome/outcomes.hpp"
#include "scenarios/reading/read_figures.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace spillway::explore {

/// What a figure's metric says of its setups' outcomes.
struct FigureValue {
  std::optional<double> value;  ///< in base units
  text::Text problem;           ///< why there is no value, or which word is another one
};

/// The metric of a figure, read and checked once.
class Metric {
 public:
  /// Throws  ScenarioError: no expression, or a name that starts with no setup of the figure
  explicit Metric(const scenarios::Figure& figure);

  /// Its value over `results`, JSON by setup's name. Entries that `by_purpose` and `by_storage` do
  /// not have are 0.
  ///   Throws  ScenarioError: results never have such a name
  FigureValue operator()(const std::map<std::string, const nlohmann::json*>& results) const;

  /// Its value if everything it names were 1, when it compares setups: 1 of a ratio, 0 of a
  /// difference or a saving; 1 where that is 0 / 0.
  std::optional<double> when_equal() const;

 private:
  const scenarios::Figure* figure_;
  Expression expression_;
};

}  // namespace spillway::explore
