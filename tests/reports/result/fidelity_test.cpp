#include "reports/result/fidelity.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace spillway::result::fidelity_test {
namespace {

JudgedFigure figure(const std::string& id, Verdict verdict, std::optional<double> error) {
  JudgedFigure figure;
  figure.id = id;
  figure.relation = "==";
  figure.verdict = verdict;
  figure.error = error;
  return figure;
}

TEST(FidelitySummary, TakesTheMedianAndTheWorstOfAbsoluteErrors) {
  const auto summary =
      summary_of("p", {figure("a", Verdict::ok, -0.02), figure("b", Verdict::miss, 0.3),
                       figure("c", Verdict::ok, 0.04), figure("d", Verdict::skip, {})});
  EXPECT_EQ(summary.figures, 4u);
  EXPECT_EQ(summary.ok, 2u);
  EXPECT_EQ(summary.failed, 1u);
  EXPECT_EQ(summary.skipped, 1u);
  EXPECT_EQ(summary.median_error, 0.04);  // of 0.02 0.04 0.3
  EXPECT_EQ(summary.worst_error, 0.3);
  EXPECT_EQ(summary.worst, "b");
}

TEST(FidelitySummary, LeavesBoundsAndTruthsOutOfTheErrors) {
  JudgedFigure bound = figure("bound", Verdict::ok, 5);
  bound.relation = ">=";
  bound.ordering = true;
  JudgedFigure truth = figure("truth", Verdict::open, -1);
  truth.truth = true;
  const auto summary = summary_of("p", {bound, truth});
  EXPECT_EQ(summary.median_error, std::nullopt);
  EXPECT_EQ(summary.worst_error, std::nullopt);
  EXPECT_EQ(summary.open, 1u);
  EXPECT_EQ(summary.orderings, 1u);
  EXPECT_EQ(summary.orderings_right, 1u);
}

TEST(FidelitySummary, CountsDriftedAndClosedFiguresAsFailed) {
  const auto summary =
      summary_of("p", {figure("a", Verdict::drift, 0.1), figure("b", Verdict::closed, 0.3)});
  EXPECT_EQ(summary.failed, 2u);
  EXPECT_DOUBLE_EQ(*summary.median_error, 0.2);  // between two
}

JudgedFigure of_kind(const char* unit, const char* metric, double error) {
  JudgedFigure of = figure(metric, Verdict::ok, error);
  of.unit = unit;
  of.metric = metric;
  return of;
}

TEST(FidelityKinds, HaveOneToleranceEachAndTheMedianWithItsSign) {
  JudgedFigure bound = figure("bound", Verdict::open, -0.2);
  bound.relation = ">=";
  const auto kinds =
      kinds_of("p", {of_kind("GiB", "a.peak_bytes.host.total", 0.004),
                     of_kind("GiB", "a.peak_bytes.gpu.total", 0.006),
                     of_kind("GB", "a.io_bytes_per_step.ssd_write", -0.001),
                     of_kind("s", "a.step_time_s", -0.05), of_kind("TFLOPS", "a.throughput", -0.07),
                     of_kind("percent", "100 * (a.x - 1)", 0.02), bound});
  ASSERT_EQ(kinds.size(), 5u);
  EXPECT_EQ(kinds[0].kind, "memory");
  EXPECT_EQ(kinds[0].within, 1u);  // 0.4 % of 0.5 % allowed; 0.6 % is beyond
  EXPECT_DOUBLE_EQ(*kinds[0].median_error, 0.005);
  EXPECT_TRUE(kinds[0].biased);
  EXPECT_EQ(kinds[1].kind, "bytes");
  EXPECT_FALSE(kinds[1].biased);
  EXPECT_EQ(kinds[2].kind, "time");
  EXPECT_EQ(kinds[2].within, 2u);
  EXPECT_DOUBLE_EQ(*kinds[2].median_error, -0.06);
  EXPECT_TRUE(kinds[2].biased);  // beyond 4 %
  EXPECT_EQ(kinds[3].kind, "ratio");
  EXPECT_EQ(kinds[4].kind, "ordering");
  EXPECT_EQ(kinds[4].within, 0u);
  EXPECT_EQ(kinds[4].median_error, std::nullopt);
}

TEST(FidelitySummary, CountsByStandingWhatHasRun) {
  std::vector<JudgedFigure> figures(5, figure("a", Verdict::ok, 0.3));
  figures[0].standing = Standing::within;
  figures[1].standing = figures[2].standing = Standing::mechanism;
  figures[3].standing = Standing::unexplained;
  const auto summary = summary_of("p", figures);
  EXPECT_EQ(summary.within, 1u);
  EXPECT_EQ(summary.mechanism, 2u);
  EXPECT_EQ(summary.unexplained, 1u);
}

TEST(Fidelity, SaysNullWhereThereIsNoValue) {
  Fidelity fidelity;
  fidelity.figures.push_back(figure("a", Verdict::skip, {}));
  fidelity.overall = summary_of("all", fidelity.figures);
  const nlohmann::json json = fidelity;
  EXPECT_EQ(json["schema"], "spillway/fidelity/1");
  EXPECT_EQ(json["figures"][0]["verdict"], "SKIP");
  EXPECT_TRUE(json["figures"][0]["simulated"].is_null());
  EXPECT_TRUE(json["overall"]["median_error"].is_null());
  EXPECT_EQ(json["overall"]["skipped"], 1);
}

TEST(Fidelity, ComesBackAsItWas) {
  Fidelity fidelity;
  fidelity.figures = {figure("a.peak", Verdict::drift, 0.25)};
  fidelity.figures[0].published = 2, fidelity.figures[0].simulated = 2.5;
  fidelity.figures[0].standing = Standing::mechanism;
  fidelity.papers = {summary_of("a", fidelity.figures)};
  fidelity.overall = summary_of("all", fidelity.figures);
  const nlohmann::json written = fidelity;
  EXPECT_EQ(nlohmann::json(nlohmann::json::parse(written.dump()).get<Fidelity>()), written);
}

}  // namespace
}  // namespace spillway::result::fidelity_test
