#include "strategies/decide/lohan_plan.hpp"

#include "scenarios/description/mixed_traffic.hpp"
#include "scenarios/description/names.hpp"
#include "strategies/decide/tensors.hpp"
#include "strategies/layout/job.hpp"
#include "strategies/machine/setup.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace spillway::strategies {

namespace {

using description::Home;

bool goes_to(const description::Scenario& scenario, const char* home) {
  const auto& homes = scenario.strategy.activations.homes;
  return std::find(homes.begin(), homes.end(), home) != homes.end();
}

SwapOrder order_of(const description::Scenario& scenario) {
  return scenario.strategy.activations.order == description::SwapOrder::layer
             ? SwapOrder::layer
             : SwapOrder::offloading_benefit;
}

std::uint64_t pinned_bytes(const description::Scenario& scenario, std::uint64_t bytes) {
  return rounded(rounding_of(scenario.strategy.pinned), bytes);
}

bool in_halves(const description::Scenario& scenario) {
  return scenario.strategy.activations.checkpoints_per_block == 2;
}

/// Inputs of the blocks' second halves, if they are checkpoints too.
std::vector<models::TensorId> middles(const description::Scenario& scenario,
                                      const models::Model& model,
                                      const models::StepProgram& program) {
  std::vector<models::TensorId> all;
  if (!in_halves(scenario)) return all;
  for (std::uint32_t layer = 0; layer < model.layers.size(); ++layer)
    if (const auto middle = middle_of_block(model, program, layer)) all.push_back(*middle);
  return all;
}

/// Blocks keep their checkpoints on the GPU and save nothing else.
ActivationPlan nothing_swapped(const description::Scenario& scenario, const models::Model& model,
                               const models::StepProgram& program) {
  ActivationPlan plan = checkpoint_blocks(model, program, Fate::keep);
  plan.whole_layers = false;
  plan.late = in_halves(scenario);
  for (const models::TensorId id : middles(scenario, model, program)) plan.fates[id] = Fate::keep;
  return plan;
}

/// Inputs of blocks, or of their halves, where the plan swaps them.
std::vector<models::TensorId> checkpoints(const description::Scenario& scenario,
                                          const models::Model& model,
                                          const models::StepProgram& program) {
  const ActivationPlan plan = checkpoint_blocks(model, program, Fate::host);
  std::vector<models::TensorId> all = middles(scenario, model, program);
  for (models::TensorId id = 0; id < plan.fates.size(); ++id)
    if (plan.of(id) == Fate::host) all.push_back(id);
  return all;
}

/// Of the tensors that a rank swaps, in the order in which they are taken, the bytes that `room`
/// holds once each is rounded; all of `room` where it holds them all.
///   Exact  a plan of whole items takes no more room than there is, whatever each rounds to
std::uint64_t held_in(std::uint64_t room, const SwapProblem& problem,
                      const description::Scenario& scenario,
                      const std::vector<models::TensorId>& least,
                      const models::StepProgram& program) {
  std::uint64_t asked = 0, charged = 0;
  const auto add = [&](const std::vector<models::TensorId>& tensors) {
    std::uint64_t more = 0, rounded = 0;
    for (const models::TensorId id : tensors) {
      more += program.tensors[id].bytes.value();
      rounded += pinned_bytes(scenario, program.tensors[id].bytes.value());
    }
    if (charged + rounded > room) return false;
    asked += more;
    charged += rounded;
    return true;
  };
  if (problem.least_bytes && !add(least)) return 0;
  for (const std::size_t item : swap_order(problem, order_of(scenario)))
    if (!add(problem.items[item].tensors)) return asked;
  return room;
}

/// Host memory that swapped tensors can have.
void add_host(SwapProblem& problem, const description::Scenario& scenario, const Prepared& prepared,
              const Probe& probe) {
  const models::Model& model = prepared.model;
  const models::StepProgram& program = prepared.program;
  if (!goes_to(scenario, "host")) return;
  const std::uint64_t capacity = scenario.machine.host.usable().value();
  if (capacity == 0) {
    problem.host_bytes = problem.host_room = std::numeric_limits<std::uint64_t>::max();
    return;
  }
  const auto least = checkpoints(scenario, model, program);
  std::uint64_t largest = 0;
  const auto see = [&](models::TensorId id) {
    largest = std::max(largest, program.tensors[id].bytes.value());
  };
  for (const models::TensorId id : least) see(id);
  for (const SwapItem& item : problem.items)
    for (const models::TensorId id : item.tensors) see(id);
  std::uint64_t taken =
      peaks_with(probe, scenario, prepared, nothing_swapped(scenario, model, program)).host;
  if (problem.spills)
    taken += problem.ranks * ActivationPlan().staging_buffers * pinned_bytes(scenario, largest);
  problem.host_room = capacity - std::min(capacity, taken);
  problem.host_bytes =
      problem.ranks * held_in(problem.host_room / problem.ranks, problem, scenario, least, program);
}

/// Of all products of a forward together, those in 8 bits and those that are not.
double mean_rate(const description::Scenario& scenario, const models::StepProgram& program) {
  if (scenario.training.precision != description::Precision::fp8) return compute_rate(scenario);
  double flops = 0, seconds = 0;
  for (std::uint32_t i = program.forward.first; i < program.forward.last; ++i) {
    const models::Operator& op = program.operators[i];
    flops += op.flops.value();
    seconds += op.flops.value() / (op.fp8 ? fp8_rate(scenario) : compute_rate(scenario));
  }
  return flops / seconds;
}

void add_rates(SwapProblem& problem, const description::Scenario& scenario,
               const models::StepProgram& program) {
  const description::MachineFile& machine = scenario.machine;
  problem.flops_per_s = mean_rate(scenario, program);
  problem.down_bytes_per_s = machine.pcie.d2h.value();
  problem.up_bytes_per_s = machine.pcie.h2d.value();
  for (const description::StorageSpec& storage : machine.storage) {
    if (storage.kind != description::StorageKind::ssd) continue;
    const double efficiency = storage.share_of(scenario.strategy.io_engine);
    problem.read_bytes_per_s += storage.total_read().value() * efficiency;
    problem.write_bytes_per_s += storage.total_write().value() * efficiency;
  }
}

/// Of the drive that mixes worst, at the mix of what backward moves in any case: with swapped bytes
/// in it the step would not be convex in them.
void add_mix(SwapProblem& problem, const description::Scenario& scenario) {
  const double reads =
      static_cast<double>(problem.read + problem.read_also) * problem.write_bytes_per_s;
  const double writes = static_cast<double>(problem.written) * problem.read_bytes_per_s;
  if (reads + writes == 0) return;
  problem.mixed_efficiency = description::most_mixed_efficiency;
  for (const description::StorageSpec& storage : scenario.machine.storage)
    if (storage.kind == description::StorageKind::ssd)
      problem.mixed_efficiency = std::min(
          problem.mixed_efficiency,
          description::efficiency_of_mix(storage.mixed_efficiency, reads / (reads + writes)));
}

/// Parameters per second that CPUs update, one team of them.
double cpu_update_rate(const description::Scenario& scenario, const TensorTable& tensors) {
  const description::HostSpec& host = scenario.machine.host;
  if (description::is_adam(scenario.training.optimizer)) return host.adam.value();
  double touched = 0, variance = 0;
  for (const TensorRow& row : tensors.rows()) {
    if (!row.trainable()) continue;
    touched += static_cast<double>(2 * row.updated_bytes(row.elements) +
                                   row.gradient_format().bytes(row.elements));
    if (row.has_copy) touched += static_cast<double>(row.weight.bytes(row.elements));
    if (const NumberFormat* momentum = row.state(StateKind::momentum))
      variance += static_cast<double>(2 * momentum->bytes(row.elements));
  }
  return host.adam.value() / host.adams_of_lion(touched, touched + variance);
}

/// Bytes per parameter that each pass moves, by the homes of weights and states: means over all
/// weights.
void add_traffic(SwapProblem& problem, const description::Scenario& scenario,
                 const TensorTable& tensors) {
  const description::Strategy& strategy = scenario.strategy;
  const std::uint64_t elements = tensors.sum([](const TensorRow& row) { return row.elements; });
  const auto mean = [&](const auto& bytes) { return tensors.sum(bytes) / elements; };
  const std::uint64_t weight =
      mean([](const TensorRow& row) { return row.weight.bytes(row.elements); });
  const std::uint64_t gradient = mean([](const TensorRow& row) {
    return row.trainable() ? row.gradient_format().bytes(row.elements) : 0;
  });
  const bool states_move = strategy.optimizer.home == Home::ssd;
  const bool updates = updates_in_backward(strategy.gradients.policy);
  problem.up = strategy.weights.home == Home::gpu ? 0 : weight;
  problem.read = strategy.weights.home == Home::ssd ? weight : 0;
  problem.down = strategy.optimizer.home == Home::gpu ? 0 : gradient;
  problem.read_also = problem.written = 0;
  problem.adam_per_s = std::numeric_limits<double>::infinity();
  if (!updates) return;
  if (states_move)
    problem.read_also = problem.written =
        mean([](const TensorRow& row) { return row.state_bytes(row.elements); });
  problem.written += problem.read;
  if (strategy.optimizer.wait)
    problem.adam_per_s = cpu_update_rate(scenario, tensors) *
                         scenario.machine.host.team_share(static_cast<double>(problem.ranks));
}

/// Whether inputs of blocks are swapped in any case.
bool swaps_inputs(const description::Scenario& scenario) {
  return scenario.strategy.activations.min_swap != description::MinSwap::none;
}

/// What `activations.min_swap` asks for goes to host memory; all else is computed again.
ActivationPlan least_swapped(const description::Scenario& scenario, const models::Model& model,
                             const models::StepProgram& program) {
  ActivationPlan plan = nothing_swapped(scenario, model, program);
  if (swaps_inputs(scenario))
    for (const models::TensorId id : checkpoints(scenario, model, program))
      plan.fates[id] = Fate::host;
  return plan;
}

/// Says of the items with which backward finds no room on the GPU that they do not fit.
void note_what_fits(SwapProblem& problem, const description::Scenario& scenario,
                    const Prepared& prepared, const Probe& probe) {
  const std::vector<std::size_t> order = swap_order(problem, order_of(scenario));
  const auto pays = [&](std::size_t one, std::size_t other) {
    const SwapItem &a = problem.items[order[one]], &b = problem.items[order[other]];
    return static_cast<double>(a.flops) * static_cast<double>(b.bytes) !=
           static_cast<double>(b.flops) * static_cast<double>(a.bytes);
  };
  std::vector<std::size_t> prefixes{0};  // where what a block swaps at most changes
  for (std::size_t i = 1; i <= order.size(); ++i)
    if (i == order.size() || order_of(scenario) == SwapOrder::layer || pays(i - 1, i))
      prefixes.push_back(i);
  const auto fits = [&](std::size_t prefix) {
    ActivationPlan plan = least_swapped(scenario, prepared.model, prepared.program);
    for (std::size_t i = 0; i < prefixes[prefix]; ++i)
      for (const models::TensorId id : problem.items[order[i]].tensors) plan.fates[id] = Fate::host;
    return fits_gpus(probe, scenario, prepared, plan);
  };
  std::size_t most = prefixes.size() - 1;
  if (most == 0 || fits(most)) return;
  std::size_t least = 0;  // what nothing can be done about fails in the run, which says why
  while (most - least > 1) {
    const std::size_t middle = least + (most - least) / 2;
    (fits(middle) ? least : most) = middle;
  }
  for (std::size_t i = prefixes[least]; i < order.size(); ++i) problem.items[order[i]].fits = false;
}

/// Host memory or drives for `tensors`, in the order of the layers.
class Placing {
 public:
  Placing(const description::Scenario& scenario, const models::StepProgram& program,
          std::uint64_t host_bytes)
      : scenario_(scenario), program_(program), room_(host_bytes) {}

  void place(std::vector<models::TensorId> tensors, ActivationPlan& plan) {
    std::stable_sort(tensors.begin(), tensors.end(), [&](auto one, auto other) {
      return program_.tensors[one].layer < program_.tensors[other].layer;
    });
    double all = 0, seen = 0, held = 0;
    for (const models::TensorId id : tensors) all += charged(id);
    const bool to_host = goes_to(scenario_, "host"), to_drives = goes_to(scenario_, "ssd");
    for (const models::TensorId id : tensors) {
      seen += charged(id);
      // an even share of the room so far, all of it at the end
      const bool fits = all <= room_ || held + charged(id) <= room_ * (seen / all);
      plan.fates[id] = to_host && (fits || !to_drives) ? Fate::host : Fate::ssd;
      if (plan.fates[id] == Fate::host) held += charged(id);
    }
  }

 private:
  double charged(models::TensorId id) const {
    return static_cast<double>(pinned_bytes(scenario_, program_.tensors[id].bytes.value()));
  }
  const description::Scenario& scenario_;
  const models::StepProgram& program_;
  double room_;
};

}  // namespace

SwapProblem swap_problem(const description::Scenario& scenario, const Prepared& prepared,
                         const Probe& probe) {
  const models::Model& model = prepared.model;
  const models::StepProgram& program = prepared.program;
  SwapProblem problem;
  problem.forward_flops = static_cast<std::uint64_t>(std::llround(program.forward_flops().value()));
  if (swaps_inputs(scenario))
    for (const models::TensorId id : checkpoints(scenario, model, program))
      problem.least_bytes += program.tensors[id].bytes.value();
  problem.items = swap_items(model, program, middles(scenario, model, program));
  problem.ranks = scenario.node_ranks();
  for (const models::Tensor& tensor : program.tensors)
    if (tensor.weight && tensor.role == models::TensorRole::weight)
      problem.parameters += tensor.elements;
  problem.parameters *= scenario.parallel.tensor;
  problem.spills = goes_to(scenario, "ssd");
  add_rates(problem, scenario, prepared.program);
  add_traffic(problem, scenario, decide_tensors(scenario, prepared).at(0));
  add_mix(problem, scenario);
  add_host(problem, scenario, prepared, probe);
  if (!scenario.strategy.activations.swap_bytes) note_what_fits(problem, scenario, prepared, probe);
  return problem;
}

bool some_swap_fits_gpu(const description::Scenario& scenario, const Prepared& prepared,
                        const Probe& probe) {
  const models::Model& model = prepared.model;
  const models::StepProgram& program = prepared.program;
  ActivationPlan plan = least_swapped(scenario, model, program);
  if (fits_gpus(probe, scenario, prepared, plan)) return true;
  for (const SwapItem& item : swap_items(model, program, middles(scenario, model, program)))
    for (const models::TensorId id : item.tensors) plan.fates[id] = Fate::host;
  return fits_gpus(probe, scenario, prepared, plan);
}

SwapChoice choose_swap(const description::Scenario& scenario, const Prepared& prepared,
                       const Probe& probe) {
  const models::Model& model = prepared.model;
  const models::StepProgram& program = prepared.program;
  SwapChoice choice;
  choice.problem = swap_problem(scenario, prepared, probe);
  const auto& wanted = scenario.strategy.activations.swap_bytes;
  choice.plan = wanted ? plan_swap_of(choice.problem, order_of(scenario), wanted->value())
                       : plan_swap(choice.problem, order_of(scenario));
  choice.activations = nothing_swapped(scenario, model, program);
  std::vector<models::TensorId> moved;
  if (choice.problem.least_bytes) moved = checkpoints(scenario, model, program);
  for (const std::size_t item : choice.plan.taken) {
    const auto& tensors = choice.problem.items[item].tensors;
    moved.insert(moved.end(), tensors.begin(), tensors.end());
  }
  const std::uint64_t room = choice.problem.host_room / choice.problem.ranks;
  Placing(scenario, program, std::min<std::uint64_t>(room, 1'000'000'000'000'000'000))
      .place(moved, choice.activations);
  return choice;
}

namespace {
/// Null of what never ends: host memory is full and there are no drives. The run says where.
nlohmann::json seconds_or_null(double seconds) {
  return std::isfinite(seconds) ? nlohmann::json(seconds) : nlohmann::json();
}
}  // namespace

nlohmann::json swap_report(const SwapChoice& choice, const models::StepProgram& program) {
  std::uint64_t most = choice.problem.least_bytes;
  for (const SwapItem& item : choice.problem.items) most += item.bytes;
  return {{"swap_bytes", choice.plan.bytes},
          {"recompute_flops", recomputed_flops(program, choice.activations).value()},
          {"case", choice.plan.which_case},
          {"bytes_to_host", bytes_of(program, choice.activations, Fate::host)},
          {"bytes_to_ssd", bytes_of(program, choice.activations, Fate::ssd)},
          {"least_bytes", choice.problem.least_bytes},
          {"most_bytes", most},
          {"predicted_forward_s", seconds_or_null(choice.plan.times.forward_s)},
          {"predicted_backward_s", seconds_or_null(choice.plan.times.backward_s)}};
}

}  // namespace spillway::strategies
