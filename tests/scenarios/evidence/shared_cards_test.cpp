#include "scenarios/evidence/evidence.hpp"
#include "tests/reports/text/words_of.hpp"

#include <gmock/gmock.h>
#include <unistd.h>
#include <fstream>

namespace spillway::evidence::shared_cards_test {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

Evidence read(const std::string& text) {
  const std::string path = testing::TempDir() + std::to_string(getpid()) + "shared_cards.txt";
  std::ofstream(path) << text;
  Evidence found = read_evidence(path);
  std::remove(path.c_str());
  return found;
}

double value(const Evidence& evidence, const std::string& path) {
  for (const Reading& one : evidence.readings)
    if (one.path == path) return one.value;
  return 0;
}

/// A card as nvidia-smi -q has it; its instances stand above its own memory.
std::string card(bool is_shared) {
  const std::string mode = is_shared ? "Enabled" : "Disabled";
  const std::string instance =
      "        Index                             : 0\n"
      "            GPU Instance ID               : 1\n"
      "            FB Memory Usage\n"
      "                Total                     : 20096 MiB\n"
      "                Reserved                  : 0 MiB\n";
  return "GPU 00000000:01:00.0\n"
         "    Product Name                          : NVIDIA H100 80GB HBM3\n"
         "    MIG Mode\n"
         "        Current                           : " +
         mode +
         "\n"
         "        Pending                           : " +
         mode + "\n    MIG Devices" + (is_shared ? "\n" + instance : "        : None\n") +
         "    GPU Link Info\n"
         "        Link Width\n"
         "            Max                           : 16x\n"
         "            Current                       : 16x\n"
         "    FB Memory Usage\n"
         "        Total                             : 81559 MiB\n"
         "        Reserved                          : 551 MiB\n";
}

std::string query(const std::vector<bool>& is_shared) {
  std::string text =
      "==============NVSMI LOG==============\nAttached GPUs : " + std::to_string(is_shared.size()) +
      "\n";
  for (const bool each : is_shared) text += card(each);
  return text;
}

// A program sees an instance of a card that is divided, and one instance only.
TEST(Evidence, OfCardsCountsNoneThatAreDivided) {
  const Evidence some = read(query({false, true, false, true}));
  EXPECT_EQ(value(some, "gpu.count"), 2);
  EXPECT_EQ(value(some, "gpu.memory"), 81559.0 * (1 << 20));
  EXPECT_EQ(value(some, "gpu.reserve"), 551.0 * (1 << 20));
  EXPECT_THAT(text::words_of(some.notes), ElementsAre(HasSubstr("MIG is on in 2 of 4 GPUs")));
  EXPECT_THAT(read(query({false, false})).notes, IsEmpty());
  EXPECT_EQ(value(read(query({false, false})), "gpu.count"), 2);
}

TEST(Evidence, OfCardsThatAreAllDividedIsNoNumber) {
  const Evidence all = read(query({true, true}));
  EXPECT_THAT(all.readings, IsEmpty());
  EXPECT_THAT(text::words_of(all.notes), ElementsAre(HasSubstr("MIG is on in 2 of 2 GPUs")));
  EXPECT_EQ(all.card, "NVIDIA H100 80GB HBM3");
}

TEST(Evidence, OfCardsInXmlCountsNoneThatAreDivided) {
  const auto gpu = [](const std::string& mode) {
    return "<gpu id=\"00000000:01:00.0\">\n<product_name>NVIDIA H100 80GB HBM3</product_name>\n"
           "<mig_mode><current_mig>" +
           mode + "</current_mig><pending_mig>" + mode +
           "</pending_mig></mig_mode>\n<fb_memory_usage><total>81559 MiB</total>"
           "<reserved>551 MiB</reserved></fb_memory_usage>\n</gpu>\n";
  };
  const Evidence some =
      read("<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n<attached_gpus>3</attached_gpus>\n" +
           gpu("Enabled") + gpu("Disabled") + gpu("N/A") + "</nvidia_smi_log>\n");
  EXPECT_EQ(value(some, "gpu.count"), 2);
  EXPECT_THAT(text::words_of(some.notes), ElementsAre(HasSubstr("MIG is on in 1 of 3 GPUs")));
}

// 16 lanes of the fourth generation carry 31.5 GB/s.
TEST(Evidence, OfTwoCardsIsTheLinkThatCarriesLeast) {
  const auto card = [](int lanes, int host, const std::string& bus = "0000") {
    return "GPU " + bus +
           "\n    Product Name : X\n    PCIe Generation\n        Device Max : 4\n"
           "        Host Max : " +
           std::to_string(host) +
           "\n    Link Width\n        Max : 16x\n        Current : " + std::to_string(lanes) +
           "x\n";
  };
  const std::string head = "==============NVSMI LOG==============\n";
  const auto link = [](const std::string& text) { return read(text).link; };
  EXPECT_FALSE(link(head + card(16, 4) + card(16, 5)));
  const auto half = link(head + card(8, 4) + card(8, 4));
  ASSERT_TRUE(half);
  EXPECT_EQ(half->share, 0.5);
  EXPECT_NEAR(half->most.value(), 31.5e9 / 2, 0.01e9);
  EXPECT_EQ(half->why, "8 of 16 PCI Express lanes of X, all 2 cards");
  const auto quarter = link(head + card(16, 4) + card(8, 3));
  ASSERT_TRUE(quarter);
  EXPECT_EQ(quarter->share, 0.25);
  EXPECT_EQ(quarter->why,
            "8 of 16 PCI Express lanes and PCI Express 3 where the card has 4 of X at 0000, 1 of 2 "
            "cards");
  EXPECT_EQ(link(head + card(8, 4))->why, "8 of 16 PCI Express lanes of X");
  // who has to reseat a card has to know which
  const Evidence four = read(head + card(16, 4, "0000:1B:00.0") + card(8, 4, "0000:1C:00.0") +
                             card(16, 4, "0000:1D:00.0") + card(8, 4, "0000:1E:00.0"));
  const std::string two = "X at 0000:1C:00.0, 0000:1E:00.0, 2 of 4 cards";
  EXPECT_EQ(four.link->why, "8 of 16 PCI Express lanes of " + two);
  EXPECT_THAT(four.shortfalls, ElementsAre(Field(&Shortfall::what, "PCI Express lanes of " + two)));
  EXPECT_THAT(text::words_of(four.notes),
              ElementsAre(HasSubstr("a machine file has one link for all its cards")));
}

}  // namespace
}  // namespace spillway::evidence::shared_cards_test
