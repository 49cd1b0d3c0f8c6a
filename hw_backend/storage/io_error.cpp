#include "hw_backend/storage/io_error.hpp"

#include <fmt/format.h>
#include <cstring>

namespace spillway::hw_backend {

description::DeviceError io_error(std::string_view call, int code, std::string_view device,
                                  std::string_view remedy) {
  const char* name = strerrorname_np(code);
  const char* text = strerrordesc_np(code);
  return description::DeviceError(
      fmt::format("{}: {}: {} ({}){}{}", call, device, name ? name : std::to_string(code),
                  text ? text : "unknown", remedy.empty() ? "" : "; ", remedy));
}

}  // namespace spillway::hw_backend
