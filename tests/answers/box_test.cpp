#include "answers/fit/box.hpp"

#include "scenarios/description/errors.hpp"
#include "scenarios/description/machine_file.hpp"
#include "scenarios/read_machine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spillway::answers {
namespace {

description::MachineFile machine_of(const BoxWords& words) {
  const NamedBox box = box_of(words, scenarios::read_price_list("one_box"));
  EXPECT_THAT(scenarios::check_machine(scenarios::located_at(box.machine, {})), testing::IsEmpty());
  return box.machine.get<description::MachineFile>();
}

std::string refusal_of(const BoxWords& words) {
  try {
    box_of(words, scenarios::read_price_list("one_box"));
    return "";
  } catch (const description::ScenarioError& error) {
    return error.what();
  }
}

TEST(BoxOf, ReadsCardsMemoryAndDrivesAsPeopleSayThem) {
  const auto machine = machine_of({"4090x2", "128G", "2Tx2"});
  EXPECT_EQ(machine.gpu.count, 2u);
  EXPECT_EQ(machine.gpu.memory.value(), 24ull << 30);
  EXPECT_EQ(machine.host.memory.value(), 128ull << 30);  // memory is sold in GiB
  ASSERT_EQ(machine.storage.size(), 1u);
  EXPECT_EQ(machine.storage[0].count, 2u);
  EXPECT_EQ(machine.storage[0].capacity.value(), 2'000'000'000'000ull);  // drives in TB
}

TEST(BoxOf, TakesAnyCaseAnyCrossAndNoDrive) {
  EXPECT_EQ(machine_of({"rtx-4090", "96 GiB", ""}).gpu.count, 1u);
  EXPECT_EQ(machine_of({"RTX 4090X2", "96g", "none"}).gpu.count, 2u);
  EXPECT_TRUE(machine_of({"4090", "64G", ""}).storage.empty());
  EXPECT_EQ(machine_of({"4090", "100G", ""}).host.memory.value(), 100ull << 30);
}

TEST(BoxOf, ScalesADriveOfASizeThatIsNotSold) {
  const NamedBox box = box_of({"4090", "64G", "11T"}, scenarios::read_price_list("one_box"));
  const auto machine = box.machine.get<description::MachineFile>();
  EXPECT_EQ(machine.storage[0].capacity.value(), 11'000'000'000'000ull);
  ASSERT_FALSE(box.notes.empty());
  EXPECT_NE(box.notes.front().find("in proportion"), std::string::npos) << box.notes.front();
}

TEST(BoxOf, KnowsWhatTheCardTakesFromThePlug) {
  const auto machine = machine_of({"4090x2", "128G", "2T"});
  ASSERT_TRUE(machine.power);
  EXPECT_EQ(machine.power->gpu, 450);
  EXPECT_EQ(machine.power->gpu_waiting, 112.5);  // a quarter, as the file says nothing else
  EXPECT_TRUE(machine.sources.at("power.gpu").starts_with("datasheet: "));
  EXPECT_TRUE(machine.sources.at("prices_usd.kwh").starts_with("assumed: "));
}

TEST(BoxOf, RefusesAllThatMeansNothingAtOnceWithTheNearestName) {
  const std::string text = refusal_of({"RTX 4091", "many", "2 TiBs"});
  EXPECT_NE(text.find("--gpu: no \"RTX 4091\""), std::string::npos) << text;
  EXPECT_NE(text.find("did you mean \"RTX 409"), std::string::npos) << text;
  EXPECT_NE(text.find("--ram: \"many\" is no size of memory"), std::string::npos) << text;
  EXPECT_NE(text.find("--ssd"), std::string::npos) << text;
}

TEST(BoxOf, SaysWhereTheListHasNoSuchHost) {
  const NamedBox box = box_of({"4090x64", "64G", ""}, scenarios::read_price_list("one_box"));
  EXPECT_THAT(box.notes, testing::Contains(testing::HasSubstr("64 cards")));
}

}  // namespace
}  // namespace spillway::answers
