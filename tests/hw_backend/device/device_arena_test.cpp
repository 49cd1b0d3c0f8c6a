#include "hw_backend/device/device_arena.hpp"

#include "hw_backend/device/host_device.hpp"
#include "scenarios/description/errors.hpp"

#include <gmock/gmock.h>

namespace spillway::hw_backend::device_arena_test {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t mib = 1u << 20;

TEST(DeviceArena, PutsLargeBlocksInFrontAndSmallOnesBehind) {
  HostDevice device(false);
  DeviceArena arena(device, 8 * mib);
  EXPECT_EQ(arena.bytes(), 8 * mib);
  EXPECT_EQ(arena.take(2 * mib), arena.base());
  EXPECT_EQ(arena.take(100), arena.base() + 8 * mib - DeviceArena::unit);
  EXPECT_EQ(arena.take(mib), arena.base() + 2 * mib);
  EXPECT_EQ(arena.take(513), arena.base() + 8 * mib - 3 * DeviceArena::unit);
  // with three blocks gone the fourth is where it was, and all around it is free again
  arena.give_back(arena.base(), 2 * mib);
  arena.give_back(arena.base() + 8 * mib - DeviceArena::unit, 100);
  arena.give_back(arena.base() + 8 * mib - 3 * DeviceArena::unit, 513);
  EXPECT_EQ(arena.take(5 * mib), arena.base() + 3 * mib);
  EXPECT_EQ(arena.take(2 * mib), arena.base());
}

TEST(DeviceArena, SaysWhatIsFreeAndInHowLargeAPiece) {
  HostDevice device(false);
  DeviceArena arena(device, 4 * mib);
  std::byte* const first = arena.take(mib);
  static_cast<void>(arena.take(mib));
  static_cast<void>(arena.take(mib));
  arena.give_back(first, mib);
  try {
    arena.take(2 * mib);
    FAIL() << "no error";
  } catch (const description::DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no room for 2097152 bytes: 2097152 of 4194304 bytes are "
                                        "free, 1048576 of them in one piece"));
  }
}

}  // namespace
}  // namespace spillway::hw_backend::device_arena_test
