#include "hw_backend/storage/uring_engine.hpp"
#include "scenarios/description/errors.hpp"
#include "tests/hw_backend/storage/fixture.hpp"

#include <gmock/gmock.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <thread>

namespace spillway::hw_backend {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t mib = 1 << 20;

double seconds_of(const std::function<void()>& work) {
  const auto begun = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

class UringEngineTest : public testing::Test {
 protected:
  Transfer transfer(bool write, std::uint64_t offset, std::uint64_t bytes, void* tag = nullptr) {
    return {&file_->target(), write, offset, memory_.data() + offset, bytes, tag};
  }
  void write_all(IoEngine& engine) {
    memory_.fill(3);
    ASSERT_EQ(move(engine, transfer(true, 0, 4 * mib)), "");
  }

  ScratchDirectory scratch_;
  StoreDirectory store_{scratch_.path(), 0};
  std::unique_ptr<StoreFile> file_ = store_.create("0", 4 * mib);
  Pages memory_{4 * mib};
};

TEST_F(UringEngineTest, ReadsBackWhatItWroteByEveryWayOfAsking) {
  for (const bool registered : {false, true}) {
    UringEngine engine(
        {.block_size = 65536, .register_buffers = registered, .register_files = registered});
    engine.register_memory(memory_.data(), memory_.size());
    engine.attach(file_->target());
    EXPECT_EQ(file_->target().registered >= 0, registered);
    write_all(engine);
    const std::vector<std::byte> wrote(memory_.begin(), memory_.end());
    EXPECT_EQ(contents(file_->path()), wrote);
    std::fill(memory_.begin(), memory_.end(), std::byte{0});
    EXPECT_EQ(move(engine, transfer(false, 0, 4 * mib)), "");
    EXPECT_TRUE(std::equal(wrote.begin(), wrote.end(), memory_.begin()));
    EXPECT_TRUE(engine.notes().empty()) << engine.notes().front();
    engine.detach(file_->target());
    engine.unregister_memory(memory_.data());
  }
}

TEST_F(UringEngineTest, CountsBytesAndRequestsByTarget) {
  UringEngine engine({.block_size = 65536});
  const auto other = store_.create("1", mib);
  write_all(engine);
  ASSERT_EQ(move(engine, {&other->target(), true, 0, memory_.data(), mib, nullptr}), "");
  // 4 MiB in blocks of 64 KiB are 64 requests, 1 MiB is 16.
  EXPECT_EQ(file_->target().counters.bytes_written, 4 * mib);
  EXPECT_EQ(file_->target().counters.requests, 64u);
  EXPECT_EQ(other->target().counters.requests, 16u);
  EXPECT_EQ(engine.counters().bytes_written, 5 * mib);
  EXPECT_EQ(engine.counters().bytes_read, 0u);
  EXPECT_EQ(engine.counters().resubmissions, 0u);
}

TEST_F(UringEngineTest, KeepsAtMostTheQueueDepthInFlight) {
  // The kernel's answers come one by one; what it was asked between is what the first wait handed
  // over: with a depth of 2, the third block's answer cannot be among the first two.
  std::vector<std::uint64_t> order;
  UringOptions options{.queue_depth = 2, .block_size = 65536};
  options.answer = [&](const Transfer&, std::uint64_t offset, std::uint64_t, int result) {
    order.push_back(offset / 65536);
    return result;
  };
  UringEngine engine(options);
  ASSERT_EQ(move(engine, transfer(true, 0, 8 * 65536)), "");
  ASSERT_EQ(order.size(), 8u);
  for (std::uint64_t i = 0; i < 8; ++i) EXPECT_LE(order[i], i + 1) << i;
}

TEST_F(UringEngineTest, TransfersOfOneDeviceTakeTurns) {
  std::vector<std::uint64_t> order;
  UringOptions options{.queue_depth = 1, .block_size = 65536};
  options.answer = [&](const Transfer&, std::uint64_t offset, std::uint64_t, int result) {
    order.push_back(offset / 65536);
    return result;
  };
  UringEngine engine(options);
  engine.submit(transfer(true, 0, 3 * 65536));
  engine.submit(transfer(true, 3 * 65536, 3 * 65536));
  EXPECT_TRUE(finish(engine).empty());
  EXPECT_THAT(order, ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST_F(UringEngineTest, AsksAgainForTheRestOfAShortTransfer) {
  int calls = 0;
  UringOptions options{.block_size = 65536};
  options.answer = [&](const Transfer&, std::uint64_t, std::uint64_t, int result) {
    // Every other answer is cut to 5000 bytes: not a sector's multiple.
    return ++calls % 2 == 0 ? std::min(result, 5000) : result;
  };
  UringEngine engine(options);
  write_all(engine);
  EXPECT_GT(engine.counters().resubmissions, 0u);
  const std::vector<std::byte> wrote(memory_.begin(), memory_.end());
  EXPECT_EQ(contents(file_->path()), wrote);
  std::fill(memory_.begin(), memory_.end(), std::byte{0});
  EXPECT_EQ(move(engine, transfer(false, 0, 4 * mib)), "");
  EXPECT_TRUE(std::equal(wrote.begin(), wrote.end(), memory_.begin()));
}

TEST_F(UringEngineTest, AsksAgainWhenTheKernelIsBusy) {
  int calls = 0;
  const std::vector<int> codes = {-EAGAIN, -EBUSY, -EINTR};
  UringOptions options{.block_size = 65536};
  options.answer = [&](const Transfer&, std::uint64_t, std::uint64_t, int result) {
    ++calls;
    return calls <= 3 ? codes[static_cast<std::size_t>(calls - 1)] : result;
  };
  UringEngine engine(options);
  EXPECT_EQ(move(engine, transfer(true, 0, 65536)), "");
  EXPECT_EQ(engine.counters().resubmissions, 3u);
  EXPECT_EQ(engine.counters().requests, 4u);
}

TEST_F(UringEngineTest, GivesUpOnARequestThatIsAlwaysTurnedAway) {
  UringOptions options{.retries = 3};
  options.answer = [](const Transfer&, std::uint64_t, std::uint64_t, int) { return -EAGAIN; };
  UringEngine engine(options);
  EXPECT_THAT(move(engine, transfer(true, 4096, 4096)),
              HasSubstr("0.data at 4096, tried 4 times: EAGAIN"));
}

TEST_F(UringEngineTest, ErrorsNameCallFilePlaceCodeAndRemedy) {
  UringOptions options;
  options.answer = [](const Transfer&, std::uint64_t, std::uint64_t, int) { return -EIO; };
  UringEngine engine(options);
  EXPECT_EQ(move(engine, transfer(false, 8192, 4096)),
            "read: " + file_->path().string() +
                ", 4096 bytes at 8192: EIO (Input/output error); the device reports a fault: look "
                "at dmesg and at its SMART data");
}

TEST_F(UringEngineTest, AFailedTransferWaitsForAllOfItsBlocks) {
  // The first of 8 blocks fails; the other 7 are in flight with it, and are back before the
  // transfer ends. The 56 blocks behind are never asked for.
  int calls = 0;
  UringOptions options{.queue_depth = 8, .block_size = 65536};
  options.answer = [&](const Transfer&, std::uint64_t, std::uint64_t, int result) {
    return ++calls == 1 ? -EIO : result;
  };
  UringEngine engine(options);
  EXPECT_THAT(move(engine, transfer(false, 0, 4 * mib)), HasSubstr("EIO"));
  EXPECT_EQ(calls, 8);
  EXPECT_EQ(move(engine, transfer(false, 0, 65536)), "");
}

TEST_F(UringEngineTest, AFileCutShortIsAnError) {
  UringEngine engine({.block_size = 65536});
  ASSERT_EQ(truncate(file_->path().c_str(), 100000), 0);
  EXPECT_EQ(move(engine, transfer(false, 0, 65536)), "");
  EXPECT_THAT(move(engine, transfer(false, 65536, 65536)),
              HasSubstr("the device moves no more of it; was the file cut short?"));
}

TEST_F(UringEngineTest, NothingPastTheEndIsAskedFor) {
  UringEngine engine({});
  const Target read_only = Target::open(file_->path(), Access::read, true);
  EXPECT_THROW(engine.submit(transfer(true, 4 * mib - 4096, 4097)), description::InternalError);
  EXPECT_THROW(engine.submit(transfer(false, ~std::uint64_t{0}, 2)), description::InternalError);
  EXPECT_THROW(engine.submit({const_cast<Target*>(&read_only), true, 0, memory_.data(), 1, {}}),
               description::InternalError);
  EXPECT_EQ(move(engine, transfer(true, 4 * mib - 4096, 4096)), "");
}

TEST_F(UringEngineTest, NoBytesEndWithoutTheDevice) {
  UringEngine engine({});
  int tag = 0;
  engine.submit(transfer(true, 4 * mib, 0, &tag));
  const std::vector<Completion> ended = engine.wait(0.0);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].tag, &tag);
  EXPECT_EQ(engine.counters().requests, 0u);
}

TEST_F(UringEngineTest, WaitsNoLongerThanTold) {
  UringEngine engine({});
  EXPECT_LT(seconds_of([&] { EXPECT_TRUE(engine.wait(0.0).empty()); }), 0.5);
  const double waited = seconds_of([&] { EXPECT_TRUE(engine.wait(0.05).empty()); });
  EXPECT_GE(waited, 0.049);
}

TEST_F(UringEngineTest, IsWokenFromAnotherThreadAndBeforeItWaits) {
  UringEngine engine({});
  engine.wake();
  EXPECT_TRUE(engine.wait({}).empty());
  for (int i = 0; i < 100; ++i) {
    std::thread waker([&] { engine.wake(); });
    EXPECT_TRUE(engine.wait({}).empty());
    waker.join();
  }
  EXPECT_TRUE(engine.wait(0.001).empty());
}

TEST_F(UringEngineTest, CancelledForgetsAllAndGoesOn) {
  UringEngine engine({.queue_depth = 4, .block_size = 65536});
  for (int i = 0; i < 4; ++i) engine.submit(transfer(true, i * mib, mib));
  engine.wait(0.0);
  EXPECT_TRUE(engine.cancel_all());
  EXPECT_EQ(engine.in_flight(), 0u);
  EXPECT_TRUE(engine.wait(0.0).empty());
  write_all(engine);
  EXPECT_EQ(contents(file_->path()), std::vector<std::byte>(memory_.begin(), memory_.end()));
}

TEST_F(UringEngineTest, GoesOnWithoutRegistrationWhereItIsRefused) {
  const std::string said = in_child([&] {
    const rlimit little{mib, mib};  // for the rings; not for 4 MiB of buffers
    setrlimit(RLIMIT_MEMLOCK, &little);
    if (getuid() == 0 && setuid(65534) != 0) return std::string("cannot give up root");
    UringEngine engine({});
    engine.register_memory(memory_.data(), memory_.size());
    engine.register_memory(memory_.data() + mib, mib);
    const std::string error = move(engine, transfer(true, 0, mib));
    const std::vector<std::string> notes = engine.notes();
    engine.unregister_memory(memory_.data());
    return std::to_string(notes.size()) + " " + (notes.empty() ? "" : notes[0]) + error;
  });
  EXPECT_THAT(said, testing::StartsWith("1 io_uring_register: buffers: ENOMEM"));
  EXPECT_THAT(said, testing::EndsWith("ulimit -l unlimited lifts the limit of locked memory"));
}

/// Makes the kernel answer io_uring_setup with `code`, in this process and for good.
bool forbid_io_uring(std::uint32_t code) {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | code),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{std::size(program), program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST_F(UringEngineTest, WithoutIoUringTheRemedyIsNamed) {
  const auto opened_after = [](std::uint32_t code) {
    return in_child([code]() -> std::string {
      if (!forbid_io_uring(code)) return "SKIP";
      UringEngine engine({});
      return "opened";
    });
  };
  if (opened_after(EPERM) == "SKIP") GTEST_SKIP() << "no seccomp filters here";
  EXPECT_THAT(opened_after(EPERM), testing::AllOf(HasSubstr("io_uring_setup"), HasSubstr("EPERM"),
                                                  HasSubstr("sysctl kernel.io_uring_disabled=0")));
  EXPECT_THAT(opened_after(ENOSYS), HasSubstr("this kernel has no io_uring; Linux 5.19"));
}

TEST_F(UringEngineTest, ADiskThatFillsUpUnderASparseFileIsAnError) {
  const std::string said = in_child([&]() -> std::string {
    if (!mount_tmpfs(scratch_.path(), mib)) return "SKIP";
    const auto path = scratch_.path() / "sparse";
    std::ofstream(path).close();
    if (truncate(path.c_str(), 4 * mib) != 0) return "no file";
    Target sparse = Target::open(path, Access::read_write, true);
    UringEngine engine({.block_size = 65536});
    const std::string error = move(engine, {&sparse, true, 0, memory_.data(), 4 * mib, nullptr});
    return error + "; then: " + move(engine, {&sparse, false, 0, memory_.data(), 65536, nullptr});
  });
  if (said == "SKIP") GTEST_SKIP() << "no mount namespaces here";
  EXPECT_THAT(said, testing::StartsWith("write: "));
  EXPECT_THAT(said, HasSubstr("ENOSPC"));
  EXPECT_THAT(said, testing::EndsWith("free space there, or name another directory; then: "));
}

TEST_F(UringEngineTest, RefusesBlocksThatAreNoMultipleOfAPage) {
  EXPECT_THROW(UringEngine({.block_size = 1000}), description::InternalError);
  EXPECT_THROW(UringEngine({.queue_depth = 0}), description::InternalError);
}

}  // namespace
}  // namespace spillway::hw_backend
