#pragma once

#include "strategies/planner/milp/milp.hpp"

#include <cstdint>
#include <utility>
#include <vector>

/// What passes between the program and the solver's process: CBOR, in which a number keeps all of
/// its bits.
namespace spillway::milp {

using Message = std::vector<std::uint8_t>;

Message message_of(const Program& program, const Limits& limits);
Message message_of(const Solution& solution);

/// Throws  nlohmann::json::exception when `message` is no such message
std::pair<Program, Limits> question_in(const Message& message);
Solution answer_in(const Message& message);

}  // namespace spillway::milp
