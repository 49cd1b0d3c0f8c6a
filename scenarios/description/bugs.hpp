#pragma once

#include <string>

namespace spillway::description {

/// What is printed of an error: a bug of ours says that it is one, before anything else.
std::string as_bug(const std::string& error);
/// Whether as_bug made the text, here or in another process.
bool is_bug(const std::string& text);

}  // namespace spillway::description
