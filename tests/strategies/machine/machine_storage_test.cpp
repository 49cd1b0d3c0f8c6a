#include "tests/strategies/machine/machines.hpp"

#include "strategies/machine/setup.hpp"

#include <gmock/gmock.h>

/// Homes of ranks, stripes over several storages, and drives without a file system.
namespace spillway::strategies {
namespace {

using ::testing::ElementsAre;

template <class Kind>
using MachineStorage = MachineContract<Kind>;
TYPED_TEST_SUITE(MachineStorage, Machines);

/// Adds a storage like the first, with `times` its rates.
void add_storage(description::Scenario& box, const std::string& name, double times,
                 std::vector<std::uint64_t> gpus = {}) {
  description::StorageSpec storage = box.machine.storage[0];
  storage.name = name;
  storage.read = description::BytesPerSecond(storage.read.value() * times);
  storage.write = description::BytesPerSecond(storage.write.value() * times);
  storage.gpus = std::move(gpus);
  box.machine.storage.push_back(storage);
}

TEST(Homes, OneDriveIsAHomeAndSeveralAreAStripe) {
  description::Scenario box = small_box();
  EXPECT_EQ(setup_for(box, false, false).topology.home(rank0), StorageId{0});
  add_storage(box, "slow", 0.5);
  const Topology topology = setup_for(box, false, false).topology;
  const StorageId home = topology.home(rank0);
  EXPECT_EQ(home, topology.home(rank1));
  EXPECT_TRUE(topology.is_stripe(home));
  const StorageInfo& info = topology.info(home);
  EXPECT_EQ(info.name, "nvme+slow");
  EXPECT_EQ(info.drives, 2u);
  EXPECT_NEAR(info.read.value(), 3e9, 1);  // 2 + 1
  EXPECT_NEAR(info.write.value(), 1.5e9, 1);
  // two thirds of an extent go to a drive of 1 GiB: it is full at 1.5 GiB
  EXPECT_NEAR(static_cast<double>(info.capacity.value()), 1.5 * (1 << 30), 2);
  EXPECT_EQ(topology.info(StorageId{1}).name, "slow");
}

TEST(Homes, ArraysOfAGpuAreItsRanksHomeAlone) {
  description::Scenario box = small_box();
  box.machine.storage[0].gpus = {1};
  const auto topology = [&] { return setup_for(box, false, false).topology; };
  EXPECT_EQ(topology().home(rank1), StorageId{0});
  EXPECT_THROW(static_cast<void>(topology().home(rank0)), InternalError);
  add_storage(box, "first", 1, {0});
  EXPECT_EQ(topology().home(rank0), StorageId{1});
  EXPECT_EQ(topology().home(rank1), StorageId{0});
  add_storage(box, "shared", 1);
  EXPECT_EQ(topology().info(topology().home(rank0)).name, "first+shared");
  EXPECT_EQ(topology().info(topology().home(rank1)).name, "nvme+shared");
  EXPECT_EQ(topology().stripes.size(), 2u);
  box.machine.storage[2].kind = description::StorageKind::remote;  // no drive: no home
  EXPECT_EQ(topology().home(rank0), StorageId{1});
}

TEST(Homes, PiecesAddUpAndAreWholeSectors) {
  description::Scenario box = small_box();
  add_storage(box, "slow", 0.5);
  const Topology topology = setup_for(box, false, false).topology;
  for (const std::uint64_t sectors : {0, 1, 2, 3, 4, 1000, 262143}) {
    std::uint64_t sum = 0;
    topology.each_piece(topology.home(rank0), sectors * 4096, [&](const StoragePiece& piece) {
      EXPECT_EQ(piece.bytes % 4096, 0u);
      sum += piece.bytes;
      EXPECT_EQ(piece.bytes / 4096,
                piece.storage.index == 0 ? sectors * 2 / 3 : sectors - sectors * 2 / 3);
    });
    EXPECT_EQ(sum, sectors * 4096);
  }
}

Task<> through_stripe(Machine& m, std::uint64_t bytes, Op* write, Op* read) {
  Stored extent = co_await m.store(m.topology().home(rank0), rank0, Bytes(bytes - 5),
                                   Purpose::optimizer_states);
  EXPECT_EQ(m.usage(StorageId{0}).used, bytes / 3 * 2);
  EXPECT_EQ(m.usage(StorageId{1}).used, bytes / 3);
  EXPECT_EQ(m.usage(m.topology().home(rank0)).used, bytes);
  Buffer buffer = host_buffer(m, bytes);
  *write = m.write(rank0, extent, {0, bytes}, buffer.view());
  co_await *write;
  *read = m.read(rank0, extent, {0, bytes}, buffer.view());
  co_await *read;
  extent = Stored();
  EXPECT_EQ(m.usage(StorageId{0}).used, 0u);
  EXPECT_EQ(m.usage(StorageId{1}).used, 0u);
  m.step_ended();
}

TYPED_TEST(MachineStorage, AStripesRatesAddAndEachMemberHasItsShare) {
  add_storage(this->box, "slow", 0.5);
  const std::uint64_t bytes = 3 * 4096 * 8192;  // 100.7 MB
  Op write, read;
  this->run(through_stripe(this->machine(), bytes, &write, &read));
  const auto& step = this->machine().recorder().steps().back();
  EXPECT_EQ(step.by_storage[0].write, bytes / 3 * 2);
  EXPECT_EQ(step.by_storage[1].write, bytes / 3);
  EXPECT_EQ(step.by_storage[0].read, bytes / 3 * 2);
  EXPECT_EQ(step.by_storage[1].read, bytes / 3);
  EXPECT_EQ(step.operations, 2u);
  if (write.timing().finished_s == 0 || bytes_are_real) return;  // no clock, or drives as they are
  // 1 + .5 GB/s written, 2 + 1 GB/s read
  EXPECT_NEAR(write.timing().seconds(), static_cast<double>(bytes) / 1.5e9, 1e-7);
  EXPECT_NEAR(read.timing().seconds(), static_cast<double>(bytes) / 3e9, 1e-7);
}

Task<> fill_stripe(Machine& m) {
  const StorageId home = m.topology().home(rank0);
  EXPECT_EQ(m.usage(home).free, 32 * mib);
  Stored all = co_await m.store(home, rank0, Bytes(32 * mib), Purpose::weights);
  EXPECT_EQ(m.usage(home).free, 0u);
  Pending<Stored> waits = m.spawn(m.store(home, rank0, Bytes(4096), Purpose::weights));
  EXPECT_FALSE(waits.done());
  all = Stored();
  Stored more = co_await std::move(waits);
  EXPECT_EQ(m.usage(home).used, 4096u);
}

TYPED_TEST(MachineStorage, AStripeCanBeFilledAndWhoComesLaterWaits) {
  this->box.machine.storage[0].capacity = 16_MiB;
  add_storage(this->box, "second", 1);
  this->run(fill_stripe(this->machine()));
}

Task<> too_large(Machine& m) {
  Stored never =
      co_await m.store(m.topology().home(rank0), rank0, Bytes(32 * mib + 1), Purpose::weights);
}

TYPED_TEST(MachineStorage, AStripeCannotHoldMoreThanItsMembers) {
  this->box.machine.storage[0].capacity = 16_MiB;
  add_storage(this->box, "second", 1);
  EXPECT_THROW(this->run(too_large(this->machine())), OutOfMemory);
}

// ---- Drives that the engine addresses itself

Task<> place_on_drives(Machine& m, Rank rank, std::vector<Extent>* all) {
  for (const std::uint64_t bytes : {1u, 4096u, 50'000u, 1'000'000u}) {
    Stored extent = co_await m.store(ssd, rank, Bytes(bytes), Purpose::weights);
    const auto& placed = extent.block()->pieces.at(0).extents;
    std::uint64_t sum = 0;
    for (const Extent& each : placed) sum += each.bytes;
    EXPECT_EQ(sum, extent.block()->charged);  // what is charged is what is taken
    all->insert(all->end(), placed.begin(), placed.end());
    // kept alive by an operation in flight, so that the other rank cannot get its place
    Buffer buffer = host_buffer(m, extent.block()->charged);
    co_await m.write(rank, extent, {0, extent.block()->charged}, buffer.view());
  }
}

TYPED_TEST(MachineStorage, TheDirectEngineStripesExtentsOverTheDrives) {
  this->box.strategy.io_engine = description::IoEngine::direct;
  this->box.machine.storage[0].count = 2;
  this->box.machine.storage[0].capacity = 32_MiB;
  std::vector<Extent> all;
  this->run(place_on_drives(this->machine(), rank0, &all));
  // 1 sector; 1; 13: 7 and 6; 245: 123 and 122. The room of each is free for the next
  EXPECT_THAT(
      all, ElementsAre(Extent{0, 0, 4096}, Extent{0, 0, 4096}, Extent{0, 0, 7 * 4096},
                       Extent{1, 0, 6 * 4096}, Extent{0, 0, 123 * 4096}, Extent{1, 0, 122 * 4096}));
}

Task<> keep(Machine& m, Rank rank, std::vector<Stored>* kept) {
  for (int i = 0; i < 8; ++i)
    kept->push_back(co_await m.store(ssd, rank, Bytes(5 * mib), Purpose::optimizer_states));
}

TYPED_TEST(MachineStorage, RanksShareTheDrivesAndNeverOverlap) {
  this->box.strategy.io_engine = description::IoEngine::direct;
  this->box.machine.storage[0].count = 4;
  this->box.machine.storage[0].capacity = 32_MiB;
  std::vector<Stored> kept;
  this->run(keep(this->machine(), rank0, &kept), keep(this->machine(), rank1, &kept));
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places;  // of drive 0
  for (const Stored& extent : kept) {
    const Extent& first = extent.block()->pieces[0].extents.at(0);
    EXPECT_EQ(first.drive, 0u);
    EXPECT_EQ(first.bytes, 5 * mib / 4);
    places.emplace_back(first.offset, first.bytes);
  }
  std::sort(places.begin(), places.end());
  for (std::size_t i = 0; i < places.size(); ++i) EXPECT_EQ(places[i].first, i * 5 * mib / 4);
  kept.clear();
}

Task<> fill_one_drive(Machine& m) {
  std::vector<Stored> small;  // of one sector: all on the first drive of 8 sectors
  for (int i = 0; i < 9; ++i)
    small.push_back(co_await m.store(ssd, rank1, Bytes(1), Purpose::gradients));
}

TYPED_TEST(MachineStorage, AFullDriveIsOutOfMemoryAndIsNamed) {
  this->box.strategy.io_engine = description::IoEngine::direct;
  this->box.machine.storage[0].count = 2;
  this->box.machine.storage[0].capacity = Bytes(8 * 4096 + 100);
  const std::string message =
      message_of<OutOfMemory>([this] { this->run(fill_one_drive(this->machine())); });
  EXPECT_THAT(message, ::testing::HasSubstr("drive nvme[0] has no room for rank1.gradients.8"));
  EXPECT_EQ(this->machine().usage(ssd).used, 0u);  // all of it was given back
}

TYPED_TEST(MachineStorage, WithAFileSystemTheArrayIsOneAndFillsToItsLastSector) {
  this->box.strategy.io_engine = description::IoEngine::file;
  this->box.machine.storage[0].count = 2;
  this->box.machine.storage[0].capacity = Bytes(8 * 4096);
  this->run(fill_one_drive(this->machine()));
}

}  // namespace
}  // namespace spillway::strategies
