#include "scenarios/shipped.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/document.hpp"
#include "scenarios/read_model.hpp"
#include "scenarios/schema_check.hpp"
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

TEST(Shipped, AFolderThatDoesNotExistShipsNothing) {
  EXPECT_TRUE(shipped_names("scenarios/nowhere").empty());
}

}  // namespace
}  // namespace spillway::scenarios
