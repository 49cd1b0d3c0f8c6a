#include "strategies/run/finished_run.hpp"

#include "models/program/formats.hpp"
#include "strategies/run/endurance.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace spillway::strategies {

using description::MachineFile;
using description::Scenario;
using result::FinishedRun;

namespace {

constexpr double hour_s = 3600, watt_seconds_per_kwh = 3.6e6;
constexpr double default_checkpoint_every_s = 3600;
constexpr double default_checkpoint_rate = 1e9;
constexpr double written_in_order = 1;  ///< write amplification of large writes, one after another

const description::StorageSpec* find_storage(const Scenario& scenario, const std::string& name) {
  for (const description::StorageSpec& storage : scenario.machine.storage)
    if (storage.name == name) return &storage;
  return nullptr;
}

/// Sets of a storage's drives.
double sets_of(const description::StorageSpec& storage, const Scenario& scenario) {
  return static_cast<double>(storage.sets(scenario.nodes_in_use()));
}

/// Nodes that write to one set of the storage's drives.
double users_of(const description::StorageSpec& storage, const Scenario& scenario) {
  return static_cast<double>(storage.sharers(scenario.nodes_in_use()));
}

/// Bytes a second that drives take of a node for long: a full SLC cache sets the pace.
double sustained_write(const Scenario& scenario) {
  double rate = 0;
  for (const description::StorageSpec& storage : scenario.machine.storage)
    rate += lasting_write(storage) / users_of(storage, scenario);
  return rate;
}

/// Seconds that a node needs for its part of `bytes`.
double checkpoint_seconds(const Scenario& scenario, double bytes) {
  const double ranks = static_cast<double>(scenario.node_ranks());
  const double each = scenario.run.checkpoint_rate ? scenario.run.checkpoint_rate->value()
                                                   : default_checkpoint_rate;
  const double drives = sustained_write(scenario);
  const double rate = drives > 0 ? std::min(drives, ranks * each) : ranks * each;
  return bytes / static_cast<double>(scenario.nodes_in_use()) / rate;
}

void add_checkpoints(const Scenario& scenario, double params, double training_s, FinishedRun& run) {
  const double every_s = scenario.run.checkpoint_every ? scenario.run.checkpoint_every->value()
                                                       : default_checkpoint_every_s;
  if (every_s <= 0) return;
  run.checkpoints.count = std::ceil(training_s / every_s);
  run.checkpoints.bytes = checkpoint_bytes(scenario.training, params);
  run.checkpoints.seconds = checkpoint_seconds(scenario, run.checkpoints.bytes);
}

void add_energy(const Scenario& scenario, const result::Result& result, double training_s,
                double all_s, FinishedRun& run) {
  const auto& power = scenario.machine.power;
  if (!power) return;
  const double nodes = static_cast<double>(scenario.nodes_in_use());
  const double cards = nodes * static_cast<double>(scenario.machine.gpu.count);
  // the mean over the cards of the nodes, those without a rank included
  const double busy = std::min(1.0, result.utilization.gpu) * training_s *
                      static_cast<double>(scenario.parallel.ranks()) / cards;
  double drives = 0;
  for (const description::StorageSpec& storage : scenario.machine.storage)
    if (storage.kind == description::StorageKind::ssd)
      drives += sets_of(storage, scenario) * static_cast<double>(storage.count);
  run.gpu_kwh =
      cards * (power->gpu * busy + power->gpu_waiting * (all_s - busy)) / watt_seconds_per_kwh;
  run.host_kwh = nodes * power->host * all_s / watt_seconds_per_kwh;
  run.ssd_kwh = drives * power->ssd * all_s / watt_seconds_per_kwh;
  run.kwh = *run.gpu_kwh + *run.host_kwh + *run.ssd_kwh;
}

/// Bytes of checkpoints on one set of drives. With several storages they go to the one that wears
/// less.
double checkpoints_of_set(const Scenario& scenario, const FinishedRun& run) {
  if (scenario.machine.storage.size() != 1) return 0;
  return run.checkpoints.count * run.checkpoints.bytes /
         sets_of(scenario.machine.storage.front(), scenario);
}

/// Weights and states that are laid on one set of the storage's drives before the first step.
double placed_on(const description::StorageSpec& storage, const Scenario& scenario,
                 const result::Result& result) {
  const auto placed = result.placed.find(storage.name);
  if (placed == result.placed.end()) return 0;
  return users_of(storage, scenario) * static_cast<double>(placed->second);
}

/// Bytes that a step writes to one set of the storage's drives.
double written_in_step(const description::StorageSpec& storage, const Scenario& scenario,
                       const result::Result& result) {
  if (storage.name == result.wear->storage) return result.wear->write_bytes_per_step;
  const auto moved = result.io.by_storage.find(storage.name);
  if (moved == result.io.by_storage.end()) return 0;
  return users_of(storage, scenario) * static_cast<double>(moved->second.write);
}

/// Bytes that the run writes to one set of the storage's drives: of nodes that differ to one of
/// each, in their order.
std::vector<double> written_to(const description::StorageSpec& storage, const Scenario& scenario,
                               const result::Result& result, const FinishedRun& run) {
  const double of_step = written_in_step(storage, scenario, result);
  const double checkpoints = checkpoints_of_set(scenario, run);
  if (result.nodes.empty() || storage.shared_by_nodes)
    return {of_step * run.steps + checkpoints + placed_on(storage, scenario, result)};
  const result::Wear& wear = *result.wear;
  double logs = 0;  // that wear counts besides, of each node as many
  if (wear.node && wear.storage == storage.name)
    logs =
        of_step - static_cast<double>(result.nodes.at(*wear.node).storage.at(storage.name).write);
  std::vector<double> sets;
  for (const result::NodeUse& node : result.nodes) {
    const result::NodeStorage& own = node.storage.at(storage.name);
    sets.push_back((static_cast<double>(own.write) + logs) * run.steps + checkpoints +
                   static_cast<double>(own.placed));
  }
  return sets;
}

/// Drives to buy beyond those of one set, on which a run writes `written` evenly: each drive is
/// replaced as often as its rating is written once more after what was on it before.
double more_drives(const description::StorageSpec& storage, double written) {
  constexpr double rounding = 1e-9;
  const auto rated = static_cast<double>(storage.endurance->rated.value());
  const double each = written / static_cast<double>(storage.count);
  double more = 0;
  for (const description::Bytes one : storage.written_before()) {
    // what was written beyond the rating asks for no second drive
    const double before = std::min(static_cast<double>(one.value()), rated);
    more += std::max(0.0, std::ceil((before + each) / rated * (1 - rounding)) - 1);
  }
  return more;
}

void add_replacements(const Scenario& scenario, const result::Result& result, FinishedRun& run) {
  const auto& prices = scenario.machine.prices_usd;
  double usd = 0;
  bool priced = prices.has_value();
  for (const description::StorageSpec& storage : scenario.machine.storage) {
    if (storage.kind != description::StorageKind::ssd || !storage.endurance) continue;
    if (storage.endurance->rated.value() == 0) continue;
    const std::vector<double> sets = written_to(storage, scenario, result, run);
    double more = 0;  // each stands for as many
    for (const double written : sets)
      more += more_drives(storage, written) * sets_of(storage, scenario) /
              static_cast<double>(sets.size());
    const double price = prices ? storage.price_usd.value_or(prices->ssd) : 0;
    priced = priced && (more == 0 || price > 0);
    run.drives->replaced += more;
    usd += more * price;
  }
  if (priced) run.usd.replacements = usd;
}

void add_drives(const Scenario& scenario, const result::Result& result, FinishedRun& run) {
  if (!result.wear) return;
  const result::Wear& wear = *result.wear;
  const description::StorageSpec* storage = find_storage(scenario, wear.storage);
  if (!storage) return;
  const std::vector<double> each = written_to(*storage, scenario, result, run);
  const double all = std::accumulate(each.begin(), each.end(), 0.0);
  const double written = each.size() > 1 && wear.node ? each.at(*wear.node) : each.front();
  if (written <= 0) return;
  const double sets = sets_of(*storage, scenario);
  result::RunDrives& drives = run.drives.emplace();
  drives.storage = wear.storage;
  drives.written_bytes = all * sets / static_cast<double>(each.size());
  drives.placed_bytes = placed_on(*storage, scenario, result) * sets;
  if (wear.rated_write_bytes > 0) drives.warranties = written / wear.rated_write_bytes;
  if (wear.lifetime_write_bytes && *wear.lifetime_write_bytes > 0)
    drives.used_up = written / *wear.lifetime_write_bytes;
  add_replacements(scenario, result, run);
}

/// What the drives lose in value by steps, by checkpoints, and by what is laid on them before;
/// absent: no price or no rating.
std::optional<double> value_lost(const Scenario& scenario, const result::Result& result,
                                 const FinishedRun& run) {
  const result::Wear& wear = *result.wear;
  double usd = 0;
  if (wear.write_bytes_per_step > 0) {
    if (!wear.usd_per_million_tokens) return std::nullopt;
    usd = *wear.usd_per_million_tokens * run.tokens / 1e6;
  }
  for (const description::StorageSpec& storage : scenario.machine.storage) {
    const bool wears_first = storage.name == wear.storage;
    const double beside = placed_on(storage, scenario, result) +
                          (wears_first ? checkpoints_of_set(scenario, run) : 0);
    if (beside <= 0) continue;
    const double price = storage.price_usd.value_or(scenario.machine.prices_usd->ssd);
    const std::optional<double> lifetime =
        lifetime_writes(storage, wears_first ? wear.waf : written_in_order);
    if (price <= 0 || !lifetime || *lifetime <= 0) return std::nullopt;
    usd += price * static_cast<double>(storage.count) * sets_of(storage, scenario) * beside /
           *lifetime;
  }
  return usd > 0 ? std::optional(usd) : std::nullopt;
}

void add_costs(const Scenario& scenario, const result::Result& result, double all_s,
               FinishedRun& run) {
  run.usd.box = result.price_usd;
  const auto& prices = scenario.machine.prices_usd;
  if (!prices) return;
  if (prices->kwh && run.kwh) run.usd.energy = *run.kwh * *prices->kwh;
  if (prices->gpu_hour)
    run.usd.rented = *prices->gpu_hour * all_s / hour_s *
                     static_cast<double>(scenario.nodes_in_use() * scenario.machine.gpu.count);
  if (result.wear) run.usd.drives = value_lost(scenario, result, run);
}

}  // namespace

double checkpoint_bytes(const description::Training& training, double params) {
  const models::WeightFormats formats = models::formats_of(training);
  const auto elements = static_cast<std::uint64_t>(params);
  std::uint64_t bytes = formats.weight.bytes(elements);
  if (formats.parameter != formats.weight) bytes += formats.parameter.bytes(elements);
  for (const models::StateFormat& state : formats.states)
    if (state.kind != models::StateKind::master) bytes += state.format.bytes(elements);
  return static_cast<double>(bytes);
}

void note_room_of_checkpoints(const Scenario& scenario, result::Result& result) {
  if (!result.run || result.run->checkpoints.count == 0 || scenario.machine.storage.size() != 1)
    return;
  const description::StorageSpec& storage = scenario.machine.storage.front();
  if (storage.kind != description::StorageKind::ssd || storage.capacity.value() == 0) return;
  const double one = result.run->checkpoints.bytes / sets_of(storage, scenario);
  const double room = static_cast<double>(storage.total_room().value());
  const double held = users_of(storage, scenario) * static_cast<double>(result.ssd.total);
  const double left = std::max(0.0, room - held);
  if (2 * one <= left) return;
  result.notes.push_back(text::filled(
      one <= left
          ? "{} has {} left beside what the run keeps there, and two checkpoints of {} do not fit, "
            "of which one is kept until the next is whole; keep them elsewhere, or have more room"
          : "{} has {} left beside what the run keeps there, and a checkpoint takes {}; keep them "
            "elsewhere, or have more room (run.checkpoint_every 0 s counts none)",
      {storage.name, text::bytes(left), text::bytes(one)}));
}

std::optional<FinishedRun> finished_run(const Scenario& scenario, const result::Result& result,
                                        double params) {
  if (!scenario.run.tokens || scenario.run.io_bench || !result.feasible() ||
      result.step_time_s <= 0)
    return std::nullopt;
  const double a_step = result.tokens_per_s * result.step_time_s;
  FinishedRun run;
  run.tokens = *scenario.run.tokens;
  constexpr double rounding = 1e-9;  // of tokens/s times seconds
  run.steps = std::ceil(run.tokens / a_step * (1 - rounding));
  const double training_s = run.steps * result.step_time_s;
  add_checkpoints(scenario, params, training_s, run);
  const double all_s = training_s + run.checkpoints.count * run.checkpoints.seconds;
  run.days = all_s / (24 * hour_s);
  add_energy(scenario, result, training_s, all_s, run);
  add_drives(scenario, result, run);
  add_costs(scenario, result, all_s, run);
  return run;
}

}  // namespace spillway::strategies
