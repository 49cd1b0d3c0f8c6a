#pragma once

#include "scenarios/description/names.hpp"

namespace spillway::description {

/// How a process reads and writes the drives (`strategy.io_engine`).
///   buffered  without O_DIRECT: one thread copies between its memory and the page cache, which
///             reads what it lacks and writes later
enum class IoEngine { file, direct, gds, buffered };
template <>
inline constexpr auto names_of<IoEngine> = in_order("file", "direct", "gds", "buffered");

}  // namespace spillway::description
