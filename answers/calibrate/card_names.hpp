#pragma once

#include <string>

namespace spillway::answers {

/// Whether two names, as price lists and drivers write them, are of one model of card: "RTX 4090"
/// and "NVIDIA GeForce RTX 4090", but neither "RTX 4090 Laptop GPU" nor "RTX 3090". True where one
/// of them names no model.
bool is_same_card(const std::string& one, const std::string& other);

/// Whether a name says a model at all: "H100 SXM5" does, and "Graphics Device" does not.
bool names_card(const std::string& name);

}  // namespace spillway::answers
