#include "tests/e2e/command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// `spillway calibrate`: what people have measured, put into a machine file.
namespace spillway::e2e::calibrate_test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string evidence = "tests/data/evidence/";

TEST(Calibrate, PutsWhatWasMeasuredIntoAMachineFileWithItsSource) {
  const Workplace place;
  const Ended made =
      shell(place, "spillway calibrate gaming_4090 --from " + evidence + "fio.json " + evidence +
                       "smartctl.json " + evidence + "nvidia_smi.txt --name mine --out mine.json");
  ASSERT_EQ(made.exit, 0) << made.err;
  EXPECT_THAT(made.out, AllOf(HasSubstr("storage.nvme.read"), HasSubstr("1.02 GB/s"),
                              HasSubstr("PCI Express lanes of NVIDIA"), HasSubstr("power limit"),
                              HasSubstr("58.2 TB")));
  const json machine = shell(place, "spillway machine mine.json --json").json();
  EXPECT_EQ(machine.at("name"), "mine");
  EXPECT_EQ(machine.at("storage")[0].at("read"), "1.0168 GB/s");
  EXPECT_NEAR(machine.at("storage")[0].at("mixed_efficiency").get<double>(), 1.26077, 1e-4);
  EXPECT_THAT(machine.at("sources").at("storage.nvme.read").get<std::string>(),
              AllOf(HasSubstr("measured: "), HasSubstr("fio.json")));
  EXPECT_EQ(shell(place, "spillway simulate tiny --set machine=mine.json").exit, 0);
}

// Two cards of 8 lanes do not make a quarter of 16, and a rate that 8 lanes carry stays.
TEST(Calibrate, LowersRatesOnceForAllCardsOnNarrowLinks) {
  const Workplace place;
  const auto card = "sed -n '/^GPU 0/,$p' " + evidence + "nvidia_smi.txt";
  const Ended made = shell(place, "(cat " + evidence + "nvidia_smi.txt; " + card +
                                      ") > two.txt; spillway calibrate gaming_4090 --from two.txt "
                                      "--out two.json && spillway calibrate two.json --from "
                                      "two.txt --out again.json");
  ASSERT_EQ(made.exit, 0) << made.err;
  const auto rate = [&](const std::string& file) {
    const json machine = shell(place, "spillway machine " + file + " --json").json();
    return std::stod(machine.at("pcie").at("h2d").get<std::string>());
  };
  EXPECT_NEAR(rate("two.json"), rate("gaming_4090") / 2, 0.01);
  EXPECT_EQ(rate("again.json"), rate("two.json"));
}

// 342 + 1850 MiB of 24564: what a training finds is what the driver says is free, 22372 MiB.
TEST(Calibrate, ReservesWhatADesktopHoldsAndLimitsPower) {
  const Workplace place;
  const Ended made = shell(
      place, "sed -e 's/ 352 MiB/ 342 MiB/; s/ 11 MiB/ 1850 MiB/; s/Limit  *: 350/Limit : 300/' " +
                 evidence +
                 "nvidia_smi.txt > smi.txt; printf '    Processes\\n        Process ID : 1402\\n"
                 "            Type : G\\n            Name : /usr/lib/xorg/Xorg\\n"
                 "            Used GPU Memory : 1500 MiB\\n' >> smi.txt; spillway calibrate "
                 "gaming_4090 --from smi.txt --out box.json | tr -s '[:space:]' ' '");
  ASSERT_EQ(made.exit, 0) << made.err;
  EXPECT_THAT(made.out, AllOf(HasSubstr("gpu.reserve 300.0 MiB 2.14 GiB"),
                              HasSubstr("a desktop holds 1.81 GiB of NVIDIA GeForce RTX 4090 "
                                        "(Xorg 1.46 GiB; 350.0 MiB more"),
                              HasSubstr("power.gpu 450 W 300 W"),
                              HasSubstr("gpu.compute.* depend, and nobody measured")));
  const json machine = shell(place, "spillway machine box.json --json").json();
  EXPECT_EQ(machine.at("gpu").at("reserve"), "2192 MiB");
  EXPECT_EQ(machine.at("power").at("gpu"), 300);
}

TEST(Calibrate, SaysThatTheCardIsAnotherThanTheMachineFiles) {
  const Workplace place;
  const Ended other = shell(place, "sed 's/RTX 4090/RTX 3090/' " + evidence +
                                       "nvidia_smi.txt > smi.txt; spillway calibrate gaming_4090 "
                                       "--from smi.txt | tr -s '[:space:]' ' '");
  EXPECT_EQ(other.exit, 0) << other.err;
  EXPECT_THAT(other.out, HasSubstr("price are of the RTX 4090, this one is NVIDIA GeForce "
                                   "RTX 3090: write what its sheet says"));
}

TEST(Calibrate, ShowsWhatIsPredictedBesideWhatWasLogged) {
  const Workplace place;
  const Ended made = shell(
      place, "spillway calibrate gaming_4090 --scenario tiny --set training.micro_batch=8 --from " +
                 evidence + "fio.json " + evidence + "deepspeed.log --json");
  ASSERT_EQ(made.exit, 0) << made.err;
  const json run = made.json().at("runs").at(0);
  EXPECT_EQ(run.at("program"), "DeepSpeed");
  const json step = run.at("numbers").at(0);
  // Its timers, 8.965 s, leave out what lies between them; its rate does not.
  EXPECT_EQ(step.at("what"), "8 samples at this rate");
  EXPECT_NEAR(step.at("logged").get<double>(), 8 / 0.8925, 1e-9);
  // The drive that was measured is slower than the one of the file.
  EXPECT_GT(step.at("before").get<double>(), 0);
  EXPECT_GE(step.at("after").get<double>(), step.at("before").get<double>());
}

TEST(Calibrate, SaysWhenADriveIsWornOutByBothForecasts) {
  const Workplace place;
  const Ended made =
      shell(place,
            "SPILLWAY_TODAY=2026-11-25 spillway calibrate gaming_4090 --scenario "
            "scenarios/examples/qwen7b_one_box_mix.json --set run.tokens=1e9 --from " +
                evidence + "smartctl.json --json");
  ASSERT_EQ(made.exit, 0) << made.err;
  const json drive = made.json().at("drives").at(0);
  // 58.2 TB at 16 %, which stands for 15.5 to 16.5 %
  EXPECT_NEAR(drive.at("least_left").get<double>(), 58.2e12 * (100 - 16.5) / 16.5, 1e6);
  EXPECT_NEAR(drive.at("most_left").get<double>(), 58.2e12 * (100 - 15.5) / 15.5, 1e6);
}

// 58.2 TB of them are gone before the run begins.
TEST(Calibrate, TakesWhatADriveHasWrittenFromItsLife) {
  const Workplace place;
  const auto years = [&](const std::string& machine) {
    return shell(place,
                 "spillway simulate scenarios/examples/qwen7b_one_box_mix.json --json --set "
                 "machine=" +
                     machine)
        .json()
        .at("wear")
        .at("lifetime_years")
        .get<double>();
  };
  ASSERT_EQ(shell(place,
                  "spillway machine gaming_4090 --json > new.json && spillway calibrate "
                  "new.json --from " +
                      evidence + "smartctl.json --out used.json")
                .exit,
            0);
  const json used = shell(place, "spillway machine used.json --json").json();
  EXPECT_EQ(used.at("storage")[0].at("endurance").at("written"), json::array({"58.2 TB"}));
  EXPECT_LT(years("used.json"), years("new.json"));
}

// It is called as the machine that it was made of, whose numbers are others.
TEST(Calibrate, LeavesAFileThatHintsName) {
  const Workplace place;
  ASSERT_EQ(
      shell(place, "spillway calibrate gaming_4090 --from " + evidence + "fio.json --out m2.json")
          .exit,
      0);
  const auto words = [&](const std::string& command) {
    const Ended ended = shell(place, command + " 2>&1 | tr -s '[:space:]' ' '");
    return ended.out;
  };
  const auto hint =
      AllOf(HasSubstr("spillway machine m2.json "), Not(HasSubstr("spillway machine gaming_4090")));
  const std::string plan = " --model gpt2 --sequence 64 --system zero_offload --machine m2.json";
  const std::string price = " --price 'RTX 3090=100'";
  EXPECT_THAT(words("spillway plan settings" + plan), hint);
  EXPECT_THAT(words("spillway plan settings" + plan + " --price gpu_hour=1"), hint);
  EXPECT_THAT(words("spillway plan largest" + plan), hint);
  EXPECT_THAT(words("spillway plan drives tiny --most 1 --set machine=m2.json"), hint);
  EXPECT_THAT(words("spillway simulate tiny --set machine=m2.json" + price), hint);
  EXPECT_THAT(words("spillway fit gpt2 --machine m2.json" + price), hint);
  place.write("mine.json", R"({ "extends": "tiny", "machine": "m2.json" })");
  EXPECT_THAT(words("spillway simulate mine.json" + price), hint);
  EXPECT_THAT(words("spillway simulate tiny --set machine=gaming_4090" + price),
              HasSubstr("spillway machine gaming_4090 "));
}

TEST(Calibrate, RefusesInOneLineWhatItCannotUse) {
  const Workplace place;
  const Ended unknown =
      shell(place, "echo hello > hello.txt; spillway calibrate gaming_4090 --from hello.txt");
  EXPECT_EQ(unknown.exit, 2);
  EXPECT_THAT(unknown.err, HasSubstr("a text of a kind that is not known"));
  const Ended storage =
      shell(place, "spillway calibrate gaming_4090 --from fast=" + evidence + "fio.json");
  EXPECT_EQ(storage.exit, 2);
  EXPECT_THAT(storage.err, HasSubstr("nvme"));
  EXPECT_EQ(shell(place, "spillway calibrate gaming_4090 --set run.tokens=1 --from " + evidence +
                             "fio.json")
                .exit,
            2);
}

}  // namespace
}  // namespace spillway::e2e::calibrate_test
