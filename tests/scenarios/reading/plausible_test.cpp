#include "scenarios/reading/plausible.hpp"
#include "scenarios/reading/read_scenario.hpp"
#include "tests/scenarios/complaints.hpp"
#include "tests/scenarios/test_systems.hpp"

#include <gmock/gmock.h>

namespace spillway::scenarios {
namespace {

using ::testing::HasSubstr;

/// What is said of a plain scenario with one value set; "" when it is taken.
std::string said_of(const std::string& override, const std::string& machine = "lohan_4090") {
  const nlohmann::json plain = {
      {"model", "gpt2"}, {"machine", machine}, {"strategy", {{"system", "zero_infinity"}}}};
  try {
    read_scenario(plain, {override}, test_systems());
  } catch (const description::ScenarioError& error) {
    return error.what();
  }
  return "";
}

TEST(Plausible, RefusesWhatNoMachineHasAndSaysTheRange) {
  EXPECT_THAT(said_of("machine.gpu.memory=1 PB"),
              HasSubstr("machine.gpu.memory: 1 PB is beyond what exists; write between 1 MB and 4 "
                        "TiB; a unit or a zero may have slipped"));
  for (const char* absurd :
       {"machine.pcie.h2d=1 B/s", "machine.host.memory=1 EB", "machine.gpu.compute.fp16=1 FLOPS",
        "machine.storage.nvme.read=1 B/s", "machine.storage.nvme.count=100000",
        "machine.storage.nvme.capacity=200 PB", "training.micro_batch=1000000",
        "training.gradient_accumulation=1000000", "machine.host.adam=1 param/s"})
    EXPECT_THAT(said_of(absurd), HasSubstr("beyond what exists")) << absurd;
  EXPECT_THAT(said_of("model.n_layer=100000"), HasSubstr("at most 2000"));
}

TEST(Plausible, RefusesWhatNoDriveReaches) {
  // a 990 PRO takes four lanes of at most 16 GB/s; the drives of lohan_4090 do not say theirs
  EXPECT_THAT(said_of("machine.storage[0].read=1 TB/s", "gaming_4090"),
              HasSubstr("read: 1 TB/s is beyond what exists; write between 10 KB/s and 64 GB/s, "
                        "which 4 lanes of PCI Express 7.0 carry; a unit"));
  EXPECT_THAT(said_of("machine.storage[0].write=1 TB/s"),
              HasSubstr("write: 1 TB/s is beyond what exists; write between 10 KB/s and 500 GB/s, "
                        "which a RAM disk reaches; a unit"));
  EXPECT_THAT(said_of("machine.storage[0].latency=1 h"), HasSubstr("write at most 10 s;"));
  EXPECT_THAT(said_of("machine.storage[0].endurance.rated=1 B"),
              HasSubstr("write at least 1 TB, the drive written once;"));
  EXPECT_THAT(said_of("machine.storage[0].endurance.held=2 TB", "gaming_4090"),
              HasSubstr("endurance.held: 2 TB are all that a drive of 2 TB has; write what others "
                        "keep on each drive"));
  EXPECT_EQ(said_of("machine.storage[0].endurance.held=1.9 TB", "gaming_4090"), "");
  for (const char* size : {"1 PB", "2.1 TB"})  // on a drive of 2 TB
    EXPECT_THAT(said_of(std::string("machine.storage[0].slc_cache.size=") + size, "gaming_4090"),
                HasSubstr("and 2 TB, at most the drive;"));
}

TEST(Plausible, RefusesAnUpdateThatTheMemoryDoesNotFeed) {
  // 340 GB/s / 28 B = 12.14 Gparam/s
  EXPECT_THAT(said_of("machine.host.adam=1e12 param/s"),
              HasSubstr("and 50 Gparam/s: host.memory_rate feeds 12.14"));
  EXPECT_EQ(said_of("machine.host.adam=24 Gparam/s"), "");
  EXPECT_EQ(said_of("machine.host.memory_rate=10 GB/s"), "") << "what slower memory would do";
}

TEST(Plausible, RefusesPricesThatNothingHas) {
  for (const char* absurd :
       {"server=1e12", "gpu=1e12", "ssd=1e12", "dram_per_gib=1e12", "gpu_hour=1e5", "kwh=1000"})
    EXPECT_THAT(said_of(std::string("machine.prices_usd.") + absurd),
                HasSubstr("beyond what exists"))
        << absurd;
  EXPECT_THAT(said_of("machine.storage[0].price_usd=1e12"), HasSubstr("at most 1000000"));
}

TEST(Plausible, TakesTheLargestAndTheSmallestThatExist) {
  for (const char* fine :
       {"machine.gpu.memory=288 GiB", "machine.gpu.memory=8 GiB", "machine.host.memory=24 TiB",
        "machine.pcie.h2d=450 GB/s", "machine.storage.nvme.count=32",
        "machine.storage.nvme.capacity=122.88 TB", "training.micro_batch=4096", "run.steps=1000",
        "machine.storage[0].read=300 GB/s", "machine.storage[0].latency=30 ms",
        "machine.storage[0].endurance.rated=1 EB", "machine.prices_usd.server=4e6",
        "machine.prices_usd.gpu=70000", "machine.prices_usd.gpu=0"})
    EXPECT_EQ(said_of(fine), "") << fine;
}

/// Warnings of a plain scenario on a machine of bought parts.
std::vector<std::string> warned_of(const std::vector<std::string>& overrides) {
  const nlohmann::json plain = {
      {"model", "gpt2"}, {"machine", "gaming_4090"}, {"strategy", {{"system", "zero_infinity"}}}};
  return doubts_of_price(read_scenario(plain, overrides, test_systems()).scenario.machine);
}

TEST(Plausible, WarnsOfPricesOfSmallerParts) {
  const auto has = [](const char* words) { return ::testing::Contains(HasSubstr(words)); };
  EXPECT_THAT(warned_of({}), ::testing::Not(has("price")));
  EXPECT_THAT(warned_of({"machine.gpu.memory=48 GiB"}),
              has("machine.gpu.memory: 48 GiB, and the price is that of a RTX 4090 with 24 GiB; "
                  "--set machine.prices_usd.gpu="));
  EXPECT_THAT(warned_of({"machine.gpu.memory=48 GiB", "machine.prices_usd.gpu=4000"}),
              ::testing::Not(has("price")));
  const nlohmann::json own = {
      {"model", "gpt2"}, {"machine", "gaming_4090"}, {"strategy", {{"system", "zero_infinity"}}}};
  const auto dates = [&](const std::vector<std::string>& overrides) {
    return read_scenario(own, overrides, test_systems()).scenario.machine.dates;
  };
  EXPECT_TRUE(dates({}).contains("prices_usd.gpu"));
  EXPECT_FALSE(dates({"machine.prices_usd.gpu=4000"}).contains("prices_usd.gpu"));
  EXPECT_THAT(warned_of({"machine.gpu.memory=16 GiB"}), ::testing::Not(has("price")));
  EXPECT_THAT(warned_of({"machine.storage[0].capacity=8 TB"}), has(".capacity: 8 TB, and the"));
  // as `nvme id-ctrl` and smartctl count a drive of 2 TB
  EXPECT_THAT(warned_of({"machine.storage[0].capacity=2000398934016 B"}),
              ::testing::Not(has("price")));
}

TEST(Plausible, WarnsOfDrivesWithoutAPriceInABoxThatHasOne) {
  const auto of_drives = [](const std::string& more) {
    const nlohmann::json drives = nlohmann::json::parse(
        R"([{"name": "nvme", "kind": "ssd", "read": "7 GB/s", "write": "6 GB/s",
             "capacity": "2 TB")" +
        more + "}]");
    const nlohmann::json scenario = {
        {"model", "gpt2"},
        {"machine", {{"name", "mine"}, {"extends", "gaming_4090"}, {"storage", drives}}},
        {"strategy", {{"system", "zero_infinity"}}}};
    return doubts_of_price(read_scenario(scenario, {}, test_systems()).scenario.machine);
  };
  EXPECT_THAT(of_drives(""), ::testing::ElementsAre(HasSubstr(
                                 "machine.storage.nvme: its drives have no price, and the box's is "
                                 "without them; --set machine.storage.nvme.price_usd=DOLLARS")));
  EXPECT_THAT(of_drives(R"(, "price_usd": 150)"), ::testing::IsEmpty());
}

}  // namespace
}  // namespace spillway::scenarios
