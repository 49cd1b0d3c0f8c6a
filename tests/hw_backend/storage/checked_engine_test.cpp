#include "hw_backend/storage/open_engine.hpp"
#include "tests/hw_backend/storage/fixture.hpp"

#include <gmock/gmock.h>

namespace spillway::hw_backend {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t bytes = 8 * 4096;

/// A checked engine and a file that is changed behind its back, by the page cache.
class CheckedEngineTest : public testing::Test {
 protected:
  std::string write(std::uint64_t seed) {
    memory_.fill(seed);
    return move(*engine_, {&file_->target(), true, 4096, memory_.data(), bytes, nullptr});
  }
  std::string read() {
    return move(*engine_, {&file_->target(), false, 4096, into_.data(), bytes, nullptr});
  }
  std::vector<std::byte> on_disk() { return contents(file_->path()); }

  ScratchDirectory scratch_;
  StoreDirectory store_{scratch_.path(), 0};
  std::unique_ptr<StoreFile> file_ = store_.create("0", 4096 + bytes);
  std::unique_ptr<IoEngine> engine_ = open_engine({.checked = true});
  Pages memory_{bytes};
  Pages into_{bytes};
};

TEST_F(CheckedEngineTest, PassesWhatWasWritten) {
  ASSERT_EQ(write(1), "");
  ASSERT_EQ(write(2), "");
  EXPECT_EQ(read(), "");
  EXPECT_TRUE(std::equal(memory_.begin(), memory_.end(), into_.begin()));
  EXPECT_EQ(engine_->counters().bytes_checked, bytes);
}

TEST_F(CheckedEngineTest, CatchesOneBitFlippedOnStorage) {
  ASSERT_EQ(write(1), "");
  ASSERT_EQ(write(2), "");
  const std::byte flipped = on_disk()[12345] ^ std::byte{16};
  overwrite(file_->path(), 12345, {&flipped, 1});
  // Byte 12345 is in the sector that begins at 12288.
  EXPECT_EQ(read(), "read check: " + file_->path().string() +
                        " at 12288: generation 2 expected, but 4096 bytes hold none of the "
                        "generations known: torn or changed");
}

TEST_F(CheckedEngineTest, CatchesOldContentsPutBack) {
  ASSERT_EQ(write(1), "");
  const std::vector<std::byte> old = on_disk();
  ASSERT_EQ(write(2), "");
  overwrite(file_->path(), 0, old);
  EXPECT_THAT(read(), HasSubstr("at 4096: generation 2 expected, but 4096 bytes hold the "
                                "generation before: stale"));
}

TEST_F(CheckedEngineTest, CatchesATornWrite) {
  ASSERT_EQ(write(1), "");
  const std::vector<std::byte> old = on_disk();
  ASSERT_EQ(write(2), "");
  // The second half of the transfer holds what it held before: 4096 + 16384 = 20480.
  overwrite(file_->path(), 20480, std::span(old).subspan(20480));
  EXPECT_THAT(read(), HasSubstr("at 20480: generation 2 expected"));
  // Within a sector, 512 bytes of it old.
  ASSERT_EQ(write(3), "");
  overwrite(file_->path(), 8192 + 512, std::span(old).subspan(8192 + 512, 512));
  EXPECT_THAT(read(), HasSubstr("at 8192: generation 3 expected, but 4096 bytes hold none of the "
                                "generations known: torn or changed"));
}

TEST_F(CheckedEngineTest, CatchesSectorsSwapped) {
  ASSERT_EQ(write(1), "");
  const std::vector<std::byte> disk = on_disk();
  overwrite(file_->path(), 4096, std::span(disk).subspan(8192, 4096));
  EXPECT_THAT(read(), HasSubstr("at 4096: generation 1 expected"));
}

TEST_F(CheckedEngineTest, RefusesToReadWhatNobodyWrote) {
  EXPECT_THAT(read(), HasSubstr("at 4096: read before anything was written there"));
  ASSERT_EQ(write(1), "");
  engine_->forget(file_->target(), 4096, 4096);
  EXPECT_THAT(read(), HasSubstr("at 4096: read before anything was written there"));
}

TEST_F(CheckedEngineTest, GivesTagsBackAsTheyCame) {
  int first = 0, second = 0;
  memory_.fill(1);
  engine_->submit({&file_->target(), true, 0, memory_.data(), 4096, &first});
  engine_->submit({&file_->target(), true, 4096, memory_.data(), 4096, &second});
  std::vector<void*> tags;
  while (engine_->in_flight() > 0) {
    for (const Completion& completion : engine_->wait({})) tags.push_back(completion.tag);
  }
  EXPECT_THAT(tags, testing::UnorderedElementsAre(&first, &second));
}

}  // namespace
}  // namespace spillway::hw_backend
