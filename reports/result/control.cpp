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

/// A ZeRO stage from which on ranks share what the buffers of a purpose hold.
struct ZeroStage {
  std::string_view tier, purpose;
  std::uint64_t stage;
  std::string_view words;
};
constexpr ZeroStage zero_stages[] = {{"gpu", "weights", 3, "ZeRO stage 3"},
                                     {"gpu", "optimizer_states", 1, "ZeRO stage 1"},
                                     {"gpu", "norm_copies", 3, "ZeRO stage 3 with norms of parts"}};

std::uint64_t number_at(const json& scenario, std::string_view path) {
  const json* value = at_path(scenario, path);
  return value && value->is_number_integer() ? value->get<std::uint64_t>() : 1;
}

/// Whether a higher ZeRO stage would share more: one rank has nobody to share with.
bool helps(const ZeroStage& zero, const json& scenario) {
  const std::uint64_t ranks =
      number_at(scenario, "parallel.data") * number_at(scenario, "parallel.context");
  return ranks > 1 && number_at(scenario, "parallel.zero_stage") < zero.stage;
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

std::string shrinks_with(std::string_view tier, std::string_view purpose, const json& scenario) {
  const PurposeRow* row = row_of(tier, purpose);
  if (!row) return "";
  std::string text;
  for (const ZeroStage& zero : zero_stages)
    if (zero.tier == row->tier && zero.purpose == row->name && helps(zero, scenario))
      text = std::string(zero.words) + ", ";
  return text + std::string(row->smaller);
}

}  // namespace spillway::result
