#include "reports/result/fidelity.hpp"

#include "reports/result/reading.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::result {

namespace {

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void count(FidelitySummary& summary, const JudgedFigure& figure) {
  ++summary.figures;
  if (figure.verdict == Verdict::ok) ++summary.ok;
  if (figure.verdict == Verdict::open) ++summary.open;
  if (figure.verdict == Verdict::skip) ++summary.skipped;
  if (figure.fails()) ++summary.failed;
  if (figure.standing == Standing::within) ++summary.within;
  if (figure.standing == Standing::mechanism) ++summary.mechanism;
  if (figure.standing == Standing::unexplained) ++summary.unexplained;
  if (!figure.ordering) return;
  ++summary.orderings;
  if (*figure.ordering) ++summary.orderings_right;
}

}  // namespace

const char* to_string(FigureKind kind) {
  switch (kind) {
    case FigureKind::memory:
      return "memory";
    case FigureKind::bytes:
      return "bytes";
    case FigureKind::time:
      return "time";
    case FigureKind::ratio:
      return "ratio";
    case FigureKind::ordering:
      return "ordering";
  }
  return "";
}

FigureKind kind_of(const JudgedFigure& figure) {
  if (figure.truth || figure.relation != "==") return FigureKind::ordering;
  if (figure.unit == "percent" || figure.unit == "ratio" || figure.unit == "1")
    return FigureKind::ratio;
  const bool amount = figure.unit == "B" || figure.unit == "GB" || figure.unit == "GiB" ||
                      figure.unit == "TB" || figure.unit == "MiB" || figure.unit == "TiB";
  if (!amount) return FigureKind::time;
  const bool moved = figure.metric.find("io_bytes") != std::string::npos ||
                     figure.metric.find("phase_bytes") != std::string::npos ||
                     figure.metric.find("wear") != std::string::npos;
  return moved ? FigureKind::bytes : FigureKind::memory;
}

double common_tolerance(FigureKind kind) {
  switch (kind) {
    case FigureKind::memory:
      return 0.005;
    case FigureKind::bytes:
      return 0.01;
    case FigureKind::time:
      return 0.08;
    case FigureKind::ratio:
      return 0.07;
    case FigureKind::ordering:
      return 0;
  }
  return 0;
}

bool within_common(const JudgedFigure& figure) {
  const FigureKind kind = kind_of(figure);
  if (kind == FigureKind::ordering)
    return figure.verdict == Verdict::ok || figure.verdict == Verdict::closed;
  return figure.error && std::abs(*figure.error) <= common_tolerance(kind);
}

std::vector<FidelityKind> kinds_of(const std::string& paper,
                                   const std::vector<JudgedFigure>& figures) {
  std::vector<FidelityKind> kinds;
  for (const FigureKind kind : {FigureKind::memory, FigureKind::bytes, FigureKind::time,
                                FigureKind::ratio, FigureKind::ordering}) {
    FidelityKind of{paper, to_string(kind), 0, 0, common_tolerance(kind), {}, false};
    std::vector<double> errors;
    for (const JudgedFigure& figure : figures) {
      if (!figure.error || kind_of(figure) != kind) continue;
      ++of.figures;
      if (within_common(figure)) ++of.within;
      errors.push_back(*figure.error);
    }
    if (of.figures == 0) continue;
    if (kind != FigureKind::ordering) {
      of.median_error = median_of(std::move(errors));
      of.biased = std::abs(*of.median_error) > of.tolerance / 2;
    }
    kinds.push_back(std::move(of));
  }
  return kinds;
}

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::ok:
      return "ok";
    case Verdict::open:
      return "open";
    case Verdict::skip:
      return "SKIP";
    case Verdict::miss:
      return "MISS";
    case Verdict::drift:
      return "DRIFT";
    case Verdict::closed:
      return "CLOSED";
  }
  return "";
}

const char* to_string(Standing standing) {
  switch (standing) {
    case Standing::none:
      return "";
    case Standing::within:
      return "within";
    case Standing::mechanism:
      return "mechanism";
    case Standing::unexplained:
      return "unexplained";
  }
  return "";
}

FidelitySummary summary_of(const std::string& paper, const std::vector<JudgedFigure>& figures) {
  FidelitySummary summary;
  summary.paper = paper;
  std::vector<double> errors;
  for (const JudgedFigure& figure : figures) {
    count(summary, figure);
    if (!figure.error || figure.truth || figure.relation != "==") continue;
    errors.push_back(std::abs(*figure.error));
    if (errors.back() < summary.worst_error.value_or(-1)) continue;
    summary.worst_error = errors.back();
    summary.worst = figure.id;
  }
  if (!errors.empty()) summary.median_error = median_of(std::move(errors));
  return summary;
}

void to_json(nlohmann::json& json, const JudgedFigure& figure) {
  json = {{"id", figure.id},
          {"paper", figure.paper},
          {"source", figure.source},
          {"metric", figure.metric},
          {"published", figure.published},
          {"simulated", or_null(figure.simulated)},
          {"unit", figure.unit},
          {"relation", figure.relation},
          {"error", or_null(figure.error)},
          {"tolerance", figure.tolerance},
          {"role", figure.role},
          {"ordering", or_null(figure.ordering)},
          {"verdict", to_string(figure.verdict)},
          {"standing", to_string(figure.standing)}};
  put(json, "reason", figure.reason);
}

void to_json(nlohmann::json& json, const FidelitySummary& summary) {
  json = {{"paper", summary.paper},
          {"figures", summary.figures},
          {"ok", summary.ok},
          {"open", summary.open},
          {"skipped", summary.skipped},
          {"failed", summary.failed},
          {"median_error", or_null(summary.median_error)},
          {"worst_error", or_null(summary.worst_error)},
          {"worst", summary.worst},
          {"orderings", summary.orderings},
          {"orderings_right", summary.orderings_right},
          {"within", summary.within},
          {"mechanism", summary.mechanism},
          {"unexplained", summary.unexplained}};
}

void to_json(nlohmann::json& json, const FidelityKind& kind) {
  json = {{"paper", kind.paper},         {"kind", kind.kind},
          {"figures", kind.figures},     {"within", kind.within},
          {"tolerance", kind.tolerance}, {"median_error", or_null(kind.median_error)},
          {"biased", kind.biased}};
}

void to_json(nlohmann::json& json, const Fidelity& fidelity) {
  json = {{"schema", "spillway/fidelity/1"},
          {"figures", fidelity.figures},
          {"papers", fidelity.papers},
          {"overall", fidelity.overall},
          {"kinds", fidelity.kinds}};
}

void from_json(const nlohmann::json& json, Verdict& verdict) {
  const auto word = json.get<std::string>();
  for (const Verdict one :
       {Verdict::ok, Verdict::open, Verdict::skip, Verdict::miss, Verdict::drift, Verdict::closed})
    if (word == to_string(one)) verdict = one;
}

void from_json(const nlohmann::json& json, Standing& standing) {
  const auto word = json.get<std::string>();
  for (const Standing one :
       {Standing::none, Standing::within, Standing::mechanism, Standing::unexplained})
    if (word == to_string(one)) standing = one;
}

void from_json(const nlohmann::json& json, JudgedFigure& figure) {
  read(json, "id", figure.id);
  read(json, "paper", figure.paper);
  read(json, "source", figure.source);
  read(json, "metric", figure.metric);
  read(json, "published", figure.published);
  read(json, "simulated", figure.simulated);
  read(json, "unit", figure.unit);
  read(json, "relation", figure.relation);
  read(json, "error", figure.error);
  read(json, "tolerance", figure.tolerance);
  read(json, "role", figure.role);
  read(json, "ordering", figure.ordering);
  read(json, "verdict", figure.verdict);
  read(json, "standing", figure.standing);
  read(json, "reason", figure.reason);
}

void from_json(const nlohmann::json& json, FidelitySummary& summary) {
  read(json, "paper", summary.paper);
  read(json, "figures", summary.figures);
  read(json, "ok", summary.ok);
  read(json, "open", summary.open);
  read(json, "skipped", summary.skipped);
  read(json, "failed", summary.failed);
  read(json, "median_error", summary.median_error);
  read(json, "worst_error", summary.worst_error);
  read(json, "worst", summary.worst);
  read(json, "orderings", summary.orderings);
  read(json, "orderings_right", summary.orderings_right);
  read(json, "within", summary.within);
  read(json, "mechanism", summary.mechanism);
  read(json, "unexplained", summary.unexplained);
}

void from_json(const nlohmann::json& json, FidelityKind& kind) {
  read(json, "paper", kind.paper);
  read(json, "kind", kind.kind);
  read(json, "figures", kind.figures);
  read(json, "within", kind.within);
  read(json, "tolerance", kind.tolerance);
  read(json, "median_error", kind.median_error);
  read(json, "biased", kind.biased);
}

void from_json(const nlohmann::json& json, Fidelity& fidelity) {
  require_schema(json, "fidelity");
  fidelity = {};
  read(json, "figures", fidelity.figures);
  read(json, "papers", fidelity.papers);
  read(json, "overall", fidelity.overall);
  read(json, "kinds", fidelity.kinds);
}

}  // namespace spillway::result
