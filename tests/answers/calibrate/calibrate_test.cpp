#include "answers/calibrate/calibrate.hpp"

#include "answers/calibrate/card_names.hpp"
#include "answers/calibrate/drive_names.hpp"
#include "answers/calibrate/drives.hpp"
#include "scenarios/document/read_machine.hpp"
#include "sim/plugin.hpp"
#include "tests/answers/calibrate/calibrated.hpp"
#include "tests/reports/text/words_of.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <fstream>
#include <map>

namespace spillway::answers::calibrate_test {
namespace {

using description::MachineFile;
using evidence::Evidence;
using nlohmann::json;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(CardNames, OfPriceListsAreThoseOfDrivers) {
  for (const auto& [bought, driver] :
       {std::pair{"RTX 4090", "NVIDIA GeForce RTX 4090"},
        {"A100 80GB", "NVIDIA A100-SXM4-80GB"},
        {"H100 SXM", "NVIDIA H100 80GB HBM3"},
        {"RTX 6000 Ada", "NVIDIA RTX 6000 Ada Generation"},
        {"RTX PRO 6000", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition"},
        {"RTX 4060 Ti 16GB", "NVIDIA GeForce RTX 4060 Ti"},
        {"GH200", "NVIDIA GH200 480GB"},
        {"RTX 4090", "Graphics Device"}})
    EXPECT_TRUE(is_same_card(bought, driver)) << bought << ", " << driver;
  for (const auto& [bought, driver] : {std::pair{"RTX 4090", "NVIDIA GeForce RTX 3090"},
                                       {"RTX 4090", "NVIDIA GeForce RTX 4090 Laptop GPU"},
                                       {"RTX 4070 Ti", "NVIDIA GeForce RTX 4070 Ti SUPER"},
                                       {"H100 SXM", "NVIDIA H100 PCIe"}})
    EXPECT_FALSE(is_same_card(bought, driver)) << bought << ", " << driver;
}

Evidence of_cards(std::uint64_t count, std::optional<evidence::NarrowLink> link = {}) {
  Evidence cards;
  cards.file = "smi.txt";
  cards.kind = "nvidia-smi -q";
  cards.readings = {{"gpu.count", "count", static_cast<double>(count), "cards"}};
  cards.link = std::move(link);
  return cards;
}

/// Lanes alone: how much they carry is not known.
const evidence::NarrowLink half{"8 of 16 PCI Express lanes of L40S", 0.5, {}};

Evidence of_reads(double rate) {
  Evidence fio;
  fio.file = "fio.json";
  fio.kind = "fio 3.33";
  fio.readings = {{"storage.read", "bytes_per_s", rate, "read of 1 MiB"}};
  return fio;
}

TEST(Calibration, NarrowsWhatCardsSendEachOtherOverTheLink) {
  const MachineFile machine = scenarios::read_machine("l40s_server");
  const MachineFile narrow = again(with(machine, {of_cards(4, half)}));
  EXPECT_NEAR(narrow.pcie.h2d.value(), machine.pcie.h2d.value() / 2, 1e6);
  EXPECT_NEAR(narrow.gpu.peer_rate->value(), machine.gpu.peer_rate->value() / 2, 1e6);
  EXPECT_EQ(narrow.network.per_gpu, machine.network.per_gpu);  // network cards
}

TEST(Calibration, LeavesNvlinkAsItIs) {
  const MachineFile machine = scenarios::read_machine("h100_8gpu");
  EXPECT_EQ(again(with(machine, {of_cards(8, half)})).gpu.peer_rate, machine.gpu.peer_rate);
}

TEST(Calibration, NarrowsANetworkThatIsTakenAsTheLink) {
  const MachineFile machine = scenarios::read_machine("gaming_4090");
  const MachineFile narrow = again(with(machine, {of_cards(1, half)}));
  EXPECT_EQ(narrow.network.per_gpu, narrow.pcie.h2d);
}

TEST(Calibration, NarrowsALinkOnceThoughItsGenerationIsNotKnown) {
  const MachineFile machine = scenarios::read_machine("l40s_server");
  const MachineFile once = again(with(machine, {of_cards(4, half)}));
  const MachineFile twice = again(with(once, {of_cards(4, half)}));
  EXPECT_EQ(twice.pcie.h2d, once.pcie.h2d);
  EXPECT_EQ(twice.gpu.peer_rate, once.gpu.peer_rate);
}

// Four lanes of the fourth generation carry 7.9 GB/s.
TEST(Calibration, TakesNoRateOfAnArrayForThatOfADrive) {
  MachineFile machine = scenarios::read_machine("gaming_4090");
  machine.storage[0].count = 2;
  const answer::Calibration array = with(machine, {of_reads(13e9)});
  EXPECT_THAT(array.moved, IsEmpty());
  ASSERT_THAT(array.kept, SizeIs(1));
  EXPECT_EQ(array.kept[0].path, "storage.nvme.read");
  EXPECT_THAT(array.kept[0].why, testing::AllOf(HasSubstr("looks like the rate of an array"),
                                                HasSubstr("storage.nvme.array_read")));
  EXPECT_THAT(with(machine, {of_reads(7e9)}).moved, SizeIs(1));
}

// Who has one drive may have put in another: four lanes of the fifth generation carry 15.8 GB/s.
TEST(Calibration, TakesNoRateOfMemoryForThatOfADrive) {
  const MachineFile machine = scenarios::read_machine("gaming_4090");
  EXPECT_THAT(with(machine, {of_reads(13e9)}).moved, SizeIs(1));
  const answer::Calibration memory = with(machine, {of_reads(26e9)});
  EXPECT_THAT(memory.moved, IsEmpty());
  ASSERT_THAT(memory.kept, SizeIs(1));
  EXPECT_THAT(memory.kept[0].why, HasSubstr("of several drives or of memory"));
}

// Four drives that read 7 GB/s each at the same time are not held to the 16 GB/s that somebody
// assumed of them all; three of them tell as much of three.
TEST(Calibration, LiftsTheLimitOfAnArrayThatWasMeasuredTogether) {
  json machine = scenarios::read_machine("lohan_4090");
  machine["storage"][0]["array_read"] = "16 GB/s";
  machine["storage"][0]["count"] = 4;
  const auto of = [&](double rate, std::uint64_t together) {
    Evidence reads = of_reads(rate);
    reads.readings[0].together = together;
    return again(with(machine.get<MachineFile>(), {reads})).storage[0].array_read->value();
  };
  EXPECT_EQ(of(7e9, 4), 28e9);
  EXPECT_EQ(of(7e9, 3), 21e9);
  EXPECT_EQ(of(3e9, 4), 16e9);
  EXPECT_EQ(of(7e9, 1), 16e9);
}

TEST(Calibration, KeepsItsOwnNumberWhereAFileSaysOneThatNoMachineHas) {
  const MachineFile machine = scenarios::read_machine("gaming_4090");
  const answer::Calibration answer = with(machine, {of_reads(100)});
  EXPECT_EQ(again(answer).storage[0].read, machine.storage[0].read);
  EXPECT_THAT(answer.moved, IsEmpty());
  ASSERT_THAT(answer.kept, SizeIs(1));
  EXPECT_THAT(answer.kept[0].why, HasSubstr("beyond what exists: write between"));
}

TEST(Calibration, CountsCardsByTheDriverWhateverATopologyShows) {
  const MachineFile machine = scenarios::read_machine("gaming_4090");
  Evidence topology;
  topology.file = "topology.xml";
  topology.kind = "hwloc";
  topology.readings = {{"gpu.count", "count", 2, "display controllers of GPU makers"}};
  EXPECT_EQ(again(with(machine, {topology})).gpu.count, 2u);
  EXPECT_EQ(again(with(machine, {of_cards(1), topology})).gpu.count, 1u);
  EXPECT_EQ(again(with(machine, {topology, of_cards(1)})).gpu.count, 1u);
}

TEST(DriveNames, OfThePartsAreThoseThatDrivesSay) {
  EXPECT_TRUE(names_drive("Samsung SSD 990 PRO 2TB", "990 PRO 2TB"));
  EXPECT_TRUE(names_drive("CT2000T705SSD3", "T705 2TB"));
  EXPECT_TRUE(names_drive("WD_BLACK SN8100 2000GB", "SN8100 2TB"));
  EXPECT_TRUE(names_drive("INTEL SSDPF2KX038TZ", "D7-P5510 3.84TB"));
  EXPECT_FALSE(names_drive("SAMSUNG MZQL23T8HCLS-00A07", "D7-P5510 3.84TB"));
  EXPECT_FALSE(names_drive("Samsung SSD 980 PRO 2TB", "990 PRO 2TB"));
}

TEST(Calibration, RatesNoDriveByTheFirstPercentOfItsLife) {
  const MachineFile machine = scenarios::read_machine("gaming_4090");
  const auto rated = [&](unsigned used) {
    return again(with(machine, {of_drive("a.json", used, 20e12, 4e12)}))
        .storage[0]
        .endurance->rated;
  };
  EXPECT_EQ(rated(4), machine.storage[0].endurance->rated);
  EXPECT_EQ(rated(5).value(), 400'000'000'000'000u);
}

// 16 % of 58.2 TB are 363.75 TB in all, whatever the sheet of another drive multiplies by.
TEST(Calibration, TakesNothingOfASheetBesideWhatADriveSaysOfItself) {
  const MachineFile machine = scenarios::read_machine("gaming_4090");
  ASSERT_NE(machine.storage[0].endurance->rating_waf, 1);
  const MachineFile calibrated = again(with(machine, {of_drive("a.json", 16, 58.2e12, 4e12)}));
  const description::EnduranceSpec& endurance = *calibrated.storage[0].endurance;
  EXPECT_EQ(endurance.rated.value(), 363'750'000'000'000u);
  EXPECT_EQ(endurance.rating_waf, 1);
  EXPECT_FALSE(endurance.warranty);
}

TEST(Calibration, NamesTheFilesThatSayDifferentThings) {
  const MachineFile machine = scenarios::read_machine("gaming_4090");
  Evidence other = of_reads(4e9);
  other.file = "other.json";
  const answer::Calibration both = with(machine, {of_reads(6e9), other});
  EXPECT_EQ(again(both).storage[0].read.value(), 4e9);
  ASSERT_THAT(both.kept, SizeIs(1));
  EXPECT_EQ(both.kept[0].file, of_reads(6e9).file);
  EXPECT_THAT(both.kept[0].why, HasSubstr("it says 6 GB/s, and other.json says 4 GB/s"));
  other.readings[0].value = 6.05e9;  // the same drive, measured twice
  EXPECT_THAT(with(machine, {of_reads(6e9), other}).kept, IsEmpty());
}

// What a drive has used up says how long it lasts; that is not what its maker promises.
TEST(Calibration, CallsNoRatingTheMakersThatIsNot) {
  const MachineFile machine = scenarios::read_machine("gaming_4090");
  EXPECT_TRUE(drive_of(machine, of_drive("a.json", 16, 20e12, 2e12))->is_rated);
  for (const unsigned used : {3u, 16u}) {
    const Evidence other = of_drive("a.json", used, 20e12, 4e12);
    const MachineFile calibrated = again(with(machine, {other}));
    const auto drive = drive_of(calibrated, other);
    EXPECT_FALSE(drive->is_other);
    const answer::DriveForecast said = forecast(other, *drive, nullptr, "2026-11-25");
    EXPECT_FALSE(said.left_by_rating) << used;
    EXPECT_FALSE(said.rated_bytes) << used;
  }
}

/// Two ranks train gpt2, and a table logs what each of them does.
TEST(Calibration, ComparesRatesOfACardWithThoseOfACard) {
  const explore::Backend sim{"sim", sim::open_sim_machine, sim::prepare_sim};
  const std::string table = testing::TempDir() + std::to_string(getpid()) + "runs.csv";
  std::ofstream(table) << "batch,tokens/s/GPU\n8,1000\n";
  CalibrateQuestion question;
  question.machine = "l40s_server";
  question.files = {table};
  question.scenario = "tiny";
  question.overrides = {"parallel.data=2"};
  const answer::Calibration answer = calibrate(sim, question);
  std::remove(table.c_str());
  ASSERT_THAT(answer.runs, SizeIs(1));
  ASSERT_THAT(answer.runs[0].numbers, SizeIs(2));
  const answer::LoggedNumber step = answer.runs[0].numbers[0];
  const answer::LoggedNumber rate = answer.runs[0].numbers[1];
  EXPECT_EQ(rate.what, "tokens a second and GPU");
  EXPECT_EQ(rate.logged, 1000);
  ASSERT_TRUE(rate.after && step.after);
  // A step has the same tokens as predicted: times are as rates, the other way round.
  EXPECT_NEAR(step.logged / *step.after, *rate.after / rate.logged, 1e-9);
}

/// A log beside the scenario "tiny".
answer::Calibration beside(const std::string& log, const std::vector<std::string>& overrides) {
  const explore::Backend sim{"sim", sim::open_sim_machine, sim::prepare_sim};
  const std::string file = testing::TempDir() + std::to_string(getpid()) + "ds.log";
  std::ofstream(file) << log;
  CalibrateQuestion question;
  question.machine = "l40s_server";
  question.files = {file};
  question.scenario = "tiny";
  question.overrides = overrides;
  answer::Calibration answer = calibrate(sim, question);
  std::remove(file.c_str());
  return answer;
}

/// What is said of it.
std::vector<std::string> notes_beside(const std::string& log,
                                      const std::vector<std::string>& overrides) {
  return text::words_of(beside(log, overrides).files.at(0).notes);
}

TEST(Calibration, SaysThatALoggedStepHasOtherSamples) {
  const char* log = "steps: 10 loss: 2.1 iter time (s): 2.000 samples/sec: 16.0\n";
  EXPECT_THAT(notes_beside(log, {"training.micro_batch=4", "training.gradient_accumulation=2"}),
              testing::Contains(HasSubstr("has 32 samples, and one of the scenario 8")));
  EXPECT_THAT(notes_beside(log, {"training.micro_batch=16", "training.gradient_accumulation=2"}),
              IsEmpty());
}

// The rate of a log and the scenario's samples make a time that no log says.
TEST(Calibration, CallsNothingLoggedThatNoLogSays) {
  const std::string of_trainer =
      "{'train_runtime': 5420.5, 'train_samples_per_second': 1.18, "
      "'train_steps_per_second': 0.018}\n";
  const std::vector<std::string> one{"training.micro_batch=1", "training.gradient_accumulation=1"};
  const answer::Calibration trainer = beside(of_trainer, one);
  EXPECT_EQ(trainer.runs.at(0).numbers.at(0).what, "step");
  EXPECT_NEAR(trainer.runs.at(0).numbers.at(0).logged, 55.56, 0.01);
  EXPECT_FALSE(trainer.runs.at(0).numbers.at(0).after);  // other work
  EXPECT_THAT(text::words_of(trainer.files.at(0).notes),
              testing::Contains(HasSubstr("has 66 samples, and one of the scenario 1")));
  const std::string with_header =
      "  Total train batch size (w. parallel, distributed & accumulation) = 64\n" + of_trainer;
  EXPECT_THAT(notes_beside(with_header, one),
              testing::Contains(HasSubstr("has 64 samples, and one of the scenario 1")));
  const std::string rates =
      "RunningAvgSamplesPerSec=0.88, CurrSamplesPerSec=0.5, MaxMemAllocated=1GB\n";
  const answer::Calibration alone = beside("[INFO] " + rates, one);
  EXPECT_EQ(alone.runs.at(0).numbers.at(0).what, "1 sample at this rate");
  EXPECT_NEAR(alone.runs.at(0).numbers.at(0).logged, 2, 1e-9);
  const std::string eight = "[INFO] epoch=0/micro_step=80/global_step=10, " + rates;
  EXPECT_THAT(notes_beside(eight, one),
              testing::Contains(HasSubstr("has 8 micro-batches, and one of the scenario 1")));
  EXPECT_EQ(beside(eight, one).runs.at(0).numbers.at(0).what, "samples a second");
  EXPECT_THAT(notes_beside(eight, {"training.micro_batch=1", "training.gradient_accumulation=8"}),
              IsEmpty());
}

// Timers leave out data loading and Python: what they add up to is no step, and says nothing of its
// samples. The times of the lines do.
TEST(Calibration, TakesAStepOfDeepSpeedByItsRateAndNotByItsTimers) {
  const auto line = [](const std::string& time, const std::string& counts) {
    return "[2026-11-20 " + time + "] [INFO] [timer.py:264:stop] epoch=0/" + counts +
           ", RunningAvgSamplesPerSec=1.309, CurrSamplesPerSec=1.309\n";
  };
  const std::string timers =
      "time (ms) | fwd: 8960.11 | bwd: 30400.02 | bwd_inner: 30390.00 | step: 5020.0\n";
  const std::string first = line("09:00:00,000", "micro_step=160/global_step=10") + timers;
  const std::string log = first + line("09:08:09,000", "micro_step=320/global_step=20") + timers;
  const std::vector<std::string> own{"training.micro_batch=4", "training.gradient_accumulation=16"};
  for (const std::string& told : {first, log}) {
    const answer::Calibration answer = beside(told, own);
    EXPECT_THAT(answer.files.at(0).notes, IsEmpty());
    const answer::LoggedNumber step = answer.runs.at(0).numbers.at(0);
    EXPECT_EQ(step.what, "64 samples at this rate");
    EXPECT_NEAR(step.logged, 48.9, 0.01);
    EXPECT_TRUE(step.before && step.after);
    ASSERT_THAT(answer.runs.at(0).phases, SizeIs(4));
    double phases = 0;  // a step is these three, one after the other; bwd_inner is a part of one
    for (const answer::LoggedNumber& phase : answer.runs.at(0).phases) {
      EXPECT_EQ(phase.before.has_value(), phase.what != "bwd_inner") << phase.what;
      phases += phase.before.value_or(0);
    }
    EXPECT_NEAR(phases, *step.before, 1e-6 * phases);
  }
  // Data loading that takes a quarter of a step makes no other samples.
  EXPECT_THAT(notes_beside(first + line("09:10:11,000", "micro_step=320/global_step=20"), own),
              IsEmpty());
  const std::vector<std::string> half{"training.micro_batch=2",
                                      "training.gradient_accumulation=16"};
  EXPECT_THAT(notes_beside(log, half),
              testing::Contains(HasSubstr("has about 64 samples by the times of its lines, and "
                                          "one of the scenario 32")));
  EXPECT_THAT(notes_beside("[INFO]   train_batch_size ............. 64\n" + first, half),
              testing::Contains(HasSubstr("has 64 samples, and one of the scenario 32")));
}

// How fast samples go through and what they take follow the micro-batch: of another one no
// prediction stands beside them.
TEST(Calibration, PredictsNothingBesideALogOfAnotherBatch) {
  const auto beside_log = [](const std::string& log, const std::vector<std::string>& overrides) {
    std::map<std::string, bool> predicted;
    const answer::Calibration answer = beside(log, overrides);
    for (const answer::LoggedNumber& one : answer.runs.at(0).numbers)
      predicted[one.what] = one.before || one.after;
    return predicted;
  };
  const std::vector<std::string> one{"training.micro_batch=1", "training.gradient_accumulation=1"};
  const std::vector<std::string> eight{"training.micro_batch=8",
                                       "training.gradient_accumulation=1"};
  const std::string megatron =
      " iteration       10/     100 | elapsed time per iteration (ms): 1747.0 | "
      "global batch size:     8 | lm loss: 2.1E+00 |\n"
      "[Rank 0] (after 10 iterations) memory (MB) | allocated: 1000.0 | max allocated: 2000.0\n";
  const std::map<std::string, bool> none{
      {"step", false}, {"samples a second", false}, {"GPU memory", false}};
  const std::map<std::string, bool> all{
      {"step", true}, {"samples a second", true}, {"GPU memory", true}};
  EXPECT_EQ(beside_log(megatron, one), none);
  EXPECT_EQ(beside_log(megatron, eight), all);
  EXPECT_THAT(notes_beside(megatron, one),
              testing::Contains(HasSubstr("has 8 samples, and one of the scenario 1")));
  const std::string deepspeed =
      "[INFO] epoch=0/micro_step=80/global_step=10, RunningAvgSamplesPerSec=0.88, "
      "CurrSamplesPerSec=0.5, MaxMemAllocated=1GB\n";
  const std::map<std::string, bool> rates{{"samples a second", false}, {"GPU memory", false}};
  EXPECT_EQ(beside_log(deepspeed, one), rates);
}

// The same samples in other micro-batches are the same work of a step, and take other memory.
TEST(Calibration, PredictsNoMemoryBesideALogOfOtherMicroBatches) {
  const answer::Calibration answer = beside(
      "[INFO] epoch=0/micro_step=80/global_step=10, RunningAvgSamplesPerSec=4, "
      "CurrSamplesPerSec=4, MaxMemAllocated=1GB\n"
      "steps: 10 loss: 2.1 iter time (s): 2.000 samples/sec: 4.0\n",
      {"training.micro_batch=8", "training.gradient_accumulation=1"});
  for (const answer::LoggedNumber& one : answer.runs.at(0).numbers)
    EXPECT_EQ(one.after.has_value(), one.what != "GPU memory") << one.what;
  EXPECT_THAT(answer.runs.at(0).numbers, SizeIs(3));
  EXPECT_THAT(text::words_of(answer.files.at(0).notes),
              ElementsAre(HasSubstr("has 8 micro-batches, and one of the scenario 1")));
}

TEST(Calibration, TakesWhatADriveSaysIsInUseForOthers) {
  const MachineFile machine = scenarios::read_machine("gaming_4090");
  Evidence drive = of_drive("a.json", 3, 20e12, 2e12);
  drive.readings.push_back({"storage.endurance.held", "bytes", 1.2e12, "what the drive says"});
  const answer::Calibration answer = with(machine, {drive});
  EXPECT_EQ(again(answer).storage[0].endurance->held.value(), 1'200'000'000'000u);
  EXPECT_EQ(again(answer).sources.at("storage.nvme.endurance.held"),
            "measured: a.json, what the drive says");
  MachineFile unrated = machine;
  unrated.storage[0].endurance.reset();
  EXPECT_THAT(with(unrated, {drive}).kept, testing::Contains(Field(&answer::KeptParameter::path,
                                                                   "storage.nvme.endurance.held")));
}

TEST(Calibration, SaysThatWhatRanIsPredictedNotToFit) {
  const char* log = "steps: 10 loss: 2.1 iter time (s): 2.000 samples/sec: 4.0\n";
  EXPECT_THAT(notes_beside(log, {"model=llama-3.1-70b", "training.micro_batch=8",
                                 "training.gradient_accumulation=1", "strategy.system=resident"}),
              testing::Contains(HasSubstr("finds no room in gpu memory of ")));
}

TEST(DriveForecast, OfADriveBeyondItsEnduranceLeavesNothing) {
  const MachineFile machine = scenarios::read_machine("gaming_4090");
  const Evidence worn =
      of_drive("s.json", 255, 9e15, static_cast<double>(machine.storage[0].capacity.value()));
  const answer::DriveForecast said =
      forecast(worn, *drive_of(machine, worn), nullptr, "2026-11-25");
  EXPECT_EQ(said.least_left, 0.0);
  EXPECT_EQ(said.most_left, 0.0);
}

}  // namespace
}  // namespace spillway::answers::calibrate_test
