#pragma once

namespace spillway::result {

/// How the name of a what-if begins that takes drives away: "without sata".
inline constexpr const char* without = "without ";

}  // namespace spillway::result
