#include "reports/words/verdict.hpp"

#include "reports/result/needs.hpp"
#include "reports/result/what_if.hpp"
#include "reports/words/range.hpp"
#include "reports/words/wear_words.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <bit>

namespace spillway::reports {

using result::Infeasible;
using result::Result;
using view::Text;

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
Text missing(const Infeasible& why) {
  if (const std::uint64_t bytes = shortage(why); bytes > 0)
    return Text(tier_number(why.tier, bytes)) + " short";
  if (const std::uint64_t block = rounded_up(why))
    return Text(tier_number(why.tier, block - why.free_bytes)) +
           " short once rounded to a power of two";
  return "no " + Text(tier_number(why.tier, why.asked_bytes)) + " in one piece";
}

/// "host memory needs 113.1 GiB and has 64.0 GiB, what stays free for the system included".
Text needs(const result::TierNeed& need) {
  return tier_name(need.tier) + " needs " + tier_number(need.tier, need.needed) + " and has " +
         tier_number(need.tier, need.capacity) +
         (need.reserve > 0 ? ", what stays free for the system included" : "");
}

/// What is needed in all; where the tiers are large enough as a whole, the request that failed.
Text why_not(const Result& r) {
  const Infeasible& why = *r.infeasible;
  const auto shortages = result::shortages_of(r);
  Text text = "Does not fit: ";
  for (const result::TierNeed& need : shortages)
    text += (&need == &shortages.front() ? Text() : Text("; ")) + needs(need);
  if (!shortages.empty()) return text + ".";
  const std::string where = why.storage.empty() ? tier_name(why.tier) : why.storage;
  return text + where + " has no room for " + why.purpose + " of rank " +
         view::plain(static_cast<double>(why.rank)) + " in " + why.phase + ", at first " +
         missing(why) + ".";
}

/// The request that failed first.
Text first_refused(const Result& r) {
  const Infeasible& why = *r.infeasible;
  const view::Number asked = tier_number(why.tier, why.asked_bytes);
  const view::Number free = tier_number(why.tier, why.free_bytes);
  if (!result::shortages_of(r).empty())
    return "The first that finds no room is " + Text(why.purpose) + " of rank " +
           view::plain(static_cast<double>(why.rank)) + " in " + why.phase + ", " + missing(why) +
           ": it asks for " + asked + " where " + free + " are free.";
  Text text = "It asks for " + Text(asked);
  if (const std::uint64_t block = rounded_up(why); block > 0)
    text += " and takes " + Text(tier_number(why.tier, block));
  text += " where " + Text(free);
  if (why.capacity_bytes > 0) text += " of " + Text(tier_number(why.tier, why.capacity_bytes));
  return text + " are free.";
}

/// "6.50 GB/s (4.00 GB/s read, 2.50 GB/s written), 85.0 us per request."
Text io_bench(const nlohmann::json& bench) {
  const double read = bench.value("read_bytes_per_s", 0.0);
  const double written = bench.value("write_bytes_per_s", 0.0);
  Text text = view::rate(bench.value("rate_bytes_per_s", 0.0));
  if (read > 0 && written > 0)
    text += " (" + Text(view::rate(read)) + " read, " + view::rate(written) + " written)";
  return text + ", " + view::seconds(bench.value("latency_s", 0.0)) + " per request.";
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
  return view::words(tier_number(tier, bytes));
}

view::Number tier_number(const std::string& tier, std::uint64_t bytes) {
  if (tier == "gpu" || tier == "host") return view::memory(bytes);
  return view::bytes(static_cast<double>(bytes));
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
                     why.purpose, words(missing(why)), why.phase);
}

GpuUse gpu_use(const Result& r) {
  const nlohmann::json& scenario = r.scenario;
  const auto number = [&](const char* place) {
    const nlohmann::json::json_pointer at(place);
    const bool there = scenario.is_object() && scenario.contains(at);
    return there && scenario.at(at).is_number_integer() ? scenario.at(at).get<std::uint64_t>() : 0;
  };
  const GpuUse use{number("/parallel/data") *
                       std::max<std::uint64_t>(number("/parallel/context"), 1) *
                       number("/parallel/tensor") * number("/parallel/pipeline"),
                   number("/machine/nodes") * number("/machine/gpu/count")};
  return use.used == 0 || use.used > use.all ? GpuUse{} : use;
}

view::Text lateness_words(const Result& r) {
  if (!r.staleness || r.staleness->max == 0) return {};
  const auto& [mean, max] = static_cast<const result::Lateness&>(*r.staleness);
  Text text = Text(view::number(mean, view::Quantity::figure)) + (mean == 1 ? " step" : " steps");
  if (mean != static_cast<double>(max)) text += ", " + Text(view::count(max)) + " at most";
  return text;
}

std::string reserves(const Result& r) {
  std::string text;
  if (r.gpu.reserve > 0) text = tier_bytes("gpu", r.gpu.reserve) + " of each GPU";
  if (r.host.reserve > 0)
    text += (text.empty() ? "" : " and ") + tier_bytes("host", r.host.reserve) + " of host memory";
  return text;
}

view::Text verdict_sentence(const Result& r) {
  if (!r.feasible()) return why_not(r);
  if (r.io_bench.is_object()) return io_bench(r.io_bench);
  return "Fits: " + with_range(view::seconds(r.step_time_s), r, "step_time_s") + " per step, " +
         with_range(view::number(r.tokens_per_s), r, "throughput.tokens_per_s") + " tokens/s, " +
         view::number(r.model_tflops_per_gpu) + " TFLOPS per GPU.";
}

view::Text limit_sentence(const Result& r) {
  if (!r.feasible()) return first_refused(r);
  if (r.io_bench.is_object()) return {};
  if (const std::string limit = result::limited_by(r); !limit.empty())
    return "It is limited by " + limit + ".";
  if (!r.next.empty()) return "Nothing alone limits it: no what-if makes it faster.";
  return {};
}

view::Text headline_text(const Result& r) {
  const Text limit = limit_sentence(r);
  return limit.empty() ? verdict_sentence(r) : verdict_sentence(r) + " " + limit;
}

std::string headline(const Result& r) { return words(headline_text(r)); }

std::string scenario_title(const Result& r) {
  if (const std::string name = name_in(r.scenario, "name"); !name.empty()) return name;
  const std::string model = name_in(r.scenario, "model");
  const std::string machine = name_in(r.scenario, "machine");
  return model + (model.empty() || machine.empty() ? "" : " on ") + machine;
}

}  // namespace spillway::reports
