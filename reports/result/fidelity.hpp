#pragma once

#include "reports/text/text.hpp"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace spillway::result {

/// What became of a published figure. Those from `miss` on should not be.
enum class Verdict : unsigned char {
  ok,     ///< within its tolerance
  open,   ///< known not to be, and where it was
  skip,   ///< cannot be run yet
  miss,   ///< outside its tolerance
  drift,  ///< known to be open, but no longer where it was
  closed  ///< known to be open, but within its tolerance now
};

/// "ok", "open", "SKIP", "MISS", "DRIFT", "CLOSED".
const char* to_string(Verdict verdict);

/// Where a figure stands by the tolerance that is common to its kind, whatever its own is.
enum class Standing : unsigned char {
  none,        ///< has not run
  within,      ///< the common tolerance
  mechanism,   ///< beyond it, and its reason says what the published system does differently
  unexplained  ///< beyond it, without a reason or with one whose cause is not established
};
/// "", "within", "mechanism", "unexplained".
const char* to_string(Standing standing);

/// A published figure and what is simulated for it, both in `unit`.
struct JudgedFigure {
  std::string id, paper, source, metric, unit, relation, role;
  double published = 0;
  double tolerance = 0;
  std::optional<double> simulated;
  std::optional<double> error;   ///< (simulated - published) / published; the difference when that
                                 ///< is 0; absent without a value
  bool truth = false;            ///< yes or no, as 1 or 0
  std::optional<bool> ordering;  ///< it compares setups: whether the better one is the better one
  Verdict verdict = Verdict::ok;
  Standing standing = Standing::none;
  text::Text reason;  ///< of everything but ok, and of what is beyond the common tolerance

  bool fails() const { return verdict >= Verdict::miss; }
};

/// Counts over the figures of one paper. Errors are those of figures that are to be equal and are
/// no yes or no.
struct FidelitySummary {
  std::string paper;
  std::size_t figures = 0, ok = 0, open = 0, skipped = 0, failed = 0;
  std::optional<double> median_error, worst_error;  ///< absolute, relative
  std::string worst;                                ///< id
  std::size_t orderings = 0, orderings_right = 0;
  std::size_t within = 0, mechanism = 0, unexplained = 0;  ///< by standing, of those that ran
};

/// What a figure is about. One tolerance a kind shows what each figure's own may hide.
enum class FigureKind : unsigned char {
  memory,   ///< bytes that are held
  bytes,    ///< bytes that are moved
  time,     ///< seconds, and rates
  ratio,    ///< of two setups, and shares
  ordering  ///< bounds, and yes or no
};
const char* to_string(FigureKind kind);
FigureKind kind_of(const JudgedFigure& figure);
/// Relative; of orderings none is allowed.
double common_tolerance(FigureKind kind);

/// How far the figures of one kind in one paper are off at a common tolerance.
struct FidelityKind {
  std::string paper;
  std::string kind;
  std::size_t figures = 0;  ///< with a value
  std::size_t within = 0;   ///< of those, the common tolerance; of orderings, those that hold
  double tolerance = 0;
  std::optional<double> median_error;  ///< signed; absent of orderings
  bool biased = false;                 ///< the median is off by more than half of the tolerance
};

struct Fidelity {
  std::vector<JudgedFigure> figures;
  std::vector<FidelitySummary> papers;  ///< in the order of their first figures
  FidelitySummary overall;
  std::vector<FidelityKind> kinds;  ///< by paper, then "all"
};

/// Whether `figure` is within the tolerance that is common to its kind; an ordering: whether it
/// holds.
bool within_common(const JudgedFigure& figure);

/// By kind, of figures that may be of several papers; kinds without a figure are left out.
std::vector<FidelityKind> kinds_of(const std::string& paper,
                                   const std::vector<JudgedFigure>& figures);

/// Counts of `figures`, which may be of several papers.
FidelitySummary summary_of(const std::string& paper, const std::vector<JudgedFigure>& figures);

void to_json(nlohmann::json& json, const JudgedFigure& figure);
void to_json(nlohmann::json& json, const FidelitySummary& summary);
void to_json(nlohmann::json& json, const Fidelity& fidelity);
/// Reads what to_json writes, of this release or an older one (result.hpp).
///   Throws  ScenarioError on another schema, and with the path of a value of the wrong type
void from_json(const nlohmann::json& json, Fidelity& fidelity);

}  // namespace spillway::result
