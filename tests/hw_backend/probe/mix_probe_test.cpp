#include "hw_backend/probe/mix_probe.hpp"

#include "hw_backend/storage/open_engine.hpp"
#include "hw_backend/storage/store_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

namespace spillway::hw_backend {
namespace {

constexpr std::uint64_t block_bytes = 1 << 20;

/// A drive that does one request after the other, each with a start that takes as long as 256 KiB
/// where reads and writes come at once. It holds back a faster one.
class SerialDrive {
 public:
  static constexpr double bytes_per_s = 128.0 * block_bytes;
  static constexpr double start_s = 256 * 1024 / bytes_per_s;

  int answer(std::uint64_t bytes, int result) {
    using Clock = std::chrono::steady_clock;
    largest_ = std::max(largest_, bytes);
    const double seconds = static_cast<double>(bytes) / bytes_per_s + (mixes ? start_s : 0);
    free_at_ = std::max(free_at_, Clock::now() - std::chrono::milliseconds(20)) +
               std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    std::this_thread::sleep_until(free_at_);
    return result;
  }
  std::uint64_t largest() const { return largest_; }

  bool mixes = false;

 private:
  std::chrono::steady_clock::time_point free_at_{};
  std::uint64_t largest_ = 0;
};

struct Mixed {
  Probed probed;
  Measurement efficiency;
  std::uint64_t largest_request = 0;
};

/// Mixes of a file of 64 MiB on a SerialDrive.
Mixed mixes_with(std::uint64_t request_bytes) {
  SerialDrive drive;
  EngineOptions engine_options;
  engine_options.uring.block_size = request_bytes;
  engine_options.uring.queue_depth = 8;  // all that are back at once make an interval longer
  engine_options.uring.answer = [&](const Transfer&, std::uint64_t, std::uint64_t bytes,
                                    int result) { return drive.answer(bytes, result); };
  const auto engine = open_engine(engine_options);
  StoreDirectory directory(testing::TempDir(), 0);
  const auto file = directory.create("mixes", 64 * block_bytes);
  engine->attach(file->target());
  Mixed out;
  const ProbeOptions options;
  const ProbeProgress progress = [&](double, const std::string& what) {
    drive.mixes = what.find("% reads") != std::string::npos;
  };
  Session session(options, progress, out.probed);
  {
    TransferStream stream(*engine);
    MixedTraffic traffic;
    traffic.storage = "nvme";
    traffic.request_bytes = request_bytes;
    traffic.target = &file->target();
    traffic.filled = 64 * block_bytes;
    traffic.interval_s = 0.1;
    traffic.interval_bytes = 1e12;
    out.efficiency =
        measure_mixes(session, stream, traffic, measure_alone(session, stream, traffic));
  }
  engine->detach(file->target());
  out.largest_request = drive.largest();
  return out;
}

/// What is left of 1 - loss x 4x(1 - x) where every mix moves the same share of what it moves of
/// one alone: reads of 1/4, 1/2 and 3/4 have 4x(1 - x) of 3/4, 1 and 3/4.
double fitted_of(double efficiency) {
  return 1 - (1 - efficiency) * (0.75 + 1 + 0.75) / (0.75 * 0.75 + 1 + 0.75 * 0.75);
}

TEST(MixProbe, OfRequestsOfOneBlockLosesTheirStart) {
  // a request takes as long as 1024 KiB, and in a mix as 1024 + 256
  const Mixed mixed = mixes_with(block_bytes);
  EXPECT_NEAR(mixed.efficiency.median, fitted_of(1024.0 / 1280), 0.05);
  EXPECT_EQ(mixed.efficiency.path, "storage.nvme.mixed_efficiency");
  EXPECT_EQ(mixed.largest_request, block_bytes);
  const std::string source = source_of(mixed.efficiency);
  EXPECT_THAT(source, testing::StartsWith("measured: r/R + w/W with 1024 KiB requests, by "));
}

TEST(MixProbe, OfSmallRequestsLosesMoreToTheSameStart) {
  // as 256 KiB alone, and in a mix as 256 + 256
  const Mixed mixed = mixes_with(small_request);
  EXPECT_NEAR(mixed.efficiency.median, fitted_of(256.0 / 512), 0.05);
  EXPECT_EQ(mixed.largest_request, 256u << 10);
  ASSERT_EQ(mixed.probed.measurements.size(), 5u);  // two directions and three mixtures
  for (const Measurement& each : mixed.probed.measurements) {
    EXPECT_THAT(each.path, testing::HasSubstr(", 256 KiB"));
    EXPECT_THAT(each.what, testing::HasSubstr("256 KiB requests"));
  }
  // rates alone are those of these requests, too
  EXPECT_NEAR(mixed.probed.measurements[0].median / SerialDrive::bytes_per_s, 1, 0.1);
  EXPECT_NEAR(mixed.probed.measurements[1].median / SerialDrive::bytes_per_s, 1, 0.1);
}

}  // namespace
}  // namespace spillway::hw_backend
