#include "reports/fidelity/fidelity_table.hpp"

#include <gtest/gtest.h>

namespace spillway::reports {
namespace {

using result::JudgedFigure;
using result::Verdict;

JudgedFigure figure(const std::string& id, double published, double simulated,
                    const std::string& unit) {
  JudgedFigure figure;
  figure.id = id;
  figure.paper = id.substr(0, id.find('.'));
  figure.source = "Paper, Table 1";
  figure.relation = "==";
  figure.published = published;
  figure.simulated = simulated;
  figure.error = (simulated - published) / published;
  figure.unit = unit;
  return figure;
}

result::Fidelity some() {
  result::Fidelity fidelity;
  fidelity.figures = {figure("one.peak", 4, 5, "GiB"), figure("one.fits", 1, 0, "bool"),
                      figure("one.gain", 10, 10.1, "percent"), figure("two.ratio", 2, 2.5, "1")};
  fidelity.figures[0].verdict = Verdict::open;
  fidelity.figures[0].reason = "nobody knows";
  fidelity.figures[1].truth = true;
  fidelity.figures[1].verdict = Verdict::miss;
  fidelity.figures[1].reason = "no where yes is published";
  fidelity.figures[2].source = "Paper, Fig. 2";
  fidelity.figures[3].relation = ">=";
  fidelity.figures[3].ordering = true;
  const std::vector<JudgedFigure> first(fidelity.figures.begin(), fidelity.figures.begin() + 3);
  fidelity.papers = {result::summary_of("one", first),
                     result::summary_of("two", {fidelity.figures[3]})};
  fidelity.overall = result::summary_of("all", fidelity.figures);
  return fidelity;
}

TEST(FidelityTable, PutsFiguresBelowTheirPlaceAndReasonsBelowThePaper) {
  EXPECT_EQ(fidelity_table(some(), {}),
            "figure          published  simulated     error  verdict\n"
            "-------------------------------------------------------\n"
            "Paper, Table 1\n"
            "  one.peak          4 GiB      5 GiB  +25.00 %  open\n"
            "  one.fits            yes         no         -  MISS\n"
            "Paper, Fig. 2\n"
            "  one.gain           10 %     10.1 %   +1.00 %  ok\n"
            "  open  one.peak: nobody knows\n"
            "  MISS  one.fits: no where yes is published\n"
            "\n"
            "figure          published  simulated     error  verdict\n"
            "-------------------------------------------------------\n"
            "Paper, Table 1\n"
            "  two.ratio          >= 2        2.5  +25.00 %  ok\n"
            "\n"
            "paper  figures  ok  open  SKIP  fail   median    worst  orderings\n"
            "-----------------------------------------------------------------\n"
            "one          3   1     1     0     1  13.00 %  25.00 %     0 of 0\n"
            "two          1   1     0     0     0        -        -     1 of 1\n"
            "all          4   2     1     0     1  13.00 %  25.00 %     1 of 1\n");
}

TEST(FidelityTable, SaysWhyAFigureThatIsOkIsBeyondTheCommonTolerance) {
  result::Fidelity fidelity = some();
  fidelity.figures[0].standing = result::Standing::unexplained;
  fidelity.figures[2].standing = result::Standing::within;
  fidelity.figures[3].standing = result::Standing::mechanism;
  fidelity.figures[3].reason = "counts a bias";
  fidelity.overall = result::summary_of("all", fidelity.figures);
  const std::string text = fidelity_table(fidelity, {});
  EXPECT_NE(text.find("  open, unexplained  one.peak: nobody knows\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  beyond  two.ratio: counts a bias\n"), std::string::npos) << text;
  EXPECT_NE(text.find("paper  figures  within  beyond, with a mechanism  beyond, unexplained\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\nall          3       1                         1                    1\n"),
            std::string::npos)
      << text;
}

TEST(FidelityTable, SaysOneReasonOfManyFiguresOnce) {
  result::Fidelity fidelity = some();
  for (JudgedFigure& one : fidelity.figures) {
    one.verdict = Verdict::skip;
    one.reason = "not there yet";
  }
  const std::string text = fidelity_table(fidelity, {});
  EXPECT_NE(text.find("  SKIP  3 figures: not there yet\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  SKIP  two.ratio: not there yet\n"), std::string::npos) << text;
}

TEST(FidelityHeadline, NamesWhatFails) {
  EXPECT_EQ(fidelity_headline(some()),
            "4 figures: 2 ok, 1 open, 0 SKIP, 1 that should hold and do not:\n"
            "  MISS    one.fits  no where yes is published\n");
  result::Fidelity fine = some();
  fine.overall.failed = 0;
  EXPECT_EQ(fidelity_headline(fine), "4 figures: 2 ok, 1 open, 0 SKIP\n");
}

}  // namespace
}  // namespace spillway::reports
