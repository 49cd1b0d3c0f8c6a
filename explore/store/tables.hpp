#pragma once

#include "explore/store/database.hpp"

#include <cstdint>

namespace spillway::explore {

/// Of the tables below: raised when one of them changes.
inline constexpr std::int64_t store_layout = 1;
/// By which a file is known to be ours: "SPLW".
inline constexpr std::int64_t store_application = 0x53504c57;

/// The statements that make the tables of a store where they are missing.
extern const char* const store_tables;

/// The number that a query gives; 0 of none.
std::int64_t number_of(const Database& database, const char* sql);

/// Whether another program wrote the file: ours is marked, or, of an older program, has our tables.
bool is_foreign(const Database& database);

}  // namespace spillway::explore
