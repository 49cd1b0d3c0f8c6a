#include "hw_backend/storage/pieces.hpp"
#include "tests/hw_backend/storage/fixture.hpp"

#include <gmock/gmock.h>

namespace spillway::hw_backend {
namespace {

/// A direct target of 1 MiB with sectors of `sector` bytes, as next_piece sees it.
class Pieces : public testing::Test {
 protected:
  /// "offset+bytes" of each piece; ~ in front: bounced, * behind: through registered memory.
  std::vector<std::string> cut(std::uint64_t offset, std::byte* memory, std::uint64_t bytes,
                               std::uint64_t block = 65536) {
    Transfer transfer{
        .target = &file_->target(), .offset = offset, .memory = memory, .bytes = bytes};
    std::vector<std::string> out;
    for (std::uint64_t done = 0; done < bytes;) {
      const Piece piece = next_piece(transfer, done, block, registered_);
      EXPECT_GT(piece.wanted, 0u);
      EXPECT_EQ(piece.memory, memory + done);
      out.push_back((piece.bounced ? "~" : "") + std::to_string(piece.offset) + "+" +
                    std::to_string(piece.bytes) + (piece.slot >= 0 ? "*" : ""));
      done += piece.wanted;
    }
    return out;
  }
  bool direct() const { return file_->target().direct(); }
  std::uint32_t sector() const { return file_->target().alignment().offset; }
  static std::string text(std::uint64_t offset, std::uint64_t bytes) {
    return std::to_string(offset) + "+" + std::to_string(bytes);
  }

  ScratchDirectory scratch_;
  StoreDirectory store_{scratch_.path(), 0};
  std::unique_ptr<StoreFile> file_ = store_.create("pieces", 1 << 20);
  Pages memory_{1 << 20};
  RegisteredMemory registered_;
};

TEST_F(Pieces, AreBlocksWithAShorterLastOne) {
  EXPECT_THAT(cut(4096, memory_.data(), 65536 * 2 + 4096),
              testing::ElementsAre("4096+65536", "69632+65536", "135168+4096"));
}

TEST_F(Pieces, BounceAnEndThatFillsNoSector) {
  if (!direct()) GTEST_SKIP() << "no O_DIRECT in " << scratch_.path();
  // [100, 100 + 3 sectors): the rest of the first, two whole ones, 100 bytes of the fourth
  const std::uint64_t s = sector();
  std::byte* memory =
      memory_.data() + 100;  // in step with the offset, so that the middle is direct
  EXPECT_THAT(cut(100, memory, 3 * s),
              testing::ElementsAre("~" + text(0, s), text(s, 2 * s), "~" + text(3 * s, s)));
  EXPECT_THAT(cut(s + 1, memory_.data() + 1, 2), testing::ElementsAre("~" + text(s, s)));
}

TEST_F(Pieces, BounceAllWhenMemoryIsOutOfStep) {
  if (!direct() || file_->target().alignment().memory < 2) {
    GTEST_SKIP() << "no O_DIRECT that minds addresses in " << scratch_.path();
  }
  EXPECT_THAT(cut(0, memory_.data() + 1, 65536 + 4096),
              testing::ElementsAre("~0+65536", "~65536+4096"));
}

TEST_F(Pieces, EndWhereARegisteredSegmentEnds) {
  registered_.add(memory_.data(), {.bytes = 8192, .slot = 0});
  registered_.add(memory_.data() + 8192, {.bytes = 8192, .slot = 1});
  // 4 KiB in the first segment, 8 KiB in the second, 4 KiB beyond
  EXPECT_THAT(cut(0, memory_.data() + 4096, 16384),
              testing::ElementsAre("0+4096*", "4096+8192*", "12288+4096"));
}

TEST_F(Pieces, AcrossASegmentsEndInMidSectorGoUnregistered) {
  if (!direct()) GTEST_SKIP() << "no O_DIRECT in " << scratch_.path();
  const std::uint64_t s = sector();
  registered_.add(memory_.data(), {.bytes = s + s / 2, .slot = 0});
  EXPECT_THAT(cut(0, memory_.data(), 3 * s),
              testing::ElementsAre(text(0, s) + "*", text(s, s), text(2 * s, s)));
}

TEST(RegisteredMemory, EndsBeforeTheByteAfterIt) {
  Pages memory(8192);
  RegisteredMemory registered;
  registered.add(memory.data(), {.bytes = 4096, .slot = 3});
  EXPECT_EQ(registered.find(memory.data()).slot, 3);
  EXPECT_EQ(registered.find(memory.data() + 4095).bytes, 1u);
  EXPECT_EQ(registered.find(memory.data() + 4096).slot, -1);
  registered.remove(memory.data());
  EXPECT_EQ(registered.find(memory.data()).slot, -1);
}

}  // namespace
}  // namespace spillway::hw_backend
