#include "reports/result/validation.hpp"

#include "scenarios/description/errors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace spillway::result::validation_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;

Validation sample() {
  Validation v;
  v.predicted.step_time_s = 11, v.measured.step_time_s = 10;
  v.predicted.forward_s = 2, v.measured.forward_s = 2;
  v.predicted.update_s = 6, v.measured.update_s = 5;
  v.predicted.phase_busy["update"].ssd = 5;
  v.measured.phase_busy["update"].ssd = 4;
  v.predicted.host.total = 99, v.measured.host.total = 100;
  v.predicted.io.by_storage["nvme"] = {300, 200};
  v.measured.io.by_storage["nvme"] = {400, 200};
  return v;
}

TEST(CompareValidation, ErrorsAreRelativeToWhatWasMeasured) {
  Validation v = sample();
  compare(v);
  EXPECT_DOUBLE_EQ(v.errors.at("step_time_s"), 0.1);              // (11 - 10) / 10
  EXPECT_DOUBLE_EQ(v.errors.at("phases.update_s"), 0.2);          // (6 - 5) / 5
  EXPECT_DOUBLE_EQ(v.errors.at("phases.forward_s"), 0);           // equal
  EXPECT_DOUBLE_EQ(v.errors.at("peak_bytes.host.total"), -0.01);  // (99 - 100) / 100
  EXPECT_DOUBLE_EQ(v.errors.at("io_bytes_per_step.by_storage.nvme.read"), -0.25);
  EXPECT_DOUBLE_EQ(v.errors.at("io_bytes_per_step.by_storage.nvme.write"), 0);
  EXPECT_EQ(v.errors.count("phases.backward_s"), 0u);  // neither side has one
}

TEST(CompareValidation, WhatOnlyOneSideHasIsWhollyWrong) {
  Validation v;
  v.predicted.io.by_storage["predicted"] = {8, 0};
  v.measured.io.by_storage["measured"] = {0, 8};
  compare(v);
  EXPECT_EQ(v.errors.at("io_bytes_per_step.by_storage.predicted.read"), 1);
  EXPECT_EQ(v.errors.at("io_bytes_per_step.by_storage.measured.write"), -1);
  EXPECT_EQ(v.errors.size(), 2u);
}

TEST(CompareValidation, SuspectsTheResourceWhoseTimeDiffersMost) {
  // The update is off by 1 of 6 s, more than a twentieth; of that the drives explain 1 s.
  Validation v = sample();
  compare(v);
  ASSERT_EQ(v.suspects.size(), 1u);
  EXPECT_THAT(words(v.suspects[0]),
              HasSubstr("update: 6.00 s predicted, 5.00 s measured; ssd was busy"));
  v.measured.phase_busy["update"].ssd = 5;
  compare(v);
  ASSERT_EQ(v.suspects.size(), 1u);
  EXPECT_THAT(words(v.suspects[0]), HasSubstr("between operations"));
  v.measured.update_s = 5.8;  // 0.2 of 6 s: within a twentieth
  compare(v);
  EXPECT_TRUE(v.suspects.empty());
}

TEST(CompareValidation, DoesNotSuspectWhatWasBusierInAPhaseThatWasFaster) {
  Validation v = sample();
  v.measured.phase_busy["update"].gpu = 30;  // by more than the drives were less so
  compare(v);
  ASSERT_EQ(v.suspects.size(), 1u);
  EXPECT_THAT(words(v.suspects[0]), HasSubstr("ssd was busy"));
}

TEST(CompareValidation, HasNoErrorsOfTimesWhenKernelsTookNone) {
  Validation v = sample();
  v.synthetic = true;
  compare(v);
  EXPECT_EQ(v.errors.count("step_time_s") + v.errors.count("phases.update_s"), 0u);
  EXPECT_EQ(v.errors.count("peak_bytes.host.total"), 1u);
  EXPECT_TRUE(v.suspects.empty());
  v.pacing = Pacing{};  // they took a GPU's
  compare(v);
  EXPECT_EQ(v.errors.count("step_time_s"), 1u);
  EXPECT_FALSE(v.suspects.empty());
}

TEST(CompareValidation, KnowsBytesThatWereOnlyDividedOtherwise) {
  Validation v;
  v.predicted.io.by_storage = {{"a", {100, 50}}, {"b", {100, 50}}};
  v.measured.io.by_storage = {{"a", {60, 30}}, {"b", {140, 70}}};
  compare(v);
  ASSERT_EQ(v.suspects.size(), 1u);
  EXPECT_THAT(words(v.suspects[0]), HasSubstr("divided otherwise"));
  v.measured.io.by_storage["b"].write = 80;  // 110 together, and 100 were predicted
  compare(v);
  EXPECT_TRUE(v.suspects.empty());
  v.measured.io.by_storage = {{"a", {101, 50}}, {"b", {99, 50}}};  // within a fiftieth each
  compare(v);
  EXPECT_TRUE(v.suspects.empty());
}

TEST(StoragesOf, HasThoseOfEitherSide) {
  Validation v;
  v.predicted.io.by_storage["a"] = {1, 2};
  v.measured.io.by_storage["b"] = {3, 4};
  const auto both = storages_of(v);
  EXPECT_THAT(both, ElementsAre(Key("a"), Key("b")));
  EXPECT_EQ(both.at("a").first.write, 2u);
  EXPECT_EQ(both.at("a").second.write, 0u);
  EXPECT_EQ(both.at("b").second.read, 3u);
}

TEST(MemoryBooks, DifferenceIsRelativeToTheLedger) {
  EXPECT_DOUBLE_EQ((MemoryBooks{100, 98}.difference()), -0.02);
  EXPECT_DOUBLE_EQ((MemoryBooks{0, 98}.difference()), 0);
}

TEST(ValidationJson, HasTheNamesOfTheFormatAndNullWhereNothingWasCompared) {
  Validation v = sample();
  v.machine = {{"name", "this one"}};
  v.storage["nvme"] = {{1200, 600}, std::nullopt};
  nlohmann::json json = v;
  for (const char* key : {"schema", "device", "real", "emulated", "measured", "predicted", "errors",
                          "weights_equal", "machine"})
    EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_EQ(json["schema"], "spillway/validation/1");
  EXPECT_EQ(json["weights_equal"], nullptr);
  EXPECT_EQ(json["storage"]["nvme"]["asked"]["read"], 1200);
  EXPECT_EQ(json["storage"]["nvme"]["disk"], nullptr);
  EXPECT_FALSE(json.contains("pacing"));
  v.weights_equal = false;
  v.pacing = Pacing{10, 1, 1.5};
  json = v;
  EXPECT_EQ(json["weights_equal"], false);
  EXPECT_EQ(json["pacing"]["overruns"], 1);
}

TEST(ValidationJson, ComesBackAsItWasAndReadsWhatAnOlderReleaseWrote) {
  Validation v = sample();
  v.device = "host", v.real = {"storage"}, v.losses = {2.5, 2.25}, v.weights_equal = true;
  v.pacing = Pacing{8, 1, 0.5, 0.25};
  v.memory.ledger_bytes = 7;
  v.storage["nvme"] = {{300, 200}, StorageBytes{301, 202}};
  v.storage["sata"] = {{1, 2}, std::nullopt};
  compare(v);
  const nlohmann::json written = v;
  nlohmann::json more = nlohmann::json::parse(written.dump());
  more["carbon_kg"] = 3;
  EXPECT_EQ(nlohmann::json(more.get<Validation>()), written);
  nlohmann::json older = written;
  for (const char* name : {"memory", "storage", "losses", "suspects"}) older.erase(name);
  EXPECT_EQ(older.get<Validation>().measured.step_time_s, 10);
  EXPECT_TRUE(older.get<Validation>().storage.empty());
  older["schema"] = "spillway/validation/2";
  try {
    (void)older.get<Validation>();
    FAIL() << "it was read";
  } catch (const description::ScenarioError& error) {
    EXPECT_THAT(to_string(error.complaints().front()),
                HasSubstr("this is validation version 2; this program reads 1"));
  }
}

TEST(ValidationJson, KeepsThatALossWasNoNumberAndThatAStorageWasBuffered) {
  Validation v = sample();
  v.losses = {2.5, std::nan("")};
  v.storage["nvme"].direct = false;
  const nlohmann::json json = nlohmann::json::parse(nlohmann::json(v).dump());
  EXPECT_EQ(json["storage"]["nvme"]["direct"], false);
  const auto read = json.get<Validation>();
  ASSERT_EQ(read.losses.size(), 2u);
  EXPECT_EQ(read.losses[0], 2.5);
  EXPECT_TRUE(std::isnan(read.losses[1]));
  EXPECT_FALSE(read.storage.at("nvme").direct);
  nlohmann::json wrong = json;
  wrong["losses"][0] = "low";
  EXPECT_THROW((void)wrong.get<Validation>(), description::ScenarioError);
}

}  // namespace
}  // namespace spillway::result::validation_test
