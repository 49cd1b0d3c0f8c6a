#include "reports/result/number.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

namespace spillway::result {

using nlohmann::json;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double none = std::numeric_limits<double>::quiet_NaN();

/// What wears nothing lasts for ever and costs nothing; else what the result says.
double worn(const json& result, const char* key, double unworn) {
  const json wear = result.value("wear", json());
  if (!wear.is_object()) return unworn;
  if (const json number = wear.value(key, json()); number.is_number()) return number.get<double>();
  return wear.value("write_bytes_per_day", json()) == 0.0 ? unworn : none;
}

}  // namespace

bool is_sparse(const std::string& name) {
  static const std::set<std::string> sparse = {"by_purpose", "by_storage", "storage",
                                               "phase_busy_s", "phase_bytes"};
  return sparse.contains(name);
}

double number_in(const json& result, const std::string& path) {
  if (path == "wear.waf") return worn(result, "waf", 1);
  if (path == "wear.warranty_years") return worn(result, "warranty_years", infinity);
  if (path == "wear.lifetime_years") return worn(result, "lifetime_years", infinity);
  if (path == "wear.usd_per_million_tokens") return worn(result, "usd_per_million_tokens", 0);
  const json* at = &result;
  bool listed = false;
  for (std::size_t from = 0; from < path.size();) {
    const std::size_t dot = std::min(path.find('.', from), path.size());
    const std::string step = path.substr(from, dot - from);
    if (!at->is_object() || !at->contains(step)) return listed ? 0 : none;
    at = &(*at)[step];
    listed = listed || is_sparse(step);
    from = dot + 1;
  }
  return at->is_boolean() ? at->get<bool>() : at->is_number() ? at->get<double>() : none;
}

}  // namespace spillway::result
