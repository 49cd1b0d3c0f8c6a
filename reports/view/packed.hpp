#pragma once

#include <string>
#include <string_view>

namespace spillway::view {

/// In base64, without line ends.
std::string base64(std::string_view bytes);
/// The bytes as a zlib stream (RFC 1950), which browsers call "deflate".
std::string deflated(std::string_view bytes);

}  // namespace spillway::view
