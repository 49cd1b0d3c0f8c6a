#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace spillway::result {

/// A number of a result, as JSON, by its dotted path; a lifetime that nothing wears is infinite;
/// NaN without a value.
double number_in(const nlohmann::json& result, const std::string& path);

/// Whether the object of that name lists only what there is: a name that is not in it is 0.
bool is_sparse(const std::string& name);

}  // namespace spillway::result
