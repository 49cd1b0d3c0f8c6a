#include "strategies/cache_budget.hpp"

#include "scenarios/description/quantity.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace spillway::strategies {

using nlohmann::json;

std::size_t modules_to_offload(std::span<const ModuleLoad> modules, double forward_s,
                               double write_bytes_per_s) {
  double seconds = 0, bytes = 0;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const double volume = bytes + 2 * static_cast<double>(modules[i].bytes);
    const double window = 3 * forward_s - 2 * seconds;
    if (volume > write_bytes_per_s * window) return i;
    seconds += modules[i].seconds;
    bytes += static_cast<double>(modules[i].bytes);
  }
  return modules.size();
}

double required_write_bandwidth(std::uint64_t bytes, double step_s) {
  return step_s > 0 ? static_cast<double>(bytes) / (step_s / 2) : 0;
}

CacheKnobs::CacheKnobs(const description::Strategy& strategy) {
  const auto knob = [&](const char* name) {
    const auto found = strategy.further.find(std::string("activations.") + name);
    return found == strategy.further.end() ? json() : json::parse(found->second);
  };
  const auto read = [&](const char* name, auto& value) {
    if (const json written = knob(name); !written.is_null()) written.get_to(value);
  };
  read("min_elements", min_elements);
  read("store_workers", store_workers);
  read("load_workers", load_workers);
  read("forwarding", forwarding);
  read("deduplicate", deduplicate);
  read("profile_step", profile_step);
  if (const json last = knob("keep_last"); !last.is_null())
    keep_last = last == "none"     ? KeepLast::none
                : last == "module" ? KeepLast::module
                                   : KeepLast::layer;
  if (const json when = knob("cancel"); !when.is_null())
    cancel = when == "never"    ? Cancel::never
             : when == "always" ? Cancel::always
                                : Cancel::behind_budget;
  if (const json far = knob("prefetch"); far.is_number()) {
    ahead = Ahead::operators;
    operators_ahead = far.get<std::uint64_t>();
  } else if (!far.is_null()) {
    ahead = far == "module" ? Ahead::module : Ahead::layer;
  }
  if (const json skipped = knob("skip"); !skipped.is_null()) {
    const auto has = [&](const char* name) {
      return std::find(skipped.begin(), skipped.end(), name) != skipped.end();
    };
    skips_loss = has("loss");
    skips_head = has("head");
    skips_model = has("model");
  }
  if (const json rate = knob("write_rate"); rate.is_string() && rate != "measured")
    write_bytes_per_s =
        description::quantity_from<description::BytesPerSecond>(rate.get<std::string>()).value();
  to_host = strategy.activations.homes == std::vector<std::string>{"host"};
}

}  // namespace spillway::strategies
