#include "tests/sweep/scenarios.hpp"

#include "scenarios/description/quantity.hpp"
#include "strategies/systems/catalogue.hpp"

#include <fmt/format.h>
#include <cmath>
#include <random>

namespace spillway::sweep {

using nlohmann::json;

namespace {

/// Numbers of one attempt at a scenario; no other scenario's draws move them.
class Dice {
 public:
  Dice(std::uint64_t seed, std::uint64_t number, std::uint64_t attempt)
      : engine_(mixed(seed + (attempt << 32), number)) {}

  std::uint64_t below(std::uint64_t count) { return engine_() % count; }
  bool one_in(std::uint64_t count) { return below(count) == 0; }
  /// Each doubling is as likely as any other.
  double log_uniform(double least, double most) {
    const double unit = static_cast<double>(engine_() >> 11) * 0x1p-53;
    return least * std::pow(most / least, unit);
  }
  template <class T, std::size_t N>
  const T& of(const T (&all)[N]) {
    return all[below(N)];
  }

 private:
  /// Source  splitmix64 (Vigna, public domain)
  static std::uint64_t mixed(std::uint64_t seed, std::uint64_t number) {
    std::uint64_t x = seed * 0x9e3779b97f4a7c15 + number + 1;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
  std::mt19937_64 engine_;
};

constexpr const char* shipped[] = {"bert-base",    "dit-0.9b",     "gpt2",        "gpt2-xl",
                                   "llama-3.2-1b", "llama-3.1-8b", "llama-3-70b", "mixtral-8x7b",
                                   "opt-13b",      "opt-175b",     "qwen2.5-7b",  "qwen2.5-32b",
                                   "t5-11b",       "lohan-412b",   "mistral-7b",  "lohan-13b"};
constexpr const char* boxes[] = {"gaming_4090",  "workstation_2gpu", "h100_8gpu",
                                 "a100_40_4gpu", "lohan_4090_256g",  "memascend_c1",
                                 "l40s_server",  "teraio_2xh100",    "lohan_4090_csd"};

/// A llama of about so many parameters: 12 x layers x width^2, a layer for each 128 of width at
/// most.
json llama(Dice& dice, double parameters) {
  const auto width = static_cast<std::uint64_t>(
      std::max(4.0, std::round(std::cbrt(parameters * dice.log_uniform(64, 160) / 12) / 128)));
  const std::uint64_t hidden = 128 * width;
  const double a_layer = 12.0 * static_cast<double>(hidden) * static_cast<double>(hidden);
  const auto layers = static_cast<std::uint64_t>(std::max(1.0, std::round(parameters / a_layer)));
  constexpr std::uint64_t vocabularies[] = {32000, 50257, 128256, 152064};
  return {{"model_type", "llama"},
          {"hidden_size", hidden},
          {"num_hidden_layers", layers},
          {"num_attention_heads", width},
          {"num_key_value_heads", width % 4 == 0 ? width / 4 : width},
          {"intermediate_size", hidden * 7 / 2 / 128 * 128},
          {"vocab_size", dice.of(vocabularies)},
          {"max_position_embeddings", 1 << 20},
          {"tie_word_embeddings", dice.one_in(2)}};
}

void draw_training(Dice& dice, json& base) {
  constexpr const char* precisions[] = {"fp16_mixed", "bf16_mixed", "bf16", "fp32"};
  const double longest = dice.one_in(2) ? 8193 : 65;  // in 128 tokens
  base["training"] = {{"micro_batch", static_cast<std::uint64_t>(dice.log_uniform(1, 65))},
                      {"gradient_accumulation", dice.one_in(4) ? 1 + dice.below(4) : 1},
                      {"sequence", 128 * static_cast<std::uint64_t>(dice.log_uniform(1, longest))},
                      {"precision", dice.of(precisions)},
                      {"fused_kernels", !dice.one_in(4)}};
  if (dice.one_in(8)) base["training"]["attention"] = "materialized";
}

void draw_strategy(Dice& dice, json& base) {
  const auto systems = strategies::catalogue();
  json& strategy = base["strategy"];
  strategy["system"] = systems[dice.below(systems.size())].name;
  constexpr const char* policies[] = {"keep", "checkpoint_gpu", "checkpoint_host", "checkpoint_ssd",
                                      "swap"};
  if (dice.one_in(6)) strategy["activations"]["policy"] = dice.of(policies);
  if (dice.one_in(8)) strategy["pinned"] = "exact";
}

}  // namespace

std::string Draft::words() const {
  std::string text = base.dump();
  for (const std::string& override : overrides) text += " --set '" + override + "'";
  return text;
}

Draft draft(std::uint64_t seed, std::uint64_t number, std::uint64_t attempt) {
  Dice dice(seed, number, attempt);
  Draft draft;
  json& base = draft.base;
  base["model"] = dice.one_in(4) ? json(dice.of(shipped))
                                 : llama(dice, dice.log_uniform(1e8, dice.one_in(2) ? 7e11 : 2e10));
  base["machine"] = dice.of(boxes);
  base["run"] = {{"steps", 1}, {"warmup_steps", 1}};
  draw_training(dice, base);
  draw_strategy(dice, base);
  constexpr std::uint64_t ranks[] = {1, 1, 2, 4};
  const std::uint64_t data = dice.of(ranks);
  base["parallel"] = {{"data", data}};
  const auto set = [&](std::string text) { draft.overrides.push_back(std::move(text)); };
  constexpr std::uint64_t cards[] = {8, 12, 16, 24, 32, 40, 48, 80, 96, 141, 192};
  set(fmt::format("machine.gpu.memory={} GiB", dice.of(cards)));
  set(fmt::format("machine.gpu.count={}", data));
  set(fmt::format("machine.host.memory={} GiB", 16 * (1ull << dice.below(8))));
  const std::string drives = base["machine"] == "memascend_c1" || base["machine"] == "teraio_2xh100"
                                 ? ""
                                 : "machine.storage.nvme.";
  if (!drives.empty()) set(fmt::format("{}count={}", drives, 1 + dice.below(16)));
  return draft;
}

std::vector<Upgrade> upgrades(const json& machine) {
  std::vector<Upgrade> all;
  const auto times = [](const std::string& path, const json& value, double factor) {
    const auto quantity = value.get<std::string>();
    const std::size_t blank = quantity.find(' ');
    return fmt::format("machine.{}={:.17g}{}", path, factor * std::stod(quantity.substr(0, blank)),
                       quantity.substr(blank));
  };
  const auto add = [&](const std::string& axis, const std::vector<std::string>& paths,
                       double factor) {
    Upgrade upgrade{axis, {}};
    for (const std::string& path : paths) {
      const json::json_pointer at("/" + [&] {
        std::string text = path;
        for (char& c : text) c = c == '.' ? '/' : c;
        return text;
      }());
      if (machine.contains(at)) upgrade.overrides.push_back(times(path, machine[at], factor));
    }
    if (!upgrade.overrides.empty()) all.push_back(std::move(upgrade));
  };
  add("gpu.memory", {"gpu.memory"}, 2);
  add("host.memory", {"host.memory"}, 2);
  add("compute",
      {"gpu.compute.fp16", "gpu.compute.bf16", "gpu.compute.tf32", "gpu.compute.fp32",
       "gpu.memory_rate"},
      2);
  add("pcie", {"pcie.h2d", "pcie.d2h", "pcie.pageable_h2d", "pcie.pageable_d2h", "pcie.link"}, 2);
  add("cpu", {"host.adam", "host.convert", "host.check_chained", "host.check_fused"}, 2);
  add("dram", {"host.memory_rate"}, 2);
  all.push_back({"cores",
                 {fmt::format("machine.host.cores={}",
                              2 * machine.at("host").at("cores").get<std::uint64_t>())}});
  for (const json& storage : machine.value("storage", json::array())) {
    if (storage.value("kind", "ssd") != "ssd") continue;
    const std::string path = "storage." + storage.at("name").get<std::string>() + ".";
    Upgrade rate{"storage.rate", {}};
    for (const char* key : {"read", "write", "array_read", "array_write"})
      if (storage.contains(key)) rate.overrides.push_back(times(path + key, storage[key], 2));
    if (storage.contains("slc_cache"))
      rate.overrides.push_back(
          times(path + "slc_cache.folded_write", storage["slc_cache"]["folded_write"], 2));
    all.push_back(std::move(rate));
    all.push_back({"storage.count",
                   {fmt::format("machine.{}count={}", path, 2 * storage.value("count", 1))}});
    break;
  }
  return all;
}

}  // namespace spillway::sweep
