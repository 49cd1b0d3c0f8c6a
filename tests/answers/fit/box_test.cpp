#include "answers/fit/box.hpp"

#include "scenarios/description/errors.hpp"
#include "scenarios/description/machine_file.hpp"
#include "scenarios/description/quantity.hpp"
#include "scenarios/document/part_catalogue.hpp"
#include "scenarios/document/read_machine.hpp"
#include "tests/reports/text/words_of.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spillway::answers {
namespace {

description::MachineFile machine_of(const BoxWords& words) {
  const NamedBox box = box_of(words, scenarios::part_catalogue());
  EXPECT_THAT(scenarios::check_machine(scenarios::located_at(box.machine, {})), testing::IsEmpty());
  return box.machine.get<description::MachineFile>();
}

std::string refusal_of(const BoxWords& words) {
  try {
    box_of(words, scenarios::part_catalogue());
    return "";
  } catch (const description::ScenarioError& error) {
    return error.what();
  }
}

TEST(BoxOf, ReadsCardsMemoryAndDrivesAsPeopleSayThem) {
  const auto machine = machine_of({"4090x2", "128G", "2Tx2"});
  EXPECT_EQ(machine.gpu.count, 2u);
  EXPECT_EQ(machine.gpu.memory.value(), 24ull << 30);
  EXPECT_EQ(machine.host.memory.value(), 128ull << 30);  // memory is sold in GiB
  ASSERT_EQ(machine.storage.size(), 1u);
  EXPECT_EQ(machine.storage[0].count, 2u);
  EXPECT_EQ(machine.storage[0].capacity.value(), 2'000'000'000'000ull);  // drives in TB
}

TEST(BoxOf, TakesAnyCaseAnyCrossAndNoDrive) {
  EXPECT_EQ(machine_of({"rtx-4090", "96 GiB", ""}).gpu.count, 1u);
  EXPECT_EQ(machine_of({"RTX 4090X2", "96g", "none"}).gpu.count, 2u);
  EXPECT_TRUE(machine_of({"4090", "64G", ""}).storage.empty());
  EXPECT_EQ(machine_of({"4090", "100G", ""}).host.memory.value(), 100ull << 30);
}

TEST(BoxOf, ScalesADriveOfASizeThatIsNotSold) {
  const NamedBox box = box_of({"4090", "64G", "11T"}, scenarios::part_catalogue());
  const auto machine = box.machine.get<description::MachineFile>();
  EXPECT_EQ(machine.storage[0].capacity.value(), 11'000'000'000'000ull);
  ASSERT_FALSE(box.notes.empty());
  EXPECT_THAT(words(box.notes.front()), testing::HasSubstr("in proportion"));
}

TEST(BoxOf, KnowsWhatTheCardTakesFromThePlug) {
  const auto machine = machine_of({"4090x2", "128G", "2T"});
  ASSERT_TRUE(machine.power);
  EXPECT_EQ(machine.power->gpu, 450);
  EXPECT_EQ(machine.power->gpu_waiting, 112.5);  // a quarter, as the file says nothing else
  EXPECT_TRUE(machine.sources.at("power.gpu").starts_with("datasheet: "));
  EXPECT_TRUE(machine.sources.at("prices_usd.kwh").starts_with("assumed: "));
}

// Each card, board and drive of the catalogue, by its name, makes a box that is in order.
TEST(BoxOf, TakesEveryPartOfTheCatalogueByItsName) {
  const scenarios::PriceList& list = scenarios::part_catalogue();
  for (const scenarios::Part& card : list.gpus) {
    const bool sold_whole = card.form == "gb10" || card.form == "strix halo";
    const auto machine = machine_of({card.name,
                                     sold_whole             ? "128G"
                                     : card.form == "grace" ? "480G"
                                                            : "64G",
                                     ""});
    EXPECT_EQ(machine.bought.at("gpu"), card.name);
    EXPECT_TRUE(machine.power && machine.power->gpu > 0) << card.name;
  }
  for (const scenarios::DrivePart& drive : list.drives) {
    const auto machine = machine_of({"4090", "64G", drive.name + "x2"});
    EXPECT_EQ(machine.bought.at("storage.nvme"), drive.name);
    EXPECT_EQ(machine.storage.at(0).count, 2u) << drive.name;
  }
  for (const scenarios::HostPart& board : list.hosts) {
    if (board.card != "card") continue;
    const std::string memory = description::to_text(board.memory.back());
    EXPECT_EQ(machine_of({"4090", memory, "", board.name}).bought.at("host"), board.name);
  }
}

TEST(BoxOf, TakesTheCheapestBoardThatHasThePlacesAndSaysWhichTheyAre) {
  EXPECT_EQ(machine_of({"4090", "64G", "2T"}).bought.at("host"), "desktop");
  EXPECT_EQ(machine_of({"4090x2", "64G", "2T"}).bought.at("host"), "workstation");   // two cards
  EXPECT_EQ(machine_of({"4090", "256G", "2T"}).bought.at("host"), "workstation");    // 192 GiB
  EXPECT_EQ(machine_of({"4090", "64G", "P5510"}).bought.at("host"), "workstation");  // U.2
  EXPECT_EQ(machine_of({"H100x8", "1T", ""}).bought.at("host"), "server with eight SXM cards");
  // a drive of a size is one that such a board has a place for
  EXPECT_EQ(machine_of({"H100", "1T", "4T"}).storage.at(0).form, "u2");
  const NamedBox box = box_of({"4090", "64G", ""}, scenarios::part_catalogue());
  EXPECT_THAT(text::words_of(box.notes),
              testing::Contains(testing::HasSubstr("1 card, 4 M.2 drives")));
}

TEST(BoxOf, RefusesWhatABoardHasNoPlaceFor) {
  // 16 lanes of the card, 5 drives of 4 lanes; a desktop has 4 places
  EXPECT_NE(refusal_of({"4090", "64G", "2Tx5", "desktop"}).find("takes 4 M.2 drives, not 5"),
            std::string::npos);
  EXPECT_NE(refusal_of({"4090x2", "64G", "", "desktop"}).find("takes 1 card, not 2"),
            std::string::npos);
  EXPECT_NE(refusal_of({"4090", "512G", "", "desktop"}).find("192 GiB of memory at most"),
            std::string::npos);
  EXPECT_NE(refusal_of({"4090x64", "64G", ""}).find("no board takes 64 x RTX 4090"),
            std::string::npos);
  // 8 cards of 16 lanes and 16 drives of 4 are all of the 192 that a server has
  EXPECT_EQ(refusal_of({"4090x8", "384G", "P5510x16", "server"}), "");
  EXPECT_NE(refusal_of({"4090x8", "384G", "P5510x17", "server"}).find("takes 16 U.2 drives"),
            std::string::npos);
}

TEST(BoxOf, CountsTheOneMemoryOfProcessorAndGpuOnce) {
  const auto machine = machine_of({"DGX Spark", "", "2T"});
  EXPECT_TRUE(machine.gpu.one_memory);
  EXPECT_EQ(machine.gpu.memory, machine.host.memory);
  // its memory is in its price: nobody knows that of one with less
  EXPECT_NE(refusal_of({"Strix Halo", "64G", ""}).find("of memory, not 64 GiB"), std::string::npos);
}

// Boxes that are sold with 128 GB show their programs less: firmware has taken the rest.
TEST(BoxOf, OfOneMemoryHasWhatProgramsSee) {
  EXPECT_EQ(machine_of({"DGX Spark", "", ""}).gpu.memory.value(), 128501256192u);
  for (const char* box : {"DGX Spark", "Strix Halo"}) {
    const auto own = machine_of({box, "", ""}), sold = machine_of({box, "128G", ""});
    EXPECT_EQ(sold.gpu.memory, own.gpu.memory) << box;
    EXPECT_EQ(sold.host.memory, own.host.memory) << box;
    EXPECT_LT(own.gpu.memory.value(), 126ull << 30) << box;
  }
  for (const auto& [file, box] :
       {std::pair{"dgx_spark", "DGX Spark"}, {"strix_halo", "Strix Halo"}})
    EXPECT_EQ(scenarios::read_machine(file).gpu.memory, machine_of({box, "", ""}).gpu.memory);
}

TEST(BoxOf, RefusesNothingAndSizesWithoutUnits) {
  const std::string text = refusal_of({"4090x0", "1", "2Tx0"});
  EXPECT_NE(text.find("--gpu: \"4090x0\" counts none"), std::string::npos) << text;
  EXPECT_NE(text.find("--ram: \"1\" has no unit; write 1G"), std::string::npos) << text;
  EXPECT_NE(text.find("--ssd: \"2Tx0\" counts none"), std::string::npos) << text;
  const std::string bytes = refusal_of({"4090", "137438953472", ""});
  EXPECT_NE(bytes.find("\"137438953472\" has no unit; write 128G"), std::string::npos) << bytes;
}

TEST(BoxOf, RefusesAllThatMeansNothingAtOnceWithTheNearestName) {
  const std::string text = refusal_of({"RTX 4091", "many", "2 TiBs"});
  EXPECT_NE(text.find("--gpu: no \"RTX 4091\""), std::string::npos) << text;
  EXPECT_NE(text.find("did you mean \"RTX 409"), std::string::npos) << text;
  EXPECT_NE(text.find("--ram: \"many\" is no size of memory"), std::string::npos) << text;
  EXPECT_NE(text.find("--ssd"), std::string::npos) << text;
}

}  // namespace
}  // namespace spillway::answers
