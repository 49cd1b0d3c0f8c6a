#include "scenarios/document/offers.hpp"

#include <gtest/gtest.h>

#include "scenarios/document/box.hpp"
#include "scenarios/document/part_catalogue.hpp"
#include "scenarios/document/read_machine.hpp"
#include "tests/scenarios/complaints.hpp"
#include "tests/scenarios/temporary_files.hpp"

namespace spillway::scenarios {
namespace {

using description::MachineFile;

TEST(Offers, AreReadFromTheCommandLineAndFromAFile) {
  const TemporaryFiles files;
  const std::string csv = files.write("offers.csv",
                                      "name,price,date,source\n"
                                      "# a comment\n"
                                      "990 pro 4tb,$500,2026-11-20,a shop\n"
                                      "\"dram\",12.5,2026-11,\"a shop, online\"\n");
  const auto offers = read_offers({"dram=11,ssd=440", "5090=4200"}, csv);
  ASSERT_EQ(offers.size(), 5u);
  EXPECT_EQ(offers[0].name, "990 PRO 4TB");
  EXPECT_EQ(offers[0].usd, 500);
  EXPECT_EQ(offers[0].date, "2026-11-20");
  EXPECT_EQ(offers[1].source, "a shop, online");
  EXPECT_EQ(offers[2].usd, 11) << "what the command says stands last, and so wins";
  EXPECT_EQ(offers[4].name, "RTX 5090");
}

TEST(Offers, SayWhatIsWrongWithThem) {
  EXPECT_EQ(complaints_of([] { read_offers({"dram"}, ""); }),
            "--price: \"dram\" is no price; write for example dram=11");
  EXPECT_EQ(complaints_of([] { read_offers({"dram=many"}, ""); }),
            "--price: dram: \"many\" is no price; write dollars, such as 440");
  EXPECT_EQ(complaints_of([] { read_offers({"dram=-1"}, ""); }),
            "--price: dram: \"-1\" is no price; write dollars, such as 440");
  EXPECT_EQ(complaints_of([] { read_offers({"RTX 5091=1"}, ""); }),
            "--price: RTX 5091: no such part, nor one kind of price; did you mean \"RTX 5090\"?");
  const TemporaryFiles files;
  const std::string csv = files.write("offers.csv", "dram,11,tomorrow,a shop\n");
  EXPECT_NE(complaints_of([&] { read_offers({}, csv); }).find("offers.csv:1:1: dram: \"tomorrow\""),
            std::string::npos);
  EXPECT_NE(complaints_of([&] { read_offers({}, csv + "x"); }).find("cannot be read"),
            std::string::npos);
}

TEST(Offers, NothingIsForNothing) {
  // in files a price of 0 says that memory is sold with its board
  const std::string said =
      ": a price of 0 says that it is in the price of another part; write 0.01 for what costs "
      "nothing";
  for (const std::string name : {"dram", "ssd", "ssd_per_tb", "gpu", "server"})
    EXPECT_EQ(complaints_of([&] { read_offers({name + "=0"}, ""); }), "--price: " + name + said);
  EXPECT_EQ(complaints_of([] { read_offers({"4090=$0.0"}, ""); }), "--price: 4090" + said);
  const TemporaryFiles files;
  const std::string csv = files.write("offers.csv", "dram,0,2026-11-20,a shop\n");
  EXPECT_EQ(files.relative(complaints_of([&] { read_offers({}, csv); })),
            "offers.csv:1:1: dram" + said);
  EXPECT_EQ(read_offers({"kwh=0"}, "").at(0).usd, 0) << "of one's own roof";
  EXPECT_EQ(read_offers({"dram=0.01"}, "").at(0).usd, 0.01);
}

TEST(Offers, NoPriceOfAPartThatIsInAnotherOnesIsOld) {
  // a GB10 of 2025-10-15 costs nothing beside its host of 2026-06-01
  const MachineFile machine = read_machine("dgx_spark");
  EXPECT_EQ(machine.prices_usd->gpu, 0);
  EXPECT_TRUE(old_prices(machine, "2026-11-22").empty());
}

TEST(Offers, RentAMachineThatHasNoPrice) {
  MachineFile machine = read_machine("cloud_local_nvme");
  ASSERT_FALSE(machine.price());
  EXPECT_EQ(apply_offers(read_offers({"gpu_hour=2.5,kwh=0.3"}, ""), machine), 2u);
  EXPECT_EQ(machine.prices_usd->gpu_hour, 2.5);
  EXPECT_FALSE(machine.price()) << "rented: it is not for nothing";
  EXPECT_EQ(hourly_overrides(read_offers({"gpu_hour=2.5", "dram=11"}, "")),
            std::vector<std::string>{"machine.prices_usd.gpu_hour=2.5"});
}

TEST(Offers, PriceAMachineAnew) {
  MachineFile machine = read_machine("gaming_4090");
  const double before = *machine.price();
  const double dram = machine.prices_usd->dram_per_gib, drive = machine.prices_usd->ssd;
  EXPECT_EQ(apply_offers(read_offers({"dram=5,990 PRO 2TB=200"}, ""), machine), 2u);
  // 64 GiB and one drive
  EXPECT_NEAR(*machine.price(), before + 64 * (5 - dram) + (200 - drive), 1e-9);
  EXPECT_FALSE(machine.dates.contains("prices_usd.dram_per_gib")) << "nobody says of what day";
  EXPECT_EQ(apply_offers(read_offers({"ssd_per_tb=50"}, ""), machine), 1u);
  EXPECT_EQ(machine.storage[0].price_usd, 100);
  EXPECT_EQ(apply_offers(read_offers({"RTX 5090=1"}, ""), machine), 0u);
}

TEST(Offers, PriceDrivesThatNodesShareOnce) {
  MachineFile machine = read_machine("gaming_4090");
  const double one = *machine.price(),
               drives = static_cast<double>(machine.storage[0].count) *
                        machine.storage[0].price_usd.value_or(machine.prices_usd->ssd);
  machine.nodes = 3;
  EXPECT_NEAR(*machine.price(), 3 * one, 1e-9);
  machine.storage[0].shared_by_nodes = true;
  EXPECT_NEAR(*machine.price(), 3 * one - 2 * drives, 1e-9);
}

TEST(Offers, LeaveWhatIsInAnotherPartsPrice) {
  MachineFile machine = read_machine("h100_8gpu");  // cards and drives are in the server's price
  const double before = *machine.price();
  EXPECT_EQ(apply_offers(read_offers({"ssd=1,gpu=1,dram=1"}, ""), machine), 0u);
  EXPECT_EQ(*machine.price(), before);
}

TEST(Offers, PriceAListAnew) {
  PriceList list = read_price_list("one_box");
  const Box box{.gpu = 0, .host = 0, .memory = 5, .drive = 0, .gpus = 1, .drives = 2};
  EXPECT_GT(apply_offers(read_offers({"dram=1,ssd=10,RTX 3090=100,desktop=50"}, ""), list), 4u);
  // 50 for the desktop, 100 for the card, 96 GiB, two drives
  EXPECT_DOUBLE_EQ(price_of(list, box), 50 + 100 + 96 + 20);
  EXPECT_EQ(machine_of(list, box).get<MachineFile>().price(), 266);
}

TEST(Offers, KnowDays) {
  EXPECT_EQ(*day_number("2026-03-01") - *day_number("2026-02-28"), 1);
  EXPECT_EQ(*day_number("2024-03-01") - *day_number("2024-02-28"), 2);  // a leap year
  EXPECT_EQ(*day_number("2026-11-22") - *day_number("2025-11-22"), 365);
  EXPECT_EQ(day_number("2026-06"), day_number("2026-06-01"));
  for (const char* text : {"", "today", "2026", "2026-13", "2026-06-03x", "2026-06-32"})
    EXPECT_FALSE(day_number(text)) << text;
}

TEST(Offers, AYearLaterAPriceIsOld) {
  MachineFile machine = read_machine("gaming_4090");
  machine.dates = {{"prices_usd.gpu", "2024-03-11"},
                   {"prices_usd.ssd", "2025-11-22"},
                   {"prices_usd.dram_per_gib", "2025-11-21"}};
  EXPECT_EQ(old_prices(machine, "2026-11-22"),
            (std::map<std::string, std::string>{{"dram", "2025-11-21"}, {"gpu", "2024-03-11"}}));
  EXPECT_TRUE(old_prices(machine, "2024-03-12").empty());
}

}  // namespace
}  // namespace spillway::scenarios
