#pragma once

#include <string_view>

namespace spillway::reports {

/// What a purpose of `peak_bytes.<tier>.by_purpose` is, in one sentence without its name; "" of a
/// purpose that the program does not know.
///   tier  gpu, host, ssd or remote: some purposes are in memory and on drives
std::string_view meaning_of(std::string_view tier, std::string_view purpose);

}  // namespace spillway::reports
