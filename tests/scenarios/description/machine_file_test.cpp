#include "scenarios/description/machine_file.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace spillway::description {
namespace {

using nlohmann::json;

/// The least that a machine says.
json least() {
  return json::parse(R"({"name": "m",
    "gpu": {"memory": "24 GiB", "compute": {"fp16": "100 TFLOPS"}, "memory_rate": "1 TB/s"},
    "pcie": {"h2d": "24 GB/s", "d2h": "20 GB/s"},
    "host": {"memory": "64 GiB", "memory_rate": "112 GB/s"},
    "storage": [{"name": "nvme", "count": 4, "capacity": "2 TB",
                 "read": "7 GB/s", "write": "5 GB/s",
                 "array_read": "16 GB/s"}]})");
}

TEST(MachineFile, FillsDefaultsAndSaysSo) {
  const auto machine = least().get<MachineFile>();
  EXPECT_EQ(machine.gpu.compute.at("bf16").value(), 100e12);  // as fp16
  EXPECT_EQ(machine.host.adam.value(), 1e9);                  // 112e9 / 4 / 28
  EXPECT_EQ(machine.host.check_chained.value(), 7.84e9);      // 0.07 x 112e9
  EXPECT_EQ(machine.host.check_fused.value(), 52.64e9);       // 0.47 x 112e9
  EXPECT_EQ(machine.pcie.pageable_h2d, machine.pcie.pageable_d2h);
  EXPECT_EQ(machine.pcie.pageable_d2h.value(), 8.2e9);
  EXPECT_EQ(machine.network.per_gpu.value(), 20e9);
  EXPECT_EQ(machine.sources.at("host.check_fused"), "default: 0.47 x host.memory_rate");
  EXPECT_EQ(machine.sources.at("storage.nvme.latency"), "default: 85 us");
  EXPECT_FALSE(machine.sources.contains("host.memory"));
}

TEST(MachineFile, OnOneNodeTheNetworkIsTheOneBetweenItsGpus) {
  json object = least();
  EXPECT_FALSE(object.get<MachineFile>().network.intra_node_per_gpu);  // through the host
  object["network"]["per_gpu"] = "32 GB/s";
  const auto alone = object.get<MachineFile>();
  EXPECT_EQ(alone.network.intra_node_per_gpu->value(), 32e9);
  EXPECT_EQ(alone.sources.at("network.intra_node_per_gpu"),
            "default: as network.per_gpu, on one node");
  object["nodes"] = 2;
  EXPECT_FALSE(object.get<MachineFile>().network.intra_node_per_gpu);
  object["nodes"] = 1;
  object["gpu"]["peer_access"] = false;  // it is for other nodes, and these go through the host
  EXPECT_FALSE(object.get<MachineFile>().network.intra_node_per_gpu);
  object["gpu"]["peer_access"] = true;
  object["gpu"]["peer_rate"] = "200 GB/s";
  EXPECT_FALSE(object.get<MachineFile>().network.intra_node_per_gpu);
  const json once = least().get<MachineFile>();  // a default that was written out stays one
  EXPECT_FALSE(once.get<MachineFile>().network.intra_node_per_gpu);
}

TEST(MachineFile, GpusReachEachOtherUnlessItSaysNo) {
  json object = least();
  EXPECT_TRUE(object.get<MachineFile>().gpu.peer_access);
  EXPECT_FALSE(json(object.get<MachineFile>())["gpu"].contains("peer_access"));
  EXPECT_TRUE(object.get<MachineFile>().peers_use_pcie());
  object["gpu"]["peer_rate"] = "200 GB/s";
  EXPECT_FALSE(object.get<MachineFile>().peers_use_pcie());
  object["gpu"]["peer_access"] = false;
  const json once = object.get<MachineFile>();
  EXPECT_FALSE(once.get<MachineFile>().gpu.peer_access);
  EXPECT_TRUE(once.get<MachineFile>().peers_use_pcie());
}

TEST(MachineFile, TeamsShareTheRatesOfOneBetweenTheNumbersOfItsTable) {
  json object = least();
  EXPECT_EQ(object.get<MachineFile>().host.team_share(4), 1);
  EXPECT_FALSE(json(object.get<MachineFile>())["host"].contains("team_rates"));
  object["host"]["team_rates"] = {{"2", 0.8}, {"4", 0.5}};
  const description::HostSpec host = object.get<MachineFile>().host;
  EXPECT_EQ(host.team_share(0), 1);
  EXPECT_EQ(host.team_share(1), 1);
  EXPECT_EQ(host.team_share(2), 0.8);
  EXPECT_DOUBLE_EQ(host.team_share(3), 0.65);
  EXPECT_EQ(host.team_share(9), 0.5);
}

TEST(MachineFile, DividesItsCardsAmongSocketsWhereALinkBetweenThemIsKnown) {
  json object = least();
  EXPECT_FALSE(json(object.get<MachineFile>())["host"].contains("sockets"));
  object["gpu"]["count"] = 6;
  object["host"]["sockets"] = 2;
  EXPECT_EQ(object.get<MachineFile>().socket_of(5), 0u);
  object["host"]["socket_rate"] = "16 GB/s";
  const auto machine = object.get<MachineFile>();
  EXPECT_EQ(machine.socket_of(2), 0u);
  EXPECT_EQ(machine.socket_of(3), 1u);
  EXPECT_EQ(machine.socket_of(6), 0u);  // the first of the next node
  EXPECT_EQ(json(machine)["host"]["socket_rate"], "16 GB/s");
}

TEST(MachineFile, HasATableOfProductsByShape) {
  json object = least();
  EXPECT_FALSE(json(object.get<MachineFile>())["gpu"].contains("products"));
  object["gpu"]["products"] = {{"512x1024", 0.5}, {"64x1024", 0.25}};
  const auto machine = object.get<MachineFile>();
  // by numbers, not by letters
  const std::vector<ProductRate> products{{64, 1024, 0.25}, {512, 1024, 0.5}};
  EXPECT_EQ(machine.gpu.products, products);
  EXPECT_EQ(json(machine)["gpu"]["products"], object["gpu"]["products"]);
}

TEST(MachineFile, ThreadsOfTheHostHaveTheirDefaults) {
  json object = least();
  const auto machine = object.get<MachineFile>();
  EXPECT_EQ(machine.host.page_cache.value(), 3e9);
  EXPECT_EQ(machine.host.first_touch.value(), 2.5e9);
  EXPECT_EQ(machine.host.dirty_background, 0.1);
  EXPECT_EQ(machine.host.dirty_limit, 0.2);
  EXPECT_EQ(machine.host.launch.value(), 0);
  EXPECT_EQ(machine.host.module_hooks.value(), 500e-6);
  for (const char* field : {"page_cache", "first_touch", "dirty_limit", "launch", "module_hooks"})
    EXPECT_TRUE(machine.sources.contains(std::string("host.") + field)) << field;
  object["gpu"]["shares_host"] = true;
  EXPECT_EQ(object.get<MachineFile>().host.launch.value(), 0);
  EXPECT_EQ(object.get<MachineFile>().host.module_hooks.value(), 0);
}

TEST(MachineFile, KeepsWhatIsSaid) {
  json object = least();
  object["host"]["check_fused"] = "1 GB/s";
  object["gpu"]["compute"]["bf16"] = "50 TFLOPS";
  const auto machine = object.get<MachineFile>();
  EXPECT_EQ(machine.host.check_fused.value(), 1e9);
  EXPECT_EQ(machine.gpu.compute.at("bf16").value(), 50e12);
  EXPECT_FALSE(machine.sources.contains("host.check_fused"));
}

TEST(MachineFile, TrainsFp32AtTheRateOfTf32) {
  json object = least();
  object["gpu"]["compute"] = {{"tf32", "40 TFLOPS"}};
  const auto machine = object.get<MachineFile>();
  EXPECT_EQ(machine.gpu.compute.at("fp32").value(), 40e12);
  EXPECT_FALSE(machine.gpu.compute.contains("fp16"));
}

TEST(MachineFile, AHostDeviceHasNoContext) {
  json object = least();
  EXPECT_EQ(object.get<MachineFile>().gpu.context, 512_MiB);
  object["gpu"]["shares_host"] = true;
  EXPECT_EQ(object.get<MachineFile>().gpu.context, 0_B);
}

TEST(MachineFile, KeepsMemoryForTheSystem) {
  json object = least();
  const auto machine = object.get<MachineFile>();
  EXPECT_EQ(machine.host.reserve, 4_GiB);
  EXPECT_EQ(machine.host.usable(), 60_GiB);
  EXPECT_EQ(machine.gpu.reserve, 300_MiB);
  EXPECT_TRUE(machine.sources.at("host.reserve").starts_with("default: "));
  EXPECT_TRUE(machine.sources.at("host.reserve").ends_with("assumed"));
  json again = machine;  // what follows from the memory follows anew when the memory changes
  again["host"]["memory"] = "200 GiB";
  EXPECT_EQ(again.get<MachineFile>().host.reserve, 10_GiB);
  object["host"]["reserve"] = "0 B";
  object["gpu"]["shares_host"] = true;
  EXPECT_EQ(object.get<MachineFile>().host.usable(), 64_GiB);
  EXPECT_EQ(object.get<MachineFile>().gpu.reserve, 0_B);
}

TEST(MachineFile, CapsDrivesByTheirArray) {
  const StorageSpec storage = least().get<MachineFile>().storage.at(0);
  EXPECT_EQ(storage.total_read().value(), 16e9);   // min(4 x 7, 16)
  EXPECT_EQ(storage.total_write().value(), 20e9);  // 4 x 5
  EXPECT_EQ(storage.total_room().value(), 8'000'000'000'000u);
}

TEST(MachineFile, ARunHasWhatOthersLeaveOfADrive) {
  StorageSpec storage = least().get<MachineFile>().storage.at(0);  // four drives of 2 TB
  storage.slc_cache = SlcCacheSpec{Bytes(226'000'000'000), {}};
  EXPECT_EQ(storage.slc_cache_size().value(), 226'000'000'000u);
  storage.endurance.emplace().held = Bytes(1'700'000'000'000);
  EXPECT_EQ(storage.room().value(), 300'000'000'000u);
  EXPECT_EQ(storage.total_room().value(), 1'200'000'000'000u);
  EXPECT_EQ(storage.slc_cache_size().value(), 100'000'000'000u);  // three bytes of room for one
  storage.capacity = {};
  EXPECT_EQ(storage.total_room().value(), 0u);  // without a limit
  EXPECT_EQ(storage.slc_cache_size().value(), 226'000'000'000u);
}

TEST(MachineFile, AddsUpThePrice) {
  json object = least();
  EXPECT_FALSE(object.get<MachineFile>().price());
  object["nodes"] = 2;
  object["gpu"]["count"] = 3;
  object["prices_usd"] = {{"server", 1000}, {"gpu", 100}, {"ssd", 10}, {"dram_per_gib", 1}};
  // 2 x (1000 + 3 x 100 + 4 x 10 + 64 x 1) = 2808
  EXPECT_DOUBLE_EQ(object.get<MachineFile>().price().value(), 2808);
}

TEST(MachineFile, RelaxesRetentionFromThreeYears) {
  json object = least();
  object["storage"][0]["endurance"] = {{"rated", "1.2 PB"}};
  const auto endurance = object.get<MachineFile>().storage.at(0).endurance.value();
  EXPECT_EQ(endurance.rated_retention.value(), 3 * 365 * 86400.0);
  EXPECT_EQ(endurance.retention, endurance.rated_retention);
  EXPECT_FALSE(endurance.waf);  // follows from what is written
  EXPECT_EQ(endurance.erase_block.value(), 1u << 30);
  EXPECT_TRUE(endurance.trimmed);
}

TEST(MachineFile, ANumberIsWhatEachDriveHasWrittenAndAListHasEachDrivesOwn) {
  json object = least();
  object["storage"][0]["count"] = 3;
  json& written = (object["storage"][0]["endurance"] = {{"rated", "1.2 PB"}})["written"];
  const auto drives = [&] { return object.get<MachineFile>().storage.at(0).written_before(); };
  const Bytes none, one(1'000'000'000'000), four(4'000'000'000'000);
  written = "1 TB";
  EXPECT_EQ(drives(), (std::vector{one, one, one}));
  written = {"1 TB", "0 B", "4 TB"};
  EXPECT_EQ(drives(), (std::vector{four, one, none}));
  written = "0 B";
  EXPECT_EQ(json(object.get<MachineFile>())["storage"][0]["endurance"]["written"], "0 B");
}

// Who asks what another drive would do asks about one that is bought.
TEST(MachineFile, DrivesThatAreAddedToThoseOfAMachineAreNew) {
  json object = least();
  object["storage"][0]["count"] = 2;
  object["storage"][0]["endurance"] = {{"rated", "1.2 PB"}, {"written", "1 TB"}};
  json read = object.get<MachineFile>();
  read["storage"][0]["count"] = 3;
  const Bytes none, one(1'000'000'000'000);
  EXPECT_EQ(read.get<MachineFile>().storage.at(0).written_before(), (std::vector{one, one, none}));
}

TEST(MachineFile, DrivesOfTwoKindsHaveTwoPrices) {
  json object = least();
  object["prices_usd"] = {{"server", 1000}, {"ssd", 10}};
  object["storage"].push_back({{"name", "fast"},
                               {"count", 2},
                               {"capacity", "1 TB"},
                               {"read", "9 GB/s"},
                               {"write", "9 GB/s"},
                               {"price_usd", 100}});
  // 1000 + 4 x 10 + 2 x 100
  EXPECT_DOUBLE_EQ(object.get<MachineFile>().price().value(), 1240);
}

TEST(MachineFile, ADriveSustainsWhatItsCacheHasEmptied) {
  StorageSpec drive = least().get<MachineFile>().storage.at(0);  // writes 5 GB/s
  EXPECT_EQ(drive.sustained_write(100_GB, Seconds(0)).value(), 5e9) << "without a cache";
  drive.slc_cache = SlcCacheSpec{50_GB, BytesPerSecond(1e9)};
  EXPECT_EQ(drive.sustained_write(100_GB, Seconds(0)).value(), 1e9) << "always full";
  // 20 s empty 20 GB: 20 / 5 + 80 / 1 = 84 s for 100 GB
  EXPECT_DOUBLE_EQ(drive.sustained_write(100_GB, Seconds(20)).value(), 100e9 / 84);
  // a day empties all 50 GB: 10 + 50 s
  EXPECT_DOUBLE_EQ(drive.sustained_write(100_GB, Seconds(86400)).value(), 100e9 / 60);
  EXPECT_EQ(drive.sustained_write(40_GB, Seconds(86400)).value(), 5e9);
}

TEST(MachineFile, RatesADriveByDaysOrByBytes) {
  json object = least();  // drives of 2 TB
  object["storage"][0]["endurance"] = {{"dwpd", 0.3}, {"warranty", "5 years"}};
  const MachineFile machine = object.get<MachineFile>();
  // 0.3 x 2 TB x 365 x 5 = 1095 TB
  EXPECT_EQ(machine.storage.at(0).endurance->rated.value(), 1'095'000'000'000'000u);
  EXPECT_EQ(machine.sources.at("storage.nvme.endurance.rated").substr(0, 30),
            "default: dwpd x capacity x 365");
  EXPECT_EQ(json(json(machine).get<MachineFile>()), json(machine));
  object["storage"][0]["endurance"]["rated"] = "1.1 PB";  // as a data sheet rounds
  EXPECT_EQ(object.get<MachineFile>().storage.at(0).endurance->rated.value(),
            1'100'000'000'000'000u);
}

TEST(MachineFile, WritesWhatItReads) {
  json object = least();
  object["gpu"]["peer_rate"] = "200 GB/s";
  object["storage"][0]["gpus"] = {0};
  object["storage"][0]["device"] = "nvme0n1";
  object["storage"][0]["near_storage"] = {
      {"read", "3 GB/s"}, {"write", "2 GB/s"}, {"adam", "1 Gparam/s"}, {"start", "2 ms"}};
  object["storage"][0]["slc_cache"] = {{"size", "100 GB"}, {"folded_write", "1 GB/s"}};
  object["storage"][0]["process_efficiency"] = {{"file", 0.44}};
  const json once = object.get<MachineFile>();
  EXPECT_EQ(once["storage"][0]["near_storage"], object["storage"][0]["near_storage"]);
  object["storage"][0]["near_storage"].erase("start");
  const MachineFile unsaid = object.get<MachineFile>();
  EXPECT_EQ(unsaid.storage[0].near_storage->start, Seconds(1e-3));
  EXPECT_EQ(unsaid.sources.at("storage." + unsaid.storage[0].name + ".near_storage.start")
                .find("default: 1 ms, assumed"),
            0u);
  EXPECT_EQ(once["storage"][0]["slc_cache"], object["storage"][0]["slc_cache"]);
  EXPECT_EQ(once["gpu"]["peer_rate"], "200 GB/s");
  EXPECT_EQ(once["storage"][0]["device"], "nvme0n1");
  EXPECT_FALSE(json(least().get<MachineFile>())["storage"][0].contains("device"));
  EXPECT_EQ(json(once.get<MachineFile>()), once);
}

}  // namespace
}  // namespace spillway::description
