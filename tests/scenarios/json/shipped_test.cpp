#include "scenarios/json/shipped.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/document/document.hpp"
#include "scenarios/document/read_machine.hpp"
#include "scenarios/json/schema_check.hpp"
#include "scenarios/reading/read_model.hpp"
#include "tests/scenarios/complaints.hpp"

namespace spillway::scenarios {
namespace {

TEST(Shipped, EveryModelOfTheLibraryReads) {
  const std::vector<std::string> names = shipped_names("models/library");
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_GE(names.size(), 10u);
  for (const std::string& name : names)
    EXPECT_EQ(complaints_of([&] { read_model(name); }), "") << name;
}

TEST(Shipped, EveryPresetAndExamplePassesItsSchema) {
  for (const auto& [folder, schema_name] :
       {std::pair{"scenarios/presets", "preset"}, std::pair{"scenarios/examples", "scenario"}}) {
    const std::vector<std::string> names = shipped_names(folder);
    EXPECT_FALSE(names.empty()) << folder;
    for (const std::string& name : names) {
      const Document document = assemble(read_located(shipped_file(folder, name)), {});
      EXPECT_TRUE(document.complaints.empty()) << name;
      for (const auto& complaint : check_schema(document.scenario, schema_name))
        ADD_FAILURE() << to_string(complaint);
    }
  }
}

/// Of a paper, which states no power, or of the tests.
bool is_testbed(const std::string& machine) {
  for (const char* prefix :
       {"lohan_", "memascend_", "mlp_offload_", "ssdtrain_", "teraio_", "paced_"})
    if (machine.starts_with(prefix)) return true;
  return false;
}

TEST(Shipped, EveryMachineThatPeopleOwnOrRentSaysItsPower) {
  for (const std::string& name : shipped_names("scenarios/machines")) {
    if (is_testbed(name)) continue;
    const description::MachineFile machine = read_machine(name);
    ASSERT_TRUE(machine.power) << name;
    EXPECT_GT(machine.power->gpu, 0) << name;
    EXPECT_GT(machine.power->host, 0) << name;
    EXPECT_GT(machine.power->ssd, 0) << name;
    EXPECT_FALSE(machine.sources.at("power.gpu").empty()) << name;
  }
  // the drives of h100_8gpu are parts: what they take, and what a kWh costs, is put beside
  const description::MachineFile h100 = read_machine("h100_8gpu");
  EXPECT_EQ(h100.power->gpu, 700);
  EXPECT_EQ(h100.power->ssd, 18);
  EXPECT_TRUE(h100.prices_usd->kwh);
}

TEST(Shipped, AFolderThatDoesNotExistShipsNothing) {
  EXPECT_TRUE(shipped_names("scenarios/nowhere").empty());
}

}  // namespace
}  // namespace spillway::scenarios
