#include "answers/server/places.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spillway::answers {
namespace {

using description::MachineFile;
using description::ScenarioError;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

std::string complaint(const std::function<void()>& action) {
  try {
    action();
  } catch (const ScenarioError& error) {
    return to_string(error.complaints().front());
  }
  return "";
}

TEST(ReadPlaces, TakesTheScenariosNamesInOrderUnlessOneIsGiven) {
  const auto places = read_places({"/a", "pfs=b", "./c=d", "/e"}, {"nvme", "slow", "cold"}, false);
  ASSERT_EQ(places.size(), 4u);
  EXPECT_EQ(places[0].name, "nvme");
  EXPECT_EQ(places[1].name, "pfs");
  EXPECT_EQ(places[1].path, "b");
  EXPECT_EQ(places[2].name, "cold");  // the '=' is the directory's
  EXPECT_EQ(places[2].path, "./c=d");
  EXPECT_EQ(places[3].name, "path4");
}

TEST(ReadPlaces, RefusesTwoPlacesOfOneNameAndWhatCannotBeOne) {
  EXPECT_THAT(complaint([] {
                read_places({"a", "nvme=b"}, {"nvme"}, false);
              }),
              HasSubstr("two directories for the storage \"nvme\""));
  EXPECT_THAT(complaint([] { read_places({"a.b=c"}, {}, false); }), HasSubstr("cannot name"));
  EXPECT_THAT(complaint([] { read_places({"a="}, {}, false); }), HasSubstr("no directory"));
}

TEST(ReadPlaces, TakesWhatIsNoDirectoryForADiskOnlyWhenDisksAreAllowed) {
  EXPECT_FALSE(read_places({"/dev/null"}, {}, false)[0].raw);
  EXPECT_TRUE(read_places({"/dev/null"}, {}, true)[0].raw);
  EXPECT_FALSE(read_places({"/tmp"}, {}, true)[0].raw);
}

MachineFile two_storages() {
  MachineFile machine;
  machine.name = "m";
  machine.nodes = 4;
  machine.storage.resize(2);
  machine.storage[0].name = "nvme";
  machine.storage[0].read = description::BytesPerSecond(1e9);
  machine.storage[1].name = "pfs";
  machine.storage[1].read = description::BytesPerSecond(2e9);
  machine.sources = {{"host.memory", "measured"},
                     {"storage.nvme.read", "measured: a"},
                     {"storage.pfs.read", "measured: b"}};
  return machine;
}

TEST(WithPlaces, FindsAProfilesStorageByItsNameAndKeepsItsSources) {
  const MachineFile machine = with_places(two_storages(), {{"pfs", "b"}, {"other", "c"}}, true);
  EXPECT_EQ(machine.nodes, 1u);
  ASSERT_EQ(machine.storage.size(), 2u);
  EXPECT_EQ(machine.storage[0].name, "pfs");
  EXPECT_EQ(machine.storage[0].read.value(), 2e9);
  EXPECT_EQ(machine.storage[1].name, "other");  // the second one, under another name
  EXPECT_EQ(machine.storage[1].read.value(), 2e9);
  EXPECT_THAT(machine.sources, UnorderedElementsAre(Pair("host.memory", "measured"),
                                                    Pair("storage.pfs.read", "measured: b"),
                                                    Pair("storage.other.read", "measured: b")));
}

TEST(WithPlaces, GoesByPositionWhenThePlacesThemselvesWereMeasured) {
  const MachineFile machine = with_places(two_storages(), {{"pfs", "b"}, {"nvme", "c"}}, false);
  EXPECT_EQ(machine.storage[0].read.value(), 1e9);
  EXPECT_EQ(machine.storage[1].read.value(), 2e9);
}

TEST(WithPlaces, RefusesAPlaceWithoutAStorageAndAnArray) {
  EXPECT_THAT(complaint([] {
                with_places(two_storages(), {{"a", "a"}, {"b", "b"}, {"c", "c"}}, true);
              }),
              HasSubstr("m has 2 storages and no \"c\""));
  MachineFile array = two_storages();
  array.storage[0].count = 3;
  EXPECT_THAT(complaint([&] { with_places(array, {{"nvme", "a"}}, true); }), HasSubstr("3 drives"));
}

TEST(PacedAs, TakesGpuLinkAndNetworkAndLeavesTheHost) {
  MachineFile server = two_storages(), pace;
  server.gpu.shares_host = true;
  server.host.cores = 2;
  pace.name = "slow";
  pace.gpu.context = description::Bytes(1 << 20);
  pace.gpu.memory = description::Bytes(5);
  pace.pcie.h2d = description::BytesPerSecond(3);
  pace.host.cores = 64;
  pace.sources = {{"gpu.memory", "assumed"}, {"host.cores", "assumed"}};
  const MachineFile machine = paced_as(server, pace);
  EXPECT_EQ(machine.name, "m paced as slow");
  EXPECT_EQ(machine.gpu.memory.value(), 5u);
  EXPECT_EQ(machine.gpu.context.value(), 0u);
  EXPECT_FALSE(machine.gpu.shares_host);
  EXPECT_EQ(machine.pcie.h2d.value(), 3);
  EXPECT_EQ(machine.host.cores, 2u);
  EXPECT_EQ(machine.sources.count("host.cores"), 0u);
  EXPECT_EQ(machine.sources.at("gpu.memory"), "assumed");
}

TEST(WithoutMachineText, NamesTheMachineInsteadOfItsJson) {
  const auto complaints = without_machine_text({{"--set machine={\"name\":1}", 0, 0, "p", "m", "h"},
                                                {"--set training.sequence=1", 0, 0, "p", "m", "h"}},
                                               "this server");
  EXPECT_EQ(complaints[0].file, "this server");
  EXPECT_EQ(complaints[1].file, "--set training.sequence=1");
}

}  // namespace
}  // namespace spillway::answers
