#include "reports/verdict.hpp"

#include "reports/human.hpp"
#include "reports/range.hpp"
#include "reports/result/needs.hpp"
#include "reports/result/what_if.hpp"
#include "reports/wear_words.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <bit>

namespace spillway::reports {

using result::Infeasible;
using result::Result;

namespace {

std::uint64_t shortage(const Infeasible& why) {
  return why.asked_bytes - std::min(why.asked_bytes, why.free_bytes);
}

/// What a caching allocator takes of host memory for a request that would fit unrounded, else 0.
std::uint64_t rounded_up(const Infeasible& why) {
  const std::uint64_t block = std::bit_ceil(why.asked_bytes);
  return why.tier == "host" && shortage(why) == 0 && block > why.free_bytes ? block : 0;
}

/// How much room is missing; a request that is smaller than what is free is rounded beyond that,
/// or lacks one piece of it.
std::string missing(const Infeasible& why) {
  if (const std::uint64_t bytes = shortage(why); bytes > 0)
    return tier_bytes(why.tier, bytes) + " short";
  if (const std::uint64_t block = rounded_up(why))
    return tier_bytes(why.tier, block - why.free_bytes) + " short once rounded to a power of two";
  return "no " + tier_bytes(why.tier, why.asked_bytes) + " in one piece";
}

/// "host memory needs 113.1 GiB and has 64.0 GiB, what stays free for the system included".
std::string needs(const result::TierNeed& need) {
  return fmt::format("{} needs {} and has {}{}", tier_name(need.tier),
                     tier_bytes(need.tier, need.needed), tier_bytes(need.tier, need.capacity),
                     need.reserve > 0 ? ", what stays free for the system included" : "");
}

/// What is needed in all, then the request that came first.
std::string why_not(const Result& r, const std::vector<result::TierNeed>& shortages) {
  const Infeasible& why = *r.infeasible;
  std::string text;
  for (const result::TierNeed& need : shortages) text += (text.empty() ? "" : "; ") + needs(need);
  return fmt::format(
      "Does not fit: {}. The first that finds no room is {} of rank {} in {}, {}: it asks for {} "
      "where {} are free.",
      text, why.purpose, why.rank, why.phase, missing(why), tier_bytes(why.tier, why.asked_bytes),
      tier_bytes(why.tier, why.free_bytes));
}

std::string why_not(const Result& r) {
  const Infeasible& why = *r.infeasible;
  if (const auto shortages = result::shortages_of(r); !shortages.empty())
    return why_not(r, shortages);
  const std::string where = why.storage.empty() ? tier_name(why.tier) : why.storage;
  const std::string capacity =
      why.capacity_bytes > 0 ? fmt::format(" of {}", tier_bytes(why.tier, why.capacity_bytes)) : "";
  const std::uint64_t block = rounded_up(why);
  const std::string taken =
      block > 0 ? fmt::format(" and takes {}", tier_bytes(why.tier, block)) : "";
  return fmt::format(
      "Does not fit: {} has no room for {} of rank {} in {}, at first {}. It asks for {}{} where "
      "{}{} are free.",
      where, why.purpose, why.rank, why.phase, missing(why), tier_bytes(why.tier, why.asked_bytes),
      taken, tier_bytes(why.tier, why.free_bytes), capacity);
}

/// "6.50 GB/s (4.00 GB/s read, 2.50 GB/s written), 85.0 us per request."
std::string io_bench(const nlohmann::json& bench) {
  const double read = bench.value("read_bytes_per_s", 0.0);
  const double written = bench.value("write_bytes_per_s", 0.0);
  const std::string both =
      read > 0 && written > 0
          ? fmt::format(" ({} read, {} written)", human_rate(read), human_rate(written))
          : "";
  return fmt::format("{}{}, {} per request.", human_rate(bench.value("rate_bytes_per_s", 0.0)),
                     both, human_time(bench.value("latency_s", 0.0)));
}

/// `value[key]` when it is text, or the name of the object there.
std::string name_in(const nlohmann::json& value, const char* key) {
  if (!value.is_object() || !value.contains(key)) return "";
  const nlohmann::json& found = value.at(key);
  if (found.is_string()) return found.get<std::string>();
  return found.is_object() ? name_in(found, "name") : "";
}

}  // namespace

std::string tier_bytes(const std::string& tier, std::uint64_t bytes) {
  const bool memory = tier == "gpu" || tier == "host";
  return memory ? human_memory(bytes) : human_bytes(static_cast<double>(bytes));
}

std::string tier_name(const std::string& tier) {
  if (tier == "gpu") return "GPU memory";
  if (tier == "host") return "host memory";
  return tier == "ssd" ? "the SSD" : tier;
}

std::string verdict(const Result& r) {
  if (r.feasible()) return "yes";
  std::string tiers;
  for (const result::TierNeed& need : result::shortages_of(r))
    tiers += (tiers.empty() ? "" : ", ") + need.tier;
  const Infeasible& why = *r.infeasible;
  if (!tiers.empty()) return fmt::format("no: {}; first {} in {}", tiers, why.purpose, why.phase);
  return fmt::format("no: {}, {}, at first {} in {}", why.storage.empty() ? why.tier : why.storage,
                     why.purpose, missing(why), why.phase);
}

GpuUse gpu_use(const Result& r) {
  const nlohmann::json& scenario = r.scenario;
  const auto number = [&](const char* place) {
    const nlohmann::json::json_pointer at(place);
    const bool there = scenario.is_object() && scenario.contains(at);
    return there && scenario.at(at).is_number_integer() ? scenario.at(at).get<std::uint64_t>() : 0;
  };
  const GpuUse use{
      number("/parallel/data") * number("/parallel/tensor") * number("/parallel/pipeline"),
      number("/machine/nodes") * number("/machine/gpu/count")};
  return use.used == 0 || use.used > use.all ? GpuUse{} : use;
}

std::string reserves(const Result& r) {
  std::string text;
  if (r.gpu.reserve > 0) text = tier_bytes("gpu", r.gpu.reserve) + " of each GPU";
  if (r.host.reserve > 0)
    text += (text.empty() ? "" : " and ") + tier_bytes("host", r.host.reserve) + " of host memory";
  return text;
}

std::string headline(const Result& r) {
  if (!r.feasible()) return why_not(r);
  if (r.io_bench.is_object()) return io_bench(r.io_bench);
  std::string text = fmt::format(
      "Fits: {} per step, {} tokens/s, {} TFLOPS per GPU.",
      with_range(human_time(r.step_time_s), r, "step_time_s", human_time),
      with_range(human_number(r.tokens_per_s), r, "throughput.tokens_per_s", human_number),
      human_number(r.model_tflops_per_gpu));
  if (const std::string limit = result::limited_by(r); !limit.empty())
    return text + " It is limited by " + limit + ".";
  if (!r.next.empty()) return text + " Nothing alone limits it: no what-if makes it faster.";
  return text;
}

std::string scenario_title(const Result& r) {
  if (const std::string name = name_in(r.scenario, "name"); !name.empty()) return name;
  const std::string model = name_in(r.scenario, "model");
  const std::string machine = name_in(r.scenario, "machine");
  return model + (model.empty() || machine.empty() ? "" : " on ") + machine;
}

}  // namespace spillway::reports
