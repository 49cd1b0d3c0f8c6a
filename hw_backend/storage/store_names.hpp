#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace spillway::hw_backend {

// DIR/spillway.<16 hexadecimal digits>/ holds LOCK and <name>.data.
constexpr std::string_view store_prefix = "spillway.";
constexpr std::string_view lock_name = "LOCK";
constexpr std::string_view file_suffix = ".data";
/// How LOCK begins; process and boot follow.
constexpr std::string_view lock_line =
    "spillway store: the next start removes it once no process locks this file\n";

bool is_store_name(std::string_view name);

/// Removes the store `name` in `parent` and all in it, if everything there is ours.
///   store   open directory
///   bytes   grows by what its files took
///   Result  empty, or why it is still there
std::string remove_store(int parent, const std::string& name, int store, std::uint64_t& bytes);

}  // namespace spillway::hw_backend
