#include "strategies/memory/extents.hpp"

#include "scenarios/description/errors.hpp"

#include <gmock/gmock.h>
#include <random>

namespace spillway::strategies {
namespace {

using description::InternalError;
using ::testing::ElementsAre;

constexpr std::uint64_t kib = 1024;

TEST(Parts, AreEqualOnSectorBoundariesAndGoRoundTheDrives) {
  // 64 KiB over 4 workers and 2 drives: 16 KiB each, drives 0 1 0 1
  EXPECT_THAT(parts_of(64 * kib, 4, 2), ElementsAre(Part{0, 16 * kib}, Part{1, 16 * kib},
                                                    Part{0, 16 * kib}, Part{1, 16 * kib}));
  // 9 sectors over 4: one has a sector more
  EXPECT_THAT(parts_of(36 * kib, 4, 4),
              ElementsAre(Part{0, 12 * kib}, Part{1, 8 * kib}, Part{2, 8 * kib}, Part{3, 8 * kib}));
}

TEST(Parts, AreFewerThanWorkersWhenSectorsAre) {
  EXPECT_TRUE(parts_of(0, 4, 2).empty());
  EXPECT_THAT(parts_of(1, 4, 2), ElementsAre(Part{0, 4 * kib}));  // padded
  EXPECT_THAT(parts_of(4 * kib, 4, 2), ElementsAre(Part{0, 4 * kib}));
  EXPECT_THAT(parts_of(4 * kib + 1, 4, 2), ElementsAre(Part{0, 4 * kib}, Part{1, 4 * kib}));
  EXPECT_EQ(parts_of(16 * kib - 1, 4, 2).size(), 4u);
  EXPECT_EQ(parts_of(16 * kib + 1, 4, 2).size(), 4u);
}

TEST(Parts, BusiestDriveIsThatOfOneWorkerADrive) {
  for (std::uint64_t drives = 1; drives <= 5; ++drives)
    for (std::uint64_t bytes : {1ull, 4096ull, 4097ull, 40960ull, 1234567ull}) {
      std::uint64_t most = 0;
      for (const Part& part : parts_of(bytes, drives, drives)) most = std::max(most, part.bytes);
      EXPECT_EQ(busiest_drive(bytes, drives), most) << bytes << " over " << drives;
    }
  EXPECT_EQ(busiest_drive(0, 3), 0u);
}

TEST(DriveSpace, UsesWholeSectorsOfItsCapacity) {
  DriveSpace space(3 * 4096 + 4095);
  EXPECT_EQ(space.free(), 3 * 4096u);
  std::vector<Extent> taken;
  space.take(7, 3 * 4096, taken);
  EXPECT_THAT(taken, ElementsAre(Extent{7, 0, 3 * 4096}));
  EXPECT_EQ(space.free(), 0u);
  EXPECT_THROW(space.take(7, 4096, taken), InternalError);
  EXPECT_EQ(DriveSpace(4095).free(), 0u);
}

TEST(DriveSpace, HolesJoinAndAreFilledFromTheFront) {
  DriveSpace space(10 * 4096);
  std::vector<Extent> all;
  for (int i = 0; i < 10; ++i) space.take(0, 4096, all);
  space.give_back(all[2]);
  space.give_back(all[4]);
  std::vector<Extent> taken;
  space.take(0, 2 * 4096, taken);  // no hole holds both: in two pieces
  EXPECT_THAT(taken, ElementsAre(Extent{0, 2 * 4096, 4096}, Extent{0, 4 * 4096, 4096}));
  for (const int i : {2, 4, 3}) space.give_back(all[i]);  // 3 joins its neighbours
  taken.clear();
  space.take(0, 3 * 4096, taken);
  EXPECT_THAT(taken, ElementsAre(Extent{0, 2 * 4096, 3 * 4096}));
}

TEST(DriveSpace, RefusesWhatWasNotTaken) {
  DriveSpace space(4 * 4096);
  std::vector<Extent> taken;
  space.take(0, 2 * 4096, taken);
  EXPECT_THROW(space.give_back({0, 4096, 2 * 4096}), InternalError);  // half of it is free
  EXPECT_THROW(space.give_back({0, 4 * 4096, 4096}), InternalError);  // behind the end
}

TEST(TensorLocations, ANameAndSizeKeepTheirPlace) {
  DriveArray array("nvme", {1 << 20, 1 << 20});
  TensorLocations tensors(array, 2);
  const std::vector<Extent> first = tensors.place("w", 64 * kib);
  EXPECT_THAT(first, ElementsAre(Extent{0, 0, 32 * kib}, Extent{1, 0, 32 * kib}));
  static_cast<void>(tensors.place("v", 64 * kib));
  EXPECT_EQ(tensors.place("w", 64 * kib), first);
  EXPECT_THROW(static_cast<void>(tensors.place("w", 64 * kib + 1)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(tensors.place("w", 32 * kib)), std::invalid_argument);
  EXPECT_EQ(tensors.place("w", 64 * kib), first);
}

TEST(TensorLocations, OnOneDriveTheyTakeRoomThereAlone) {
  DriveArray array("nvme", {64 * 4096, 64 * 4096, 64 * 4096});
  TensorLocations tensors(array, 3);
  EXPECT_EQ(tensors.place("a", 6 * 4096, 2), (std::vector<Extent>{{2, 0, 6 * 4096}}));
  EXPECT_EQ(array.free(0), 64u * 4096);
  EXPECT_EQ(array.free(2), 58u * 4096);
}

TEST(TensorLocations, AFullDriveIsNamedAndNothingIsTaken) {
  DriveArray array("nvme", {1 << 20, 512 * kib});  // of unequal size: the smaller one ends it
  TensorLocations tensors(array, 2);
  static_cast<void>(tensors.place("first", 768 * kib));
  try {
    static_cast<void>(tensors.place("second", 264 * kib));
    FAIL() << "placed more than the drive has";
  } catch (const DriveFull& full) {
    EXPECT_STREQ(full.what(),
                 "drive nvme[1] has no room for second: its part is 135168 B, 131072 B are free");
    EXPECT_EQ(full.capacity(), 512 * kib);
  }
  EXPECT_EQ(array.free(0), 640 * kib);  // also not on the drive that has room
  EXPECT_EQ(array.free(1), 128 * kib);
  static_cast<void>(tensors.place("exact", 256 * kib));
  EXPECT_EQ(array.free(1), 0u);
  tensors.forget("first");
  tensors.forget("never seen");
  EXPECT_EQ(array.free(1), 384 * kib);
  static_cast<void>(tensors.place("second", 264 * kib));
}

TEST(TensorLocations, GiveEverythingBackWhenTheyGo) {
  DriveArray array("nvme", {1 << 20});
  {
    TensorLocations tensors(array, 4);
    static_cast<void>(tensors.place("w", 40 * kib));
    EXPECT_EQ(array.free(0), (1u << 20) - 40 * kib);
  }
  EXPECT_EQ(array.free(0), 1u << 20);
}

/// All extents lie inside their drives, apart from each other, and leave what `free` says.
void expect_apart(std::vector<Extent> all, const DriveArray& array, std::uint64_t capacity) {
  std::sort(all.begin(), all.end(), [](const Extent& a, const Extent& b) {
    return std::pair(a.drive, a.offset) < std::pair(b.drive, b.offset);
  });
  std::vector<std::uint64_t> used(array.drives());
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_LE(all[i].offset + all[i].bytes, capacity);
    ASSERT_EQ(all[i].offset % 4096, 0u);
    used[all[i].drive] += all[i].bytes;
    if (i > 0 && all[i - 1].drive == all[i].drive) {
      ASSERT_LE(all[i - 1].offset + all[i - 1].bytes, all[i].offset);
    }
  }
  for (std::uint32_t drive = 0; drive < used.size(); ++drive)
    ASSERT_EQ(array.free(drive), capacity - used[drive]);
}

TEST(TensorLocations, RanksNeverOverlapWhateverTheyPlaceAndForget) {
  constexpr std::uint64_t capacity = 2 << 20;
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    DriveArray array("nvme", {capacity, capacity, capacity});
    std::vector<TensorLocations> ranks;
    for (int rank = 0; rank < 4; ++rank) ranks.emplace_back(array, 1 + seed % 7);
    std::map<std::pair<int, std::string>, std::uint64_t> alive;
    for (int i = 0; i < 400; ++i) {
      const int rank = static_cast<int>(random() % 4);
      const std::string name = "t" + std::to_string(random() % 20);  // the same in each rank
      if (alive.contains({rank, name})) {
        ranks[rank].forget(name);
        alive.erase({rank, name});
      } else {
        const std::uint64_t bytes = random() % 300'000;
        try {
          static_cast<void>(ranks[rank].place(name, bytes));
          alive[{rank, name}] = bytes;
        } catch (const DriveFull&) {
          EXPECT_EQ(ranks[rank].size(), static_cast<std::size_t>(std::count_if(
                                            alive.begin(), alive.end(), [&](const auto& one) {
                                              return one.first.first == rank;
                                            })));
        }
      }
      std::vector<Extent> all;
      for (const auto& [who, bytes] : alive) {
        const std::uint64_t padded = (bytes + 4095) / 4096 * 4096;
        std::uint64_t sum = 0;
        for (const Extent& extent : ranks[who.first].place(who.second, bytes)) {
          sum += extent.bytes;
          all.push_back(extent);
        }
        ASSERT_EQ(sum, padded);
      }
      expect_apart(all, array, capacity);
    }
    ranks.clear();
    for (std::uint32_t drive = 0; drive < 3; ++drive) EXPECT_EQ(array.free(drive), capacity);
  }
}

}  // namespace
}  // namespace spillway::strategies
