#include "reports/result/control.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace spillway::result {

namespace {

using nlohmann::json;

/// The value at a dotted path, or null.
const json* at_path(const json& scenario, std::string_view path) {
  const json* at = &scenario;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const auto found = at->is_object() ? at->find(std::string(path.substr(0, dot))) : at->end();
    if (!at->is_object() || found == at->end()) return nullptr;
    at = &*found;
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return at;
}

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

bool silenced(const Knob& knob, const json& scenario) {
  const std::size_t equals = knob.not_with.find('=');
  if (equals == std::string_view::npos) return false;
  const json* other = at_path(scenario, knob.not_with.substr(0, equals));
  return other && text_of(*other) == knob.not_with.substr(equals + 1);
}

}  // namespace

std::string setting_of(std::string_view tier, std::string_view purpose, const json& scenario,
                       std::uint64_t count) {
  const PurposeRow* row = row_of(tier, purpose);
  if (!row) return "";
  std::string text;
  for (const Knob& knob : row->knobs) {
    const json* value = at_path(scenario, knob.path);
    if (!value || silenced(knob, scenario)) continue;
    const bool settled = knob.counts_buffers && *value == "auto";
    text += (text.empty() ? "" : ", ") + std::string(knob.path) + " = " +
            (settled ? std::to_string(count) + " (auto)" : text_of(*value));
  }
  return text;
}

}  // namespace spillway::result
