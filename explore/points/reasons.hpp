#pragma once

#include "explore/store/store.hpp"
#include "reports/result/result.hpp"
#include "reports/text/text.hpp"

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

/// Why a scenario does not fit or a point is not wanted, in words with numbers among them, and how
/// a database keeps both.
namespace spillway::explore {

/// "host memory: parameter_pool in init asks for 3.00 GiB, 512.0 MiB of 4.00 GiB are free".
text::Text no_room(const result::Infeasible& infeasible);
/// Of a result that does not fit: "needs 113.1 GiB of 64.0 GiB of host memory; first parameter_pool
/// in init", or, where nobody asked for the need, the request that failed.
text::Text no_room(const result::Result& result);
/// "113.1 GiB of 64.0 GiB of host memory"; where both read the same, how much is short.
text::Text too_much(const std::string& tier, std::uint64_t needed, std::uint64_t has);

/// "wear.lifetime_years >= 3: wear.lifetime_years is 1.2", of an expression that does not hold.
///   values  of `names`, those of the expression
text::Text broken(const std::string& constraint, const std::vector<std::string>& names,
                  std::span<const double> values);
/// The same as the reason of a rejected point: "not wear.lifetime_years >= 3: ...".
text::Text not_met(const std::string& constraint, const std::vector<std::string>& names,
                   std::span<const double> values);

/// Sets the reason of a row: its words, and their numbers among the row's.
void keep_reason(ScenarioRow& row, const text::Text& reason);
/// The reason of a point, which rows keep as words, with the numbers in it as far as they are kept.
///   row  of its scenario; null: the database does not have it
text::Text reason_of(const PointRow& point, const ScenarioRow* row,
                     const std::vector<std::string>& constraints);

/// A number as a row keeps it: JSON has no infinity, and null is no value.
nlohmann::json stored(double number);
double from_stored(const nlohmann::json& number);

}  // namespace spillway::explore
