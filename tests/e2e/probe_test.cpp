#include "tests/e2e/command.hpp"
#include "tests/long_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spillway::e2e {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Probe, WritesAMachineFileAndTheCommandToUseIt) {
  LONG_TEST();
  const Workplace place;
  const Ended ended =
      shell(place, "mkdir a && spillway probe a --quick --device host --name box --out box.json");
  ASSERT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(place.files(), ElementsAre("a", "box.json"));
  EXPECT_TRUE(std::filesystem::is_empty(place.path() / "a"));
  EXPECT_THAT(ended.err, HasSubstr("are written to a, and removed again"));
  EXPECT_THAT(ended.out, HasSubstr("storage.a.read"));
  const std::string command = line_of(ended.out, "spillway simulate");
  ASSERT_THAT(command, HasSubstr("box.json"));
  const Ended simulated = shell(place, command + " --json");
  EXPECT_EQ(simulated.exit, 0) << simulated.err;
  EXPECT_EQ(simulated.err, "");
  EXPECT_EQ(simulated.json().at("feasible"), true);
  const nlohmann::json machine = shell(place, "spillway machine box.json --json").json();
  EXPECT_EQ(machine.at("name"), "box");
  EXPECT_EQ(machine.at("gpu").at("shares_host"), true);
  EXPECT_THAT(machine.at("sources").at("storage.a.read"), HasSubstr("measured: "));
}

TEST(Probe, WithoutADirectoryMeasuresTheRestAsJson) {
  LONG_TEST();
  const Workplace place;
  const Ended ended = shell(place, "SPILLWAY_PLUGINS=/nowhere spillway probe --quick --json");
  ASSERT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(place.files(), IsEmpty());  // no file but where one is asked for
  const nlohmann::json all = ended.json();
  EXPECT_THAT(all.at("machine").at("storage"), IsEmpty());
  EXPECT_EQ(all.at("bytes_written"), 0);
  EXPECT_THAT(all.at("device"), testing::StartsWith("host device"));
  EXPECT_THAT(all.at("device_why"), HasSubstr("no CUDA device: dlopen: /nowhere/"));
  EXPECT_EQ(all.at("products").size() % 3, 0u);  // in fp32, fp16 and bf16
  for (const auto& row : all.at("products")) EXPECT_EQ(row.at("unit"), "flops_per_s");
}

TEST(Probe, ThatIsInterruptedLeavesNoFile) {
  const Workplace place;
  // in the foreground the signal comes once; a second one would end the program at once
  const Ended ended = shell(place,
                            "mkdir a && timeout --foreground --preserve-status -s INT 2 "
                            "spillway probe a --out box.json");
  EXPECT_EQ(ended.exit, 130) << ended.err;
  EXPECT_THAT(place.files(), ElementsAre("a"));
  EXPECT_TRUE(std::filesystem::is_empty(place.path() / "a"));
}

struct Mistake {
  const char* name;
  const char* command;
  const char* said;
};

class ProbeMistake : public testing::TestWithParam<Mistake> {};

TEST_P(ProbeMistake, IsSaidAtOnceAndLeavesNothing) {
  const Workplace place;
  const Ended ended = shell(place, GetParam().command);
  EXPECT_EQ(ended.exit, 2) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr(GetParam().said));
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(place.files(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Of, ProbeMistake,
    testing::Values(
        Mistake{"a_slip", "spillway probe scenario", "/scenarios\"?"},
        Mistake{"a_device", "spillway probe /dev/nvme99n1", "devices are no directories"},
        Mistake{"an_output_nowhere", "spillway probe --out gone/box.json", "cannot be written"},
        Mistake{"much_to_write_unasked", "spillway probe . --thorough < /dev/null", "add --yes"},
        Mistake{"no_gpu", "SPILLWAY_PLUGINS=/nowhere spillway probe --device cuda",
                "--device: no CUDA device: dlopen: /nowhere/"},
        Mistake{"no_device", "spillway probe --device tpu", "--device"},
        Mistake{"no_number", "spillway probe --devices none", "--devices"}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace spillway::e2e
