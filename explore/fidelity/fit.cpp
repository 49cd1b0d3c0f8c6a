#include "explore/fidelity/fit.hpp"

#include "explore/fidelity/figure_value.hpp"
#include "explore/fidelity/least_squares.hpp"
#include "explore/fidelity/machine_parameter.hpp"
#include "explore/fidelity/setups.hpp"
#include "scenarios/description/pinned_interval.hpp"
#include "scenarios/document/document.hpp"
#include "scenarios/json/schema_check.hpp"
#include "scenarios/json/shipped.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <fstream>

namespace spillway::explore {

using description::ScenarioError;
using nlohmann::json;
using scenarios::Figure;

namespace {

constexpr const char* machines = "scenarios/machines";

/// A shipped machine's file; one that names parts or extends another with all of its numbers.
nlohmann::ordered_json written_machine(const std::string& name) {
  const auto known = scenarios::shipped_names(machines);
  if (std::find(known.begin(), known.end(), name) == known.end())
    throw ScenarioError({scenarios::unknown_name({"--fit", 0, 0}, "", name, known)});
  std::ifstream file(scenarios::shipped_file(machines, name));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto written = nlohmann::ordered_json::parse(text, nullptr, true, true);  // keeps the keys' order
  const json resolved =
      scenarios::assemble(scenarios::located_at({{"machine", name}}, {}), {}).machine.json.value;
  if (!resolved.contains("bought")) return written;
  return nlohmann::ordered_json::parse(resolved.dump());
}

bool runs_on(const Figure& figure, const std::string& machine) {
  return std::all_of(figure.setups.begin(), figure.setups.end(), [&](const auto& setup) {
    const json scenario = scenarios::assemble(setup.second, {}).scenario.value;
    return scenario.contains("machine") && scenario["machine"] == machine;
  });
}

std::vector<Figure> figures_on(const std::vector<Figure>& figures, const std::string& machine) {
  std::vector<Figure> found;
  for (const Figure& figure : figures)
    if (figure.fit && runs_on(figure, machine)) found.push_back(figure);
  return found;
}

/// Why a figure cannot be fitted on; "" when it can.
std::string left_out(const Figure& figure, const std::map<std::string, Setup>& setups) {
  for (const auto& [name, setup] : setups)
    if (!setup.run) return setup.skipped;
  if (figure.fits.empty()) return "settings were chosen on it, no parameter";
  if (figure.value == 0 || figure.tolerance == 0) return "yes or no has no slope";
  return "";
}

/// "strategy.optimizer.host_fill" of a resolved scenario, as text.
std::string setting_of(const description::Scenario& scenario, const std::string& path) {
  const json all = scenario;
  const json::json_pointer at(scenarios::pointer_of(path));
  if (!all.contains(at)) return "its default";
  return all[at].is_string() ? all[at].get<std::string>() : all[at].dump();
}

std::vector<result::FitChoice> choices(const std::vector<Figure>& figures, const Setups& setups) {
  std::vector<result::FitChoice> found;
  for (std::size_t i = 0; i < figures.size(); ++i)
    for (const std::string& setting : figures[i].chosen)
      for (const auto& [name, setup] : setups.of[i]) {
        if (!setup.run) continue;
        const std::string value = setting_of(setups.scenarios[*setup.run], setting);
        auto same = std::find_if(found.begin(), found.end(), [&](const auto& one) {
          return one.setting == setting && one.value == value;
        });
        if (same == found.end()) same = found.insert(found.end(), {setting, value, {}});
        const bool told = !same->figures.empty() && same->figures.back() == figures[i].id;
        if (!told) same->figures.push_back(figures[i].id);
      }
  return found;
}

/// Simulates figures at points of the parameter space.
class Experiment {
 public:
  Experiment(const Backend& backend, std::vector<Figure> figures,
             std::vector<MachineParameter> parameters, std::size_t jobs)
      : backend_(backend),
        figures_(std::move(figures)),
        parameters_(std::move(parameters)),
        jobs_(jobs) {
    for (const Figure& figure : figures_) metrics_.emplace_back(figure);
  }
  Experiment(const Experiment&) = delete;  // metrics point at its figures
  Experiment& operator=(const Experiment&) = delete;

  /// What all figures say, in their units, at each of `points`; all simulated at once.
  std::vector<std::vector<FigureValue>> found_at(const std::vector<Numbers>& points) const {
    std::vector<Setups> setups;
    std::vector<description::Scenario> all;
    for (const Numbers& point : points) {
      setups.push_back(resolve_setups(figures_, overrides_at(point)));
      all.insert(all.end(), setups.back().scenarios.begin(), setups.back().scenarios.end());
    }
    const std::vector<Outcome> outcomes = simulate_all(backend_, all, jobs_);
    std::vector<std::vector<FigureValue>> found;
    std::size_t first = 0;
    for (const Setups& one : setups) {
      found.push_back(found_in(one, std::span(outcomes).subspan(first, one.scenarios.size())));
      first += one.scenarios.size();
    }
    return found;
  }

  /// Throws  ScenarioError when a figure has no value at one of `points`
  std::vector<Numbers> values_at(const std::vector<Numbers>& points) const {
    std::vector<Numbers> values;
    for (const std::vector<FigureValue>& found : found_at(points)) {
      Numbers& at_point = values.emplace_back();
      for (std::size_t i = 0; i < found.size(); ++i) {
        if (!found[i].value)
          throw ScenarioError(
              {{figures_[i].place.file, figures_[i].place.line, 0, figures_[i].id,
                words(found[i].problem), "it has a value at the machine file's numbers"}});
        at_point.push_back(*found[i].value);
      }
    }
    return values;
  }

  std::vector<Numbers> residuals_at(const std::vector<Numbers>& points) const {
    std::vector<Numbers> all = values_at(points);
    for (Numbers& values : all)
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = (values[i] / figures_[i].value - 1) / figures_[i].tolerance;
    return all;
  }

  const std::vector<Figure>& figures() const { return figures_; }
  const std::vector<MachineParameter>& parameters() const { return parameters_; }

 private:
  std::vector<std::string> overrides_at(const Numbers& point) const {
    std::vector<std::string> overrides;
    for (std::size_t j = 0; j < point.size(); ++j)
      overrides.push_back(parameters_[j].override_with(point[j]));
    return overrides;
  }

  std::vector<FigureValue> found_in(const Setups& setups, std::span<const Outcome> outcomes) const {
    std::vector<json> results;
    for (const Outcome& outcome : outcomes) results.emplace_back(result_of(outcome));
    std::vector<FigureValue> found;
    for (std::size_t i = 0; i < figures_.size(); ++i) {
      std::map<std::string, const json*> named;
      for (const auto& [name, setup] : setups.of[i]) named[name] = &results[*setup.run];
      found.push_back(metrics_[i](named));
      if (found.back().value) *found.back().value /= figures_[i].scale;
    }
    return found;
  }

  const Backend& backend_;
  std::vector<Figure> figures_;
  std::vector<MachineParameter> parameters_;
  std::size_t jobs_;
  std::vector<Metric> metrics_;
};

/// A parameter may move so many times its value.
constexpr double widest = 10;

LeastSquaresProblem problem_of(const std::vector<MachineParameter>& parameters) {
  LeastSquaresProblem problem;
  for (const MachineParameter& parameter : parameters) {
    problem.start.push_back(parameter.value());
    problem.low.push_back(parameter.value() / widest);
    problem.high.push_back(std::min(parameter.value() * widest, parameter.most()));
  }
  return problem;
}

/// Cosine of the angle between two parameters' columns of sensitivities.
double alike(const std::vector<result::FitFigure>& figures, std::size_t a, std::size_t b) {
  double product = 0, first = 0, second = 0;
  for (const result::FitFigure& figure : figures) {
    product += figure.sensitivity[a] * figure.sensitivity[b];
    first += figure.sensitivity[a] * figure.sensitivity[a];
    second += figure.sensitivity[b] * figure.sensitivity[b];
  }
  return first > 0 && second > 0 ? std::abs(product) / std::sqrt(first * second) : 0;
}

std::string note_on(const result::Fit& fit, std::size_t j, const LeastSquaresProblem& problem,
                    double value) {
  constexpr double too_alike = 0.999;
  if (fit.parameters[j].sensitivity == 0) return "no figure that runs depends on it";
  if (value >= problem.high[j] || value <= problem.low[j]) return "at its bound";
  for (std::size_t other = 0; other < fit.parameters.size(); ++other)
    if (other != j && alike(fit.figures, j, other) > too_alike)
      return "only together with " + fit.parameters[other].path;
  return "";
}

/// Where the figures that a parameter moves by at least a tenth of its own change let it lie, each
/// met at a value of its own while all other parameters stay; with the parameter itself between.
void add_interval(result::FitParameter& one, const MachineParameter& parameter, std::size_t j,
                  const std::vector<result::FitFigure>& figures, double value) {
  constexpr double pins = 0.1;
  double low = value, high = value;
  for (const result::FitFigure& figure : figures) {
    const double slope = figure.sensitivity[j];
    if (std::abs(slope) < pins) continue;
    const double met = value * std::pow(figure.published / figure.after, 1 / slope);
    low = std::min(low, std::max(met, value / widest));
    high = std::max(high, std::min({met, value * widest, parameter.most()}));
    one.from.push_back(figure.id);
  }
  if (one.from.size() < 2) return one.from.clear();
  one.low = parameter.text(low);
  one.high = parameter.text(high);
}

/// Figures and parameters with their sensitivities at the fitted point.
void report(result::Fit& fit, const Experiment& experiment, const LeastSquaresProblem& problem,
            const Numbers& fitted) {
  const auto values = experiment.values_at({problem.start, fitted});
  const auto slopes = jacobian(problem, fitted, [&](const std::vector<Numbers>& points) {
    return experiment.values_at(points);
  });
  const auto& figures = experiment.figures();
  const auto& parameters = experiment.parameters();
  for (std::size_t i = 0; i < figures.size(); ++i) {
    fit.figures.push_back({figures[i].id,
                           figures[i].unit,
                           figures[i].value,
                           values[0][i],
                           values[1][i],
                           figures[i].tolerance,
                           {}});
    for (std::size_t j = 0; j < parameters.size(); ++j)
      fit.figures.back().sensitivity.push_back(slopes[i][j] * fitted[j] / values[1][i]);
  }
  for (std::size_t j = 0; j < parameters.size(); ++j) {
    double sum = 0;
    for (const result::FitFigure& figure : fit.figures) sum += std::pow(figure.sensitivity[j], 2);
    fit.parameters.push_back({parameters[j].path(), parameters[j].text(problem.start[j]),
                              parameters[j].text(fitted[j]), fitted[j] / problem.start[j] - 1,
                              std::sqrt(sum), ""});
  }
  for (std::size_t j = 0; j < parameters.size(); ++j) {
    fit.parameters[j].note = note_on(fit, j, problem, fitted[j]);
    add_interval(fit.parameters[j], parameters[j], j, fit.figures, fitted[j]);
  }
}

std::vector<MachineParameter> parameters_of(const std::vector<Figure>& figures,
                                            const json& machine) {
  std::vector<std::string> paths;
  for (const Figure& figure : figures)
    for (const std::string& path : figure.fits)
      if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
  std::vector<MachineParameter> parameters;
  for (const std::string& path : paths) parameters.emplace_back(machine, path);
  return parameters;
}

/// The figures to fit on; the others go to `fit.left_out` with the reason.
std::vector<Figure> taken_of(const Backend& backend, const std::vector<Figure>& all,
                             const Setups& setups, std::size_t jobs, result::Fit& fit) {
  std::vector<Figure> candidates, taken;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string why = left_out(all[i], setups.of[i]);
    if (why.empty()) candidates.push_back(all[i]);
    if (!why.empty()) fit.left_out.emplace_back(all[i].id, why);
  }
  const auto found = Experiment(backend, candidates, {}, jobs).found_at({Numbers{}}).front();
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (found[i].value) taken.push_back(candidates[i]);
    if (!found[i].value) fit.left_out.emplace_back(candidates[i].id, found[i].problem);
  }
  return taken;
}

/// Behind the sources of fitted values, in place of those of an earlier fit.
void write_intervals(const result::Fit& fit, nlohmann::ordered_json& file) {
  for (const result::FitParameter& one : fit.parameters) {
    if (!file.contains("sources") || !file["sources"].contains(one.path)) continue;
    nlohmann::ordered_json& source = file["sources"][one.path];
    const auto text = source.get<std::string>();
    source = one.from.empty() ? description::without_interval(text)
                              : description::with_interval(text, {one.low, one.high, one.from});
  }
}

}  // namespace

Fitted fit_machine(const Backend& backend, const std::vector<Figure>& figures,
                   const std::string& machine, std::size_t jobs) {
  auto file = written_machine(machine);
  Fitted answer;
  answer.fit.machine = machine;
  const std::vector<Figure> all = figures_on(figures, machine);
  const Setups setups = resolve_setups(all);
  answer.fit.chosen = choices(all, setups);
  const std::vector<Figure> taken = taken_of(backend, all, setups, jobs, answer.fit);
  if (!taken.empty()) {
    const Experiment experiment(backend, taken, parameters_of(taken, json(file)), jobs);
    const LeastSquaresProblem problem = problem_of(experiment.parameters());
    const Numbers fitted = least_squares(problem, [&](const std::vector<Numbers>& points) {
      return experiment.residuals_at(points);
    });
    report(answer.fit, experiment, problem, fitted);
    for (std::size_t j = 0; j < fitted.size(); ++j)
      file[nlohmann::ordered_json::json_pointer(experiment.parameters()[j].pointer())] =
          experiment.parameters()[j].written(fitted[j]);
    write_intervals(answer.fit, file);
  }
  answer.machine_file = file.dump(2) + "\n";
  return answer;
}

}  // namespace spillway::explore
