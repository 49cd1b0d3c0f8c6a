#pragma once

#include <string>
#include <string_view>

namespace spillway::reports {

/// `text` as a gzip file, the same bytes each time.
std::string gzipped(std::string_view text);

}  // namespace spillway::reports
