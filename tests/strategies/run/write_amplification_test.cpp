#include "strategies/run/write_amplification.hpp"
#include "scenarios/description/errors.hpp"
#include "tests/long_test.hpp"
#include "tests/strategies/machine/machines.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace spillway::strategies {
namespace {

/// A drive that takes pages one by one, and copies what is valid in the emptiest block when it runs
/// out of erased ones.
class GreedyDrive {
 public:
  GreedyDrive(std::size_t blocks, std::size_t pages, std::size_t live)
      : pages_(pages), of_page_(live, none), blocks_(blocks) {
    for (std::size_t i = 1; i < blocks; ++i) erased_.push_back(i);
  }

  void write(std::size_t page) {
    put(page);
    while (erased_.size() < 2) clean();
  }
  std::size_t programmed() const { return programmed_; }

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  struct Block {
    std::vector<std::size_t> pages;  ///< as they were written, valid or not
    std::size_t valid = 0;
  };

  void put(std::size_t page) {
    if (of_page_[page] != none) --blocks_[of_page_[page]].valid;
    if (blocks_[open_].pages.size() == pages_) open_ = erased_.back(), erased_.pop_back();
    blocks_[open_].pages.push_back(page);
    ++blocks_[open_].valid;
    of_page_[page] = open_;
    ++programmed_;
  }
  void clean() {
    std::size_t emptiest = none;
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      if (i != open_ && blocks_[i].pages.size() == pages_ &&
          (emptiest == none || blocks_[i].valid < blocks_[emptiest].valid))
        emptiest = i;
    std::vector<std::size_t> written = std::move(blocks_[emptiest].pages);
    blocks_[emptiest].pages.clear();
    std::sort(written.begin(), written.end());
    written.erase(std::unique(written.begin(), written.end()), written.end());
    for (const std::size_t page : written)
      if (of_page_[page] == emptiest) put(page);
    erased_.push_back(emptiest);
  }

  std::size_t pages_, open_ = 0, programmed_ = 0;
  std::vector<std::size_t> of_page_;
  std::vector<Block> blocks_;
  std::vector<std::size_t> erased_;
};

/// Programmed over written pages, once the drive has been overwritten many times.
double simulated(std::size_t pages, double live_share) {
  constexpr std::size_t blocks = 1000;
  const std::size_t writes = std::min<std::size_t>(60, 15 * pages) * blocks;
  const auto live = static_cast<std::size_t>(live_share * static_cast<double>(blocks * pages));
  GreedyDrive drive(blocks, pages, live);
  std::mt19937 random(1);
  std::uniform_int_distribution<std::size_t> any(0, live - 1);
  for (std::size_t page = 0; page < live; ++page) drive.write(page);
  for (std::size_t i = 0; i < writes; ++i) drive.write(any(random));
  const std::size_t before = drive.programmed();
  for (std::size_t i = 0; i < writes; ++i) drive.write(any(random));
  return static_cast<double>(drive.programmed() - before) / static_cast<double>(writes);
}

TEST(GreedyWaf, IsThatOfASimulatedDrive) {
  LONG_TEST();
  for (const std::size_t pages : {1, 2, 4, 16})
    for (const double live : {0.5, 0.8, 0.9}) {
      const double computed = greedy_waf(static_cast<double>(pages), live);
      EXPECT_NEAR(simulated(pages, live), computed, 0.03 * computed) << pages << " " << live;
    }
}

TEST(GreedyWaf, OfTwoAndFourObjectsABlock) {
  // two objects, 0.8: blocks of one wait: f / 2 + y = 1 and f + y = 1.6, f = 1.2; 1.2 / 0.8
  EXPECT_NEAR(greedy_waf(2, 0.8), 1.5, 1e-12);
  // 1.8 is what the simulation of the test above finds for four
  EXPECT_NEAR(greedy_waf(4, 0.8), 1.8, 1e-9);
  EXPECT_NEAR(greedy_waf(3, 0.8), 1.5, 1e-9);
  EXPECT_NEAR(greedy_waf(2.5, 0.8), 1.5, 1e-9);
  EXPECT_EQ(greedy_waf(1, 0.99), 1);  // whole blocks become invalid at once
  EXPECT_EQ(greedy_waf(64, 0), 1);
  EXPECT_EQ(greedy_waf(2, 0.5), 1);  // 0.5 x (1 + 1 / 2) < 1: some blocks are always empty
  EXPECT_THROW(greedy_waf(0.5, 0.5), description::InternalError);
  EXPECT_THROW(greedy_waf(2, 1), description::InternalError);
}

TEST(GreedyWaf, GrowsWithFullnessAndWithSmallerObjects) {
  double last_row = 0;
  for (double live = 0.02; live < 0.98; live += 0.02) {
    double last = 1;
    for (double objects = 1; objects < 5000; objects *= 1.07) {
      const double waf = greedy_waf(objects, live);
      EXPECT_GE(waf, last - 1e-9) << objects << " " << live;
      EXPECT_GE(waf, greedy_waf(objects, live - 0.02) - 1e-9) << objects << " " << live;
      last = waf;
    }
    EXPECT_GE(last, last_row);
    last_row = last;
  }
}

TEST(GreedyWaf, OfManyObjectsIsThatOfRandomWrites) {
  EXPECT_NEAR(random_write_waf(1 / 1.3), 2.36, 0.005);  // the paper's value
  // a = 2: x exp(-x) = 2 exp(-2) has x = 0.40637574, and 2 / (2 - x) = 1.25500
  EXPECT_NEAR(random_write_waf(0.5), 2 / (2 - 0.40637574), 1e-7);
  EXPECT_NEAR(random_write_waf(0.01), 1, 1e-12);
  EXPECT_EQ(random_write_waf(0), 1);
  EXPECT_EQ(random_write_waf(1e-6), 1);
  EXPECT_THROW(random_write_waf(1), description::InternalError);
  for (const double live : {0.3, 0.7, 0.9})
    EXPECT_NEAR(greedy_waf(1023, live), random_write_waf(live), 0.006 * random_write_waf(live));
}

/// A drive of 1 TB, 10 % spare flash and blocks of 1 GiB.
description::StorageSpec drive() {
  description::StorageSpec storage;
  storage.capacity = description::Bytes(1'000'000'000'000);
  description::EnduranceSpec& endurance = storage.endurance.emplace();
  endurance.rated = description::Bytes(600'000'000'000'000);
  endurance.over_provisioning = 0.1;
  endurance.erase_block = 1_GiB;
  endurance.mapping_unit = 4_KiB;
  return storage;
}

double waf_of(const description::StorageSpec& storage, const std::vector<std::uint64_t>& writes,
              double live_bytes) {
  WriteSizes sizes;
  for (const std::uint64_t bytes : writes) sizes.add(bytes);
  return workload_waf(storage, sizes, live_bytes);
}

TEST(WorkloadWaf, IsOneForLargeTrimmedWritesOnANearlyEmptyDrive) {
  EXPECT_EQ(waf_of(drive(), {}, 0), 1);
  EXPECT_EQ(waf_of(drive(), {16 * mib, 1024 * mib}, 30e9), 1);
  // teraio's 16 MiB on a drive that is 3 % full: the cliff of old made 5.68 of it
  EXPECT_NEAR(waf_of(drive(), {16 * mib}, 30e9), 1, 1e-6);
  // never told what is free, the drive copies all of it: 65 pieces a block, 1 / 1.1 live
  description::StorageSpec untrimmed = drive();
  untrimmed.endurance->trimmed = false;
  EXPECT_DOUBLE_EQ(waf_of(untrimmed, {16 * mib}, 30e9), greedy_waf(65, 1 / 1.1));
}

TEST(WorkloadWaf, IsTheMeanOverTheBytesAndSoGrowsWithTheShareOfSmallWrites) {
  const double live = 0.9e12;
  const double large = waf_of(drive(), {1024 * mib}, live);
  const double small = waf_of(drive(), {1 * mib}, live);
  EXPECT_GT(small, large);
  std::vector<std::uint64_t> writes = {1024 * mib};
  double last = large;
  for (int i = 0; i < 5; ++i) {
    writes.insert(writes.end(), 256, 1 * mib);
    const double share = 0.25 * (i + 1) / (1 + 0.25 * (i + 1));
    const double mixed = waf_of(drive(), writes, live);
    EXPECT_NEAR(mixed, (1 - share) * large + share * small, 1e-9);
    EXPECT_GT(mixed, last);
    last = mixed;
  }
}

TEST(WorkloadWaf, CountsWhatOneDriveSeesOfAWriteAndOfTheData) {
  description::StorageSpec two = drive();
  two.count = 2;
  EXPECT_DOUBLE_EQ(waf_of(two, {64 * mib}, 1.6e12), waf_of(drive(), {32 * mib}, 0.8e12));
}

TEST(WorkloadWaf, PadsWritesToTheUnitThatTheDriveMaps) {
  description::StorageSpec coarse = drive();
  coarse.endurance->mapping_unit = description::Bytes(16384);
  EXPECT_DOUBLE_EQ(waf_of(coarse, {4096}, 30e9), 4);  // one sector rewrites four
  EXPECT_DOUBLE_EQ(waf_of(coarse, {20480}, 30e9), 1.6);
}

TEST(WorkloadWaf, ThatTheMachineFileStatesWins) {
  description::StorageSpec stated = drive();
  stated.endurance->waf = 1.25;
  EXPECT_EQ(waf_of(stated, {4096}, 1e12), 1.25);
  stated.endurance.reset();
  EXPECT_EQ(waf_of(stated, {4096}, 1e12), 1);
}

TEST(WorkloadWaf, MoreDrivesTakeMoreOfTheSameWritesBeforeTheyAreWorn) {
  for (const std::uint64_t bytes : {4096ull, 1ull << 20, 16ull << 20, 1ull << 28, 1ull << 31})
    for (const double live : {30e9, 500e9, 0.95e12}) {
      double last = 0;
      for (std::uint64_t count = 1; count <= 16; ++count) {
        description::StorageSpec array = drive();
        array.count = count;
        const double taken = static_cast<double>(count) / waf_of(array, {bytes}, live);
        EXPECT_GE(taken, last) << count << " drives, " << bytes << " B, " << live;
        last = taken;
      }
    }
}

}  // namespace
}  // namespace spillway::strategies
