#pragma once

#include "reports/view/text.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace spillway::reports {

/// What a table calls a number of a result: "tokens/s", or its path.
std::string objective_title(const std::string& path);

/// A number of a result, of the quantity that its path says; "-" of null.
view::Text objective_text(const std::string& path, const nlohmann::json& value);

/// A value of an axis, as it is written in the space.
view::Text axis_text(const nlohmann::json& value);

/// That the price of a scenario's machine is the same with any host memory; "" of one whose memory
/// has a price, or that has none itself.
view::Text memory_without_price(const nlohmann::json& scenario);

}  // namespace spillway::reports
