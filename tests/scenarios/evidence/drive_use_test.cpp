#include "scenarios/evidence/evidence.hpp"

#include <gmock/gmock.h>
#include <unistd.h>
#include <fstream>

#include "tests/reports/text/words_of.hpp"

namespace spillway::evidence::drive_use_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Evidence read(const std::string& text) {
  const std::string path = testing::TempDir() + std::to_string(getpid()) + "drive_use.txt";
  std::ofstream(path) << text;
  Evidence found = read_evidence(path);
  std::remove(path.c_str());
  return found;
}

/// smartctl's JSON of a drive of 2 TB with these namespaces.
Evidence with_namespaces(const std::string& namespaces) {
  return read(R"({"smartctl": {"version": [7, 3], "exit_status": 0},
      "model_name": "X", "user_capacity": {"blocks": 3907029168, "bytes": 2000398934016},
      "nvme_namespaces": )" +
              namespaces + R"(,
      "nvme_smart_health_information_log": {"percentage_used": 3, "data_units_written": 1000}})");
}

/// endurance.held; 0 where the file says none.
double held(const Evidence& evidence) {
  for (const Reading& one : evidence.readings)
    if (one.path == "storage.endurance.held") return one.value;
  return 0;
}

TEST(Evidence, OfADriveIsWhatIsInUseOnIt) {
  const Evidence part = with_namespaces(
      R"([{"id": 1, "size": {"blocks": 3907029168, "bytes": 2000398934016},
           "capacity": {"blocks": 3907029168, "bytes": 2000398934016},
           "utilization": {"blocks": 2344217500, "bytes": 1200239360000}}])");
  EXPECT_EQ(held(part), 1200239360000.0);
  ASSERT_EQ(part.notes.size(), 1u);
  EXPECT_THAT(words(part.notes[0]),
              testing::AllOf(HasSubstr("1.20 TB of it are in use"), HasSubstr("endurance.held")));
  const Evidence two = with_namespaces(
      R"([{"id": 1, "size": {"bytes": 1000e9}, "utilization": {"bytes": 1000e9}},
          {"id": 2, "size": {"bytes": 1000e9}, "utilization": {"bytes": 200e9}}])");
  EXPECT_EQ(held(two), 1200e9);
}

// Many drives keep no account, and say that all of them is in use.
TEST(Evidence, OfADriveThatKeepsNoAccountIsNothingOfItsUse) {
  for (const char* namespaces :
       {R"([{"id": 1, "size": {"bytes": 2000398934016}, "utilization": {"bytes": 2000398934016}}])",
        R"([{"id": 1, "size": {"bytes": 2000398934016}, "utilization": {"bytes": 0}}])",
        R"([{"id": 1, "size": {"bytes": 2000398934016}}])", R"([null, 3])", "{}"}) {
    EXPECT_EQ(held(with_namespaces(namespaces)), 0) << namespaces;
    EXPECT_THAT(with_namespaces(namespaces).notes, IsEmpty()) << namespaces;
  }
}

TEST(Evidence, OfADriveIsItsUseInTextToo) {
  const auto text = [](const char* used) {
    return "smartctl 7.3 2022-02-28 r5338\n"
           "=== START OF INFORMATION SECTION ===\n"
           "Namespace 1 Size/Capacity:          2,000,398,934,016 [2.00 TB]\n"
           "Namespace 1 Utilization:            " +
           std::string(used) +
           "\nPercentage Used:                    3%\n"
           "Data Units Written:                 1,000 [512 MB]\n";
  };
  EXPECT_EQ(held(read(text("1,200,239,360,000 [1.20 TB]"))), 1200239360000.0);
  EXPECT_EQ(held(read(text("2,000,398,934,016 [2.00 TB]"))), 0);
}

}  // namespace
}  // namespace spillway::evidence::drive_use_test
