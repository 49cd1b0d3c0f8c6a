#include "hw_backend/storage/sector_table.hpp"
#include "tests/hw_backend/storage/fixture.hpp"

#include <gmock/gmock.h>

namespace spillway::hw_backend {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t sector = SectorTable::sector;

/// A table and what it describes: writes go to both.
class SectorTableTest : public testing::Test {
 protected:
  void write(std::uint64_t offset, std::uint64_t bytes, std::uint64_t seed) {
    const Pages data(bytes);
    data.fill(seed);
    std::copy(data.begin(), data.begin() + bytes, held_.begin() + offset);
    table_.wrote(offset, data.data(), bytes);
  }
  SectorTable::Found check(std::uint64_t offset, std::uint64_t bytes) const {
    return table_.check(offset, held_.data() + offset, bytes);
  }

  SectorTable table_;
  Pages held_{4 * sector};
};

TEST_F(SectorTableTest, ComparesEverySectorRead) {
  write(sector, 2 * sector, 1);
  const SectorTable::Found found = check(sector, 2 * sector);
  EXPECT_EQ(found.fault, "");
  EXPECT_EQ(found.checked, 2 * sector);
}

TEST_F(SectorTableTest, NamesTheSectorWhoseBitChanged) {
  write(0, 3 * sector, 1);
  held_.data()[2 * sector + 5] ^= std::byte{1};
  EXPECT_EQ(check(0, 3 * sector).fault,
            "at 8192: generation 1 expected, but 4096 bytes hold none of the generations known: "
            "torn or changed");
  EXPECT_EQ(check(0, 2 * sector).fault, "");
}

TEST_F(SectorTableTest, KnowsTheGenerationBefore) {
  write(0, sector, 1);
  const std::vector<std::byte> first(held_.begin(), held_.begin() + sector);
  write(0, sector, 2);
  EXPECT_EQ(check(0, sector).fault, "");
  std::copy(first.begin(), first.end(), held_.begin());
  EXPECT_THAT(check(0, sector).fault,
              HasSubstr("generation 2 expected, but 4096 bytes hold the generation before"));
}

TEST_F(SectorTableTest, KnowsAWriteThatLeftZeros) {
  write(0, sector, 1);
  std::fill_n(held_.begin(), sector, std::byte{0});
  EXPECT_THAT(check(0, sector).fault, HasSubstr("zeros: the write is lost"));
}

TEST_F(SectorTableTest, ComplainsOfTheFirstByteNeverWritten) {
  write(0, sector, 1);
  write(sector, 100, 1);
  EXPECT_EQ(check(0, sector + 100).fault, "");
  EXPECT_EQ(check(0, sector + 101).fault, "at 4196: read before anything was written there");
  EXPECT_EQ(check(3 * sector, 1).fault, "at 12288: read before anything was written there");
}

TEST_F(SectorTableTest, ChecksPiecesOfASector) {
  write(100, 200, 1);
  write(300, 50, 2);
  const SectorTable::Found both = check(100, 250);
  EXPECT_EQ(both.fault, "");
  EXPECT_EQ(both.checked, 250u);
  // [100, 299) lacks the first piece's last byte, so nothing of it is compared
  EXPECT_EQ(check(100, 199).checked, 0u);
  held_.data()[349] ^= std::byte{128};
  EXPECT_THAT(check(100, 250).fault, HasSubstr("at 300: generation 1 expected, but 50 bytes"));
}

TEST_F(SectorTableTest, CountsGenerationsOfAPieceWrittenAgain) {
  write(100, 200, 1);
  write(100, 200, 2);
  held_.data()[100] ^= std::byte{1};
  EXPECT_THAT(check(100, 200).fault, HasSubstr("generation 2 expected"));
}

TEST_F(SectorTableTest, ChecksNothingOfWhatALaterWriteCut) {
  write(0, sector, 1);
  write(1000, 96, 2);
  // [0, 1000) and [1096, 4096) are written, with no hash of their own; 96 bytes are compared
  EXPECT_EQ(check(0, sector).fault, "");
  EXPECT_EQ(check(0, sector).checked, 96u);
  write(0, sector, 3);
  EXPECT_EQ(check(0, sector).checked, sector);
}

TEST_F(SectorTableTest, ForgetsWhatWasFreed) {
  write(0, 2 * sector, 1);
  table_.forget(0, sector + 96);
  EXPECT_THAT(check(0, sector).fault, HasSubstr("at 0: read before"));
  EXPECT_THAT(check(sector + 95, 1).fault, HasSubstr("at 4191: read before"));
  EXPECT_EQ(check(sector + 96, sector - 96).fault, "");
}

}  // namespace
}  // namespace spillway::hw_backend
