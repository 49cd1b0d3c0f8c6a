#include "explore/fidelity/fidelity.hpp"

#include "explore/fidelity/figure_value.hpp"
#include "explore/fidelity/setups.hpp"
#include "scenarios/json/schema_check.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

namespace spillway::explore {

using description::Complaint;
using description::ScenarioError;
using result::JudgedFigure;
using result::Standing;
using result::Verdict;
using scenarios::Figure;
using scenarios::KnownFigures;
using scenarios::OpenFigure;
using scenarios::Relation;

namespace {

constexpr const char* fitted_role = "fit";

const char* to_string(Relation relation) {
  return relation == Relation::at_least ? ">=" : relation == Relation::at_most ? "<=" : "==";
}

/// Runs `action` and keeps what it complains about.
template <class Action>
void collecting(std::vector<Complaint>& complaints, Action action) {
  try {
    action();
  } catch (const ScenarioError& error) {
    complaints.insert(complaints.end(), error.complaints().begin(), error.complaints().end());
  }
}

void stop_when_wrong(std::vector<Complaint>& complaints) {
  if (complaints.empty()) return;
  scenarios::tidy(complaints);
  throw ScenarioError(complaints);
}

/// What `value` differs from what is published by; rounding of the last digit is no difference.
double error_of(const Figure& figure, double value) {
  const double difference = value - figure.value;
  return figure.value == 0 ? difference : difference / std::abs(figure.value);
}

bool within(const Figure& figure, double error) {
  constexpr double rounding = 1e-12;
  const bool low = error < -figure.tolerance - rounding;
  const bool high = error > figure.tolerance + rounding;
  return !(low && figure.relation != Relation::at_most) &&
         !(high && figure.relation != Relation::at_least);
}

/// Whether a comparison comes out on the published side of what it is `when_equal`. Published as
/// equal or as a bound: whether that holds.
bool ordered(const Figure& figure, double when_equal, double value, bool holds) {
  if (figure.relation != Relation::equal || figure.value == when_equal) return holds;
  return (figure.value > when_equal) == (value > when_equal) && value != when_equal;
}

JudgedFigure not_run(const Figure& figure) {
  JudgedFigure judged;
  judged.id = figure.id;
  judged.paper = figure.paper();
  judged.source = figure.source;
  judged.metric = figure.metric;
  judged.unit = figure.unit;
  judged.relation = to_string(figure.relation);
  judged.role = figure.fit ? fitted_role : "check";
  judged.published = figure.value;
  judged.tolerance = figure.tolerance;
  judged.truth = figure.truth;
  judged.verdict = Verdict::skip;
  return judged;
}

text::Text beyond(const JudgedFigure& judged) {
  if (judged.truth)
    return *judged.simulated != 0 ? "yes where no is published" : "no where yes is published";
  const text::Number off = text::number(judged.error.value_or(0), text::Quantity::error);
  if (judged.tolerance == 0) return off;
  return text::filled("{} where {} are allowed",
                      {off, text::number(judged.tolerance, text::Quantity::deviation)});
}

bool drifted(const OpenFigure& open, const std::optional<double>& simulated) {
  if (open.simulated.has_value() != simulated.has_value()) return true;
  return simulated &&
         std::abs(*simulated - *open.simulated) > drift_allowed * std::abs(*open.simulated);
}

text::Text value_text(const std::optional<double>& value, const std::string& unit) {
  if (!value) return "without a value";
  return text::number(*value, text::Quantity::figure, unit);
}

/// Turns a miss into what the open list makes of it.
void compare_with(const OpenFigure& open, JudgedFigure& judged) {
  if (judged.verdict == Verdict::ok) {
    judged.verdict = Verdict::closed;
    judged.reason = "holds now: take it off the list of open figures";
  } else if (judged.verdict == Verdict::miss && drifted(open, judged.simulated)) {
    judged.verdict = Verdict::drift;
    judged.reason =
        text::filled("was open at {}: {}", {value_text(open.simulated, judged.unit), open.reason});
  } else if (judged.verdict == Verdict::miss && judged.role == fitted_role) {
    judged.reason =
        text::filled("parameters are fitted on it, so it may not be open: {}", {open.reason});
  } else if (judged.verdict == Verdict::miss && !open.reason.empty()) {
    judged.verdict = Verdict::open;
    judged.reason = open.reason;
  } else if (judged.verdict == Verdict::miss) {
    judged.reason = "is listed as open without a reason";
  }
}

/// Gives a figure that holds the reason why it is beyond the common tolerance.
void compare_beyond(const OpenFigure& beyond, JudgedFigure& judged) {
  if (judged.verdict != Verdict::ok) return;
  if (result::within_common(judged)) {
    judged.verdict = Verdict::closed;
    judged.reason = "is within the common tolerance now: take it off the list of those beyond it";
  } else if (drifted(beyond, judged.simulated)) {
    judged.verdict = Verdict::drift;
    judged.reason = text::filled("was beyond the common tolerance at {}: {}",
                                 {value_text(beyond.simulated, judged.unit), beyond.reason});
  } else {
    judged.reason = beyond.reason;
  }
}

/// The entry of a figure; null where `list` has none.
const OpenFigure* entry_of(const std::vector<OpenFigure>& list, const std::string& id) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](auto& one) { return one.id == id; });
  return found == list.end() ? nullptr : &*found;
}

/// A reason counts as a mechanism where it is of the value that is simulated now.
Standing standing_of(const JudgedFigure& judged, const OpenFigure* entry) {
  if (judged.verdict == Verdict::skip) return Standing::none;
  if (result::within_common(judged)) return Standing::within;
  const bool known = judged.verdict == Verdict::ok || judged.verdict == Verdict::open;
  return known && entry && entry->established && !entry->reason.empty() ? Standing::mechanism
                                                                        : Standing::unexplained;
}

void compare_with(const KnownFigures& known, JudgedFigure& judged) {
  const OpenFigure* open = entry_of(known.open, judged.id);
  const OpenFigure* beyond = entry_of(known.beyond, judged.id);
  if (open) compare_with(*open, judged);
  if (beyond) compare_beyond(*beyond, judged);
  judged.standing = standing_of(judged, open ? open : beyond);
}

/// Six digits: what is written into a list reads the same on every machine.
double rounded(double value) { return std::stod(fmt::format("{:.6g}", value)); }

/// Judges figures over outcomes that are there.
class Judge {
 public:
  Judge(const Setups& setups, const std::vector<Outcome>& outcomes)
      : setups_(setups), outcomes_(outcomes) {
    for (const Outcome& outcome : outcomes)
      results_.push_back(outcome.result ? nlohmann::json(*outcome.result) : nlohmann::json());
  }

  JudgedFigure operator()(const Figure& figure, const Metric& metric, std::size_t index) const {
    JudgedFigure judged = not_run(figure);
    std::map<std::string, const nlohmann::json*> results;
    for (const auto& [name, setup] : setups_.of[index]) {
      judged.reason = setup.skipped;
      if (!setup.run) return judged;
      judged.reason = failure_of(name, outcomes_[*setup.run]);
      if (!judged.reason.empty()) {
        judged.verdict = Verdict::miss;
        return judged;
      }
      results[name] = &results_[*setup.run];
    }
    weigh(judged, figure, metric, metric(results));
    return judged;
  }

 private:
  static std::string failure_of(const std::string& setup, const Outcome& outcome) {
    if (outcome.result) return "";
    const std::string what = outcome.complaints.empty() ? outcome.failure
                                                        : outcome.complaints.front().path + ": " +
                                                              outcome.complaints.front().message;
    return setup + " failed: " + what;
  }

  static void weigh(JudgedFigure& judged, const Figure& figure, const Metric& metric,
                    const FigureValue& found) {
    judged.verdict = Verdict::miss;
    judged.reason = found.problem;
    if (!found.value) return;
    judged.simulated = *found.value / figure.scale;
    judged.error = error_of(figure, *judged.simulated);
    const bool holds = within(figure, *judged.error);
    const auto equal = metric.when_equal();
    if (equal || figure.relation != Relation::equal)
      judged.ordering = ordered(figure, equal.value_or(1), *judged.simulated, holds);
    if (judged.reason.empty() && !holds) judged.reason = beyond(judged);
    if (judged.reason.empty()) judged.verdict = Verdict::ok;
  }

  const Setups& setups_;
  const std::vector<Outcome>& outcomes_;
  std::vector<nlohmann::json> results_;
};

void summarize(result::Fidelity& fidelity) {
  std::vector<std::string> papers;
  for (const JudgedFigure& figure : fidelity.figures)
    if (std::find(papers.begin(), papers.end(), figure.paper) == papers.end())
      papers.push_back(figure.paper);
  for (const std::string& paper : papers) {
    std::vector<JudgedFigure> own;
    for (const JudgedFigure& figure : fidelity.figures)
      if (figure.paper == paper) own.push_back(figure);
    fidelity.papers.push_back(result::summary_of(paper, own));
    for (result::FidelityKind& kind : result::kinds_of(paper, own))
      fidelity.kinds.push_back(std::move(kind));
  }
  if (papers.size() > 1)
    for (result::FidelityKind& kind : result::kinds_of("all", fidelity.figures))
      fidelity.kinds.push_back(std::move(kind));
  fidelity.overall = result::summary_of("all", fidelity.figures);
}

}  // namespace

std::vector<Figure> filtered(const std::vector<Figure>& figures, const std::string& text) {
  std::vector<Figure> found;
  for (const Figure& figure : figures)
    if (figure.id.find(text) != std::string::npos || figure.source.find(text) != std::string::npos)
      found.push_back(figure);
  return found;
}

result::Fidelity judge(const Backend& backend, const std::vector<Figure>& figures,
                       const KnownFigures& known, std::size_t jobs) {
  std::vector<Complaint> complaints;
  std::vector<Metric> metrics;
  Setups setups;
  for (const Figure& figure : figures)
    collecting(complaints, [&] { metrics.emplace_back(figure); });
  collecting(complaints, [&] { setups = resolve_setups(figures); });
  stop_when_wrong(complaints);
  const std::vector<Outcome> outcomes = simulate_all(backend, setups.scenarios, jobs);
  const Judge judge_one(setups, outcomes);
  result::Fidelity fidelity;
  for (std::size_t i = 0; i < figures.size(); ++i)
    collecting(complaints,
               [&] { fidelity.figures.push_back(judge_one(figures[i], metrics[i], i)); });
  stop_when_wrong(complaints);
  for (JudgedFigure& judged : fidelity.figures) compare_with(known, judged);
  summarize(fidelity);
  return fidelity;
}

KnownFigures recorded(const result::Fidelity& fidelity, const KnownFigures& known) {
  KnownFigures lists;
  std::vector<std::string> judged_ids;
  for (const JudgedFigure& judged : fidelity.figures) {
    judged_ids.push_back(judged.id);
    const OpenFigure* open = entry_of(known.open, judged.id);
    const OpenFigure* before = open ? open : entry_of(known.beyond, judged.id);
    if (before && (judged.verdict == Verdict::skip || judged.verdict == Verdict::open)) {
      (open ? lists.open : lists.beyond).push_back(*before);
      continue;
    }
    OpenFigure now = before ? *before : OpenFigure{judged.id, {}, "", {}};
    now.simulated.reset();
    if (judged.simulated) now.simulated = rounded(*judged.simulated);
    const bool holds = judged.verdict == Verdict::ok || judged.verdict == Verdict::closed ||
                       (judged.verdict == Verdict::drift && !open);
    if (!holds)
      lists.open.push_back(std::move(now));
    else if (before && !result::within_common(judged))
      lists.beyond.push_back(std::move(now));
  }
  const auto keep_others = [&](const std::vector<OpenFigure>& from, std::vector<OpenFigure>& to) {
    for (const OpenFigure& one : from)
      if (std::find(judged_ids.begin(), judged_ids.end(), one.id) == judged_ids.end())
        to.push_back(one);
  };
  keep_others(known.open, lists.open);
  keep_others(known.beyond, lists.beyond);
  return lists;
}

}  // namespace spillway::explore
