#include "tests/e2e/command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>

namespace spillway::e2e::simulate_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const std::string four_gpus =
    "spillway simulate scenarios/examples/llama8b_four_gpus.json --set model=gpt2 "
    "--set training.sequence=1024 ";
const std::string tiny = "spillway simulate scenarios/examples/tiny.json ";

TEST(Simulate, GivesTheSameBytesEachTimeButForTheWallClock) {
  const Workplace place;
  json first = shell(place, four_gpus + "--json --trace a.json").json();
  json second = shell(place, four_gpus + "--json --trace b.json").json();
  EXPECT_TRUE(first.contains("wall"));
  first.erase("wall");
  second.erase("wall");
  EXPECT_EQ(first.dump(), second.dump());
  const std::string trace = file_text(place.path() / "a.json");
  EXPECT_FALSE(trace.empty());
  EXPECT_TRUE(trace == file_text(place.path() / "b.json"));
}

/// What planners of each kind decided is run again from the answer's file, and from the decision
/// alone, which says nothing of what would help.
TEST(Simulate, RunsAgainWhatWasDecided) {
  const Workplace place;
  for (const std::string system : {"memascend", "lohan", "capuchin", "teraio", "ssdtrain"}) {
    SCOPED_TRACE(system);
    json first =
        shell(place, tiny + "--set strategy.system=" + system + " --json > r.json; cat r.json")
            .json();
    json again = shell(place, "spillway simulate --decision r.json --json").json();
    const std::string alone =
        "python3 -c \"import json; print(json.dumps(json.load(open('r.json'))['decision']))\" > "
        "d.json";
    ASSERT_EQ(shell(place, alone).exit, 0);
    json bare = shell(place, "spillway simulate --decision d.json --json").json();
    EXPECT_EQ(bare.at("io_bytes_per_step"), first.at("io_bytes_per_step"));
    EXPECT_EQ(bare.at("peak_bytes"), first.at("peak_bytes"));
    EXPECT_EQ(bare.at("step_time_s"), first.at("step_time_s"));
    first.erase("wall");
    again.erase("wall");
    EXPECT_EQ(again, first);
  }
  EXPECT_THAT(shell(place, "spillway simulate --decision r.json").out, HasSubstr("tokens/s"));
}

TEST(Simulate, RefusesWhatIsNoDecisionOrWouldChangeOne) {
  const Workplace place;
  const auto refused = [&](const std::string& options) {
    const Ended ended = shell(place, "spillway simulate " + options);
    EXPECT_EQ(ended.exit, 2) << options;
    return ended.err;
  };
  ASSERT_EQ(shell(place, tiny + "--json > r.json").exit, 0);
  EXPECT_THAT(refused("--decision r.json --set training.micro_batch=1"), HasSubstr("--set"));
  ASSERT_EQ(shell(place,
                  "python3 -c \"import json; d = json.load(open('r.json')); "
                  "d['scenario']['training']['micro_batch'] = 7; "
                  "json.dump(d, open('edited.json', 'w'))\"")
                .exit,
            0);
  EXPECT_THAT(refused("--decision edited.json"), HasSubstr("scenario.training.micro_batch"));
  ASSERT_EQ(shell(place,
                  "python3 -c \"import json; d = json.load(open('r.json')); "
                  "d['scenario']['machine']['gpu']['adam'] = '1 Gparams/s'; "
                  "json.dump(d, open('added.json', 'w'))\"")
                .exit,
            0);
  EXPECT_THAT(refused("--decision added.json"), HasSubstr("scenario.machine.gpu.adam"));
  EXPECT_THAT(refused("--decision r.json --tokens 1B"), HasSubstr("--tokens"));
  EXPECT_THAT(refused("--decision r.json --price gpu=100"), HasSubstr("--price"));
  EXPECT_THAT(refused("--decision no.json"), HasSubstr("no.json"));
  EXPECT_THAT(refused("--decision scenarios/examples/tiny.json"), HasSubstr("tiny.json"));
  EXPECT_THAT(refused("scenarios/examples/tiny.json --decision r.json"), HasSubstr("--decision"));
  shell(place, "sed 's/\"tiers\": \"[a-z]*\"/\"tiers\": 3/' r.json > bad.json");
  EXPECT_THAT(refused("--decision bad.json"), HasSubstr("decision.tiers"));
  shell(place, "echo '{}' > bad.json");
  EXPECT_THAT(refused("--decision bad.json"), HasSubstr("what this is"));
  shell(place, "echo '{' > bad.json");
  EXPECT_THAT(refused("--decision bad.json"), HasSubstr("no JSON"));
}

TEST(Simulate, TakesOverridesInFrontOfTheFileAndBehindIt) {
  const Workplace place;
  const json behind = shell(place, tiny + "--set training.micro_batch=1 --json").json();
  const json before =
      shell(place,
            "spillway simulate --set training.micro_batch=1 scenarios/examples/tiny.json "
            "--json")
          .json();
  EXPECT_EQ(behind.at("scenario").at("training").at("micro_batch"), 1);
  EXPECT_EQ(behind.at("step_time_s"), before.at("step_time_s"));
}

TEST(Simulate, CountsTheMicroBatchesOfAStep) {
  const Workplace place;
  const json one = shell(place, tiny + "--json").json();
  const json four = shell(place, tiny + "--set training.gradient_accumulation=4 --json").json();
  // tokens of a step: 2 samples of 64 tokens, times the accumulation
  const auto tokens = [](const json& r) {
    return r.at("throughput").at("tokens_per_s").get<double>() * r.at("step_time_s").get<double>();
  };
  EXPECT_NEAR(tokens(one), 128, 1e-6);
  EXPECT_NEAR(tokens(four), 512, 1e-6);
  EXPECT_GT(four.at("step_time_s"), one.at("step_time_s"));
}

TEST(Simulate, PrintsCsvThatAgreesWithItsJson) {
  const Workplace place;
  const json result = shell(place, tiny + "--json").json();
  std::istringstream lines(shell(place, tiny + "--csv").out);
  std::string header, row, more;
  std::getline(lines, header);
  std::getline(lines, row);
  EXPECT_FALSE(std::getline(lines, more));
  EXPECT_THAT(header, testing::StartsWith("scenario.name,system,backend,feasible,step_time_s,"));
  // the name holds a comma, so it is quoted
  EXPECT_THAT(row, testing::StartsWith("\"a tiny llama, for real in seconds\",zero_infinity,sim,"
                                       "true," +
                                       result.at("step_time_s").dump() + ","));
}

TEST(Simulate, WritesATraceWithTracksAndMemoryCounters) {
  const Workplace place;
  ASSERT_EQ(shell(place, tiny + "--trace out.json").exit, 0);
  const json trace = json::parse(file_text(place.path() / "out.json"));
  const json& events = trace.is_array() ? trace : trace.at("traceEvents");
  std::map<std::string, int> kinds;
  for (const json& event : events) ++kinds[event.at("ph").get<std::string>()];
  EXPECT_GT(kinds["M"], 4);   // names of processes and tracks
  EXPECT_GT(kinds["C"], 10);  // memory of a tier over time
  for (const auto& [kind, count] : kinds) EXPECT_GT(count, 0) << kind;
  for (const char* track : {"\"gpu", "host", "nvme"}) EXPECT_THAT(events.dump(), HasSubstr(track));
}

TEST(Simulate, ExplainsSettingsBytesAndSeconds) {
  const Ended ended = shell(Workplace(), tiny + "--explain --set training.micro_batch=1");
  EXPECT_EQ(ended.exit, 0);
  EXPECT_THAT(line_of(ended.out, "training.micro_batch "),
              HasSubstr("--set training.micro_batch=1"));
  EXPECT_THAT(line_of(ended.out, "training.sequence "), HasSubstr("tiny.json:"));
  EXPECT_THAT(line_of(ended.out, "training.optimizer "), HasSubstr("default"));
  EXPECT_THAT(line_of(ended.out, "strategy.pinned "), HasSubstr("default of zero_infinity"));
  EXPECT_THAT(line_of(ended.out, "machine.gpu.memory_rate "), HasSubstr("datasheet"));
  EXPECT_THAT(ended.out, HasSubstr("of host memory come from"));
  EXPECT_THAT(ended.out, HasSubstr("of a step go"));
}

TEST(Simulate, ExplainsMemoryWithTheSettingsThatDecideIt) {
  const Workplace place;
  const Ended ended = shell(place, tiny + "--explain memory");
  EXPECT_EQ(ended.exit, 0);
  EXPECT_THAT(ended.out, HasSubstr("set by strategy.weights.buffer_count = "));
  EXPECT_THAT(ended.out, HasSubstr("set by machine.host.process_base = "));
  EXPECT_THAT(ended.out, Not(HasSubstr("of a step go")));
  // the topic may be left out, and the scenario may stand behind
  const std::string all = shell(place, tiny + "--explain").out;
  EXPECT_THAT(all, HasSubstr("of a step go"));
  EXPECT_EQ(shell(place, "spillway simulate --explain " + tiny.substr(18)).out, all);
  EXPECT_EQ(shell(place, tiny + "--explain all").out, all);
}

TEST(Simulate, GivesEveryBufferOfAPeakItsSetting) {
  const json peaks = shell(Workplace(), tiny + "--json").json().at("peak_bytes");
  for (const char* tier : {"gpu", "host", "ssd"})
    for (const json& entry : peaks.at(tier).at("entries")) {
      EXPECT_THAT(entry.at("setting").get<std::string>(), HasSubstr(" = ")) << entry;
      EXPECT_NE(entry.at("phase"), "") << entry;
    }
}

TEST(Machine, PrintsAFileThatSimulatesToTheSameResult) {
  const Workplace place;
  ASSERT_EQ(shell(place, "spillway machine gaming_4090 --json >box.json").exit, 0);
  json shipped = shell(place, tiny + "--json").json();
  const Ended printed = shell(place, tiny + "--set machine=box.json --json");
  ASSERT_EQ(printed.exit, 0) << printed.err;
  for (const char* key : {"step_time_s", "peak_bytes", "wear", "price_usd"})
    EXPECT_EQ(shipped.at(key), printed.json().at(key)) << key;
}

TEST(Systems, AreEachSimulatedByTheNameTheyAreListedUnder) {
  const Workplace place;
  const json systems = shell(place, "spillway systems --json").json();
  ASSERT_GE(systems.size(), 3u);
  for (const json& system : systems) {
    const std::string name = system.at("system");
    const Ended ended =
        shell(place, tiny + "--json --set 'strategy={\"system\": \"" + name +
                         "\"}' --set 'machine.storage.nvme.near_storage={\"read\": \"3 GB/s\", "
                         "\"write\": \"2 GB/s\", \"adam\": \"0.5 Gparam/s\"}'");
    ASSERT_EQ(ended.exit, 0) << ended.err;
    EXPECT_EQ(ended.json().at("system"), name);
    EXPECT_EQ(ended.json().at("feasible"), true);
  }
}

TEST(Model, ListsTensorsThatSumUpToItsParameters) {
  const json model = spillway("model llama-3.2-1b --json --activations").json();
  std::uint64_t sum = 0;
  for (const json& tensor : model.at("tensors"))
    sum += tensor.at("parameters").get<std::uint64_t>();
  EXPECT_EQ(model.at("parameters"), 1235814400u);  // Hugging Face's count
  EXPECT_EQ(sum, 1235814400u);
  EXPECT_EQ(model.at("activations").size(), model.at("layers"));
}

TEST(Simulate, TakesOffersInPlaceOfPrices) {
  const std::string scenario = "simulate scenarios/examples/qwen7b_one_box_mix.json --json";
  const double own = spillway(scenario).json()["price_usd"];
  const double offered = spillway(scenario + " --price dram=0.6,ssd=40").json()["price_usd"];
  // 64 GiB at 10 dollars less, one drive at 400 less
  EXPECT_NEAR(own - offered, 64 * 10 + 400, 1e-9);
  EXPECT_EQ(spillway(scenario + " --price 'RTX 5090=1'").exit, 2);
  EXPECT_EQ(spillway(scenario + " --prices none.csv").exit, 2);
}

TEST(Simulate, SaysWhichPricesAreOldAndWhatTheCacheDoes) {
  const std::string report =
      spillway("simulate scenarios/examples/qwen7b_workstation.json --set training.micro_batch=1")
          .out;
  EXPECT_NE(report.find("More than a year old: the prices of gpu (2022-12-03)"), std::string::npos)
      << report;
  EXPECT_NE(report.find("drives that keep their write rate"), std::string::npos) << report;
  EXPECT_NE(report.find("The maker's"), std::string::npos) << report;
}

}  // namespace
}  // namespace spillway::e2e::simulate_test
