#include "reports/result/result.hpp"

#include "reports/result/what_if.hpp"
#include "scenarios/description/errors.hpp"

#include <cmath>

namespace spillway::result {

using nlohmann::json;

// These write and read each member under its own name; reading throws on a missing one.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Infeasible, tier, rank, purpose, phase, asked_bytes, free_bytes,
                                   capacity_bytes, storage)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PeakEntry, rank, purpose, count, asked_bytes, charged_bytes,
                                   pinned, phase, kept, setting)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PeakBytes, total, capacity, reserve, phase, by_purpose, entries)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NeededBytes, gpu, host, ssd)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StorageBytes, read, write)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(IoBytes, ssd_read, ssd_write, h2d, d2h, gpu_direct, network,
                                   by_storage, between_nodes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SlcCache, size_bytes, folded_write_bytes_per_s,
                                   rated_write_bytes_per_s, written_bytes_per_step)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StatePath, subgroups, estimate_bytes_per_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OptimizerStates, subgroups, cache_hits, paths)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Checkpoint, bytes, prestaged_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Lateness, mean, max)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Staleness, mean, max, blocks)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Utilization, gpu, h2d, d2h, cpu, storage, network)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Stalls, gpu_waits_for_ssd, gpu_waits_for_host,
                                   gpu_waits_for_update)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PhaseBusy, gpu, gpu_recompute, h2d, d2h, ssd, cpu, network)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PhaseBytes, ssd_read, ssd_write, h2d, d2h, gpu_direct_read,
                                   gpu_direct_write)

namespace {
json number_or_null(const std::optional<double>& number) { return number ? json(*number) : json(); }

std::optional<double> optional_number(const json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}
}  // namespace

void to_json(json& out, const Wear& wear) {
  out = {{"write_bytes_per_day", wear.write_bytes_per_day},
         {"waf", wear.waf},
         {"rated_write_bytes", wear.rated_write_bytes},
         {"lifetime_years", number_or_null(wear.lifetime_years)},
         {"storage", wear.storage},
         {"write_bytes_per_step", wear.write_bytes_per_step},
         {"drives", wear.drives},
         {"write_bytes_per_day_per_drive", wear.write_bytes_per_day_per_drive},
         {"drive_writes_per_day", wear.drive_writes_per_day},
         {"rated_drive_writes_per_day", number_or_null(wear.rated_drive_writes_per_day)},
         {"lifetime_write_bytes", number_or_null(wear.lifetime_write_bytes)},
         {"usd_per_million_tokens", number_or_null(wear.usd_per_million_tokens)},
         {"warranty_years", number_or_null(wear.warranty_years)},
         {"warranty_limit_years", number_or_null(wear.warranty_limit_years)},
         {"filled", wear.filled}};
}

void from_json(const json& in, Wear& wear) {
  in.at("write_bytes_per_day").get_to(wear.write_bytes_per_day);
  in.at("waf").get_to(wear.waf);
  in.at("rated_write_bytes").get_to(wear.rated_write_bytes);
  wear.lifetime_years = optional_number(in.at("lifetime_years"));
  in.at("storage").get_to(wear.storage);
  in.at("write_bytes_per_step").get_to(wear.write_bytes_per_step);
  in.at("drives").get_to(wear.drives);
  in.at("write_bytes_per_day_per_drive").get_to(wear.write_bytes_per_day_per_drive);
  in.at("drive_writes_per_day").get_to(wear.drive_writes_per_day);
  wear.rated_drive_writes_per_day = optional_number(in.at("rated_drive_writes_per_day"));
  wear.lifetime_write_bytes = optional_number(in.at("lifetime_write_bytes"));
  wear.usd_per_million_tokens = optional_number(in.at("usd_per_million_tokens"));
  if (!in.contains("warranty_years")) return;  // a result from before they were there
  wear.warranty_years = optional_number(in.at("warranty_years"));
  wear.warranty_limit_years = optional_number(in.at("warranty_limit_years"));
  in.at("filled").get_to(wear.filled);
}

void to_json(json& out, const WhatIf& what_if) {
  out = {{"step_time_s", number_or_null(what_if.step_time_s)}};
  if (!what_if.why.empty()) out["why"] = what_if.why;
}

void from_json(const json& in, WhatIf& what_if) {
  what_if.step_time_s = optional_number(in.at("step_time_s"));
  what_if.why = in.value("why", "");
}

namespace {
void ensure_finite(const json& value, const std::string& key) {
  if (value.is_number_float())
    ENSURE(std::isfinite(value.get<double>()), "result: " + key + " is not a finite number");
  if (value.is_structured())
    for (const auto& [name, child] : value.items()) ensure_finite(child, name);
}

/// `limited_by` where what-ifs were tried; null: nothing alone limits the step.
json bottleneck(const Result& r) {
  json all = {{"resource", r.bottleneck}, {"next", r.next}};
  if (!r.feasible() || r.next.empty()) return all;
  const std::string limit = limited_by(r);
  all["limited_by"] = limit.empty() ? json() : json(limit);
  return all;
}

json times(const Result& r) {
  return {{"step_time_s", r.step_time_s},
          {"phases",
           {{"forward_s", r.forward_s},
            {"backward_s", r.backward_s},
            {"update_s", r.update_s},
            {"overflow_check_s", r.overflow_check_s}}},
          {"throughput",
           {{"tokens_per_s", r.tokens_per_s},
            {"samples_per_s", r.samples_per_s},
            {"model_tflops_per_gpu", r.model_tflops_per_gpu}}},
          {"phase_busy_s", r.phase_busy},
          {"phase_bytes", r.phase_bytes},
          {"utilization", r.utilization},
          {"stall_s", r.stalls},
          {"bottleneck", bottleneck(r)},
          {"steady", r.steady},
          {"step_spread", r.step_spread},
          {"operations", r.operations},
          {"wall", {{"simulated_in_s", r.simulated_in_s}, {"planned_in_s", r.planned_in_s}}}};
}

void read_times(const json& in, Result& r) {
  in.at("step_time_s").get_to(r.step_time_s);
  const json& phases = in.at("phases");
  phases.at("forward_s").get_to(r.forward_s);
  phases.at("backward_s").get_to(r.backward_s);
  phases.at("update_s").get_to(r.update_s);
  phases.at("overflow_check_s").get_to(r.overflow_check_s);
  const json& throughput = in.at("throughput");
  throughput.at("tokens_per_s").get_to(r.tokens_per_s);
  throughput.at("samples_per_s").get_to(r.samples_per_s);
  throughput.at("model_tflops_per_gpu").get_to(r.model_tflops_per_gpu);
  in.at("phase_busy_s").get_to(r.phase_busy);
  in.at("phase_bytes").get_to(r.phase_bytes);
  in.at("utilization").get_to(r.utilization);
  in.at("stall_s").get_to(r.stalls);
  in.at("bottleneck").at("resource").get_to(r.bottleneck);
  in.at("bottleneck").at("next").get_to(r.next);
  in.at("steady").get_to(r.steady);
  in.at("step_spread").get_to(r.step_spread);
  in.at("operations").get_to(r.operations);
  in.at("wall").at("simulated_in_s").get_to(r.simulated_in_s);
  in.at("wall").at("planned_in_s").get_to(r.planned_in_s);
}

void check_schema(const json& in) {
  const std::string found = in.at("schema").get<std::string>();
  if (found != schema_name)
    throw json::other_error::create(
        501, "a result of schema \"" + found + "\"; this program reads " + schema_name, &in);
}
}  // namespace

void to_json(json& out, const Result& r) {
  // Not in `out`: a constructor of json calls this, and would leak what is in it on a throw.
  json all = times(r);
  all["peak_bytes"] = {{"gpu", r.gpu}, {"host", r.host}, {"ssd", r.ssd}, {"remote", r.remote}};
  all["needed_bytes"] = r.needed ? json(*r.needed) : json();
  all["io_bytes_per_step"] = r.io;
  all["wear"] = r.wear ? json(*r.wear) : json();
  if (r.price_usd) all["price_usd"] = *r.price_usd;
  if (r.optimizer_states) all["optimizer_states"] = *r.optimizer_states;
  if (r.checkpoint) all["checkpoint"] = *r.checkpoint;
  if (r.staleness) all["staleness"] = *r.staleness;
  if (r.near_storage) all["near_storage"] = *r.near_storage;
  if (!r.slc_caches.empty()) all["slc_caches"] = r.slc_caches;
  if (!r.plan.is_null()) all["plan"] = r.plan;
  if (!r.io_bench.is_null()) all["io_bench"] = r.io_bench;
  if (r.runs_with) all["runs_with"] = *r.runs_with;
  if (r.run) all["run"] = *r.run;
  if (!r.range.empty()) all["range"] = r.range;
  ensure_finite(all, "result");
  all["schema"] = schema_name;
  all["backend"] = r.backend;
  all["scenario"] = r.scenario;
  all["system"] = r.system;
  all["feasible"] = r.feasible();
  all["infeasible"] = r.infeasible ? json(*r.infeasible) : json();
  all["notes"] = r.notes;
  out = std::move(all);
}

void from_json(const json& in, Result& r) {
  check_schema(in);
  r = Result{};
  in.at("backend").get_to(r.backend);
  r.scenario = in.at("scenario");
  in.at("system").get_to(r.system);
  if (const json& why = in.at("infeasible"); !why.is_null()) r.infeasible = why.get<Infeasible>();
  read_times(in, r);
  in.at("peak_bytes").at("gpu").get_to(r.gpu);
  in.at("peak_bytes").at("host").get_to(r.host);
  in.at("peak_bytes").at("ssd").get_to(r.ssd);
  in.at("peak_bytes").at("remote").get_to(r.remote);
  if (const json& needed = in.at("needed_bytes"); !needed.is_null())
    r.needed = needed.get<NeededBytes>();
  in.at("io_bytes_per_step").get_to(r.io);
  if (const json& wear = in.at("wear"); !wear.is_null()) r.wear = wear.get<Wear>();
  if (in.contains("price_usd")) r.price_usd = in.at("price_usd").get<double>();
  if (in.contains("optimizer_states"))
    r.optimizer_states = in.at("optimizer_states").get<OptimizerStates>();
  if (in.contains("checkpoint")) r.checkpoint = in.at("checkpoint").get<Checkpoint>();
  if (in.contains("staleness")) r.staleness = in.at("staleness").get<Staleness>();
  if (in.contains("near_storage")) r.near_storage = in.at("near_storage").get<StorageBytes>();
  if (in.contains("slc_caches")) in.at("slc_caches").get_to(r.slc_caches);
  r.plan = in.value("plan", json());
  r.io_bench = in.value("io_bench", json());
  in.at("notes").get_to(r.notes);
  if (in.contains("runs_with")) r.runs_with = in.at("runs_with").get<RunsWith>();
  if (in.contains("run")) r.run = in.at("run").get<FinishedRun>();
  if (in.contains("range")) in.at("range").get_to(r.range);
}

}  // namespace spillway::result
