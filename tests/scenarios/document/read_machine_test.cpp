#include "scenarios/document/read_machine.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>

#include "scenarios/description/pinned_interval.hpp"
#include "scenarios/json/located_json.hpp"
#include "scenarios/json/shipped.hpp"
#include "tests/scenarios/complaints.hpp"

namespace spillway::scenarios::read_machine_test {
namespace {

using namespace description;

/// The complaints about a machine that is fine but for `rest`, the keys behind its host, and for
/// `right`, which reads `wrong`.
std::string about(const std::string& rest, const std::string& right = "",
                  const std::string& wrong = "") {
  std::string text =
      R"({"name": "m", "gpu": {"memory": "24 GiB", "compute": {"fp16": "1 TFLOPS"},
"memory_rate": "1 TB/s"}, "pcie": {"h2d": "24 GB/s", "d2h": "20 GB/s"},
"host": {"memory": "64 GiB", "memory_rate": "100 GB/s"})" +
      rest + "}";
  text.replace(text.find(right), right.size(), wrong);
  std::string lines;
  for (const Complaint& complaint : check_machine(parse_located(text, "m.json")))
    lines += (lines.empty() ? "" : "\n") + to_string(complaint);
  return lines;
}

TEST(ReadMachine, ReadsEveryShippedMachine) {
  const std::vector<std::string> names = shipped_names("scenarios/machines");
  EXPECT_GE(names.size(), 23u);
  for (const std::string& name : names)
    EXPECT_EQ(complaints_of([&] { read_machine(name); }), "") << name;
}

// What the drives reach together is no limit of their array: with one more it would seem to be one.
TEST(ReadMachine, LimitsOfShippedArraysAreNotWhatTheirDrivesReach) {
  for (const std::string& name : shipped_names("scenarios/machines"))
    for (const auto& storage : read_machine(name).storage) {
      const auto drives = static_cast<double>(storage.count);
      if (storage.kind != description::StorageKind::ssd) continue;
      for (const auto& [limit, rate] : {std::pair(storage.array_read, storage.read),
                                        std::pair(storage.array_write, storage.write)}) {
        if (limit) {
          EXPECT_GT(std::abs(limit->value() / (drives * rate.value()) - 1), 1e-3) << name;
        }
      }
    }
}

TEST(ReadMachine, WritesWhatReadsBackAsTheSame) {
  for (const std::string& name : shipped_names("scenarios/machines")) {
    const nlohmann::json once = read_machine(name);
    EXPECT_TRUE(check_machine(located_at(once, {})).empty()) << name;
    const nlohmann::json twice = once.get<MachineFile>();
    EXPECT_EQ(once, twice) << name;
  }
}

TEST(ReadMachine, OffersTheNearestName) {
  const std::string text = complaints_of([] { read_machine("memascend_c"); });
  EXPECT_EQ(text.substr(0, 54), "machine: no \"memascend_c\"; did you mean \"memascend_c1\"");
}

// What `fit --out` writes is a scenario: where a machine is asked for, its machine is meant.
TEST(ReadMachine, TakesTheMachineOfAScenario) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("scenario_" + std::to_string(getpid()) + ".json");
  const auto read_as = [&](const nlohmann::json& machine) {
    std::ofstream(file) << nlohmann::json{{"model", "gpt2"}, {"machine", machine}};
    return nlohmann::json(read_machine(file.string()));
  };
  const nlohmann::json named = read_machine("gaming_4090");
  EXPECT_EQ(read_as("gaming_4090"), named);
  EXPECT_EQ(read_as(named), named);
  nlohmann::json larger = {
      {"extends", "gaming_4090"}, {"name", "larger"}, {"host", {{"memory", "1 TiB"}}}};
  EXPECT_EQ(read_as(larger).at("host").at("memory"), "1 TiB");
  larger["host"]["memori"] = 1;
  const std::string text = complaints_of([&] { read_as(larger); });
  EXPECT_NE(text.find("host.memori: no such key"), std::string::npos) << text;
  std::filesystem::remove(file);
}

/// The complaints about a table of products.
std::string about_products(const std::string& products) {
  return about("", "\n\"memory_rate\"", "\n\"products\": " + products + ", \"memory_rate\"");
}

TEST(CheckMachine, RefusesATableOfProductsThatIsNoGrid) {
  EXPECT_EQ(about_products(R"({"512x1024": 0.5, "512x4096": 0.6})"), "");
  EXPECT_EQ(about_products(R"({"512x1024": 0.5, "64x4096": 0.6})"),
            "m.json:2:13: gpu.products: 2 numbers of rows and 2 widths make 4 products, 2 are "
            "there; measure each number of rows with each width");
  EXPECT_EQ(about_products(R"({"512": 0.5})"),
            "m.json:2:21: gpu.products[512]: \"512\" is no shape of a product; write its rows and "
            "its width, as in \"1024x4096\": 0.9");
}

TEST(CheckMachine, RefusesWritesThatWaitForNothing) {
  EXPECT_EQ(about("", "\"memory\": \"64 GiB\"", "\"dirty_limit\": 0.05, \"memory\": \"64 GiB\""),
            "m.json:3:25: host.dirty_limit: less than host.dirty_background: writes would wait for "
            "nothing; write what sysctl vm.dirty_ratio says, over 100");
}

TEST(CheckMachine, RefusesTwoStoragesOfOneName) {
  const std::string one = R"({"name": "a", "kind": "remote", "read": "1 GB/s", "write": "1 GB/s"})";
  EXPECT_EQ(
      about(",\n\"storage\": [" + one + ",\n" + one + "]"),
      "m.json:5:10: storage[1].name: \"a\" is the name of storage[0] too; give each storage a name "
      "of its own");
}

TEST(CheckMachine, RefusesGpusThatAreNotThere) {
  EXPECT_EQ(about(",\n\"storage\": [{\"name\": \"a\", \"kind\": \"remote\", \"read\": \"1 GB/s\", "
                  "\"write\": \"1 GB/s\",\n\"gpus\": [0, 1]}]"),
            "m.json:5:13: storage[0].gpus[1]: there is no GPU 1; a node has 1, counted from 0");
}

TEST(CheckMachine, WantsTheCapacityOfADriveOnly) {
  EXPECT_EQ(
      about(",\n\"storage\": [{\"name\": \"a\", \"read\": \"1 GB/s\", \"write\": \"1 GB/s\"}]"),
      "m.json:4:13: storage[0]: an SSD needs a capacity; write \"capacity\": \"3.84 TB\"");
}

TEST(CheckMachine, RefusesMemoryAndDrivesOfNothing) {
  // inside, 0 bytes stand for no limit: what was written would have been taken as that
  EXPECT_EQ(about("", "64 GiB", "0 GiB"),
            "m.json:3:20: host.memory: no memory at all, with which nothing runs; write its size; "
            "needed_bytes of an answer says what a run would take");
  EXPECT_EQ(about("", "24 GiB", "0 B"),
            "m.json:1:33: gpu.memory: no memory at all, with which nothing runs; write its size; "
            "strategy.gpu_capacity \"unlimited\" takes a card without limit");
  const std::string drive = R"("name": "a", "read": "1 GB/s", "write": "1 GB/s",
"capacity": "0 TB")";
  EXPECT_EQ(about(",\n\"storage\": [{" + drive + "}]"),
            "m.json:5:13: storage[0].capacity: a drive that holds nothing; write its size, such as "
            "\"3.84 TB\", or leave the storage out");
  EXPECT_EQ(about(",\n\"storage\": [{\"kind\": \"remote\", " + drive + "}]"), "")
      << "as a file system that is written out has it";
}

TEST(CheckMachine, RefusesDrivesThatOverflowTheByteCount) {
  EXPECT_EQ(about(",\n\"storage\": [{\"name\": \"a\", \"read\": \"1 GB/s\", \"write\": \"1 GB/s\", "
                  "\"capacity\": \"1 EiB\",\n\"count\": 5}]"),
            "m.json:5:10: storage[0].count: the drives together are larger than 4 EiB");
}

std::string about_rating(const std::string& endurance) {
  return about(
      ",\n\"storage\": [{\"name\": \"a\", \"read\": \"1 GB/s\", \"write\": \"1 GB/s\", "
      "\"capacity\": \"1 TB\",\n\"endurance\": " +
      endurance + "}]");
}

TEST(CheckMachine, WantsARatingInBytesOrInDrivesADay) {
  EXPECT_EQ(about_rating("{\"rated\": \"600 TB\"}"), "");
  EXPECT_EQ(about_rating("{\"dwpd\": 0.33, \"warranty\": \"5 years\"}"), "");
  // 0.33 x 1 TB x 365 x 5 = 602 TB: what the data sheet rounds to 600
  EXPECT_EQ(about_rating("{\"rated\": \"600 TB\", \"dwpd\": 0.33, \"warranty\": \"5 years\"}"), "");
  EXPECT_EQ(about_rating("{\"dwpd\": 0.33}"),
            "m.json:5:14: storage[0].endurance: no rating; write \"rated\": \"1.2 PB\", or "
            "\"dwpd\": 0.3 and \"warranty\": \"5 years\"");
  EXPECT_EQ(about_rating("{\"rated\": \"600 TB\", \"dwpd\": 1, \"warranty\": \"5 years\"}"),
            "m.json:5:42: storage[0].endurance.dwpd: with capacity and warranty it is 1825 TB, but "
            "rated says 600 TB; keep one of the two");
  EXPECT_EQ(about_rating("{\"rated\": \"600 TB\", \"mapping_unit\": \"0 B\"}"),
            "m.json:5:50: storage[0].endurance.mapping_unit: a unit of no bytes; write \"4 KiB\"");
}

TEST(PinnedInterval, OfAShippedMachineHoldsItsNumber) {
  std::size_t seen = 0;
  for (const std::string& name : shipped_names("scenarios/machines")) {
    const nlohmann::json machine = read_machine(name);
    for (const auto& [path, source] : machine.at("sources").items()) {
      const auto interval = pinned_interval(source.get<std::string>());
      if (!interval) continue;
      ++seen;
      const nlohmann::json* value = value_at(machine, path);
      ASSERT_TRUE(value) << name << " " << path;
      const auto text = value->is_string() ? value->get<std::string>() : value->dump();
      const auto at = written_number(text), low = written_number(interval->low),
                 high = written_number(interval->high);
      ASSERT_TRUE(at && low && high) << name << " " << path;
      EXPECT_EQ(low->dimension, at->dimension) << name << " " << path;
      EXPECT_EQ(high->dimension, at->dimension) << name << " " << path;
      EXPECT_LE(low->value, at->value) << name << " " << path;
      EXPECT_GE(high->value, at->value) << name << " " << path;
      EXPECT_GE(interval->figures.size(), 2u) << name << " " << path;
    }
  }
  EXPECT_GE(seen, 3u);
}

TEST(PinnedInterval, IsReadFromASourceAsItWasWritten) {
  const PinnedInterval interval{"0.9 Gparam/s", "1 Gparam/s", {"paper.one", "paper.other"}};
  const std::string source = with_interval("fitted: LoHan, Fig. 7", interval);
  EXPECT_EQ(source, "fitted: LoHan, Fig. 7 [0.9 Gparam/s to 1 Gparam/s by paper.one, paper.other]");
  const auto read = pinned_interval(source);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->low, interval.low);
  EXPECT_EQ(read->high, interval.high);
  EXPECT_EQ(read->figures, interval.figures);
  EXPECT_EQ(with_interval(source, interval), source);  // in place of the one that it had
  EXPECT_EQ(without_interval(source), "fitted: LoHan, Fig. 7");
  EXPECT_FALSE(pinned_interval("assumed: as measured [1 to 2 by one, other]"));
}

TEST(CheckMachine, WantsANetworkBetweenNodes) {
  const char* missing =
      "m.json:4:10: nodes: several nodes need network.per_gpu, each GPU's rate to other nodes; add "
      "\"network\": {\"per_gpu\": \"12.5 GB/s\"}, which is 100 Gb/s";
  EXPECT_EQ(about(",\n\"nodes\": 2"), missing);
  EXPECT_EQ(about(",\n\"nodes\": 2, \"network\": {\"latency\": \"5 us\"}"), missing);
}

}  // namespace
}  // namespace spillway::scenarios::read_machine_test
