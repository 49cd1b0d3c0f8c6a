#include "answers/server/validation_plan.hpp"

#include "answers/server/preflight.hpp"
#include "explore/trials/duration.hpp"
#include "hw_backend/device/interrupt.hpp"
#include "hw_backend/machine/real_run.hpp"
#include "hw_backend/probe/probe.hpp"
#include "hw_backend/raw_device/root_rights.hpp"
#include "hw_backend/storage/store_directory.hpp"
#include "reports/words/human.hpp"
#include "scenarios/document/read_machine.hpp"
#include "strategies/decide/automatic.hpp"
#include "strategies/decide/decide.hpp"
#include "strategies/run/counting_probe.hpp"
#include "strategies/run/numerics.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <optional>

namespace spillway::answers {

using description::refuse;

namespace {

using description::Complaint;
using description::IoEngine;
using description::MachineFile;
using description::Scenario;
using description::ScenarioError;

/// The scenario's storages and ranks, whatever its own machine and system can do.
Scenario outline(const ValidateQuestion& question) {
  std::vector<std::string> overrides = question.overrides;
  for (const char* other :
       {"machine.nodes=1", "machine.gpu.count=1024", "machine.host.slots.card=10000",
        "machine.host.lanes=0", "strategy={\"system\": \"resident\"}"})
    overrides.push_back(other);
  return scenarios::read_scenario(std::filesystem::path(question.scenario), overrides,
                                  explore::known_systems())
      .scenario;
}

/// `server` as the scenario needs it: a GPU a rank, reads into GPU memory where the host's memory
/// stands for it, and drives that compute where it updates inside them.
MachineFile for_ranks(MachineFile server, const Scenario& outline, bool gpudirect, bool computes) {
  server.nodes = 1;
  server.gpu.count = outline.parallel.ranks();
  server.gpu.gpudirect = gpudirect;
  // ranks of a run share one team here
  server.host.team_rates.clear();
  std::erase_if(server.sources,
                [](const auto& source) { return source.first.starts_with("host.team_rates."); });
  if (!computes) return server;
  // a thread stands for the processor in a drive, and goes the drive's own way
  const double threads = static_cast<double>(std::max<std::uint64_t>(1, server.host.cores));
  const description::ParamsPerSecond adam(server.host.adam.value() / threads);
  for (description::StorageSpec& storage : server.storage)
    storage.near_storage = {storage.read, storage.write, adam, description::Seconds(0)};
  return server;
}

/// The resolved scenario on that machine.
///   warn  hears its warnings
Scenario on_machine(const ValidateQuestion& question, const MachineFile& machine,
                    const std::function<void(const std::string&)>& warn = {}) {
  std::vector<std::string> overrides = question.overrides;
  overrides.push_back("machine=" + nlohmann::json(machine).dump());
  if (question.compares()) overrides.push_back("run.checkpoint=true");
  try {
    scenarios::Resolved resolved =
        scenarios::read_scenario(std::filesystem::path(question.scenario), overrides,
                                 explore::known_systems(), scenarios::Refuse::what_cannot_run);
    if (warn)
      for (const std::string& warning : resolved.warnings) warn(warning);
    return std::move(resolved.scenario);
  } catch (const ScenarioError& error) {
    throw ScenarioError(without_machine_text(error.complaints(), machine.name));
  }
}

/// The scenario with its own machine's numbers for the places: what is wrong with it shows before
/// anything is measured.
Scenario provisional(const ValidateQuestion& question, const Scenario& outline,
                     const std::vector<StoragePath>& places) {
  MachineFile machine = outline.machine;
  machine.storage.clear();
  for (const StoragePath& place : places) {
    description::StorageSpec storage;
    storage.name = place.name;
    storage.capacity = description::Bytes(std::uint64_t{1} << 50);
    storage.read = storage.write = description::BytesPerSecond(1e9);
    machine.storage.push_back(std::move(storage));
  }
  std::erase_if(machine.sources,
                [](const auto& each) { return each.first.starts_with("storage."); });
  return on_machine(question, for_ranks(std::move(machine), outline, true, true));
}

/// Complaints come before anything is measured.
void require_possible(const ValidateQuestion& question, const Scenario& scenario) {
  if (!question.allow_raw.empty() && scenario.strategy.io_engine != IoEngine::direct)
    refuse("--allow-raw", "this io_engine writes files, and a raw device has none",
           "--set strategy.io_engine=direct");
  if (scenario.run.io_bench)
    refuse("run.io_bench", "it trains nothing that could be compared",
           "spillway simulate shows it; spillway probe measures drives");
  if (!scenario.strategy.optimizer.wait)
    refuse(
        "strategy.optimizer.wait",
        "with false states are written while Adam may still be changing them: no run repeats, and "
        "there is nothing to compare with",
        "--set strategy.optimizer.wait=true");
  if (question.synthetic) return;
  const strategies::Prepared prepared = strategies::prepare(scenario);
  try {
    hw_backend::require_support(scenario, prepared);
    strategies::require_old_values(scenario);
  } catch (const ScenarioError& error) {
    std::vector<Complaint> complaints = error.complaints();
    for (Complaint& complaint : complaints)
      complaint.hint += "; or --synthetic: the same transfers, nothing computed on the GPU";
    throw ScenarioError(complaints);
  }
}

/// What the probe warns of goes to `notes`.
MachineFile measured_machine(const ValidateQuestion& question,
                             const std::vector<StoragePath>& places, const DeviceChoice& device,
                             const Scenario& scenario, const ValidateTalk& talk,
                             std::vector<text::Text>& notes) {
  hw_backend::ProbeOptions probe;
  if (question.compares() ||
      device.cuda()) {  // a host's cores are not timed on a model they only emulate
    const strategies::Prepared prepared = strategies::prepare(scenario);
    probe.products = hw_backend::products_of(prepared.program);
    probe.attention = hw_backend::attention_of(prepared.model, prepared.program);
  }
  probe.open_device = make_device(device);
  if (device.cuda())
    probe.devices = scenario.parallel.ranks();  // copies between them are measured then
  for (const StoragePath& place : places) {
    if (place.raw)
      refuse("--profile", "a raw device cannot be measured",
             "probe a directory on a drive of its kind: spillway probe DIR --out FILE");
    probe.directories.push_back(place.path);
  }
  probe.quick = true;
  talk.say(
      fmt::format("Measuring this machine for some 20 s; at most {} are written to each "
                  "directory.\n",
                  reports::human_bytes(static_cast<double>(hw_backend::probe_writes(probe)))));
  const hw_backend::InterruptGuard interruptible(hw_backend::InterruptGuard::Reader::may_go);
  hw_backend::Probed probed = hw_backend::probe(probe);
  notes.insert(notes.end(), probed.warnings.begin(), probed.warnings.end());
  return std::move(probed.machine);
}

/// Removes what killed runs left, and finds out whether files can be made there, and how.
void clear(const ValidateQuestion& question, ValidationPlan& plan) {
  const hw_backend::InterruptGuard interruptible;
  std::vector<text::Text>& notes = plan.notes;
  for (const StoragePath& place : plan.places) {
    if (place.raw) continue;
    hw_backend::stop_if_interrupted();
    hw_backend::StoreDirectory usable(place.path);
    if (usable.removed().directories)
      notes.push_back(text::filled(
          "removed what an earlier run had left in {}: {}",
          {place.path.string(), text::bytes(static_cast<double>(usable.removed().bytes))}));
    for (const std::string& kept : usable.removed().kept) notes.emplace_back(kept);
    const bool in_memory = usable.in_memory(), direct = usable.direct();
    if (question.strict && (in_memory || !direct))
      refuse("--strict",
             fmt::format("\"{}\" {}", place.path.string(),
                         in_memory ? "is in memory (tmpfs)" : "has no O_DIRECT"),
             "name a directory on a drive's file system, such as ext4 or XFS");
    if (in_memory)
      notes.emplace_back(place.path.string() + " is in memory (tmpfs): no drive was measured");
    else if (!direct)
      notes.emplace_back(through_page_cache(place));
    if (in_memory || !direct) plan.buffered.insert(place.name);
  }
}

}  // namespace

ValidationPlan plan_validation(const explore::Backend& backend, const ValidateQuestion& question,
                               const ValidateTalk& talk, const hw_backend::BlockLayer& layer,
                               Gates& gates) {
  ValidationPlan plan;
  const bool raw = !question.allow_raw.empty();
  if (raw) {
    gates = raw_gates(layer, read_places(question.on, {}, raw), question.allow_raw);
    if (std::string note = hw_backend::give_up_root(); !note.empty())
      plan.notes.emplace_back(std::move(note));
  }
  const Scenario asked = outline(question);
  std::vector<std::string> names;
  for (const description::StorageSpec& storage : asked.machine.storage)
    names.push_back(storage.name);
  plan.places = read_places(question.on, names, raw);
  std::optional<MachineFile> profile;
  if (!question.profile.empty()) profile = scenarios::read_machine(question.profile);
  const Scenario possible = provisional(question, asked, plan.places);
  require_possible(question, possible);
  std::optional<MachineFile> pace;
  if (!question.pace.empty()) pace = scenarios::read_machine(question.pace);
  const bool gds = possible.strategy.io_engine == IoEngine::gds;
  plan.device = choose_device({question.device, pace.has_value(),
                               profile && profile->gpu.shares_host, gds, question.synthetic},
                              cuda_here());

  clear(question, plan);
  const auto devices = static_cast<std::uint64_t>(plan.device.cuda_devices);
  if (plan.device.cuda() && asked.parallel.ranks() > devices)
    plan.notes.emplace_back(
        fmt::format("{} ranks share {} GPU(s), and the prediction gives each one of its own",
                    asked.parallel.ranks(), devices));
  MachineFile server =
      profile ? std::move(*profile)
              : measured_machine(question, plan.places, plan.device, possible, talk, plan.notes);
  server = with_places(std::move(server), plan.places, profile.has_value());
  if (const auto shared = shared_disk(plan.places, server)) plan.notes.emplace_back(*shared);
  server = with_device_memory(std::move(server), plan.device, asked.parallel.ranks());
  if (pace) server = paced_as(std::move(server), *pace);
  const bool computes =
      possible.strategy.optimizer.device == description::OptimizerDevice::near_storage;
  plan.machine = for_ranks(std::move(server), asked, gds, computes);
  plan.scenario = on_machine(question, plan.machine, talk.warn);
  const auto prepared =
      std::make_shared<const strategies::Prepared>(strategies::prepare(plan.scenario));
  const strategies::Probe counts = strategies::counting_probe();
  plan.scenario = strategies::resolve_automatic(plan.scenario, *prepared, counts);
  if (const std::string words = explore::words_if_long(backend, plan.scenario); !words.empty())
    talk.warn("the prediction takes " + words + "; Ctrl-C ends it");
  plan.predicted =
      explore::simulate(backend, plan.scenario, talk.keep_traces ? &plan.trace : nullptr);
  size_storages(plan.scenario, plan.predicted);
  plan.decision = strategies::decide_settled(plan.scenario, prepared, counts);
  return plan;
}

}  // namespace spillway::answers
