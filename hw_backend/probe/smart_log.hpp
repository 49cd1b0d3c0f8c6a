#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace spillway::hw_backend {

/// What an NVMe drive says of its wear.
struct SmartLog {
  unsigned percent_used = 0;  ///< of its rated endurance, rounded to whole percent
  double bytes_written = 0;   ///< by the host, since it was made
};

/// The drive's log; nothing without permission, or where the disk is no NVMe drive ("sda", "").
///   disk  as in /dev
std::optional<SmartLog> read_smart_log(const std::string& disk);

/// Little-endian, 16 bytes, as fp64.
double wide_number(const std::array<std::uint8_t, 16>& bytes);

/// Host writes that the drive is rated for, as far as its log tells: what was written over the
/// share that it used up. Nothing below 10 %, where a rounded percentage is off by over 5 %, nor
/// at 255, which stands for all above 254.
std::optional<double> rated_bytes(const SmartLog& log);

}  // namespace spillway::hw_backend
