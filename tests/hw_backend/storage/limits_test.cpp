#include "hw_backend/storage/limits.hpp"
#include "scenarios/description/errors.hpp"
#include "tests/hw_backend/storage/fixture.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>

namespace spillway::hw_backend {
namespace {

using testing::HasSubstr;

void limit(__rlimit_resource which, std::uint64_t soft, std::uint64_t hard) {
  const rlimit value{soft, hard};
  setrlimit(which, &value);
}

constexpr std::uint64_t rings = 1 << 20;  // counted beside what is asked for

/// The limits as a user without privileges has them.
std::string check_as_user(std::uint64_t pinned_bytes, std::uint64_t files) {
  if (getuid() == 0 && setuid(65534) != 0) return "cannot give up root";
  check_limits(pinned_bytes, files);
  return "fine";
}

TEST(Limits, OfLockedMemoryNameTheCommandThatRaisesThem) {
  const std::string said = in_child([] {
    limit(RLIMIT_MEMLOCK, rings + 8192, rings + 8192);
    return check_as_user(8193, 1);
  });
  EXPECT_THAT(said, HasSubstr("1056769 bytes of memory to lock, 1056768 allowed (RLIMIT_MEMLOCK)"));
  EXPECT_THAT(said, HasSubstr("ulimit -l"));
  EXPECT_THAT(said, HasSubstr("limits.conf"));
  EXPECT_THAT(said, HasSubstr("LimitMEMLOCK="));
}

TEST(Limits, OfLockedMemoryMayBeReachedExactly) {
  EXPECT_EQ(in_child([] {
              limit(RLIMIT_MEMLOCK, rings + 8192, rings + 8192);
              return check_as_user(8192, 1);
            }),
            "fine");
}

TEST(Limits, AreRaisedUpToTheHardOnes) {
  EXPECT_EQ(in_child([] {
              limit(RLIMIT_MEMLOCK, 4096, rings + 16384);
              limit(RLIMIT_NOFILE, 32, 512);
              const std::string said = check_as_user(16384, 100);
              rlimit files{};
              getrlimit(RLIMIT_NOFILE, &files);
              return said + (files.rlim_cur > 100 ? ", raised" : "");
            }),
            "fine, raised");
}

TEST(Limits, OfOpenFilesNameTheCommandThatRaisesThem) {
  const std::string said = in_child([] {
    limit(RLIMIT_NOFILE, 64, 128);
    check_limits(0, 128);
    return "fine";
  });
  EXPECT_THAT(said, HasSubstr("128 allowed (RLIMIT_NOFILE)"));
  EXPECT_THAT(said, HasSubstr("ulimit -n"));
  EXPECT_THAT(said, HasSubstr("LimitNOFILE="));
}

TEST(Limits, OfLockedMemoryDoNotBindRoot) {
  if (getuid() != 0) GTEST_SKIP() << "not root";
  EXPECT_EQ(in_child([] {
              limit(RLIMIT_MEMLOCK, 8192, 8192);
              check_limits(std::uint64_t{1} << 40, 1);
              return "fine";
            }),
            "fine");
}

}  // namespace
}  // namespace spillway::hw_backend
