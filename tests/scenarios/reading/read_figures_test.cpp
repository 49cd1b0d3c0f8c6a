#include "scenarios/reading/read_figures.hpp"

#include <gtest/gtest.h>

#include "tests/scenarios/complaints.hpp"
#include "tests/scenarios/temporary_files.hpp"

namespace spillway::scenarios {
namespace {

constexpr const char* good = R"([
  { "id": "paper.a", "source": "Paper, Table 1", "setups": { "a": "runs/one.json" },
    "metric": "a.peak_bytes.host.total", "value": 2, "unit": "GiB", "tolerance": 0.1,
    "role": "fit", "fits": ["host.adam"] },
  { "id": "paper.b", "source": "Paper, Table 2", "setups": { "x": { "model": "gpt2" } },
    "metric": "x.feasible", "value": 1, "unit": "bool", "relation": ">=", "tolerance": 0,
    "role": "check", "words": { "x.system": "resident" }, "note": "assumed" }
])";

TEST(ReadFigures, ReadsSetupsFromFilesAndFromTheFigureItself) {
  const TemporaryFiles files;
  files.write("runs/one.json", R"({"model": "gpt2-xl"})");
  const auto figures = read_figures({files.write("paper.json", good)});
  ASSERT_EQ(figures.size(), 2u);
  EXPECT_EQ(figures[0].paper(), "paper");
  EXPECT_EQ(figures[0].setups.at("a").value["model"], "gpt2-xl");
  EXPECT_EQ(figures[0].scale, 1024.0 * 1024 * 1024);
  EXPECT_TRUE(figures[0].fit);
  EXPECT_EQ(figures[0].fits, std::vector<std::string>{"host.adam"});
  EXPECT_EQ(figures[0].metric_place.line, 3);
  EXPECT_EQ(figures[1].setups.at("x").value["model"], "gpt2");
  EXPECT_EQ(figures[1].relation, Relation::at_least);
  EXPECT_EQ(figures[1].words.at("x.system"), "resident");
  EXPECT_TRUE(figures[1].truth);
  EXPECT_FALSE(figures[1].fit);
}

TEST(ReadFigures, SaysEverythingThatIsWrongAtOnce) {
  const TemporaryFiles files;
  const std::string file = files.write("paper.json", R"([
  { "id": "p.a", "source": "s", "setups": { "a": "one.json" },
    "metric": "a.feasible", "value": 2, "unit": "gib", "tolerance": 0.1, "role": "fit" },
  { "id": "p.a", "source": "s", "setups": {},
    "metric": "1", "value": 2, "unit": "GB/s", "tolerance": 0, "role": "check",
    "chosen": ["run.seed"] }
])");
  const std::string refused = files.relative(complaints_of([&] { read_figures({file}); }));
  EXPECT_EQ(refused,
            "paper.json:2:3: [0]: a fit says what was fitted on it; name machine parameters in "
            "\"fits\" or settings in \"chosen\"\n"
            "paper.json:2:50: [0].setups.a: no file \"one.json\"; write the path of a scenario, "
            "relative to this file\n"
            "paper.json:3:49: [0].unit: no unit \"gib\"; known: 1, 1 = true, bool, percent, "
            "TFLOPS, ratio, years, s, and bytes or rates such as GiB, GB/s\n"
            "paper.json:4:3: [1]: nothing is fitted on a check; drop \"fits\" and \"chosen\"\n"
            "paper.json:4:11: [1].id: \"p.a\" stands twice; it stands in paper.json:2 too");
}

TEST(ReadFigures, ChecksTheSchemaFirst) {
  const TemporaryFiles files;
  const std::string file = files.write("paper.json", R"([
  { "id": "p.a", "sourc": "s", "setups": { "a": 7 }, "metric": "a.feasible", "value": "2",
    "unit": "s", "tolerance": -1, "role": "check" }
])");
  const std::string refused = files.relative(complaints_of([&] { read_figures({file}); }));
  EXPECT_NE(refused.find("paper.json:2:18: [0].sourc: no such key; did you mean \"source\"?"),
            std::string::npos)
      << refused;
  EXPECT_NE(refused.find("[0].setups.a: 7 is not"), std::string::npos) << refused;
  EXPECT_NE(refused.find("[0].tolerance: -1 is below 0"), std::string::npos) << refused;
}

TEST(OpenFigures, ReadAsTheyAreWritten) {
  const TemporaryFiles files;
  const std::vector<OpenFigure> open{
      {"p.a", 1.5, "why \"so\"", {}}, {"p.b", {}, "", {}}, {"p.c", 2.0, "not stated", {}, false}};
  const std::string text = write_open_figures(open);
  const auto back = read_open_figures(files.write("open.json", text));
  ASSERT_EQ(back.size(), 3u);
  EXPECT_EQ(back[0].simulated, 1.5);
  EXPECT_EQ(back[0].reason, "why \"so\"");
  EXPECT_EQ(back[1].simulated, std::nullopt);
  EXPECT_EQ(back[1].place.line, 4);
  EXPECT_TRUE(back[1].established);
  EXPECT_FALSE(back[2].established);
  EXPECT_EQ(write_open_figures(back), text);
  EXPECT_TRUE(read_open_figures(files.write("none.json", write_open_figures({}))).empty());
}

}  // namespace
}  // namespace spillway::scenarios
