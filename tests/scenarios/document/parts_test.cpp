#include "scenarios/document/machine_parts.hpp"
#include "scenarios/document/part_catalogue.hpp"

#include <gtest/gtest.h>

#include <regex>

#include "scenarios/document/document.hpp"
#include "scenarios/document/read_machine.hpp"
#include "scenarios/json/shipped.hpp"
#include "tests/scenarios/complaints.hpp"
#include "tests/scenarios/temporary_files.hpp"

namespace spillway::scenarios {
namespace {

using description::MachineFile;
using nlohmann::json;

std::string name_of(PartKind kind, const std::string& text) {
  return part_at(kind, find_part(kind, text).index).name;
}

TEST(PartCatalogue, EveryPriceHasADay) {
  const std::regex day("20[0-9]{2}-[0-9]{2}-[0-9]{2}");
  const PriceList& all = part_catalogue();
  EXPECT_GE(all.gpus.size(), 15u);
  EXPECT_GE(all.drives.size(), 12u);
  const auto dated = [&](const Part& part) {
    EXPECT_TRUE(std::regex_match(part.date, day)) << part.name << ": " << part.date;
  };
  for (const Part& part : all.gpus) dated(part);
  for (const Part& part : all.hosts) dated(part);
  for (const Part& part : all.drives) dated(part);
}

TEST(PartCatalogue, FindsEachPartByAllItsNames) {
  const auto all_names = [](PartKind kind, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const Part& part = part_at(kind, i);
      EXPECT_EQ(name_of(kind, part.name), part.name);
      for (const std::string& alias : part.aliases) EXPECT_EQ(name_of(kind, alias), part.name);
    }
  };
  all_names(PartKind::gpu, part_catalogue().gpus.size());
  all_names(PartKind::host, part_catalogue().hosts.size());
  all_names(PartKind::drive, part_catalogue().drives.size());
}

TEST(PartCatalogue, FindsWhatPeopleWrite) {
  for (const char* text : {"4090", "rtx 4090", "RTX4090", "NVIDIA GeForce RTX 4090", "rtx-4090"})
    EXPECT_EQ(name_of(PartKind::gpu, text), "RTX 4090") << text;
  for (const char* text : {"RTX 4090 48GB", "rtx 4090 48 gb", "4090-48G"})
    EXPECT_EQ(name_of(PartKind::gpu, text), "RTX 4090 48GB") << text;
  EXPECT_EQ(name_of(PartKind::gpu, "h100"), "H100 SXM");
  EXPECT_EQ(name_of(PartKind::gpu, "pro 6000"), "RTX PRO 6000");
  EXPECT_EQ(name_of(PartKind::drive, "samsung 990 pro 4tb"), "990 PRO 4TB");
  EXPECT_EQ(name_of(PartKind::host, "workstation"), "workstation");
}

TEST(PartCatalogue, CountsParts) {
  for (const char* text : {"5090x2", "5090 x2", "2x5090", "2 x RTX 5090", "RTX5090x2"}) {
    const FoundPart found = find_part(PartKind::gpu, text);
    EXPECT_EQ(part_at(PartKind::gpu, found.index).name, "RTX 5090") << text;
    EXPECT_EQ(found.count, 2u) << text;
  }
  EXPECT_EQ(find_part(PartKind::gpu, "MI300X").count, 1u);
  EXPECT_EQ(find_part(PartKind::gpu, "MI300Xx8").count, 8u);
}

TEST(PartCatalogue, TakesTheFirstDriveOfASize) {
  for (const char* text : {"2T", "2TB", "2 TB", "2t"}) {
    const FoundPart found = find_part(PartKind::drive, text);
    EXPECT_TRUE(found.by_size) << text;
    EXPECT_EQ(part_at(PartKind::drive, found.index).name, "990 PRO 2TB") << text;
  }
  const FoundPart two = find_part(PartKind::drive, "4Tx2");
  EXPECT_EQ(part_at(PartKind::drive, two.index).name, "990 PRO 4TB");
  EXPECT_EQ(two.count, 2u);
}

TEST(PartCatalogue, SaysWhatItDoesNotKnow) {
  EXPECT_EQ(complaints_of([] { find_part(PartKind::gpu, "RTX 4091"); }).substr(0, 46),
            "no \"RTX 4091\"; did you mean \"RTX 4090\"? known:");
  EXPECT_EQ(complaints_of([] { find_part(PartKind::drive, "990 pro"); }),
            "\"990 pro\" may be several drives; write 990 PRO 2TB or 990 PRO 4TB or 990 PRO 1TB");
  // cards of other memory, whatever else their names have in common
  for (const char* card : {"4060", "RTX 5070", "4070 super", "5060"})
    EXPECT_EQ(complaints_of([&] { find_part(PartKind::gpu, card); }).find("no \""), 0u) << card;
  for (const char* card : {"5060ti", "RTX5060Ti", "5060 Ti"})
    EXPECT_EQ(part_at(PartKind::gpu, find_part(PartKind::gpu, card).index).name, "RTX 5060 Ti 16GB")
        << card;
  EXPECT_FALSE(complaints_of([] { find_part(PartKind::gpu, ""); }).empty());
  EXPECT_FALSE(complaints_of([] { find_part(PartKind::drive, "3T"); }).empty());
}

/// A machine of parts, read from a file.
MachineFile machine_of(const json& written) {
  const TemporaryFiles files;
  return read_machine(files.write("own.json", written.dump(1)));
}

std::string about(const json& written) {
  const std::string text = complaints_of([&] { machine_of(written); });
  const std::size_t file = text.find("own.json:");
  return file == std::string::npos ? text : text.substr(text.find(": ", file) + 2);
}

json of_parts() {
  return json::parse(R"({"name": "own", "gpu": {"part": "4090", "count": 1},
    "host": {"part": "desktop", "memory": "64 GiB"},
    "storage": [{"part": "990 PRO 2TB", "count": 2}]})");
}

TEST(MachineParts, TakesTheNumbersOfItsPartsWithTheirSources) {
  const MachineFile machine = machine_of(of_parts());
  EXPECT_EQ(machine.gpu.memory, description::Bytes(24ull << 30));
  EXPECT_EQ(machine.gpu.lanes, 16u);
  EXPECT_EQ(machine.pcie.h2d.value(), 25.2e9);
  EXPECT_EQ(machine.host.cores, 16u);
  EXPECT_EQ(machine.host.slots.at("m2"), 4u);
  ASSERT_EQ(machine.storage.size(), 1u);
  EXPECT_EQ(machine.storage[0].name, "nvme");
  EXPECT_EQ(machine.storage[0].count, 2u);
  EXPECT_EQ(machine.storage[0].form, "m2");
  EXPECT_EQ(machine.storage[0].array_read->value(), 18.9e9) << "the board's";
  EXPECT_EQ(machine.storage[0].slc_cache->folded_write.value(), 1.4e9);
  EXPECT_TRUE(machine.sources.at("storage.nvme.read").starts_with("datasheet: Samsung 990 PRO"));
  EXPECT_TRUE(machine.sources.at("gpu.memory").starts_with("datasheet: GeForce RTX 4090"));
  EXPECT_EQ(machine.bought.at("storage.nvme"), "990 PRO 2TB");
  EXPECT_EQ(machine.bought.at("gpu"), "RTX 4090");
  EXPECT_TRUE(machine.dates.contains("prices_usd.ssd"));
  const PriceList& all = part_catalogue();
  const double parts = all.gpus[find_part(PartKind::gpu, "4090").index].price_usd +
                       2 * all.drives[find_part(PartKind::drive, "990 PRO 2TB").index].price_usd;
  const HostPart& host = all.hosts[find_part(PartKind::host, "desktop").index];
  EXPECT_DOUBLE_EQ(*machine.price(), parts + host.price_usd + 64 * host.dram_usd_per_gib);
}

TEST(MachineParts, WhatTheMachineSaysItselfStays) {
  json written = of_parts();
  written["gpu"]["memory"] = "48 GiB";
  written["storage"][0]["endurance"] = {{"rated", "2 PB"}};
  written["sources"]["gpu.memory"] = "measured: a card with other chips";
  const MachineFile machine = machine_of(written);
  EXPECT_EQ(machine.gpu.memory, description::Bytes(48ull << 30));
  EXPECT_EQ(machine.sources.at("gpu.memory"), "measured: a card with other chips");
  EXPECT_EQ(machine.storage[0].endurance->rated.value(), 2'000'000'000'000'000u);
  EXPECT_FALSE(machine.sources.contains("storage.nvme.endurance.rated")) << "the part's is gone";
  EXPECT_EQ(machine.storage[0].endurance->rating_waf, 2.5) << "of the part";
}

TEST(MachineParts, OneDriveIsTheSameEverywhere) {
  json drives;
  for (const char* name : {"gaming_4090", "strix_halo"}) {
    json one = read_machine(name);
    json& drive = one["storage"][0];
    for (const char* key : {"count", "array_read", "array_write"}) drive.erase(key);
    EXPECT_TRUE(drives.is_null() || drives == drive) << name;
    drives = drive;
  }
  const MachineFile four = read_machine("workstation_2gpu");
  EXPECT_TRUE(four.storage[0].slc_cache);
  EXPECT_FALSE(four.storage[0].endurance->waf);
}

TEST(MachineParts, ADriveOfANewerGenerationIsAsFastAsItsSlot) {
  json written = of_parts();
  written["storage"][0]["part"] = "9100 PRO 2TB";
  // 0.95 of four lanes of 16 GT/s after 128b/130b: 0.95 x 4 x 1.9692 = 7.48 GB/s
  EXPECT_NEAR(machine_of(written).storage[0].read.value(), 7.48e9, 0.01e9);
  written["host"]["part"] = "desktop with PCIe 5";
  EXPECT_EQ(machine_of(written).storage[0].read.value(), 14.7e9);
}

TEST(MachineParts, OfCardAndBoardTheSlowerLinkCounts) {
  json written = of_parts();
  written["gpu"]["part"] = "RTX 5090";
  EXPECT_EQ(machine_of(written).pcie.h2d.value(), 50.4e9);
  written["pcie"]["h2d"] = "12.6 GB/s";  // lanes that were negotiated down
  EXPECT_EQ(machine_of(written).pcie.h2d.value(), 12.6e9);
}

TEST(MachineParts, RefusesWhatIsNoPart) {
  json written = of_parts();
  written["gpu"]["part"] = "RTX 4091";
  EXPECT_EQ(about(written).substr(0, 56),
            "gpu.part: no \"RTX 4091\"; did you mean \"RTX 4090\"? known:");
  written = of_parts();
  written["gpu"]["part"] = "2x4090";
  EXPECT_EQ(about(written),
            "gpu.part: a part stands with its number here; write \"count\": 2 beside it");
  written = of_parts();
  written["storage"][0]["part"] = true;
  EXPECT_EQ(about(written),
            "storage[0].part: is no text; write the name of a part, such as RTX 4090");
}

TEST(MachineParts, LeavesWhatIsWrongToTheSchema) {
  for (const auto& [key, wrong] : {std::pair<const char*, json>{"/prices_usd", 5},
                                   {"/bought", 5},
                                   {"/sources", 5},
                                   {"/dates", json::array()},
                                   {"/pcie", 5},
                                   {"/network", "fast"},
                                   {"/host/slots", 5},
                                   {"/storage/0/name", 5},
                                   {"/storage/0/endurance", 5},
                                   {"/storage", 5}}) {
    json written = of_parts();
    written[json::json_pointer(key)] = wrong;
    EXPECT_FALSE(about(written).empty()) << key;
  }
}

TEST(MachineParts, ABoardHasSoManySlotsAndLanes) {
  json written = of_parts();
  written["storage"][0]["count"] = 5;
  EXPECT_EQ(about(written),
            "storage[0].count: the board has 4 M.2 slots, 5 are asked for; take fewer, or another "
            "board; host.slots says how many it has");
  written["host"]["slots"] = {{"m2", 8}};
  // 32 lanes: 16 for the card, 20 for five drives
  EXPECT_EQ(about(written),
            "storage[0].count: its lanes are full: of 32 of PCI Express 16 are left, and 20 are "
            "needed; take fewer, or another board; host.lanes says how many it has");
  written["host"]["lanes"] = 36;
  EXPECT_EQ(about(written), "");
  written["gpu"]["count"] = 2;
  EXPECT_EQ(about(written).substr(0, 55),
            "gpu.count: the board has 1 card slot, 2 are asked for; ");
}

TEST(MachineParts, AMachineExtendsAnother) {
  const TemporaryFiles files;
  const std::string mine = files.write(
      "mine.json", R"({"name": "mine", "extends": "gaming_4090", "host": {"memory": "32 GiB"}})");
  const MachineFile machine = read_machine(mine);
  const MachineFile base = read_machine("gaming_4090");
  EXPECT_EQ(machine.name, "mine");
  EXPECT_EQ(machine.host.memory, description::Bytes(32ull << 30));
  EXPECT_EQ(machine.gpu.memory, base.gpu.memory);
  EXPECT_FALSE(machine.sources.contains("host.memory")) << "that of 64 GiB is no source of it";
  files.write("theirs.json", R"({"name": "theirs", "extends": "mine.json",
                                 "gpu": {"part": "RTX 5090"}})");
  const MachineFile theirs =
      read_machine((std::filesystem::path(mine).parent_path() / "theirs.json").string());
  EXPECT_EQ(theirs.gpu.memory, description::Bytes(32ull << 30));
  EXPECT_EQ(theirs.host.memory, description::Bytes(32ull << 30));
  EXPECT_EQ(theirs.bought.at("gpu"), "RTX 5090");
  EXPECT_GT(theirs.prices_usd->gpu, base.prices_usd->gpu);
}

TEST(MachineParts, RefusesMachinesThatExtendEachOther) {
  const TemporaryFiles files;
  const std::string circle =
      files.write("circle.json", R"({"name": "a", "extends": "circle.json"})");
  EXPECT_NE(complaints_of([&] { read_machine(circle); }).find("extends: more than 16 machines"),
            std::string::npos);
  const std::string typo = files.write("typo.json", R"({"name": "a", "extends": "gaming_409"})");
  EXPECT_NE(complaints_of([&] { read_machine(typo); }).find("did you mean \"gaming_4090\"?"),
            std::string::npos);
}

TEST(MachineParts, AnOverrideNamesAnotherPart) {
  const auto machine = [](const std::vector<std::string>& overrides) {
    const Document document = assemble(located_at({{"machine", "gaming_4090"}}, {}), overrides);
    EXPECT_TRUE(document.complaints.empty());
    return document.machine.json.value.get<MachineFile>();
  };
  const MachineFile other =
      machine({"machine.gpu.part=RTX 5090", "machine.storage.nvme.part=990 PRO 4TB",
               "machine.storage.nvme.count=2"});
  EXPECT_EQ(other.gpu.memory, description::Bytes(32ull << 30));
  EXPECT_EQ(other.storage[0].capacity.value(), 4'000'000'000'000u);
  EXPECT_EQ(other.storage[0].count, 2u);
  EXPECT_EQ(machine({"machine.gpu.memory=20 GiB"}).gpu.memory, description::Bytes(20ull << 30));
}

TEST(MachineParts, WhatIsResolvedReadsBackAsTheSame) {
  for (const std::string& name : shipped_names("scenarios/machines")) {
    const json once = read_machine(name);
    LocatedJson again = located_at(once, {});
    std::vector<description::Complaint> complaints;
    put_parts(again, complaints);
    EXPECT_TRUE(complaints.empty()) << name;
    EXPECT_EQ(json(again.value.get<MachineFile>()), once) << name;
  }
}

/// Servers that were written down whole have the rates of the catalogue's card all the same.
TEST(PartCatalogue, OneCardComputesAsFastInEveryBox) {
  for (const auto& [server, card] :
       {std::pair("h100_8gpu", "H100 SXM"), std::pair("a100_40_4gpu", "A100 40GB"),
        std::pair("cloud_local_nvme", "A100 40GB"), std::pair("l40s_server", "L40S")}) {
    const Part& part = part_at(PartKind::gpu, find_part(PartKind::gpu, card).index);
    const json machine = read_machine(server);
    const json& rates = machine.at("gpu").at("compute");
    for (const char* type : {"bf16", "fp16"})
      EXPECT_EQ(rates.at(type), part.parts.at("gpu").at("compute").at(type)) << server;
  }
}

TEST(PartCatalogue, EveryPartSaysWhatItTakesFromThePlugAndFromWhere) {
  const auto stated = [](const Part& part) {
    EXPECT_GT(part.watts, 0) << part.name;
    EXPECT_TRUE(part.sources.contains("watts")) << part.name;
  };
  for (const Part& part : part_catalogue().gpus) stated(part);
  for (const Part& part : part_catalogue().hosts) stated(part);
  for (const Part& part : part_catalogue().drives) stated(part);
}

TEST(MachineParts, SayWhatTheMachineTakesFromThePlugAndAnotherPartItsOwn) {
  const auto power_with = [](const std::vector<std::string>& overrides) {
    const Document document =
        assemble(located_at({{"model", "gpt2"}, {"machine", "gaming_4090"}}, {}), overrides);
    return document.machine.json.value.get<MachineFile>().power.value();
  };
  EXPECT_EQ(power_with({}).gpu, 450);  // data sheet of the RTX 4090
  EXPECT_EQ(power_with({}).ssd, 6);
  const auto changed =
      power_with({"machine.gpu.part=5090", "machine.storage.nvme.part=990 PRO 4TB"});
  EXPECT_EQ(changed.gpu, 575);
  EXPECT_EQ(changed.gpu_waiting, 575 / 4.0);
  EXPECT_EQ(changed.ssd, 6.5);
  EXPECT_EQ(changed.host, power_with({}).host);
  EXPECT_FALSE(read_machine("lohan_4090").power) << "its numbers are a paper's, without watts";
}

TEST(MachineParts, EveryNumberOfAShippedMachineHasASource) {
  const auto leaves = [](const json& value, const std::string& path, const auto& self,
                         std::vector<std::string>& found) -> void {
    if (value.is_object()) {
      for (const auto& [key, child] : value.items())
        self(child, path.empty() ? key : path + "." + key, self, found);
    } else if (value.is_array() && !value.empty() && value[0].is_object()) {
      for (const json& child : value)
        self(child, path + "." + child["name"].get<std::string>(), self, found);
    } else {
      found.push_back(path);
    }
  };
  for (const std::string& name : shipped_names("scenarios/machines")) {
    if (name == "paced_small") continue;  // a pace for emulation, and no machine
    json machine = read_machine(name);
    const json sources = machine["sources"];
    for (const char* key : {"name", "sources", "dates", "bought"}) machine.erase(key);
    std::vector<std::string> paths;
    leaves(machine, "", leaves, paths);
    for (const std::string& path : paths) {
      const bool word = path == "storage" || path.ends_with(".name") || path.ends_with(".kind") ||
                        path.ends_with(".form") || path.find(".slots.") != std::string::npos ||
                        path.ends_with(".device");
      EXPECT_TRUE(word || sources.contains(path) || path.starts_with("prices_usd."))
          << name << ": " << path;
    }
  }
}

}  // namespace
}  // namespace spillway::scenarios
