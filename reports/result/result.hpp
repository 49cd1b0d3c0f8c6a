#pragma once

#include "reports/result/finished_run.hpp"
#include "reports/result/purpose.hpp"
#include "reports/result/trace.hpp"
#include "reports/text/text.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace spillway::result {

/// The first request that its tier could not give.
struct Infeasible {
  std::string tier;  ///< gpu host ssd remote
  std::uint64_t rank = 0;
  std::string purpose;
  std::string phase;
  std::uint64_t asked_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::uint64_t capacity_bytes = 0;  ///< of the tier, without its reserve
  std::string storage = {};          ///< of ssd and remote: the one that is full
};

/// Buffers of one size that were alive at a tier's peak.
struct PeakEntry {
  std::uint64_t rank = 0;
  std::string purpose;
  std::uint64_t count = 0;
  std::uint64_t asked_bytes = 0;    ///< of one
  std::uint64_t charged_bytes = 0;  ///< of one, after rounding
  bool pinned = false;
  std::string phase = {};    ///< in which they were born; "" unknown
  bool kept = false;         ///< in no use, but a caching allocator does not give them back
  std::string setting = {};  ///< what decides how large they are: see control.hpp
};

/// The fullest instant of a tier. Of a run that does not fit: as it would be if nothing refused
/// (see NeededBytes); all 0 where nobody asked for that, never what was held when the run failed.
struct PeakBytes {
  std::uint64_t total = 0;
  std::uint64_t capacity = 0;  ///< reserve included; 0: unlimited
  std::string phase;
  std::map<std::string, std::uint64_t>
      by_purpose;  ///< asked bytes; rounding has a purpose of its own
  std::vector<PeakEntry> entries;
  std::uint64_t reserve = 0;  ///< of the capacity, left to the system
};

/// What each tier must have so that this configuration runs on this machine; reserves included.
///   gpu   of the rank that needs most        host  of one node
///   ssd   all drives together; memory of other storage (remote) is not counted
/// Where the run fits: its peaks, less what was filled because there was room (swap buffers beyond
/// the least of an automatic `optimizer.buffers`, chunks of an automatic cache, what a plan keeps
/// in host memory although drives are among its destinations).
/// Where it does not: parts and plans are those of the machine as it is, who waits for room still
/// waits, and a tier grows by what a request lacks whenever nothing else can go on. So a demand
/// that no plan decides is exact: with as much it fits, with less it does not.
struct NeededBytes {
  std::uint64_t gpu = 0, host = 0, ssd = 0;
};

struct StorageBytes {
  std::uint64_t read = 0, write = 0;
};

/// The same of one of several nodes, and what was laid on the storage before the first step.
struct NodeStorage {
  std::uint64_t read = 0, write = 0, placed = 0;
};

/// One of the nodes that are simulated because they hold different stages of a pipeline.
struct NodeUse {
  std::uint64_t first_stage = 0, last_stage = 0;  ///< that it holds, or one of which it is a part
  std::uint64_t nodes = 1;                        ///< that are like it, itself among them
  std::uint64_t host_peak_bytes = 0, ssd_peak_bytes = 0;
  std::map<std::string, NodeStorage> storage;  ///< in a step, by name
};

struct IoBytes {
  std::uint64_t ssd_read = 0, ssd_write = 0, h2d = 0, d2h = 0, gpu_direct = 0;
  std::uint64_t network = 0;  ///< what the node's GPUs send to other GPUs, wherever those are
  std::map<std::string, StorageBytes> by_storage;
  std::uint64_t between_nodes = 0;  ///< of `network`, to GPUs of other nodes
};

/// Of one storage, all its drives together unless it says otherwise.
struct Wear {
  double write_bytes_per_day = 0;
  double waf = 1;  ///< bytes that flash takes for each that the run writes
  double rated_write_bytes = 0;
  std::optional<double> lifetime_years;  ///< absent: nothing is written, or the drive has no rating
  std::string storage;                   ///< the one that wears out first
  double write_bytes_per_step = 0;
  std::uint64_t drives = 1;
  double write_bytes_per_day_per_drive = 0;
  double drive_writes_per_day = 0;                     ///< capacities written a day
  std::optional<double> rated_drive_writes_per_day{};  ///< absent: no warranty is known
  /// What the run may write until the first of the drives is worn out, by their rating in its own
  /// terms of write amplification and retention; absent: no rating.
  std::optional<double> lifetime_write_bytes{};
  /// What all drives of the run lose in value; absent: no price, no rating, or nothing written.
  std::optional<double> usd_per_million_tokens{};
  /// Until the maker's rating is written, counted in bytes of the host as the warranty counts them.
  std::optional<double> warranty_years{};
  std::optional<double> warranty_limit_years{};  ///< the warranty ends after so long in any case
  double filled = 0;  ///< share of a drive that holds data, at most, of the run and of others
  /// What the host wrote before this run, to all drives and to the most worn one, which ends first.
  double written_before_bytes = 0, most_worn_bytes = 0;
  /// The rating is what the drives' own log says that they stand, and no maker's.
  bool rated_by_use = false;
  /// The node whose drives these are, in Result::nodes; absent: all are alike, or share them.
  std::optional<std::uint64_t> node{};

  /// Until the maker's warranty ends: its bytes are written, or its years are over.
  std::optional<double> warranty_ends_years() const {
    if (!warranty_years || !warranty_limit_years) return warranty_years;
    return std::min(*warranty_years, *warranty_limit_years);
  }
};

/// A storage whose drives write fast into a part of their flash until that is full.
struct SlcCache {
  double size_bytes = 0;                ///< all drives together
  double folded_write_bytes_per_s = 0;  ///< once it is full, all drives together
  double rated_write_bytes_per_s = 0;   ///< before
  double written_bytes_per_step = 0;
};

/// One storage of several that share the optimizer states.
struct StatePath {
  std::uint64_t subgroups = 0;      ///< that lie on it at the end of a step, all ranks
  double estimate_bytes_per_s = 0;  ///< what shares are computed with, mean over ranks
};

/// Where a CPU optimizer's states are, in the last step, all ranks of a node.
struct OptimizerStates {
  std::uint64_t subgroups = 0;
  std::uint64_t cache_hits = 0;  ///< sub-groups that were still in host memory
  std::map<std::string, StatePath> paths;
};

/// What a checkpoint of weights and optimizer states would write, one node.
struct Checkpoint {
  std::uint64_t bytes = 0;            ///< of the whole
  std::uint64_t prestaged_bytes = 0;  ///< lie on storage that outlives the node already
};

/// How late updates come, in steps.
struct Lateness {
  double mean = 0;
  std::uint64_t max = 0;
};

/// Of the measured steps. 0: every step computes with all updates before it; else steps from one
/// update of a sub-group's weights that kernels see to the next, so that 1 is an update a step
/// late.
struct Staleness : Lateness {
  std::vector<Lateness> blocks;  ///< by sub-group, of all ranks
};

struct Utilization {
  double gpu = 0, h2d = 0, d2h = 0, cpu = 0;
  std::map<std::string, double> storage;
  double network = 0;  ///< time with a collective between nodes; mean over the GPUs
};

struct Stalls {
  double gpu_waits_for_ssd = 0, gpu_waits_for_host = 0, gpu_waits_for_update = 0;
  double gpu_waits_for_gpus = 0;      ///< for transfers between GPUs, or other ranks that compute
  double gpu_waits_for_launches = 0;  ///< the thread of the host that launches kernels is behind
};

struct WhatIf {
  std::optional<double> step_time_s;  ///< absent: infeasible
  text::Text why{};  ///< of what changes nothing, or what the board does not take: what stands
                     ///< against it
};

/// Seconds a resource works in one phase of a steady step, and bytes started in it.
struct PhaseBusy {
  double gpu = 0, gpu_recompute = 0, h2d = 0, d2h = 0, ssd = 0, cpu = 0;
  double network = 0;   ///< as in Utilization
  double launches = 0;  ///< a GPU waits for the thread that launches its kernels; not in `gpu`
  /// A GPU exchanges something with others, of its node or of another, or waits for others that
  /// compute, as a stage of a pipeline does.
  double other_gpus = 0;
};
struct PhaseBytes {
  std::uint64_t ssd_read = 0, ssd_write = 0, h2d = 0, d2h = 0, gpu_direct_read = 0,
                gpu_direct_write = 0;
};

/// The answer to one scenario (FORMATS, "Result"): means over the measured, steady steps of one
/// node. Where nodes differ, as those of a pipeline's stages do, traffic and busy times are the
/// mean of them, memory that of the node that needs most, and wear that of the drives that end
/// first.
struct Result {
  std::string backend;  ///< counting sim real
  nlohmann::json scenario;
  std::string system;
  std::optional<Infeasible> infeasible;
  double step_time_s = 0;
  double forward_s = 0, backward_s = 0, update_s = 0, overflow_check_s = 0;
  double tokens_per_s = 0, samples_per_s = 0, model_tflops_per_gpu = 0;
  PeakBytes gpu, host, ssd;
  PeakBytes remote;  ///< storage that is no drive of the machine
  /// Absent: not asked for, as in a search, or of an I/O bench.
  std::optional<NeededBytes> needed;
  IoBytes io;
  std::vector<NodeUse> nodes;  ///< by number, of those that differ; empty: one stands for all
  std::optional<Wear> wear;
  std::map<std::string, SlcCache> slc_caches;  ///< by storage, of those that were written
  /// Weights and states that were laid on each storage before the first step, once, of one node.
  std::map<std::string, std::uint64_t> placed;
  Utilization utilization;
  Stalls stalls;
  std::string bottleneck;
  std::map<std::string, WhatIf> next;
  std::map<std::string, PhaseBusy> phase_busy;
  std::map<std::string, PhaseBytes> phase_bytes;
  std::optional<double> price_usd;
  /// Of what `price_usd` holds more than a year before the answer, with that day: "gpu" ->
  /// "2024-03-11"; empty: nobody asked, or nothing does.
  std::map<std::string, std::string> old_prices;
  std::optional<OptimizerStates> optimizer_states;  ///< absent: not on storage
  std::optional<Checkpoint> checkpoint;             ///< absent: not on storage
  std::optional<Staleness> staleness;               ///< absent: the system delays no update
  /// Moved inside the drives by near-storage processing, not among `io`; absent: there is none.
  std::optional<StorageBytes> near_storage;
  nlohmann::json plan;  ///< what a planner decided, an object; null: the system plans nothing
  /// What was decided before the run, from which it can be repeated (strategies/decide); null:
  /// nobody asked.
  nlohmann::json decision{};
  nlohmann::json io_bench;  ///< answer of a `run.io_bench` scenario, an object; null: not one
  bool steady = true;
  double step_spread = 0;        ///< (longest - shortest) / mean of the measured steps
  std::uint64_t operations = 0;  ///< of one steady step, all ranks
  std::vector<text::Text> notes;
  std::optional<RunsWith> runs_with;  ///< absent: nobody asked
  std::optional<FinishedRun> run;     ///< absent: no `run.tokens`, or it does not fit
  /// Headline numbers, by path in this JSON: from the least to the most that inputs nobody states
  /// leave open; empty: nobody asked.
  std::map<std::string, std::pair<double, double>> range;
  double simulated_in_s = 0, planned_in_s = 0;

  bool feasible() const { return !infeasible; }
};

/// `schema` of the JSON below; changes when a name in it changes its meaning.
inline constexpr const char* schema_name = "spillway/result/1";

/// Every name is always there, but `price_usd`, `old_price_days`, `optimizer_states`, `checkpoint`,
/// `staleness`, `near_storage`, `slc_caches`, `placed_bytes`, `nodes`, `plan`, `decision`,
/// `io_bench`, `runs_with`, `run` and `range`, which need a reason to be. What has no value is
/// null: `infeasible`, `needed_bytes`, `wear`, its `lifetime_years`, a what-if's step time.
///   Throws  InternalError when a number is not finite: JSON cannot carry it
void to_json(nlohmann::json& json, const Result& result);
/// Reads what to_json writes; names it does not know are skipped, what is missing has its default.
///   Throws  ScenarioError on another schema, and with the path of a value of the wrong type
void from_json(const nlohmann::json& json, Result& result);

}  // namespace spillway::result
