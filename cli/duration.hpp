#pragma once

#include "cli/monitor.hpp"

#include <functional>

namespace spillway::cli {

/// Before an answer about one scenario that will take long: says on standard error about how long,
/// and what it grows with, as smaller ones of the same kind took. Others begin at once.
///   limit_s  of each simulation
///   answer   by a backend; false where there is none
///   Throws   CLI::RuntimeError: Ctrl-C
void announce_duration(
    Monitor& monitor, const description::Scenario& scenario, double limit_s,
    const std::function<bool(const explore::Backend&, const description::Scenario&)>& answer);

}  // namespace spillway::cli
