#include "reports/fidelity/fit_table.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace spillway::reports::fit_table_test {
namespace {

result::Fit some() {
  result::Fit fit;
  fit.machine = "box";
  fit.parameters = {{"host.adam", "1 Gparam/s", "1.1 Gparam/s", 0.1, 0.5, ""},
                    {"gpu.memory", "24 GiB", "24 GiB", 0, 0, "no figure that runs depends on it"}};
  fit.figures = {{"one.time", "s", 10, 11, 10.1, 0.05, {-0.5, 0.001}}};
  fit.chosen = {{"run.seed", "1", {"one.time"}}, {"run.steps", "2", {"one.time", "one.more"}}};
  fit.left_out = {{"one.fits", "yes or no has no slope"}};
  return fit;
}

TEST(FitTable, ShowsParametersThenFiguresThenWhatWasNotFitted) {
  EXPECT_EQ(
      fit_table(some(), {100, false}),
      "parameter   machine file        fitted    change  sensitivity  note\n" +
          std::string(96, '-') +
          "\n"
          "host.adam     1 Gparam/s  1.1 Gparam/s  +10.00 %         0.50\n"
          "gpu.memory        24 GiB        24 GiB   +0.00 %         0.00  no figure that runs "
          "depends on it\n"
          "\n"
          "figure    published    before    after  % by 1 % of\n"
          "-------------------------------------------------------\n"
          "one.time       10 s  +10.00 %  +1.00 %  host.adam -0.50\n"
          "\n"
          "chosen  run.seed = 1 on one.time\n"
          "chosen  run.steps = 2 on 2 figures from one.time\n"
          "left out  one.fits: yes or no has no slope\n");
}

TEST(FitTable, IsEmptyWhenNothingRests) { EXPECT_EQ(fit_table({}, {}), ""); }

TEST(FitJson, NamesParametersInSensitivities) {
  const nlohmann::json json = some();
  EXPECT_EQ(json["schema"], "spillway/fit/1");
  EXPECT_EQ(json["figures"][0]["sensitivity"]["host.adam"], -0.5);
  EXPECT_DOUBLE_EQ(json["figures"][0]["error_before"], 0.1);
  EXPECT_EQ(json["left_out"][0]["id"], "one.fits");
  EXPECT_EQ(json["chosen"][1]["figures"].size(), 2u);
}

}  // namespace
}  // namespace spillway::reports::fit_table_test
