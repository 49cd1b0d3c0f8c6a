#pragma once

#include <cstddef>
#include <string>

namespace spillway::scenarios {

/// Bytes that a file of JSON or CSV may have, and a trace, unpacked, where SPILLWAY_LARGEST_FILE
/// ("256 MiB") says nothing else.
inline constexpr std::size_t largest_text = 64u << 20;
inline constexpr std::size_t largest_trace = 1u << 30;

/// A file's content; messages name it `shown` when that is not empty. Its kind and its size are
/// looked at before it is read: folders and devices are refused, and a pipe into which nobody
/// writes for ten seconds.
///   most    bytes
///   Throws  ScenarioError when it cannot be read or is larger
std::string text_of_file(const std::string& path, const std::string& shown = "",
                         std::size_t most = largest_text);

/// The content of a file, unpacked where it is gzip.
///   Throws  ScenarioError: it cannot be read, is damaged, or is larger than largest_trace unpacked
std::string read_packed(const std::string& path);

}  // namespace spillway::scenarios
