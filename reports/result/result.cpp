#include "reports/result/result.hpp"

#include "reports/result/reading.hpp"
#include "reports/result/what_if.hpp"
#include "scenarios/description/errors.hpp"

#include <cmath>

namespace spillway::result {

using nlohmann::json;

SPILLWAY_MEMBERS(Infeasible, tier, rank, purpose, phase, asked_bytes, free_bytes, capacity_bytes,
                 storage)
SPILLWAY_MEMBERS(PeakEntry, rank, purpose, count, asked_bytes, charged_bytes, pinned, phase, kept,
                 setting)
SPILLWAY_MEMBERS(PeakBytes, total, capacity, reserve, phase, by_purpose, entries)
SPILLWAY_MEMBERS(NeededBytes, gpu, host, ssd)
SPILLWAY_MEMBERS(StorageBytes, read, write)
SPILLWAY_MEMBERS(NodeStorage, read, write, placed)
SPILLWAY_MEMBERS(NodeUse, first_stage, last_stage, nodes, host_peak_bytes, ssd_peak_bytes, storage)
SPILLWAY_MEMBERS(IoBytes, ssd_read, ssd_write, h2d, d2h, gpu_direct, network, by_storage,
                 between_nodes)
SPILLWAY_MEMBERS(SlcCache, size_bytes, folded_write_bytes_per_s, rated_write_bytes_per_s,
                 written_bytes_per_step)
SPILLWAY_MEMBERS(StatePath, subgroups, estimate_bytes_per_s)
SPILLWAY_MEMBERS(OptimizerStates, subgroups, cache_hits, paths)
SPILLWAY_MEMBERS(Checkpoint, bytes, prestaged_bytes)
SPILLWAY_MEMBERS(Lateness, mean, max)
SPILLWAY_MEMBERS(Staleness, mean, max, blocks)
SPILLWAY_MEMBERS(Utilization, gpu, h2d, d2h, cpu, storage, network)
SPILLWAY_MEMBERS(Stalls, gpu_waits_for_ssd, gpu_waits_for_host, gpu_waits_for_update,
                 gpu_waits_for_gpus, gpu_waits_for_launches)
SPILLWAY_MEMBERS(PhaseBusy, gpu, gpu_recompute, h2d, d2h, ssd, cpu, network, launches, other_gpus)
SPILLWAY_MEMBERS(PhaseBytes, ssd_read, ssd_write, h2d, d2h, gpu_direct_read, gpu_direct_write)

void to_json(json& out, const Wear& wear) {
  out = {{"write_bytes_per_day", wear.write_bytes_per_day},
         {"waf", wear.waf},
         {"rated_write_bytes", wear.rated_write_bytes},
         {"lifetime_years", or_null(wear.lifetime_years)},
         {"storage", wear.storage},
         {"write_bytes_per_step", wear.write_bytes_per_step},
         {"drives", wear.drives},
         {"write_bytes_per_day_per_drive", wear.write_bytes_per_day_per_drive},
         {"drive_writes_per_day", wear.drive_writes_per_day},
         {"rated_drive_writes_per_day", or_null(wear.rated_drive_writes_per_day)},
         {"lifetime_write_bytes", or_null(wear.lifetime_write_bytes)},
         {"usd_per_million_tokens", or_null(wear.usd_per_million_tokens)},
         {"warranty_years", or_null(wear.warranty_years)},
         {"warranty_limit_years", or_null(wear.warranty_limit_years)},
         {"filled", wear.filled},
         {"rated_by_use", wear.rated_by_use}};
  if (wear.node) out["node"] = *wear.node;
  if (wear.written_before_bytes == 0) return;  // the drives are new
  out["written_before_bytes"] = wear.written_before_bytes;
  out["most_worn_bytes"] = wear.most_worn_bytes;
}

void from_json(const json& in, Wear& wear) {
  wear = {};
  read(in, "write_bytes_per_day", wear.write_bytes_per_day);
  read(in, "waf", wear.waf);
  read(in, "rated_write_bytes", wear.rated_write_bytes);
  read(in, "lifetime_years", wear.lifetime_years);
  read(in, "storage", wear.storage);
  read(in, "write_bytes_per_step", wear.write_bytes_per_step);
  read(in, "drives", wear.drives);
  read(in, "write_bytes_per_day_per_drive", wear.write_bytes_per_day_per_drive);
  read(in, "drive_writes_per_day", wear.drive_writes_per_day);
  read(in, "rated_drive_writes_per_day", wear.rated_drive_writes_per_day);
  read(in, "lifetime_write_bytes", wear.lifetime_write_bytes);
  read(in, "usd_per_million_tokens", wear.usd_per_million_tokens);
  read(in, "warranty_years", wear.warranty_years);
  read(in, "warranty_limit_years", wear.warranty_limit_years);
  read(in, "filled", wear.filled);
  read(in, "rated_by_use", wear.rated_by_use);
  read(in, "node", wear.node);
  read(in, "written_before_bytes", wear.written_before_bytes);
  read(in, "most_worn_bytes", wear.most_worn_bytes);
}

void to_json(json& out, const WhatIf& what_if) {
  out = {{"step_time_s", or_null(what_if.step_time_s)}};
  if (!what_if.why.empty()) put(out, "why", what_if.why);
}

void from_json(const json& in, WhatIf& what_if) {
  what_if = {};
  read(in, "step_time_s", what_if.step_time_s);
  read(in, "why", what_if.why);
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
  read(in, "step_time_s", r.step_time_s);
  read_part(in, "phases", [&r](const json& phases) {
    read(phases, "forward_s", r.forward_s);
    read(phases, "backward_s", r.backward_s);
    read(phases, "update_s", r.update_s);
    read(phases, "overflow_check_s", r.overflow_check_s);
  });
  read_part(in, "throughput", [&r](const json& throughput) {
    read(throughput, "tokens_per_s", r.tokens_per_s);
    read(throughput, "samples_per_s", r.samples_per_s);
    read(throughput, "model_tflops_per_gpu", r.model_tflops_per_gpu);
  });
  read(in, "phase_busy_s", r.phase_busy);
  read(in, "phase_bytes", r.phase_bytes);
  read(in, "utilization", r.utilization);
  read(in, "stall_s", r.stalls);
  read_part(in, "bottleneck", [&r](const json& bottleneck) {
    read(bottleneck, "resource", r.bottleneck);
    read(bottleneck, "next", r.next);
  });
  read(in, "steady", r.steady);
  read(in, "step_spread", r.step_spread);
  read(in, "operations", r.operations);
  read_part(in, "wall", [&r](const json& wall) {
    read(wall, "simulated_in_s", r.simulated_in_s);
    read(wall, "planned_in_s", r.planned_in_s);
  });
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
  if (!r.old_prices.empty()) all["old_price_days"] = r.old_prices;
  if (r.optimizer_states) all["optimizer_states"] = *r.optimizer_states;
  if (r.checkpoint) all["checkpoint"] = *r.checkpoint;
  if (r.staleness) all["staleness"] = *r.staleness;
  if (r.near_storage) all["near_storage"] = *r.near_storage;
  if (!r.slc_caches.empty()) all["slc_caches"] = r.slc_caches;
  if (!r.placed.empty()) all["placed_bytes"] = r.placed;
  if (!r.nodes.empty()) all["nodes"] = r.nodes;
  if (!r.plan.is_null()) all["plan"] = r.plan;
  if (!r.io_bench.is_null()) all["io_bench"] = r.io_bench;
  if (r.runs_with) all["runs_with"] = *r.runs_with;
  if (r.run) all["run"] = *r.run;
  if (!r.range.empty()) all["range"] = r.range;
  put(all, "notes", r.notes);
  ensure_finite(all, "result");
  all["schema"] = schema_name;
  all["backend"] = r.backend;
  all["scenario"] = r.scenario;
  if (!r.decision.is_null()) all["decision"] = r.decision;
  all["system"] = r.system;
  all["feasible"] = r.feasible();
  all["infeasible"] = r.infeasible ? json(*r.infeasible) : json();
  out = std::move(all);
}

void from_json(const json& in, Result& r) {
  require_schema(in, "result");
  r = Result{};
  read(in, "backend", r.backend);
  read(in, "scenario", r.scenario);
  read(in, "system", r.system);
  read(in, "infeasible", r.infeasible);
  read_times(in, r);
  read_part(in, "peak_bytes", [&r](const json& peaks) {
    read(peaks, "gpu", r.gpu);
    read(peaks, "host", r.host);
    read(peaks, "ssd", r.ssd);
    read(peaks, "remote", r.remote);
  });
  read(in, "needed_bytes", r.needed);
  read(in, "io_bytes_per_step", r.io);
  read(in, "wear", r.wear);
  read(in, "price_usd", r.price_usd);
  read(in, "old_price_days", r.old_prices);
  read(in, "optimizer_states", r.optimizer_states);
  read(in, "checkpoint", r.checkpoint);
  read(in, "staleness", r.staleness);
  read(in, "near_storage", r.near_storage);
  read(in, "slc_caches", r.slc_caches);
  read(in, "placed_bytes", r.placed);
  read(in, "nodes", r.nodes);
  read(in, "plan", r.plan);
  read(in, "decision", r.decision);
  read(in, "io_bench", r.io_bench);
  read(in, "notes", r.notes);
  read(in, "runs_with", r.runs_with);
  read(in, "run", r.run);
  read(in, "range", r.range);
}

}  // namespace spillway::result
