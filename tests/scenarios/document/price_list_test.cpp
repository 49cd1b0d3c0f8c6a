#include "scenarios/document/price_list.hpp"

#include <gtest/gtest.h>

#include <set>

#include "scenarios/document/box.hpp"
#include "scenarios/document/read_machine.hpp"
#include "scenarios/json/shipped.hpp"
#include "tests/scenarios/complaints.hpp"
#include "tests/scenarios/temporary_files.hpp"

namespace spillway::scenarios {
namespace {

using description::MachineFile;
using nlohmann::json;

/// Two cards, one host of three sizes for one or two of them, two drives of which it takes one.
json small_list() {
  return json::parse(R"({
    "name": "small", "date": "2026-11-21",
    "gpus": [
      { "name": "A", "price_usd": 1000,
        "gpu": { "memory": "24 GiB", "compute": { "bf16": "100 TFLOPS" }, "memory_rate": "1 TB/s" },
        "pcie": { "h2d": "25 GB/s", "d2h": "25 GB/s", "latency": "1 us" },
        "sources": { "price_usd": "assumed: a", "gpu.memory": "datasheet: a",
          "gpu.compute.bf16": "assumed: a", "gpu.memory_rate": "datasheet: a",
          "pcie.h2d": "datasheet: card", "pcie.d2h": "datasheet: card",
          "pcie.latency": "assumed: card" } } ],
    "hosts": [
      { "name": "H", "price_usd": 500, "dram_usd_per_gib": 3,
        "memory": ["128 GiB", "64 GiB"], "gpus": [2, 1], "slots": { "m2": 2 },
        "host": { "memory_rate": "60 GB/s", "cores": 8 },
        "pcie": { "h2d": "12 GB/s", "d2h": "50 GB/s", "latency": "10 us" },
        "array": { "read": "9 GB/s", "write": "8 GB/s" },
        "sources": { "price_usd": "paper: b", "dram_usd_per_gib": "assumed: b",
          "host.memory_rate": "assumed: b", "host.cores": "datasheet: b",
          "pcie.h2d": "datasheet: host", "pcie.d2h": "datasheet: host",
          "pcie.latency": "assumed: host", "array.read": "assumed: b",
          "array.write": "assumed: b" } } ],
    "drives": [
      { "name": "D", "price_usd": 100, "form": "m2",
        "drive": { "capacity": "1 TB", "read": "5 GB/s", "write": "4 GB/s" },
        "sources": { "price_usd": "paper: c", "drive.capacity": "datasheet: c",
          "drive.read": "datasheet: c", "drive.write": "datasheet: c" } },
      { "name": "U", "price_usd": 300, "form": "u2",
        "drive": { "capacity": "1 TB", "read": "5 GB/s", "write": "4 GB/s" },
        "sources": { "price_usd": "paper: c", "drive.capacity": "datasheet: c",
          "drive.read": "datasheet: c", "drive.write": "datasheet: c" } } ] })");
}

PriceList read_list(const json& list) {
  const TemporaryFiles files;
  return read_price_list(files.write("list.json", list.dump(1)));
}

std::string about_list(const json& list) {
  const std::string text = complaints_of([&] { read_list(list); });
  const std::size_t file = text.find("list.json:");  // the folder is another one each time
  return file == std::string::npos ? text : text.substr(text.find(": ", file) + 2);
}

TEST(PriceList, AllThatShipBuildBoxesThatMachineFilesCouldHave) {
  const auto names = shipped_names("scenarios/parts");
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names) {
    const PriceList list = read_price_list(name);
    EXPECT_EQ(list.name, name);
    std::set<std::string> words;
    for (const Box& box : boxes_of(list)) {
      const json machine = machine_of(list, box);
      EXPECT_TRUE(words.insert(machine["name"]).second) << machine["name"];
      if (box.drives > 1) continue;
      EXPECT_TRUE(check_machine(located_at(machine, {})).empty()) << machine["name"];
    }
  }
}

TEST(PriceList, HasEachBoxOnce) {
  // one or two cards, two sizes of memory, and no drive or 1 or 2 of form m2: 2 x 2 x 3
  const PriceList list = read_list(small_list());
  const auto boxes = boxes_of(list);
  EXPECT_EQ(boxes.size(), 12u);
  EXPECT_EQ(std::set<Box>(boxes.begin(), boxes.end()).size(), 12u);
  for (const Box& box : boxes) EXPECT_TRUE(allowed(list, box));
  Box box = boxes.back();
  EXPECT_EQ(box.drives, 2u);
  ++box.drives;
  EXPECT_FALSE(allowed(list, box)) << "two slots";
  EXPECT_FALSE(allowed(list, Box{0, 0, 0, 1, 1, 1})) << "no slot for u2";
  EXPECT_FALSE(allowed(list, Box{0, 0, 0, 0, 3, 0})) << "three cards";
  EXPECT_FALSE(allowed(list, Box{0, 0, 2, 0, 1, 0})) << "no third size of memory";
}

TEST(PriceList, MakesAMachineOfABox) {
  const PriceList list = read_list(small_list());
  const Box box{.gpu = 0, .host = 0, .memory = 1, .drive = 0, .gpus = 2, .drives = 2};
  EXPECT_EQ(words_of(list, box), "2 x A, H, 128 GiB, 2 x D");
  const auto machine = machine_of(list, box).get<MachineFile>();
  // 500 + 2 x 1000 + 128 x 3 + 2 x 100
  EXPECT_EQ(price_of(list, box), 3084);
  EXPECT_EQ(machine.price(), 3084);
  EXPECT_EQ(machine.gpu.count, 2u);
  EXPECT_EQ(machine.host.memory.value(), 128ull << 30);
  // the card's 25 GB/s against the host's 12 and 50; the longer latency
  EXPECT_EQ(machine.pcie.h2d.value(), 12e9);
  EXPECT_EQ(machine.pcie.d2h.value(), 25e9);
  EXPECT_EQ(machine.pcie.latency.value(), 10e-6);
  EXPECT_EQ(machine.sources.at("pcie.h2d"), "datasheet: host");
  EXPECT_EQ(machine.sources.at("pcie.d2h"), "datasheet: card");
  // two drives read 10 GB/s, their link carries 9
  EXPECT_EQ(machine.storage.at(0).total_read().value(), 9e9);
  EXPECT_EQ(machine.storage.at(0).total_write().value(), 8e9);
  EXPECT_TRUE(machine.sources.at("storage.nvme.count").starts_with(chosen));
}

TEST(PriceList, MakesAMachineWithoutDrives) {
  const PriceList list = read_list(small_list());
  const auto machine = machine_of(list, Box{}).get<MachineFile>();
  EXPECT_TRUE(machine.storage.empty());
  EXPECT_EQ(machine.price(), 500 + 1000 + 64 * 3);
  EXPECT_EQ(price_of(list, Box{}), 500 + 1000 + 64 * 3);
}

TEST(PriceList, PutsItsDrivesIntoAMachine) {
  const PriceList list = read_list(small_list());
  const json machine = read_machine("lohan_4090");
  const json changed = with_drives(machine, "nvme", list, 0, 3);
  EXPECT_TRUE(check_machine(located_at(changed, {})).empty());
  const auto read = changed.get<MachineFile>();
  ASSERT_EQ(read.storage.size(), 1u);
  EXPECT_EQ(read.storage[0].count, 3u);
  EXPECT_EQ(read.storage[0].capacity.value(), 1'000'000'000'000u);
  EXPECT_FALSE(read.storage[0].endurance) << "the drive has none";
  // 3 x 5 GB/s behind the 28.1 GB/s of the box
  EXPECT_EQ(read.storage[0].total_read().value(), 15e9);
  EXPECT_EQ(read.storage[0].array_read->value(), 28.1e9);
  EXPECT_EQ(read.prices_usd->ssd, 100);
  EXPECT_EQ(read.sources.at("storage.nvme.read"), "datasheet: c");
  EXPECT_TRUE(read.sources.at("storage.nvme.array_read").starts_with("fitted:"));
  EXPECT_FALSE(changed["sources"].contains("storage.nvme.endurance.rated"));
}

TEST(PriceList, RefusesAPartThatNoMachineCouldHave) {
  json list = small_list();
  list["gpus"][0]["gpu"]["memory"] = "24";
  EXPECT_EQ(about_list(list).substr(0, 49), "gpus[0].gpu: gpu.memory: \"24\" has no unit; write ");
  list = small_list();
  list["drives"][0]["drive"].erase("capacity");
  list["drives"][0]["sources"].erase("drive.capacity");
  EXPECT_EQ(about_list(list),
            "drives[0].drive: storage[0]: an SSD needs a capacity; write \"capacity\": \"3.84 "
            "TB\"");
}

TEST(PriceList, RefusesWhatOnlyABoxDecides) {
  json list = small_list();
  list["gpus"][0]["gpu"]["count"] = 2;
  list["gpus"][0]["sources"]["gpu.count"] = "assumed: two";
  EXPECT_EQ(about_list(list), "gpus[0].gpu.count: is decided box by box; leave it out");
}

TEST(PriceList, WantsASourceOfEveryNumber) {
  json list = small_list();
  list["hosts"][0]["sources"].erase("array.read");
  EXPECT_EQ(about_list(list),
            "hosts[0].sources: array.read has no source; say where it is from, or \"assumed: "
            "why\"");
  list = small_list();
  list["drives"][0]["sources"]["drive.latency"] = "assumed: c";
  EXPECT_EQ(about_list(list),
            "drives[0].sources.drive.latency: the part has no such number; leave it out");
  list = small_list();
  list["drives"][0]["sources"]["price_usd"] = "a shop";
  EXPECT_EQ(about_list(list).substr(0, 67),
            "drives[0].sources.price_usd: does not say of what kind it is; begin");
}

TEST(PriceList, RefusesTwoPartsOfOneName) {
  json list = small_list();
  list["drives"][1]["name"] = "D";
  EXPECT_EQ(about_list(list), "drives[1]: \"D\" stands twice; give each part a name of its own");
}

}  // namespace
}  // namespace spillway::scenarios
