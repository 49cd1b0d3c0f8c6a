#pragma once

#include "scenarios/description/names.hpp"

namespace spillway::description {

/// How a process reads and writes the drives (`strategy.io_engine`).
enum class IoEngine { file, direct, gds };
template <>
inline constexpr auto names_of<IoEngine> = in_order("file", "direct", "gds");

}  // namespace spillway::description
