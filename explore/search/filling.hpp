#pragma once

#include "explore/store/store.hpp"

#include <string>

namespace spillway::explore {

/// A process that fills a database says each second that it is there, where the machine is not busy
/// otherwise. After this many seconds without it nobody takes it to be at work.
inline constexpr double silent_after_s = 10;

/// What computers call this one in a database; "" where it has no name.
std::string host_name();

/// Whether the process of a run was one of this host and is there no more: nothing has its number,
/// or only what began later. False of a run on another host, of which nobody knows.
bool is_gone(const RunRow& run);

/// Two processes would simulate the same points and count each other's.
///   Throws  ScenarioError: another process fills a space of the database now
void refuse_while_filled(Store& store, const std::string& database);

}  // namespace spillway::explore
