#include "hw_backend/storage/target.hpp"
#include "scenarios/description/errors.hpp"
#include "tests/hw_backend/storage/fixture.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <fstream>

namespace spillway::hw_backend {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

bool has_direct_flag(const Target& target) { return (fcntl(target.fd(), F_GETFL) & O_DIRECT) != 0; }

TEST(TargetTest, StatesSizeAndAlignmentOfADirectFile) {
  const ScratchDirectory scratch;
  StoreDirectory store(scratch.path(), 0);
  const auto file = store.create("a", 12288);
  Target& target = file->target();
  if (!target.direct()) GTEST_SKIP() << "no O_DIRECT in " << scratch.path();
  EXPECT_EQ(target.size(), 12288u);
  EXPECT_TRUE(has_direct_flag(target));
  // A power of two, at least a disk's sector.
  EXPECT_GE(target.alignment().offset, 512u);
  EXPECT_EQ(target.alignment().offset & (target.alignment().offset - 1), 0u);
  EXPECT_EQ(target.short_name(), "a.data");
}

TEST(TargetTest, OfAnOddSizeIsBuffered) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "odd";
  std::ofstream(path) << std::string(4097, 'x');
  const Target target = Target::open(path, Access::read, true);
  EXPECT_FALSE(target.direct());
  EXPECT_FALSE(has_direct_flag(target));
  EXPECT_EQ(target.size(), 4097u);
  EXPECT_EQ(target.alignment().offset, 1u);
}

TEST(TargetTest, TurnsDirectOffWhereItIsNotWanted) {
  const ScratchDirectory scratch;
  StoreDirectory store(scratch.path(), 0);
  const auto file = store.create("a", 4096, false);
  EXPECT_FALSE(file->target().direct());
  EXPECT_FALSE(has_direct_flag(file->target()));
}

TEST(TargetTest, ThatIsNotThereNamesCallCodeAndPath) {
  const auto open_it = [] { Target::open("/no/such/file", Access::read, true); };
  EXPECT_THAT(open_it, ThrowsMessage<description::DeviceError>(
                           "open: /no/such/file: ENOENT (No such file or directory)"));
}

}  // namespace
}  // namespace spillway::hw_backend
