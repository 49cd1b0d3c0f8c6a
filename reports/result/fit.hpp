#pragma once

#include "reports/text/text.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace spillway::result {

/// A machine parameter, fitted again.
struct FitParameter {
  std::string path;           ///< "host.adam"
  std::string before, after;  ///< as people write it
  double change = 0;          ///< relative
  double sensitivity = 0;     ///< of all figures together: root of the sum of squares
  std::string note;           ///< what makes its value uncertain; may be empty
  /// Where the figures that pin it let it lie: each is met at a value of its own. Of fewer than two
  /// of them: "".
  std::string low = {}, high = {};
  std::vector<std::string> from = {};  ///< those figures
};

/// A figure of role `fit`, before and after.
struct FitFigure {
  std::string id, unit;
  double published = 0, before = 0, after = 0;
  double tolerance = 0;
  std::vector<double> sensitivity;  ///< d log metric / d log parameter, of each parameter

  double error_before() const { return (before - published) / published; }
  double error_after() const { return (after - published) / published; }
};

/// A setting of scenarios that was chosen on figures.
struct FitChoice {
  std::string setting, value;
  std::vector<std::string> figures;
};

/// A fit of one machine, repeated.
struct Fit {
  std::string machine;
  std::vector<FitParameter> parameters;
  std::vector<FitFigure> figures;
  std::vector<FitChoice> chosen;
  std::vector<std::pair<std::string, text::Text>> left_out;  ///< figure and why
};

void to_json(nlohmann::json& json, const Fit& fit);

}  // namespace spillway::result
