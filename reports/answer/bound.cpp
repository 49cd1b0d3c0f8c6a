#include "reports/answer/bound.hpp"

namespace spillway::answer {

using nlohmann::json;

namespace {

constexpr const char* schema = "spillway/answer/bound/1";

json or_null(const std::optional<double>& value) { return value ? json(*value) : json(); }

void read(const json& in, const char* name, std::optional<double>& into) {
  const auto found = in.find(name);
  into.reset();
  if (found != in.end() && !found->is_null()) into = found->get<double>();
}

}  // namespace

void to_json(json& out, const Bound& bound) {
  json memory = json::object();
  for (const auto& [tier, floor] : bound.memory)
    memory[tier] = {{"floor_bytes", floor.floor_bytes}, {"capacity_bytes", floor.capacity_bytes}};
  out = {{"schema", schema},
         {"known", bound.known},
         {"too_small", bound.too_small.empty() ? json() : json(bound.too_small)},
         {"step_time_s", bound.step_time_s},
         {"tokens_per_s", or_null(bound.tokens_per_s)},
         {"limited_by", bound.limited_by},
         {"busy_s", bound.busy_s},
         {"memory", memory},
         {"io_bytes_per_step", bound.io_bytes_per_step},
         {"price_usd", or_null(bound.price_usd)}};
}

void from_json(const json& in, Bound& bound) {
  bound = {};
  bound.known = in.value("known", false);
  if (in.contains("too_small") && in["too_small"].is_string())
    in["too_small"].get_to(bound.too_small);
  bound.step_time_s = in.value("step_time_s", 0.0);
  read(in, "tokens_per_s", bound.tokens_per_s);
  bound.limited_by = in.value("limited_by", "");
  bound.busy_s = in.value("busy_s", bound.busy_s);
  const json tiers = in.value("memory", json::object());
  for (const auto& [tier, floor] : tiers.items())
    bound.memory[tier] = {floor.value("floor_bytes", 0.0), floor.value("capacity_bytes", 0.0)};
  bound.io_bytes_per_step = in.value("io_bytes_per_step", bound.io_bytes_per_step);
  read(in, "price_usd", bound.price_usd);
}

}  // namespace spillway::answer
