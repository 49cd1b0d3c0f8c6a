#include "reports/fidelity/fidelity_table.hpp"
#include "reports/fidelity/fit_table.hpp"
#include "tests/reports/numbers.hpp"

#include <gtest/gtest.h>

namespace spillway::reports::fidelity_documents_test {
namespace {

using view::Quantity;

TEST(FitTableDocument, HoldsErrorsAndPublishedFigures) {
  result::Fit fit;
  fit.parameters = {{"host.adam", "1 Gparam/s", "1.1 Gparam/s", 0.104321, 0.51234, ""}};
  fit.figures = {{"one.time", "s", 10.123456, 11, 10.1, 0.05, {-0.54321}}};
  const view::Document document = fit_table_document(fit);
  EXPECT_TRUE(holds(document, 10.123456, Quantity::figure));
  EXPECT_TRUE(holds(document, 0.104321, Quantity::error));
  EXPECT_TRUE(holds(document, -0.54321, Quantity::effect));
}

TEST(FidelityDocument, HoldsBothSidesOfAFigure) {
  result::JudgedFigure figure;
  figure.id = "one.peak";
  figure.paper = "one";
  figure.unit = "GiB";
  figure.relation = "==";
  figure.published = 4.123456789;
  figure.simulated = 5.987654321;
  figure.error = 0.45213;
  result::Fidelity fidelity;
  fidelity.figures = {figure};
  fidelity.papers = {result::summary_of("one", fidelity.figures)};
  fidelity.overall = fidelity.papers.front();
  const view::Document document = fidelity_document(fidelity);
  EXPECT_TRUE(holds(document, 4.123456789, Quantity::figure));
  EXPECT_TRUE(holds(document, 5.987654321, Quantity::figure));
  EXPECT_TRUE(holds(document, 0.45213, Quantity::error));
  EXPECT_TRUE(holds(document, 0.45213, Quantity::deviation));  // the median
}

}  // namespace
}  // namespace spillway::reports::fidelity_documents_test
