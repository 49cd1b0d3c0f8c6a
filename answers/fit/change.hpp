#pragma once

#include "answers/fit/search.hpp"

namespace spillway::answers {

/// Of twice the host memory, one more drive and one more card, the one with which the answer trains
/// most tokens a second, its system and batch unchanged; with twice the memory, systems that hold
/// their states there are tried as well.
///   simulated  grows by the scenarios that were simulated
///   Result     nothing where none of them makes it 2 % faster
std::optional<FitChange> best_change(const explore::Backend& backend, const result::Result& answer,
                                     bool only_runnable, std::uint64_t& simulated);

}  // namespace spillway::answers
