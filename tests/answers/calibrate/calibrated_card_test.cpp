#include "answers/calibrate/calibrate.hpp"
#include "scenarios/description/text.hpp"
#include "scenarios/document/read_machine.hpp"
#include "sim/plugin.hpp"
#include "tests/reports/text/words_of.hpp"

#include <gmock/gmock.h>
#include <unistd.h>
#include <fstream>

namespace spillway::answers::calibrated_card_test {
namespace {

using description::MachineFile;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// What is said of cards of this name and memory beside `machine`.
std::vector<std::string> notes_of(const std::string& machine, const std::string& card,
                                  int mebibytes) {
  const std::string file = testing::TempDir() + std::to_string(getpid()) + "smi.txt";
  std::ofstream(file) << "==============NVSMI LOG==============\nGPU 00000000:01:00.0\n"
                         "    Product Name                          : "
                      << card << "\n    FB Memory Usage\n        Total        : " << mebibytes
                      << " MiB\n";
  CalibrateQuestion question;
  question.machine = machine;
  question.files = {file};
  const explore::Backend sim{"sim", sim::open_sim_machine, sim::prepare_sim};
  const answer::Calibration answer = calibrate(sim, question);
  std::remove(file.c_str());
  return text::words_of(answer.files.at(0).notes);
}

// Both have 80 GiB, and nothing of this file was bought as a part.
TEST(CalibratedCard, OfTheSameMemoryIsAnotherThanTheSheetsOne) {
  EXPECT_THAT(notes_of("h100_8gpu", "NVIDIA A100-SXM4-80GB", 81920),
              ElementsAre(AllOf(HasSubstr("price are of the H100 SXM5, this one is NVIDIA "
                                          "A100-SXM4-80GB: write what its sheet says"),
                                HasSubstr(R"({"gpu":{"part":"A100 80GB"}})"))));
  // none of the catalogue's
  EXPECT_THAT(notes_of("h100_8gpu", "NVIDIA H100 PCIe", 81559),
              ElementsAre(AllOf(HasSubstr("of the H100 SXM5, this one is NVIDIA H100 PCIe"),
                                Not(HasSubstr("catalogue")))));
  EXPECT_THAT(notes_of("l40s_server", "NVIDIA RTX A6000", 49140),
              ElementsAre(HasSubstr("of the L40S, this one is NVIDIA RTX A6000")));
  EXPECT_THAT(notes_of("gaming_4090", "NVIDIA GeForce RTX 3090", 24576),
              ElementsAre(AllOf(HasSubstr("of the RTX 4090, this one is NVIDIA GeForce RTX 3090"),
                                HasSubstr(R"({"gpu":{"part":"RTX 3090"}})"))));
}

TEST(CalibratedCard, OfTheSheetIsTheSame) {
  EXPECT_THAT(notes_of("h100_8gpu", "NVIDIA H100 80GB HBM3", 81559), IsEmpty());
  EXPECT_THAT(notes_of("l40s_server", "NVIDIA L40S", 46068), IsEmpty());
  EXPECT_THAT(notes_of("a100_40_4gpu", "NVIDIA A100-SXM4-40GB", 40960), IsEmpty());
  EXPECT_THAT(notes_of("gaming_4090", "NVIDIA GeForce RTX 4090", 24564), IsEmpty());
  EXPECT_THAT(notes_of("h100_8gpu", "Graphics Device", 81559), IsEmpty());
}

// The memory of either is that of its own sheet.
TEST(CalibratedCard, OfOtherMemoryIsThePartOfThatMemory) {
  EXPECT_THAT(notes_of("a100_40_4gpu", "NVIDIA A100-SXM4-80GB", 81920),
              ElementsAre(AllOf(HasSubstr("of a card of 42.9 GB, this one has 85.9 GB"),
                                HasSubstr(R"({"gpu":{"part":"A100 80GB"}})"))));
}

// A file of which no source says a card is known by its numbers.
TEST(CalibratedCard, IsComparedByItsFiguresWhereNoSourceNamesOne) {
  MachineFile unnamed = scenarios::read_machine("h100_8gpu");
  for (auto& [path, source] : unnamed.sources)
    if (path.starts_with("gpu.") || path.starts_with("power.")) source = "assumed: as I was told";
  const std::string file = testing::TempDir() + std::to_string(getpid()) + "unnamed.json";
  std::ofstream(file) << description::json_text(unnamed);
  EXPECT_THAT(notes_of(file, "NVIDIA A100-SXM4-80GB", 81920),
              ElementsAre(AllOf(HasSubstr("3.35 TB/s"), HasSubstr("2.04 TB/s"),
                                HasSubstr("this one is NVIDIA A100-SXM4-80GB"),
                                HasSubstr(R"({"gpu":{"part":"A100 80GB"}})"))));
  EXPECT_THAT(notes_of(file, "NVIDIA H100 80GB HBM3", 81559), IsEmpty());
  EXPECT_THAT(notes_of(file, "NVIDIA H800", 81559), IsEmpty());  // nothing is known of it
  std::remove(file.c_str());
}

}  // namespace
}  // namespace spillway::answers::calibrated_card_test
