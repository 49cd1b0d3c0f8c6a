#include "strategies/decide/saved_planners.hpp"

#include "scenarios/description/errors.hpp"
#include "strategies/decide/checkmate_fates.hpp"
#include "strategies/decide/g10_fates.hpp"
#include "strategies/machine/kernel_time.hpp"
#include "strategies/machine/setup.hpp"
#include "strategies/planner/saved/capuchin_planner.hpp"
#include "strategies/planner/saved/offload_planner.hpp"

#include <algorithm>
#include <limits>

namespace spillway::strategies {

namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

std::vector<double> operator_seconds(const description::Scenario& scenario,
                                     const models::StepProgram& program) {
  std::vector<double> seconds;
  for (const models::Operator& op : program.operators)
    seconds.push_back(kernel_seconds(kernel_of_pass(op), scenario));
  return seconds;
}

std::vector<models::TensorId> block_inputs(const models::Model& model,
                                           const models::StepProgram& program) {
  const ActivationPlan plan = checkpoint_blocks(model, program, Fate::host);
  std::vector<models::TensorId> inputs;
  for (models::TensorId id = 0; id < plan.fates.size(); ++id)
    if (plan.of(id) == Fate::host) inputs.push_back(id);
  return inputs;
}

void give(ActivationPlan& plan, const SavedItem& item, Fate fate) {
  for (const models::TensorId tensor : item.tensors) plan.fates[tensor] = fate;
}

nlohmann::json report_of(const SavedProfile& profile, const ActivationPlan& plan,
                         const models::StepProgram& program) {
  const std::uint64_t host = bytes_of(program, plan, Fate::host);
  const std::uint64_t drives = bytes_of(program, plan, Fate::ssd);
  return {{"swap_bytes", host + drives},
          {"bytes_to_host", host},
          {"bytes_to_ssd", drives},
          {"recomputed_bytes", bytes_of(program, plan, Fate::recompute)},
          {"recompute_flops", recomputed_flops(program, plan).value()},
          {"resident_peak_bytes", profile.peak_bytes},
          {"needed_bytes", profile.need}};
}

/// Of a rank's array: what its engine writes.
double write_rate(const description::Scenario& scenario) {
  double rate = 0;
  for (const description::StorageSpec& storage : scenario.machine.storage) {
    if (storage.kind != description::StorageKind::ssd) continue;
    rate += storage.total_write().value() * storage.share_of(scenario.strategy.io_engine);
  }
  return rate;
}

/// Two staging buffers, and what leaves comes back as early as there is room.
DecidedFates by_flashneuron(const description::Scenario& scenario, const SavedProfile& profile,
                            const models::StepProgram& program) {
  std::vector<models::TensorId> made;
  for (const SavedItem& item : profile.items)
    made.insert(made.end(), item.tensors.begin(), item.tensors.end());
  std::sort(made.begin(), made.end());  // tensors are numbered as they are made
  std::vector<OffloadTensor> tensors;
  for (const models::TensorId id : made) {
    const std::uint64_t bytes = program.tensors[id].bytes.value();
    tensors.push_back({bytes, bytes});  // what transformers save is not sparse ('assumed')
  }
  const OffloadChoice choice =
      choose_offload(tensors, profile.need, profile.forward_s, write_rate(scenario));
  DecidedFates fates;
  fates.activations = keep_everything(program);
  fates.activations.staging_buffers = 2;
  fates.activations.returns_early = true;
  for (const std::uint32_t picked : choice.picked)
    fates.activations.fates[made[picked]] = Fate::ssd;
  fates.report = report_of(profile, fates.activations, program);
  return fates;
}

/// Room in host memory for what one rank swaps, as asked for: what the rest of the run leaves, and
/// pinned memory rounds up as if all of it were swapped.
std::uint64_t host_room(const description::Scenario& scenario, const SavedProfile& profile,
                        const Prepared& prepared, const Probe& probe) {
  const std::uint64_t capacity = scenario.machine.host.usable().value();
  if (capacity == 0) return no_limit;
  std::uint64_t asked = 0, charged = 0;
  for (const SavedItem& item : profile.items)
    for (const models::TensorId tensor : item.tensors) {
      const std::uint64_t bytes = prepared.program.tensors[tensor].bytes.value();
      asked += bytes;
      charged += rounded(rounding_of(scenario.strategy.pinned), bytes);
    }
  const std::uint64_t taken =
      peaks_with(probe, scenario, prepared, keep_everything(prepared.program)).host;
  const auto left = static_cast<double>(capacity - std::min(capacity, taken));
  return static_cast<std::uint64_t>(left * static_cast<double>(asked) /
                                    static_cast<double>(std::max<std::uint64_t>(1, charged)) /
                                    static_cast<double>(scenario.node_ranks()));
}

DecidedFates by_capuchin(const description::Scenario& scenario, const SavedProfile& profile,
                         const Prepared& prepared, const Probe& probe) {
  CapuchinProblem problem;
  problem.items = profile.items;
  problem.need = profile.need;
  problem.host_bytes = host_room(scenario, profile, prepared, probe);
  problem.down_bytes_per_s = scenario.machine.pcie.d2h.value();
  problem.up_bytes_per_s = scenario.machine.pcie.h2d.value();
  const std::vector<CapuchinChoice> choices = plan_capuchin(problem);
  DecidedFates fates;
  fates.activations = keep_everything(prepared.program);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i] == CapuchinChoice::swap) give(fates.activations, problem.items[i], Fate::host);
    if (choices[i] == CapuchinChoice::recompute)
      give(fates.activations, problem.items[i], Fate::recompute);
  }
  fates.report = report_of(profile, fates.activations, prepared.program);
  return fates;
}

/// What a step takes of a GPU where no block keeps anything there: inputs of blocks in host memory,
/// the rest made again, which takes as much at a time as if it came back.
std::uint64_t working_bytes(const description::Scenario& scenario, const SavedProfile& profile,
                            const Prepared& prepared, const Probe& probe) {
  ActivationPlan plan = keep_everything(prepared.program);
  for (const SavedItem& item : profile.items)
    give(plan, item, item.recomputable ? Fate::recompute : Fate::host);
  return peaks_with(probe, scenario, prepared, plan).gpu;
}

/// Room on a GPU for what blocks hold between forward and backward; all of it where that fits.
std::uint64_t held_room(const description::Scenario& scenario, const SavedProfile& profile,
                        const Prepared& prepared, const Probe& probe) {
  std::uint64_t all = 0;
  for (const SavedItem& item : profile.items) all += item.bytes;
  if (profile.need == 0) return all;
  const std::uint64_t working = working_bytes(scenario, profile, prepared, probe);
  return std::min(all, profile.capacity_bytes - std::min(profile.capacity_bytes, working));
}

DecidedFates by_checkmate(const description::Scenario& scenario, const SavedProfile& profile,
                          const Prepared& prepared, const Probe& probe) {
  DecidedFates fates = checkmate_fates(scenario, profile, prepared.program,
                                       held_room(scenario, profile, prepared, probe),
                                       host_room(scenario, profile, prepared, probe));
  fates.report.update(report_of(profile, fates.activations, prepared.program));
  return fates;
}

DecidedFates by_g10(const description::Scenario& scenario, const SavedProfile& profile,
                    const Prepared& prepared, const Probe& probe) {
  DecidedFates fates;
  if (profile.need == 0) {
    fates.activations = keep_everything(prepared.program);
  } else {
    std::uint64_t all = 0;
    for (const SavedItem& item : profile.items) all += item.bytes;
    fates = g10_fates(scenario, profile, prepared.program, all - std::min(all, profile.need),
                      host_room(scenario, profile, prepared, probe));
  }
  fates.report.update(report_of(profile, fates.activations, prepared.program));
  return fates;
}

DecidedFates by_planner(const description::Scenario& scenario, const SavedProfile& profile,
                        const Prepared& prepared, const Probe& probe) {
  switch (activation_planner(scenario.strategy).value()) {
    case ActivationPlanner::flashneuron:
      return by_flashneuron(scenario, profile, prepared.program);
    case ActivationPlanner::capuchin:
      return by_capuchin(scenario, profile, prepared, probe);
    case ActivationPlanner::checkmate:
      return by_checkmate(scenario, profile, prepared, probe);
    case ActivationPlanner::g10:
      return by_g10(scenario, profile, prepared, probe);
    default:
      ENSURE(false, "a planner of activations without a plan");
  }
}

}  // namespace

SavedProfile profile_saved(const description::Scenario& scenario, const Prepared& prepared,
                           const Probe& probe) {
  SavedProfile profile;
  profile.operator_s = operator_seconds(scenario, prepared.program);
  profile.items = saved_items(prepared.model, prepared.program, profile.operator_s,
                              block_inputs(prepared.model, prepared.program));
  for (std::uint32_t i = prepared.program.forward.first; i < prepared.program.forward.last; ++i)
    profile.forward_s += profile.operator_s[i];
  profile.peak_bytes = peaks_with(probe, scenario, prepared, keep_everything(prepared.program)).gpu;
  profile.capacity_bytes = scenario.machine.gpu.usable().value();
  if (profile.capacity_bytes == 0 || scenario.strategy.unlimited_gpu())
    profile.capacity_bytes = no_limit;
  profile.need = profile.peak_bytes - std::min(profile.peak_bytes, profile.capacity_bytes);
  return profile;
}

DecidedFates plan_fates(const description::Scenario& scenario, const Prepared& prepared,
                        const Probe& probe) {
  SavedProfile profile = profile_saved(scenario, prepared, probe);
  DecidedFates fates = by_planner(scenario, profile, prepared, probe);
  const auto fits = [&] { return fits_gpus(probe, scenario, prepared, fates.activations); };
  if (activation_planner(scenario.strategy) == ActivationPlanner::checkmate) return fates;
  if (profile.need == 0 || fits()) return fates;
  // so much leaves that a block which comes back finds no room beside what stays
  std::uint64_t all = 0;
  for (const SavedItem& item : profile.items) all += item.bytes;
  profile.need = std::max(profile.need, all - held_room(scenario, profile, prepared, probe));
  return by_planner(scenario, profile, prepared, probe);
}

}  // namespace spillway::strategies
