#include "hw_backend/storage/uring_engine.hpp"
#include "tests/hw_backend/storage/fixture.hpp"

#include <gtest/gtest.h>
#include <random>

namespace spillway::hw_backend {
namespace {

constexpr std::uint64_t file_bytes = 256 * 1024;

/// A direct file and what it should hold.
class Unaligned : public testing::Test {
 protected:
  Unaligned() {
    before_.fill(7);
    EXPECT_EQ(move(engine_, {&file_->target(), true, 0, before_.data(), file_bytes, nullptr}), "");
    expected_.assign(before_.begin(), before_.end());
  }
  void SetUp() override {
    if (!file_->target().direct()) GTEST_SKIP() << "no O_DIRECT in " << scratch_.path();
  }
  void expect(std::uint64_t offset, const std::byte* from, std::uint64_t bytes) {
    std::copy_n(from, bytes, expected_.begin() + static_cast<std::ptrdiff_t>(offset));
  }

  ScratchDirectory scratch_;
  StoreDirectory store_{scratch_.path(), 0};
  std::unique_ptr<StoreFile> file_ = store_.create("0", file_bytes);
  UringEngine engine_{{.queue_depth = 8, .block_size = 16384}};
  Pages before_{file_bytes};
  std::vector<std::byte> expected_;
};

TEST_F(Unaligned, OneByteWrittenLeavesItsNeighbours) {
  Pages memory(4096);
  memory.fill(8);
  for (const std::uint64_t offset :
       {std::uint64_t{0}, std::uint64_t{511}, std::uint64_t{4097}, file_bytes - 1}) {
    ASSERT_EQ(move(engine_, {&file_->target(), true, offset, memory.data() + 3, 1, nullptr}), "");
    expect(offset, memory.data() + 3, 1);
    EXPECT_EQ(contents(file_->path()), expected_) << offset;
  }
  // The sector is read, then written.
  const IoCounters& counted = file_->target().counters;
  EXPECT_EQ(counted.bytes_read, 4 * file_->target().alignment().offset);
}

TEST_F(Unaligned, TransfersOfAnyPlaceMoveTheirBytesAndNoOthers) {
  std::mt19937_64 random(1);
  Pages memory(file_bytes + 4096);
  for (int i = 0; i < 60; ++i) {
    const std::uint64_t bytes = 1 + random() % (i % 3 == 0 ? 1000 : 60000);
    const std::uint64_t offset = random() % (file_bytes - bytes + 1);
    std::byte* place = memory.data() + random() % 4096;
    const bool write = i % 2 == 0;
    if (write) memory.fill(random());
    ASSERT_EQ(move(engine_, {&file_->target(), write, offset, place, bytes, nullptr}), "");
    const auto there = expected_.begin() + static_cast<std::ptrdiff_t>(offset);
    if (write) expect(offset, place, bytes);
    ASSERT_TRUE(std::equal(place, place + bytes, there)) << offset << '+' << bytes;
  }
  EXPECT_EQ(contents(file_->path()), expected_);
}

TEST_F(Unaligned, WritesInOneSectorAtOnceAllArrive) {
  // 512 writes of 16 bytes, all in flight together: 32 of them, at least, share each sector.
  Pages memory(8192);
  memory.fill(9);
  for (std::uint64_t i = 0; i < 512; ++i) {
    engine_.submit({&file_->target(), true, 4096 + 16 * i, memory.data() + 16 * i, 16, nullptr});
  }
  EXPECT_TRUE(finish(engine_).empty());
  expect(4096, memory.data(), 8192);
  EXPECT_EQ(contents(file_->path()), expected_);
}

TEST_F(Unaligned, NeighboursThatShareASectorMayBeWrittenAtOnce) {
  Pages memory(file_bytes);
  memory.fill(10);
  // Odd lengths end to end: each end shares its sector with the next one's beginning.
  std::uint64_t at = 1;
  for (std::uint64_t bytes = 10001; at + bytes < file_bytes; bytes += 2) {
    engine_.submit({&file_->target(), true, at, memory.data() + at, bytes, nullptr});
    at += bytes;
  }
  EXPECT_TRUE(finish(engine_).empty());
  expect(1, memory.data() + 1, at - 1);
  EXPECT_EQ(contents(file_->path()), expected_);
}

}  // namespace
}  // namespace spillway::hw_backend
