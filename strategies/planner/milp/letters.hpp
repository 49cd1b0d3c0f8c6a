#pragma once

#include "strategies/planner/milp/milp.hpp"

#include <cstdint>
#include <utility>
#include <vector>

/// What passes between the program and the solver's process: CBOR, in which a number keeps all of
/// its bits.
namespace spillway::milp {

using Letter = std::vector<std::uint8_t>;

Letter letter_of(const Program& program, const Limits& limits);
Letter letter_of(const Solution& solution);

/// Throws  nlohmann::json::exception when `letter` is no such letter
std::pair<Program, Limits> question_in(const Letter& letter);
Solution answer_in(const Letter& letter);

}  // namespace spillway::milp
