#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::hw_backend {

// DIR/spillway.<16 hexadecimal digits>/ holds LOCK and <name>.data.
constexpr std::string_view store_prefix = "spillway.";
constexpr const char* lock_name = "LOCK";
constexpr std::string_view file_suffix = ".data";
/// How LOCK begins; "process N", "boot ID" and "host NAME" follow, a line each.
constexpr std::string_view lock_line =
    "spillway store: the next start removes it once no process locks this file\n";

bool is_store_name(std::string_view name);

/// What the kernel calls this boot of this computer; other computers have other ones.
std::string boot_id();

/// The names in an open directory, also one that O_PATH opened.
///   error  receives errno where it cannot be read
std::vector<std::string> names_in(int directory, int& error);

/// What earlier runs had left in a directory and a start has removed.
struct Leftovers;
/// remove_leftovers of an open directory.
///   shown  its path, for messages
Leftovers remove_leftovers(int directory, const std::string& shown);

}  // namespace spillway::hw_backend
