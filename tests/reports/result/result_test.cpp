#include "reports/result/result.hpp"

#include "reports/result/needs.hpp"
#include "scenarios/description/errors.hpp"
#include "tests/reports/samples.hpp"

#include <gtest/gtest.h>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace spillway::result {
namespace {

using nlohmann::json;
using reports::sample_that_does_not_fit;
using reports::sample_that_fits;

/// Through text, as between two processes.
Result read_back(const Result& result) { return json::parse(json(result).dump()).get<Result>(); }

/// Every name in `pattern` is in `found`, with a value of the same kind.
void expect_names(const json& pattern, const json& found, const std::string& path) {
  for (const auto& [key, value] : pattern.items()) {
    ASSERT_TRUE(found.contains(key)) << path << "." << key;
    if (value.is_object())
      expect_names(value, found.at(key), path + "." + key);
    else if (value.is_number())
      EXPECT_TRUE(found.at(key).is_number()) << path << "." << key;
    else
      EXPECT_EQ(found.at(key).type(), value.type()) << path << "." << key;
  }
}

TEST(ResultJson, HasEveryNameOfTheFormat) {
  const json pattern = json::parse(R"({
    "schema": "", "backend": "", "scenario": {}, "system": "", "feasible": true,
    "infeasible": null, "needed_bytes": {"gpu": 0, "host": 0, "ssd": 0}, "step_time_s": 0.0,
    "phases": {"forward_s": 0, "backward_s": 0, "update_s": 0, "overflow_check_s": 0},
    "throughput": {"tokens_per_s": 0, "samples_per_s": 0, "model_tflops_per_gpu": 0},
    "peak_bytes": {
      "gpu": {"total": 0, "phase": "", "by_purpose": {"weights": 0, "activations": 0}},
      "host": {"total": 0, "phase": "", "by_purpose": {"parameter_pool": 0}},
      "ssd": {"total": 0, "by_purpose": {"optimizer_states": 0}}},
    "io_bytes_per_step": {"ssd_read": 0, "ssd_write": 0, "h2d": 0, "d2h": 0, "gpu_direct": 0,
      "network": 0, "by_storage": {"nvme": {"read": 0, "write": 0}}},
    "wear": {"write_bytes_per_day": 0, "waf": 0, "rated_write_bytes": 0, "lifetime_years": 0},
    "utilization": {"gpu": 0, "h2d": 0, "d2h": 0, "cpu": 0, "storage": {"nvme": 0}},
    "stall_s": {"gpu_waits_for_ssd": 0, "gpu_waits_for_host": 0, "gpu_waits_for_update": 0},
    "bottleneck": {"resource": "", "next": {"one more ssd": {"step_time_s": 0}}},
    "phase_busy_s": {"backward": {"gpu": 0, "gpu_recompute": 0, "h2d": 0, "d2h": 0, "ssd": 0,
      "cpu": 0}},
    "phase_bytes": {"forward": {"ssd_read": 0, "ssd_write": 0, "h2d": 0, "d2h": 0,
      "gpu_direct_read": 0, "gpu_direct_write": 0}},
    "price_usd": 0, "steady": true, "operations": 0,
    "wall": {"simulated_in_s": 0, "planned_in_s": 0}})");
  const json found = sample_that_fits();
  expect_names(pattern, found, "result");
  EXPECT_EQ(found.at("schema"), "spillway/result/1");
  EXPECT_EQ(found.at("/peak_bytes/host/entries/0/purpose"_json_pointer), "gradient_flat_buffer");
}

TEST(ResultJson, KeepsHowLateUpdatesCameAndWhatMovedInsideTheDrives) {
  Result result = sample_that_fits();
  EXPECT_FALSE(json(result).contains("staleness"));
  EXPECT_FALSE(json(result).contains("near_storage"));
  result.staleness.emplace();
  result.staleness->mean = 2.5;
  result.staleness->max = 4;
  result.staleness->blocks = {{2, 3}, {3, 4}};
  result.near_storage = StorageBytes{12, 14};
  const Result again = read_back(result);
  ASSERT_TRUE(again.staleness && again.near_storage);
  EXPECT_EQ(again.staleness->mean, 2.5);
  EXPECT_EQ(again.staleness->max, 4u);
  EXPECT_EQ(again.staleness->blocks.at(1).mean, 3);
  EXPECT_EQ(again.near_storage->write, 14u);
  EXPECT_EQ(json(again), json(result));
}

TEST(ResultJson, SaysWhatDidNotFit) {
  const json found = sample_that_does_not_fit();
  EXPECT_EQ(found.at("feasible"), false);
  const json expected = {{"tier", "host"},
                         {"rank", 1},
                         {"purpose", "gradient_flat_buffer"},
                         {"phase", "init"},
                         {"asked_bytes", 32 * reports::gib},
                         {"free_bytes", 20 * reports::gib},
                         {"capacity_bytes", 128 * reports::gib},
                         {"storage", ""}};
  EXPECT_EQ(found.at("infeasible"), expected);
  EXPECT_EQ(found.at("needed_bytes"),
            (json{{"gpu", 2 * reports::gib}, {"host", 164 * reports::gib}, {"ssd", 0}}));
  EXPECT_EQ(found.at("/peak_bytes/host/reserve"_json_pointer), 4 * reports::gib);
  EXPECT_TRUE(json(reports::sample_that_stopped()).at("needed_bytes").is_null());
}

TEST(Needs, AreThoseOfTiersThatAreTooSmall) {
  Result result = sample_that_does_not_fit();
  ASSERT_EQ(shortages_of(result).size(), 1u);
  EXPECT_EQ(shortages_of(result)[0].tier, "host");
  EXPECT_EQ(shortages_of(result)[0].needed, 164 * reports::gib);
  EXPECT_EQ(needs_of(result).size(), 2u);  // it has no drives
  result.host.capacity = 164 * reports::gib;
  EXPECT_TRUE(shortages_of(result).empty());
  result.host.capacity = 0;  // no limit
  EXPECT_TRUE(shortages_of(result).empty());
  EXPECT_TRUE(needs_of(reports::sample_that_stopped()).empty());
}

TEST(ResultJson, IsNullWhereThereIsNoValueAndLeavesOutWhatDoesNotApply) {
  Result result = sample_that_fits();
  result.wear->lifetime_years.reset();
  json found = result;
  EXPECT_TRUE(found.at("infeasible").is_null());
  EXPECT_TRUE(found.at("/wear/lifetime_years"_json_pointer).is_null());
  result.wear->usd_per_million_tokens.reset();
  EXPECT_TRUE(json(result).at("/wear/usd_per_million_tokens"_json_pointer).is_null());
  EXPECT_TRUE(found.at("/bottleneck/next/half the host memory/step_time_s"_json_pointer).is_null());
  result.wear.reset();
  result.price_usd.reset();
  found = result;
  EXPECT_TRUE(found.at("wear").is_null());
  for (const char* name : {"price_usd", "plan", "io_bench"})
    EXPECT_FALSE(found.contains(name)) << name;
}

TEST(ResultJson, ComesBackAsItWas) {
  Result result = sample_that_fits();
  result.plan = {{"swap_bytes", 5}, {"case", "gpu bound"}};
  result.io_bench = {{"latency_s", 85e-6}};
  result.steady = false, result.step_spread = 0.25;
  const Result back = read_back(result);
  EXPECT_EQ(json(back), json(result));
  EXPECT_TRUE(back.feasible());
  EXPECT_EQ(back.host.entries.at(4).charged_bytes, 4 * reports::gib);
  EXPECT_EQ(back.next.at("one more ssd").step_time_s, 30.0);
  EXPECT_EQ(back.next.at("half the host memory").step_time_s, std::nullopt);
  EXPECT_EQ(back.wear->storage, "nvme");
  EXPECT_EQ(back.wear->drives, 2u);
  EXPECT_EQ(back.wear->write_bytes_per_step, 90e9);
  EXPECT_EQ(back.wear->write_bytes_per_day_per_drive, 97.2e12);
  EXPECT_EQ(back.wear->drive_writes_per_day, 12.6);
  EXPECT_EQ(back.wear->rated_drive_writes_per_day, 0.33);
  EXPECT_EQ(back.wear->lifetime_write_bytes, 9.2e15);
  EXPECT_EQ(back.wear->usd_per_million_tokens, 0.01234);
  EXPECT_EQ(back.plan.at("case"), "gpu bound");
}

TEST(ResultJson, ComesBackInfeasible) {
  const Result back = read_back(sample_that_does_not_fit());
  ASSERT_FALSE(back.feasible());
  EXPECT_EQ(back.infeasible->purpose, "gradient_flat_buffer");
  EXPECT_EQ(back.infeasible->free_bytes, 20 * reports::gib);
  EXPECT_EQ(back.wear.has_value(), false);
  EXPECT_EQ(json(back), json(sample_that_does_not_fit()));
}

TEST(ResultJson, ReadsIntoAResultThatHeldAnother) {
  Result result = sample_that_fits();
  from_json(json(sample_that_does_not_fit()), result);
  EXPECT_EQ(json(result), json(sample_that_does_not_fit()));
}

TEST(ResultJson, KeepsEveryBitOfADouble) {
  std::mt19937_64 random(7);
  std::vector<double> numbers = {
      0.1, 1.0 / 3, -0.0, 5e-324, 1e22, 123456789012345680.0, std::numeric_limits<double>::max()};
  while (numbers.size() < 1000) {
    const std::uint64_t bits = random();
    double number = 0;
    std::memcpy(&number, &bits, sizeof number);
    if (std::isfinite(number)) numbers.push_back(number);
  }
  for (const double number : numbers) {
    Result result;
    result.step_time_s = number;
    const double back = read_back(result).step_time_s;
    EXPECT_EQ(std::memcmp(&back, &number, sizeof number), 0) << number;
  }
}

TEST(ResultJson, KeepsTheLargestByteCount) {
  Result result;
  result.ssd.total = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(read_back(result).ssd.total, 18446744073709551615u);
}

TEST(ResultJson, RefusesNumbersThatAreNoBytes) {
  for (const json& number : {json(1.1e136), json(-1), json(1.5), json(1e19)}) {
    json written = json(sample_that_fits());
    written["peak_bytes"]["gpu"]["entries"][0]["charged_bytes"] = number;
    try {
      written.get<Result>();
      ADD_FAILURE() << number;
    } catch (const description::ScenarioError& error) {
      EXPECT_NE(std::string(error.what()).find("charged_bytes"), std::string::npos) << error.what();
    }
  }
}

TEST(ResultJson, TakesWholeNumbersThatAnotherProgramWroteAsDoubles) {
  json written = json(sample_that_fits());
  written["peak_bytes"]["gpu"]["entries"][0]["charged_bytes"] = 114e9;
  const auto entries = written.get<Result>().gpu.entries;
  EXPECT_EQ(entries.at(0).charged_bytes, 114'000'000'000u);
}

TEST(ResultJson, IsTheSameTextForTheSameResult) {
  EXPECT_EQ(json(sample_that_fits()).dump(), json(sample_that_fits()).dump());
  EXPECT_EQ(json(read_back(sample_that_fits())).dump(), json(sample_that_fits()).dump());
}

TEST(ResultJson, RefusesANumberThatIsNotFinite) {
  Result result = sample_that_fits();
  result.wear->lifetime_years = std::numeric_limits<double>::infinity();
  EXPECT_THROW(json{result}, description::InternalError);
  result = sample_that_fits();
  result.next["one more ssd"].step_time_s = std::nan("");
  EXPECT_THROW(json{result}, description::InternalError);
}

TEST(ResultJson, SkipsNamesItDoesNotKnow) {
  json with_more = sample_that_fits();
  with_more["carbon_kg"] = 3;
  with_more["peak_bytes"]["tape"] = {{"total", 0}};
  EXPECT_EQ(json(with_more.get<Result>()), json(sample_that_fits()));
}

/// What reading it says is wrong, in words.
std::string refusal(const json& in) {
  try {
    (void)in.get<Result>();
  } catch (const description::ScenarioError& error) {
    return to_string(error.complaints().front());
  }
  return "";
}

TEST(ResultJson, TakesDefaultsForWhatAnOlderReleaseDidNotWrite) {
  const json whole = sample_that_fits();
  for (const auto& [name, value] : whole.items()) {
    if (name == "schema") continue;
    json without = whole;
    without.erase(name);
    EXPECT_EQ(refusal(without), "") << name;
  }
  json older = whole;
  older["wear"].erase("warranty_years");
  older["peak_bytes"]["gpu"].erase("reserve");
  older["throughput"].erase("samples_per_s");
  const Result read = older.get<Result>();
  EXPECT_FALSE(read.wear->warranty_years);
  EXPECT_EQ(read.wear->waf, 1.5);
  EXPECT_EQ(read.gpu.reserve, 0u);
  EXPECT_EQ(read.gpu.total, 18 * reports::gib);
  EXPECT_EQ(read.tokens_per_s, 1638.4);
}

TEST(ResultJson, NamesAnotherSchemaAndTheValueOfTheWrongType) {
  json other = sample_that_fits();
  other["schema"] = "spillway/result/2";
  EXPECT_NE(refusal(other).find("this is result version 2; this program reads 1"),
            std::string::npos)
      << refusal(other);
  json wrong = sample_that_fits();
  wrong["throughput"]["tokens_per_s"] = "fast";
  EXPECT_EQ(refusal(wrong).find("throughput.tokens_per_s: a value of type string"), 0u)
      << refusal(wrong);
}

}  // namespace
}  // namespace spillway::result
