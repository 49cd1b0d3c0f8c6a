#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace spillway::e2e {

/// The sentences of an answer in which a number stands as text: one before a unit ("1.5 GiB",
/// "3 %", "20 s") that `<name>_numbers` beside it does not list; "path: sentence", a line each, ""
/// where there is none. What somebody wrote is left out: scenarios, machines, settings, names of
/// choices, whose values stand in `set`.
std::string untyped_numbers(const nlohmann::json& answer);

}  // namespace spillway::e2e
