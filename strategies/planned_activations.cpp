#include "strategies/planned_activations.hpp"

#include "scenarios/description/errors.hpp"
#include "scenarios/description/names.hpp"
#include "strategies/checkmate_fates.hpp"
#include "strategies/counted_peaks.hpp"
#include "strategies/g10_fates.hpp"
#include "strategies/kernel_time.hpp"
#include "strategies/planner/capuchin_planner.hpp"
#include "strategies/planner/offload_planner.hpp"
#include "strategies/setup.hpp"

#include <algorithm>
#include <limits>

namespace spillway::strategies {

namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

std::vector<double> operator_seconds(const description::Scenario& scenario,
                                     const models::StepProgram& program) {
  std::vector<double> seconds;
  for (const models::Operator& op : program.operators) {
    LoggedKernel kernel{};
    kernel.name = op.name;
    kernel.flops = op.flops.value();
    kernel.bytes = static_cast<double>(op.bytes.value());
    kernel.matrix = kernel.flops > 0;
    kernel.in_pass = true;
    kernel.side = product_side(op);
    kernel.rate = rate_of(op);
    seconds.push_back(kernel_seconds(kernel, scenario));
  }
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
  const std::string engine(name_of(scenario.strategy.io_engine));
  double rate = 0;
  for (const description::StorageSpec& storage : scenario.machine.storage) {
    if (storage.kind != description::StorageKind::ssd) continue;
    const auto share = storage.process_efficiency.find(engine);
    rate += storage.total_write().value() *
            (share == storage.process_efficiency.end() ? 1 : share->second);
  }
  return rate;
}

/// Two staging buffers, and what leaves comes back as early as there is room.
PlannedFates by_flashneuron(const description::Scenario& scenario, const SavedProfile& profile,
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
  PlannedFates fates;
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
                        const models::Model& model, const models::StepProgram& program) {
  const std::uint64_t capacity = scenario.machine.host.usable().value();
  if (capacity == 0) return no_limit;
  std::uint64_t asked = 0, charged = 0;
  for (const SavedItem& item : profile.items)
    for (const models::TensorId tensor : item.tensors) {
      const std::uint64_t bytes = program.tensors[tensor].bytes.value();
      asked += bytes;
      charged += rounded(rounding_of(scenario.strategy.pinned), bytes);
    }
  const std::uint64_t taken =
      counted_peaks(scenario, model, program, keep_everything(program)).host;
  const auto left = static_cast<double>(capacity - std::min(capacity, taken));
  return static_cast<std::uint64_t>(left * static_cast<double>(asked) /
                                    static_cast<double>(std::max<std::uint64_t>(1, charged)) /
                                    static_cast<double>(scenario.node_ranks()));
}

PlannedFates by_capuchin(const description::Scenario& scenario, const SavedProfile& profile,
                         const models::Model& model, const models::StepProgram& program) {
  CapuchinProblem problem;
  problem.items = profile.items;
  problem.need = profile.need;
  problem.host_bytes = host_room(scenario, profile, model, program);
  problem.down_bytes_per_s = scenario.machine.pcie.d2h.value();
  problem.up_bytes_per_s = scenario.machine.pcie.h2d.value();
  const std::vector<CapuchinChoice> choices = plan_capuchin(problem);
  PlannedFates fates;
  fates.activations = keep_everything(program);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i] == CapuchinChoice::swap) give(fates.activations, problem.items[i], Fate::host);
    if (choices[i] == CapuchinChoice::recompute)
      give(fates.activations, problem.items[i], Fate::recompute);
  }
  fates.report = report_of(profile, fates.activations, program);
  return fates;
}

/// What a step takes of a GPU where no block keeps anything there: inputs of blocks in host memory,
/// the rest made again, which takes as much at a time as if it came back.
std::uint64_t working_bytes(const description::Scenario& scenario, const SavedProfile& profile,
                            const models::Model& model, const models::StepProgram& program) {
  ActivationPlan plan = keep_everything(program);
  for (const SavedItem& item : profile.items)
    give(plan, item, item.recomputable ? Fate::recompute : Fate::host);
  return counted_peaks(scenario, model, program, plan).gpu;
}

/// Room on a GPU for what blocks hold between forward and backward; all of it where that fits.
std::uint64_t held_room(const description::Scenario& scenario, const SavedProfile& profile,
                        const models::Model& model, const models::StepProgram& program) {
  std::uint64_t all = 0;
  for (const SavedItem& item : profile.items) all += item.bytes;
  if (profile.need == 0) return all;
  const std::uint64_t working = working_bytes(scenario, profile, model, program);
  return std::min(all, profile.capacity_bytes - std::min(profile.capacity_bytes, working));
}

PlannedFates by_checkmate(const description::Scenario& scenario, const SavedProfile& profile,
                          const models::Model& model, const models::StepProgram& program) {
  PlannedFates fates =
      checkmate_fates(scenario, profile, program, held_room(scenario, profile, model, program),
                      host_room(scenario, profile, model, program));
  fates.report.update(report_of(profile, fates.activations, program));
  return fates;
}

PlannedFates by_g10(const description::Scenario& scenario, const SavedProfile& profile,
                    const models::Model& model, const models::StepProgram& program) {
  PlannedFates fates;
  if (profile.need == 0) {
    fates.activations = keep_everything(program);
  } else {
    std::uint64_t all = 0;
    for (const SavedItem& item : profile.items) all += item.bytes;
    fates = g10_fates(scenario, profile, program, all - std::min(all, profile.need),
                      host_room(scenario, profile, model, program));
  }
  fates.report.update(report_of(profile, fates.activations, program));
  return fates;
}

PlannedFates by_planner(const description::Scenario& scenario, const SavedProfile& profile,
                        const models::Model& model, const models::StepProgram& program) {
  switch (activation_planner(scenario.strategy).value()) {
    case ActivationPlanner::flashneuron:
      return by_flashneuron(scenario, profile, program);
    case ActivationPlanner::capuchin:
      return by_capuchin(scenario, profile, model, program);
    case ActivationPlanner::checkmate:
      return by_checkmate(scenario, profile, model, program);
    case ActivationPlanner::g10:
      return by_g10(scenario, profile, model, program);
    default:
      ENSURE(false, "a planner of activations without a plan");
  }
}

}  // namespace

SavedProfile profile_saved(const description::Scenario& scenario, const models::Model& model,
                           const models::StepProgram& program) {
  SavedProfile profile;
  profile.operator_s = operator_seconds(scenario, program);
  profile.items = saved_items(model, program, profile.operator_s, block_inputs(model, program));
  for (std::uint32_t i = program.forward.first; i < program.forward.last; ++i)
    profile.forward_s += profile.operator_s[i];
  profile.peak_bytes = counted_peaks(scenario, model, program, keep_everything(program)).gpu;
  profile.capacity_bytes = scenario.machine.gpu.usable().value();
  if (profile.capacity_bytes == 0 || scenario.strategy.unlimited_gpu())
    profile.capacity_bytes = no_limit;
  profile.need = profile.peak_bytes - std::min(profile.peak_bytes, profile.capacity_bytes);
  return profile;
}

PlannedFates plan_fates(const description::Scenario& scenario, const models::Model& model,
                        const models::StepProgram& program) {
  SavedProfile profile = profile_saved(scenario, model, program);
  PlannedFates fates = by_planner(scenario, profile, model, program);
  const auto fits = [&] {
    return counted_peaks(scenario, model, program, fates.activations, GpuLimit::machine).fits;
  };
  if (activation_planner(scenario.strategy) == ActivationPlanner::checkmate) return fates;
  if (profile.need == 0 || fits()) return fates;
  // so much leaves that a block which comes back finds no room beside what stays
  std::uint64_t all = 0;
  for (const SavedItem& item : profile.items) all += item.bytes;
  profile.need = std::max(profile.need, all - held_room(scenario, profile, model, program));
  return by_planner(scenario, profile, model, program);
}

}  // namespace spillway::strategies
