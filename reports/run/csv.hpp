#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace spillway::reports {

/// A result's leaves by dotted path: "peak_bytes.host.total" -> "97818042368". Numbers as JSON
/// writes them (a double comes back bit for bit), strings as they are, true and false.
/// Null is "". An array of such values is one leaf, joined with "; "; an array that holds
/// objects or arrays is left out.
std::map<std::string, std::string> flattened(const nlohmann::json& result);

/// A header line and one line per result, quoted as RFC 4180 says, each ended by "\n".
/// The header is the union of all paths: what a reader looks for first (scenario name, system,
/// backend, feasible, step time), then the rest sorted, so that the order of rows does not matter.
void write_csv(std::ostream& out, std::span<const nlohmann::json> results);

/// A header and lines of fields, as many as it has, quoted and ended like that.
void write_csv(std::ostream& out, const std::vector<std::string>& header,
               const std::vector<std::vector<std::string>>& rows);

}  // namespace spillway::reports
