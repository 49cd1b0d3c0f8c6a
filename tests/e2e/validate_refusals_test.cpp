#include "tests/e2e/server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// What this server has not, or must not be used for: each said before a byte is written.
namespace spillway::e2e {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// Runs `line` with mounts of its own; what root may do, others are spared.
Ended mounted(const Server& server, const std::string& mount, const std::string& line) {
  server.place().write("mounted.sh", "set -e\n" + mount + "\nset +e\n" + line + "\n");
  return shell(server.place(), "unshare --mount sh mounted.sh");
}

bool may_mount() {
  return geteuid() == 0 &&
         shell(Workplace(), "mkdir m && unshare --mount mount -t tmpfs none m").exit == 0;
}
constexpr const char* no_mounts = "SKIP: not root, or mounts are refused here";

TEST(ValidateRefuses, ADirectoryWithoutRoomForItsFiles) {
  if (!may_mount()) GTEST_SKIP() << no_mounts;
  const Server server;
  const Ended ended = mounted(server, "mount -t tmpfs -o size=64m none a",
                              "spillway validate --profile server.json --on a");
  EXPECT_EQ(ended.exit, 3);
  EXPECT_THAT(ended.err, HasSubstr("ENOSPC"));
  EXPECT_THAT(ended.err, HasSubstr("GiB are needed"));
}

TEST(ValidateRefuses, AFileSystemThatIsReadOnly) {
  if (!may_mount()) GTEST_SKIP() << no_mounts;
  const Server server;
  const std::string command = "spillway validate --profile server.json --on a";
  const Ended ended = mounted(server, "mount -t tmpfs -o ro none a", command);
  EXPECT_EQ(ended.exit, 3);
  EXPECT_THAT(ended.err, HasSubstr("EROFS"));
  EXPECT_THAT(ended.err, HasSubstr("name another directory"));
  const Ended as_json = mounted(server, "mount -t tmpfs -o ro none a", command + " --json");
  EXPECT_EQ(as_json.exit, 3);
  EXPECT_THAT(as_json.json()["errors"][0]["message"].get<std::string>(), HasSubstr("EROFS"));
}

TEST(ValidateRefuses, MemoryAndThePageCacheWhenItIsToBeStrict) {
  if (!may_mount()) GTEST_SKIP() << no_mounts;
  const Server server;
  const std::string mount = "mount -t tmpfs -o size=4g none a",
                    command = "spillway validate --profile server.json --on a --synthetic --json";
  const Ended refused = mounted(server, mount, command + " --strict");
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.out, HasSubstr("--strict"));
  EXPECT_THAT(refused.out, HasSubstr("is in memory"));
  const Ended taken = mounted(server, mount, command);
  ASSERT_EQ(taken.exit, 0) << taken.err;
  EXPECT_EQ(taken.json()["storage"]["nvme"]["direct"], false);
  EXPECT_THAT(taken.err, HasSubstr("has no O_DIRECT"));
}

TEST(ValidateRefuses, ADirectoryThatItMayNotWriteTo) {
  const Server server;
  std::string as_nobody;
  if (geteuid() == 0) {
    as_nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups ";
    const Ended able = shell(server.place(), "chmod 755 . && " + as_nobody + "spillway --version");
    if (able.exit != 0) GTEST_SKIP() << "SKIP: no other user can run the program here";
  }
  const Ended ended =
      shell(server.place(), "chmod 555 a; " + as_nobody +
                                SPILLWAY_PROGRAM " validate --profile server.json --on a");
  EXPECT_EQ(ended.exit, 3);
  EXPECT_THAT(ended.err, HasSubstr("EACCES"));
  EXPECT_THAT(ended.err, HasSubstr("name a directory that you may write to"));
}

TEST(ValidateRefuses, MoreMemoryThanThereIsAndSaysWhatItIsFor) {
  json server = some_server();
  server["host"]["memory"] = "64 TiB";
  server["gpu"]["memory"] = "4 TiB";
  const Ended ended = Server(server).validate(
      "--on a --synthetic --set strategy.system=zero_offload --set "
      "model=llama-3-70b");
  EXPECT_EQ(ended.exit, 3);
  EXPECT_THAT(ended.err, HasSubstr("for the host's buffers"));
  EXPECT_THAT(ended.err, HasSubstr("for emulated GPUs"));
}

TEST(ValidateRefuses, AProfileOfAnotherKindOfServer) {
  json server = some_server();
  server["storage"][0]["count"] = 4;
  const Ended drives = Server(server).validate("--on a");
  EXPECT_EQ(drives.exit, 2);
  EXPECT_THAT(drives.err, HasSubstr("nvme of some server has 4 drives"));
  const Ended few = Server().validate("--on a --on b --on c=.");
  EXPECT_EQ(few.exit, 2);
  EXPECT_THAT(few.err, HasSubstr("some server has 2 storages and no \"c\""));
}

TEST(ValidateRefuses, ATraceThatCannotBeWrittenBeforeItRuns) {
  const Ended ended = Server().validate("--on a --trace gone/t.json");
  EXPECT_EQ(ended.exit, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("--trace"));
}

TEST(ValidateRefuses, CudaDevicesThatAreNotThereOrNotMeant) {
  const Server server;
  const Ended none =
      shell(server.place(), "SPILLWAY_PLUGINS=/nowhere spillway validate --on a --device cuda");
  EXPECT_EQ(none.exit, 2);
  EXPECT_EQ(none.out, "");
  EXPECT_THAT(none.err, HasSubstr("--device: no CUDA device: dlopen: /nowhere/"));
  EXPECT_THAT(none.err, HasSubstr("--device host"));
  const Ended paced = server.validate("--on a --device cuda --pace paced_small");
  EXPECT_EQ(paced.exit, 2);
  EXPECT_THAT(paced.err, HasSubstr("--device: a paced run"));
  EXPECT_TRUE(server.is_empty("a"));
}

TEST(ValidateRefuses, AnUpdateThatNobodyWaitsFor) {
  const Ended ended =
      Server().validate("--on a --set strategy.system=lohan --set strategy.optimizer.wait=false");
  EXPECT_EQ(ended.exit, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("strategy.optimizer.wait: with false states are written"));
  EXPECT_THAT(ended.err, HasSubstr("--set strategy.optimizer.wait=true"));
}

// The loss scale of fp16 may overflow at any time.
TEST(ValidateRefuses, AStepThatCouldNotBeTakenBack) {
  const Ended ended = Server().validate(
      "--on a --set strategy.system=superoffload --set training.precision=fp16_mixed");
  EXPECT_EQ(ended.exit, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, HasSubstr("strategy.overflow_check: with chained optimizer.roll_back has "
                                   "no old values"));
}

TEST(ValidateRefuses, SerialNumbersWithoutDisks) {
  const Ended ended = Server().validate("--on a --allow-raw S1");
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.err, HasSubstr("1 serial numbers, and --on names 0 raw devices"));
}

TEST(ValidateRefuses, ALoopDevice) {
  const Server server;
  const Ended made = shell(server.place(), "truncate -s 16M image && losetup --find --show image");
  if (geteuid() != 0 || made.exit != 0) GTEST_SKIP() << "SKIP: no loop device";
  const std::string loop = made.out.substr(0, made.out.find('\n'));
  const Ended ended = server.validate("--on " + loop + " --allow-raw S1");
  const Ended unasked = server.validate("--on " + loop);
  shell(server.place(), "losetup --detach " + loop);
  EXPECT_EQ(ended.exit, 2);
  EXPECT_THAT(ended.err, HasSubstr(loop));
  EXPECT_THAT(ended.err, HasSubstr("no hardware"));
  EXPECT_EQ(unasked.exit, 2);
  EXPECT_THAT(unasked.err, HasSubstr("only --allow-raw SERIAL writes to a device itself"));
}

}  // namespace
}  // namespace spillway::e2e
