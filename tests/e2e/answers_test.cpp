#include "scenarios/json/schema_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/command.hpp"
#include "tests/e2e/server.hpp"
#include "tests/e2e/typed_numbers.hpp"
#include "tests/long_test.hpp"

/// What `--json` prints is what the shipped schemas say.
namespace spillway::e2e::answers_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// What the schema refuses, in words, and sentences with a number that is text; "" where there is
/// nothing of either.
std::string refused(const json& answer, const std::string& schema) {
  std::string text;
  for (const auto& complaint : scenarios::check_schema(scenarios::located_at(answer, {}), schema))
    text += to_string(complaint) + "\n";
  return text + untyped_numbers(answer);
}

/// The answer of a command that ends well.
json answer_of(const Workplace& place, const std::string& command) {
  const Ended ended = shell(place, "spillway " + command);
  EXPECT_EQ(ended.exit, 0) << command << "\n" << ended.err;
  return ended.exit == 0 ? ended.json() : json();
}

constexpr const char* too_large =
    R"({"model": "llama-3.2-1b", "machine": "gaming_4090", "strategy": {"system": "resident"},
        "training": {"micro_batch": 8, "sequence": 4096, "precision": "bf16_mixed"}})";

constexpr const char* small_space = R"({ "name": "small",
  "base": { "model": "gpt2", "machine": "gaming_4090", "run": { "steps": 1 },
            "strategy": { "system": "resident" } },
  "axes": { "training.micro_batch": [1, 2, 512] }, "constraints": ["feasible"],
  "objectives": { "throughput.tokens_per_s": "max" } })";

TEST(Answers, OfSimulateHaveTheSettingsWithTheirSourcesWhetherExplainedOrNot) {
  const Workplace place;
  const std::string tiny = "simulate scenarios/examples/tiny.json --json";
  json plain = answer_of(place, tiny);
  EXPECT_EQ(refused(plain, "result"), "");
  std::map<std::string, json> settings;
  for (const json& one : plain.at("settings")) settings[one.at("path")] = one;
  EXPECT_EQ(settings.at("training.micro_batch").at("value"), "2");
  EXPECT_THAT(settings.at("training.micro_batch").at("source").get<std::string>(),
              HasSubstr("tiny.json:"));
  EXPECT_EQ(settings.at("training.optimizer").at("source"), "default");
  EXPECT_TRUE(plain.at("remedy").is_null());
  // the step that the first what-if leaves is the shortest of them
  double last_s = 0;
  for (const json& one : plain.at("what_if")) {
    EXPECT_GE(one.at("step_time_s").get<double>(), last_s);
    last_s = one.at("step_time_s").get<double>();
  }
  json explained = answer_of(place, tiny + " --explain");
  plain.erase("wall");
  explained.erase("wall");
  EXPECT_EQ(plain, explained);
}

TEST(Answers, OfSimulateHaveTheRemedyOfWhatDoesNotFit) {
  const Workplace place;
  place.write("large.json", too_large);
  const json found = answer_of(place, "simulate large.json --json --limit 600");
  EXPECT_EQ(refused(found, "result"), "");
  EXPECT_EQ(found.at("feasible"), false);
  const json& remedy = found.at("remedy");
  ASSERT_TRUE(remedy.is_object());
  EXPECT_EQ(remedy.at("whole"), true);
  for (const char* kind : {"memory", "change"}) {
    ASSERT_TRUE(remedy.at(kind).is_object()) << kind;
    std::string again = "simulate large.json --json";
    for (const json& one : remedy.at(kind).at("set"))
      again += " --set '" + one.get<std::string>() + "'";
    const json after = answer_of(place, again);
    EXPECT_EQ(after.at("feasible"), true) << again;
    EXPECT_EQ(after.at("step_time_s"), remedy.at(kind).at("result").at("step_time_s")) << again;
  }
  const json without = answer_of(place, "simulate large.json --json --no-remedy");
  EXPECT_TRUE(without.at("remedy").is_null());
}

double value_at(const json& numbers, std::size_t i) { return numbers.at(i).at("value"); }

/// What a sentence says of the need is the need to the last digit, on a page of it too.
TEST(Answers, OfWhatDoesNotFitHaveTheNeedInTheirSentences) {
  LONG_TEST();
  const Workplace place;
  const json found = answer_of(place, "fit llama-3.1-8b --gpu 4090 --ram 16G --json");
  EXPECT_EQ(refused(found, "answer_fit"), "");
  EXPECT_EQ(found.at("fits"), false);
  const json& first = found.at("needs").at(0);
  const std::string tier =
      first.at("needed_bytes").at("gpu") > first.at("has_bytes").at("gpu") ? "gpu" : "host";
  EXPECT_EQ(value_at(first.at("why_not_numbers"), 0), first.at("needed_bytes").at(tier));
  EXPECT_EQ(value_at(first.at("why_not_numbers"), 1), first.at("has_bytes").at(tier));
  EXPECT_EQ(value_at(found.at("why_not_numbers"), 0), first.at("needed_bytes").at(tier));

  place.write("large.json", too_large);
  const json large = answer_of(place, "simulate large.json --json --no-remedy");
  const Ended page = shell(place, "spillway report large.json --out page.html");
  ASSERT_EQ(page.exit, 0) << page.err;
  EXPECT_THAT(file_text(place.path() / "page.html"),
              HasSubstr("data-value=\"" + large.at("needed_bytes").at("gpu").dump() + "\""));
}

/// A walk over answers finds what the rest of this file takes for granted.
TEST(UntypedNumbers, AreFoundWhereNothingBesideThemListsThem) {
  EXPECT_EQ(untyped_numbers({{"reason", "needs 1.5 GiB"}}), "/reason: needs 1.5 GiB\n");
  EXPECT_EQ(untyped_numbers({{"a", {{{"notes", {"none", "it took 3 % of it"}}}}}}),
            "/a/notes: it took 3 % of it\n");
  const json typed = {{"reason", "needs 1.5 GiB"},
                      {"reason_numbers", {{{"at", 6}, {"words", "1.5 GiB"}}}}};
  EXPECT_EQ(untyped_numbers(typed), "");
  EXPECT_EQ(untyped_numbers({{"scenario", {{"memory", "24 GiB"}}}, {"words", "2 s"}}), "");
}

TEST(Answers, OfPlansAndComparisonsAreThoseOfTheirSchemas) {
  LONG_TEST();
  const Workplace place;
  const std::string gpt2 = " --model gpt2 --machine gaming_4090 --sequence 256 --system resident";
  EXPECT_EQ(refused(answer_of(place, "plan largest --json" + gpt2), "answer_largest"), "");
  EXPECT_EQ(refused(answer_of(place, "plan settings --json" + gpt2), "answer_settings"), "");
  EXPECT_EQ(refused(answer_of(place,
                              "plan drives scenarios/examples/lohan_13b_batch32.json --most 2 "
                              "--json"),
                    "answer_drives"),
            "");
  for (const char* budget : {"5000", "100"})
    EXPECT_EQ(refused(answer_of(place, std::string("plan machine --model gpt2 --tokens-per-day "
                                                   "20e6 --sequence 256 --system resident "
                                                   "--json --budget ") +
                                           budget),
                      "answer_machine"),
              "")
        << budget;
  const json rows =
      answer_of(place, "compare scenarios/examples/tiny.json --system resident,lohan --json");
  ASSERT_EQ(rows.size(), 2u);
  for (const json& row : rows) EXPECT_EQ(refused(row, "result"), "");
}

TEST(Answers, OfExplorationsAreThoseOfTheirSchemas) {
  const Workplace place;
  place.write("space.json", small_space);
  const json found = answer_of(place, "explore space.json --db r.db --json");
  EXPECT_EQ(refused(found, "answer_front"), "");
  const std::string number = found.at("front").at(0).at("number").dump();
  EXPECT_EQ(
      refused(answer_of(place, "explore explain r.db " + number + " --json"), "answer_explain"),
      "");
  for (const char* which : {"--why", "--best-per training.micro_batch"})
    EXPECT_EQ(refused(answer_of(place, std::string("explore show r.db --json ") + which),
                      "answer_points"),
              "")
        << which;
  EXPECT_EQ(refused(answer_of(place, "explore show r.db --price dram=3 --json"), "answer_repriced"),
            "");
}

TEST(Answers, OfTheOtherVerbsAreThoseOfTheirSchemas) {
  const Workplace place;
  EXPECT_EQ(refused(answer_of(place,
                              "calibrate gaming_4090 --from tests/data/evidence/fio.json "
                              "tests/data/evidence/smartctl.json "
                              "tests/data/evidence/nvidia_smi.txt "
                              "tests/data/evidence/runs.csv --json"),
                    "answer_calibrate"),
            "");
  EXPECT_EQ(refused(answer_of(place, "model llama-3.2-1b --json"), "answer_model"), "");
  EXPECT_EQ(refused(answer_of(place, "model gpt2 --json --activations"), "answer_model"), "");
  const std::string planned = "lifetimes scenarios/examples/tiny.json --set strategy.system=teraio";
  EXPECT_EQ(refused(answer_of(place, planned + " --roofline --json"), "answer_lifetimes"), "");
  json judged = answer_of(place, "fidelity --filter memascend.qwen7b --json");
  for (json& figure : judged.at("figures")) {
    EXPECT_TRUE(figure.at("reason").is_string());
    figure["reason"] = "";  // what people wrote in open.json and beyond.json
  }
  EXPECT_EQ(refused(judged, "fidelity"), "");
  EXPECT_EQ(
      refused(answer_of(place, "import tests/data/kineto_two_gpus.json -o profile.csv --json"),
              "answer_import_profile"),
      "");
}

TEST(Answers, OfRealRunsAreThoseOfTheirSchemas) {
  LONG_TEST();
  const Workplace place;
  const Ended measured =
      shell(place, "mkdir a && SPILLWAY_PLUGINS=/nowhere spillway probe a --quick --json");
  ASSERT_EQ(measured.exit, 0) << measured.err;
  json probed = measured.json();
  EXPECT_EQ(probed.at("mixes").size(), 2u);
  // names, some with the sizes that they are of
  for (json& one : probed.at("measurements")) one["path"] = "a name";
  EXPECT_EQ(refused(probed, "answer_probe"), "");
  const Ended validated = Server().validate("--on a --synthetic --json");
  ASSERT_EQ(validated.exit, 0) << validated.err;
  EXPECT_EQ(refused(validated.json(), "validation"), "");
}

}  // namespace
}  // namespace spillway::e2e::answers_test
