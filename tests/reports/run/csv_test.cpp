#include "reports/run/csv.hpp"

#include "tests/reports/samples.hpp"

#include <gmock/gmock.h>
#include <sstream>

namespace spillway::reports {
namespace {

using nlohmann::json;
using testing::ElementsAre;

std::string csv_of(const std::vector<json>& rows) {
  std::ostringstream out;
  write_csv(out, rows);
  return out.str();
}

/// A reader of RFC 4180, written from its grammar.
std::vector<std::vector<std::string>> parsed(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, {""});
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string& field = rows.back().back();
    if (inside && text.substr(i, 2) == "\"\"")
      field += '"', ++i;
    else if (text[i] == '"')
      inside = !inside;
    else if (inside || (text[i] != ',' && text[i] != '\n'))
      field += text[i];
    else if (text[i] == ',')
      rows.back().emplace_back();
    else
      rows.push_back({""});
  }
  rows.pop_back();  // what stands after the last line's end
  return rows;
}

TEST(Flattened, HasEveryLeafUnderItsDottedPath) {
  const auto leaves = flattened(sample_that_fits());
  EXPECT_EQ(leaves.at("step_time_s"), "40.0");
  EXPECT_EQ(leaves.at("peak_bytes.host.total"), "68719476736");  // 64 GiB
  EXPECT_EQ(leaves.at("io_bytes_per_step.by_storage.nvme.read"), "120000000000");
  EXPECT_EQ(leaves.at("scenario.training.micro_batch"), "4");
  EXPECT_EQ(leaves.at("feasible"), "true");
  EXPECT_EQ(leaves.at("infeasible"), "");
  EXPECT_EQ(leaves.at("bottleneck.next.one more ssd.step_time_s"), "30.0");
}

TEST(Flattened, JoinsPlainArraysAndLeavesOutThoseOfObjects) {
  const json value = {{"notes", {"a", 2, nullptr}},
                      {"none", json::array()},
                      {"nothing", json::object()},
                      {"entries", {{{"rank", 0}}}},
                      {"pairs", {{1, 2}, {3}}}};
  EXPECT_EQ(flattened(value),
            (std::map<std::string, std::string>{{"none", ""}, {"notes", "a; 2; "}}));
}

TEST(Flattened, WritesADoubleThatReadsBackExactly) {
  EXPECT_EQ(std::stod(flattened({{"x", 1.0 / 3}}).at("x")), 1.0 / 3);
  EXPECT_EQ(std::stod(flattened({{"x", 1e-300}}).at("x")), 1e-300);
}

TEST(Csv, HasOneHeaderForAllRowsWhateverTheirOrder) {
  const json a = {{"zeta", 1}, {"system", "x"}, {"alpha", 2}};
  const json b = {{"beta", 3}, {"system", "y"}, {"step_time_s", 0.5}};
  EXPECT_EQ(csv_of({a, b}),
            "system,step_time_s,alpha,beta,zeta\n"
            "x,,2,,1\n"
            "y,0.5,,3,\n");
  EXPECT_EQ(csv_of({b, a}),
            "system,step_time_s,alpha,beta,zeta\n"
            "y,0.5,,3,\n"
            "x,,2,,1\n");
}

TEST(Csv, QuotesWhatWouldBreakALine) {
  const std::vector<std::string> fields = {"a,b", "say \"hi\"", "two\nlines", "\r", " blank ", ""};
  json row;
  for (std::size_t i = 0; i < fields.size(); ++i) row["f" + std::to_string(i)] = fields[i];
  EXPECT_EQ(parsed(csv_of({row})).at(1), fields);
  EXPECT_EQ(csv_of({{{"q", "say \"hi\", x"}}}), "q\n\"say \"\"hi\"\", x\"\n");
}

TEST(Csv, KeepsSpreadsheetsFromComputingText) {
  const json row = {{"a", "=1+1"}, {"b", "@sum"}, {"c", "-x"}, {"d", "-"}, {"e", "-5e3"}, {"f", 2}};
  EXPECT_EQ(csv_of({row}), "a,b,c,d,e,f\n'=1+1,'@sum,'-x,-,-5e3,2\n");
}

TEST(Csv, KeepsARowWhoseOnlyFieldIsEmpty) {
  EXPECT_EQ(csv_of({{{"a", ""}}, {{"a", 1}}}), "a\n\"\"\n1\n");
}

TEST(Csv, OfNothingIsEmpty) { EXPECT_EQ(csv_of({}), ""); }

TEST(Csv, HasAFieldForEveryColumnOfRealResults) {
  const auto rows = parsed(csv_of({sample_that_fits(), sample_that_does_not_fit()}));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_THAT(std::vector(rows[0].begin(), rows[0].begin() + 5),
              ElementsAre("scenario.name", "system", "backend", "feasible", "step_time_s"));
  EXPECT_THAT(std::vector(rows[1].begin(), rows[1].begin() + 5),
              ElementsAre("7B on a small box", "memascend", "sim", "true", "40.0"));
  EXPECT_THAT(std::vector(rows[2].begin(), rows[2].begin() + 5),
              ElementsAre("", "zero_infinity", "sim", "false", "0.0"));
  EXPECT_EQ(rows[1].size(), rows[0].size());
  EXPECT_EQ(rows[2].size(), rows[0].size());
}

}  // namespace
}  // namespace spillway::reports
