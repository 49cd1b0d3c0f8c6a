#pragma once

#include "reports/view/document.hpp"

#include <nlohmann/json.hpp>

namespace spillway::view {

/// {"title", "blocks": [{"block": "paragraph", ...}]}; a text is an array of strings and of numbers
/// {"value", "quantity", "unit", "origin", "words"}. Lanes and series are columns of numbers.
nlohmann::json to_json(const Document& document);

/// The rows of a table, numbers exact, with units in the header ("time [s]"): RFC 4180.
std::string to_csv(const Table& table);

}  // namespace spillway::view
