#include "hw_backend/probe/smart_log.hpp"

#include "hw_backend/storage/descriptor.hpp"

#include <fcntl.h>
#include <libnvme.h>
#include <algorithm>
#include <cmath>

namespace spillway::hw_backend {

double wide_number(const std::array<std::uint8_t, 16>& bytes) {
  double value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value * 256 + bytes[i];
  return value;
}

std::optional<SmartLog> read_smart_log(const std::string& disk) {
  if (!disk.starts_with("nvme")) return std::nullopt;
  const Descriptor drive(open(("/dev/" + disk).c_str(), O_RDONLY | O_CLOEXEC));
  if (!drive) return std::nullopt;
  nvme_smart_log log{};
  if (nvme_get_log_smart(drive.get(), NVME_NSID_ALL, true, &log) != 0) return std::nullopt;
  std::array<std::uint8_t, 16> units{};
  std::copy_n(log.data_units_written, units.size(), units.begin());
  constexpr double unit = 512000;  // NVMe: thousands of 512 bytes
  return SmartLog{log.percent_used, wide_number(units) * unit};
}

std::optional<double> rated_bytes(const SmartLog& log) {
  if (log.percent_used < 10 || log.percent_used >= 255 || log.bytes_written <= 0)
    return std::nullopt;
  return log.bytes_written * 100 / log.percent_used;
}

}  // namespace spillway::hw_backend
