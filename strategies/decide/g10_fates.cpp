#include "strategies/decide/g10_fates.hpp"

#include "strategies/layout/planned_settings.hpp"
#include "strategies/machine/setup.hpp"
#include "strategies/planner/migration/planner.hpp"

#include <algorithm>
#include <optional>

namespace spillway::strategies {

namespace {

using planner::ActiveRange;
using planner::Destination;

/// Operators that use any of an item's tensors: those of forward, and those of backward.
struct Users {
  std::optional<ActiveRange> forward, backward;
};

void extend(std::optional<ActiveRange>& range, std::uint32_t kernel, bool writes) {
  if (!range) range = ActiveRange{kernel, kernel, !writes, writes};
  range->last = kernel;
}

/// By tensor: its item, or none.
std::vector<std::optional<std::uint32_t>> items_by_tensor(const SavedProfile& profile,
                                                          const models::StepProgram& program) {
  std::vector<std::optional<std::uint32_t>> items(program.tensors.size());
  for (std::uint32_t i = 0; i < profile.items.size(); ++i)
    for (const models::TensorId tensor : profile.items[i].tensors) items[tensor] = i;
  return items;
}

/// Forward and backward of one micro-batch, a slot an operator, with the items as tensors.
planner::Lifetimes lifetimes_of(const SavedProfile& profile, const models::StepProgram& program) {
  planner::Lifetimes lifetimes;
  std::vector<Users> users(profile.items.size());
  const auto items = items_by_tensor(profile, program);
  double now = 0;
  for (std::uint32_t i = 0; i < program.backward.last; ++i) {
    const models::Operator& op = program.operators[i];
    lifetimes.kernels.push_back({std::string(op.name), now, profile.operator_s[i], 0});
    now += profile.operator_s[i];
    for (const models::Operand& operand : op.operands) {
      const auto item = items[operand.tensor];
      if (!item) continue;
      const bool forward = i < program.forward.last;
      extend(forward ? users[*item].forward : users[*item].backward, i,
             operand.access != models::Access::read);
    }
  }
  for (std::uint32_t i = 0; i < users.size(); ++i) {
    planner::LifetimeTensor tensor;
    tensor.id = i;
    tensor.bytes = profile.items[i].bytes;
    for (const auto& range : {users[i].forward, users[i].backward})
      if (range) tensor.active.push_back(*range);
    lifetimes.tensors.push_back(std::move(tensor));
  }
  return lifetimes;
}

planner::PlanSettings settings_of(const description::Scenario& scenario, std::uint64_t held_bytes,
                                  std::uint64_t host_bytes) {
  const Topology topology = setup_for(scenario, false, false).topology;
  planner::PlanSettings settings = plan_settings(scenario, topology, Rank{0});
  const auto& homes = scenario.strategy.activations.homes;
  const auto has = [&](const char* home) {
    return std::find(homes.begin(), homes.end(), home) != homes.end();
  };
  settings.destinations.clear();
  if (has("ssd")) settings.destinations.push_back(Destination::ssd);
  if (has("host")) settings.destinations.push_back(Destination::host);
  settings.capacity = held_bytes;
  settings.host_limit = host_bytes;
  settings.saturation = planner::Saturation::no_window;
  settings.must_hide = true;
  settings.stall_rounds = 0;
  return settings;
}

}  // namespace

DecidedFates g10_fates(const description::Scenario& scenario, const SavedProfile& profile,
                       const models::StepProgram& program, std::uint64_t held_bytes,
                       std::uint64_t host_bytes) {
  const planner::Plan plan = planner::plan_migrations(
      lifetimes_of(profile, program), settings_of(scenario, held_bytes, host_bytes));
  DecidedFates fates;
  fates.activations = keep_everything(program);
  for (const planner::Move& move : plan.moves)
    for (const models::TensorId tensor : profile.items[move.tensor].tensors)
      fates.activations.fates[tensor] =
          move.destination == Destination::ssd ? Fate::ssd : Fate::host;
  fates.report = {{"intervals", plan.intervals},
                  {"moved", plan.moves.size()},
                  {"urgent_moves", plan.urgent_moves()}};
  if (plan.shortage)
    fates.notes.push_back(
        "no plan fits: what blocks save exceeds the GPU and the homes of activations");
  return fates;
}

}  // namespace spillway::strategies
