#include "scenarios/evidence/evidence.hpp"

#include <gmock/gmock.h>
#include <unistd.h>
#include <fstream>

#include "tests/reports/text/words_of.hpp"

namespace spillway::evidence::logged_batch_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

Evidence read(const std::string& text) {
  const std::string path = testing::TempDir() + std::to_string(getpid()) + "logged_batch.txt";
  std::ofstream(path) << text;
  Evidence found = read_evidence(path);
  std::remove(path.c_str());
  EXPECT_EQ(found.runs.size(), 1u);
  return found;
}

const std::string end_of_run =
    "{'loss': 1.8345, 'grad_norm': 2.34, 'learning_rate': 1.9e-05, 'epoch': 0.05}\n"
    "{'train_runtime': 5420.5, 'train_samples_per_second': 1.18, "
    "'train_steps_per_second': 0.018, 'train_loss': 1.7, 'epoch': 1.0}\n";

const std::string header =
    "***** Running training *****\n"
    "  Num examples = 6,400\n"
    "  Num Epochs = 1\n"
    "  Instantaneous batch size per device = 1\n"
    "  Total train batch size (w. parallel, distributed & accumulation) = 64\n"
    "  Gradient Accumulation steps = 8\n"
    "  Total optimization steps = 100\n"
    "  Number of trainable parameters = 3,212,749,824\n";

// Steps of offloaded trainings take a minute: a rate of 0.018 tells 64 samples from one.
TEST(Evidence, OfTheTrainerAreRatesOfLongStepsAsWellAsTheyAreRounded) {
  const Evidence log = read(end_of_run);
  const LoggedRun& run = log.runs.at(0);
  EXPECT_NEAR(run.step_s.value(), 1 / 0.018, 1e-9);
  EXPECT_NEAR(run.step_rounding, 0.0005 / 0.018, 1e-9);
  EXPECT_EQ(run.samples_per_s.value(), 1.18);
  EXPECT_NEAR(run.samples_rounding, 0.0005 / 1.18, 1e-9);
  EXPECT_THAT(text::words_of(log.notes), Contains(HasSubstr("a step is known to 2.8 % only")));
}

TEST(Evidence, OfTheTrainerAreItsHeadersNumbers) {
  const Evidence log = read(header + end_of_run);
  const LoggedRun& run = log.runs.at(0);
  EXPECT_EQ(run.batch, 64.0);
  EXPECT_EQ(run.micro_batch, 1.0);
  EXPECT_EQ(run.accumulation, 8.0);
  EXPECT_NEAR(run.step_s.value(), 54.205, 1e-9);  // by all its steps
  EXPECT_EQ(run.step_rounding, 0);
  EXPECT_THAT(log.notes, IsEmpty());
}

// A training that ended before its steps were through took fewer: its rate knows.
TEST(Evidence, OfTheTrainerAreNoStepsThatItsRateDoesNotAgreeWith) {
  std::string longer = header;
  longer.replace(longer.find("= 100\n"), 6, "= 900\n");
  const LoggedRun run = read(longer + end_of_run).runs.at(0);
  EXPECT_NEAR(run.step_s.value(), 64 / 1.18, 1e-9);
  EXPECT_NEAR(run.step_rounding, 0.0005 / 1.18, 1e-9);
}

std::string deepspeed_line(const std::string& counts) {
  return "[2026-11-20 09:02:01,331] [INFO] [timer.py:260:stop] " + counts +
         ", RunningAvgSamplesPerSec=0.88, CurrSamplesPerSec=0.89, MemAllocated=8.01GB, "
         "MaxMemAllocated=16.25GB\n";
}

TEST(Evidence, OfDeepSpeedAreItsMicroBatches) {
  const auto accumulation = [](const std::string& counts) {
    return read(deepspeed_line(counts)).runs.at(0).accumulation;
  };
  EXPECT_EQ(accumulation("epoch=0/micro_step=80/global_step=10"), 8.0);
  EXPECT_EQ(accumulation("epoch=0/micro_step=10/global_step=10"), 1.0);
  EXPECT_FALSE(accumulation("epoch=0/micro_step=83/global_step=10"));
  EXPECT_FALSE(accumulation("epoch=1/micro_step=80/global_step=20"));  // counted anew
}

const std::string timers =
    "[2026-11-20 09:02:01,330] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | fwd: 8960.11 | "
    "bwd: 30400.02 | bwd_inner: 30390.00 | step: 5020.0\n";

std::string deepspeed_rate(const std::string& stamp, const std::string& counts) {
  return "[" + stamp + "] [INFO] [timer.py:264:stop] epoch=0/" + counts +
         ", RunningAvgSamplesPerSec=1.309, CurrSamplesPerSec=1.309, MaxMemAllocated=16.25GB\n";
}

// Timers stand around three calls; a step has data loading and the trainer's Python besides.
TEST(Evidence, OfDeepSpeedIsNoStepThatItsTimersAlonePutTogether) {
  const std::string line =
      deepspeed_rate("2026-11-20 09:02:01,331", "micro_step=160/global_step=10");
  const LoggedRun run = read(timers + line).runs.at(0);
  EXPECT_FALSE(run.step_s);
  EXPECT_FALSE(run.batch);
  EXPECT_FALSE(run.stamped_step_s);
  EXPECT_EQ(run.samples_per_s, 1.309);
  EXPECT_EQ(run.accumulation, 16.0);
  ASSERT_EQ(run.phases_s.size(), 4u);
  EXPECT_NEAR(run.phases_s[0].second, 8.96011, 1e-9);
  // Without a rate there is nothing else.
  EXPECT_NEAR(read(timers).runs.at(0).step_s.value(), 44.38013, 1e-9);
}

TEST(Evidence, OfDeepSpeedAreStepsByTheTimesOfItsLines) {
  const std::string log =
      deepspeed_rate("2026-11-20 23:51:51,500", "micro_step=160/global_step=10") + timers +
      deepspeed_rate("2026-11-21 00:00:00,500", "micro_step=320/global_step=20");
  const LoggedRun run = read(log).runs.at(0);
  EXPECT_NEAR(run.stamped_step_s.value(), 48.9, 1e-6);
  EXPECT_FALSE(run.step_s);
  // A run that was begun again counts from its own start.
  const LoggedRun again =
      read(log + deepspeed_rate("2026-11-21 09:00:00,000", "micro_step=160/global_step=10"))
          .runs.at(0);
  EXPECT_NEAR(again.stamped_step_s.value(), 48.9, 1e-6);
}

TEST(Evidence, OfDeepSpeedIsTheBatchOfItsConfiguration) {
  const std::string line =
      deepspeed_rate("2026-11-20 09:02:01,331", "micro_step=160/global_step=10");
  const std::string printed =
      "[2026-11-20 09:00:00,331] [INFO] [config.py:1003:print]   gradient_accumulation_steps .. "
      "16\n"
      "[2026-11-20 09:00:00,332] [INFO] [config.py:1003:print]   train_batch_size ............. "
      "64\n"
      "[2026-11-20 09:00:00,332] [INFO] [config.py:1003:print]   train_micro_batch_size_per_gpu  "
      "2\n";
  const std::string as_json =
      "{\n    \"train_batch_size\": 64, \n    \"train_micro_batch_size_per_gpu\": 2, \n"
      "    \"gradient_accumulation_steps\": 16\n}\n";
  const std::string of_trainer =
      "  Total train batch size (w. parallel, distributed & accumulation) = 64\n";
  for (const std::string& said :
       {printed, "[INFO] [config.py:993:print_user_config]  json = " + as_json, of_trainer}) {
    const LoggedRun run = read(said + timers + line).runs.at(0);
    EXPECT_EQ(run.batch, 64.0) << said;
    EXPECT_NEAR(run.step_s.value(), 64 / 1.309, 1e-9) << said;
    EXPECT_EQ(run.accumulation, 16.0) << said;
    EXPECT_EQ(run.micro_batch.has_value(), said != of_trainer) << said;
    EXPECT_EQ(run.micro_batch.value_or(2), 2.0) << said;
  }
  const std::string left_open = "    \"train_batch_size\": \"auto\", \n";
  EXPECT_FALSE(read(left_open + line).runs.at(0).batch);
  for (const char* of_device :
       {"per_device_train_batch_size: 2\n", "    \"per_device_train_batch_size\": 2,\n"})
    EXPECT_FALSE(read(of_device + line).runs.at(0).batch) << of_device;
}

}  // namespace
}  // namespace spillway::evidence::logged_batch_test
