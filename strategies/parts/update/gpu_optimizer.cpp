#include "strategies/parts/update/gpu_optimizer.hpp"

#include "strategies/layout/norm_copies.hpp"
#include "strategies/machine/cpu_kernels.hpp"
#include "strategies/machine/gpu_kernels.hpp"
#include "strategies/machine/setup.hpp"

#include <algorithm>
#include <utility>

namespace spillway::strategies {

namespace {
std::uint64_t up(std::uint64_t bytes) {
  return description::divide_up(bytes, share_alignment) * share_alignment;
}
}  // namespace

GpuOptimizer::GpuOptimizer(Machine& machine, Rank rank, const Job& job, Weights& weights,
                           const ResidentGradients* gradients)
    : machine_(machine),
      rank_(rank),
      job_(job),
      weights_(weights),
      gradients_(gradients),
      offset_(job.model.weights.size()),
      matrices_(machine, rank, job),
      paged_(std::any_of(job.tensors.rows().begin(), job.tensors.rows().end(),
                         [](const TensorRow& row) {
                           return row.trainable() && row.updater &&
                                  row.state_home == description::Home::host;
                         })),
      update_of_(job.model.weights.size()),
      paged_out_(job.model.weights.size()) {
  for (const models::Operator& op : updates()) update_of_[weight_of(op)] = &op;
}

Task<> GpuOptimizer::init() {
  std::uint64_t total = 0, elements = 0;
  for (std::uint32_t weight = 0; weight < offset_.size(); ++weight) {
    offset_[weight] = total;
    total += up(state_bytes(weight));
    if (job_.trains(weight)) elements += share(weight);
  }
  if (total)
    states_ = machine_.allocate_now(paged_ ? TierId::pinned : TierId::gpu, rank_, Bytes(total),
                                    Purpose::optimizer_states);
  if (job_.scenario.training.ema)
    ema_ = machine_.allocate_now(TierId::gpu, rank_, Bytes(fp32_numbers.bytes(elements)),
                                 Purpose::optimizer_states);
  if (job_.scenario.strategy.optimizer.staleness == 1) {
    std::uint64_t bytes = 0;
    for (std::uint32_t weight = 0; weight < offset_.size(); ++weight) {
      late_offset_.push_back(bytes);
      if (job_.trains(weight)) bytes += up(weights_.updated_share(weight).bytes);
    }
    late_ = machine_.allocate_now(TierId::gpu, rank_, Bytes(bytes), Purpose::weights);
  }
  if (total) co_await first_states();
}

std::uint64_t GpuOptimizer::share(std::uint32_t weight) const {
  return job_.share(weight, job_.row(weight).shards.state_ways());
}

std::uint64_t GpuOptimizer::first_element(std::uint32_t weight) const {
  return job_.row(weight).shards.state_ways() > 1 ? job_.member(rank_, weight) * share(weight) : 0;
}

/// The others lie behind the master, at an address of their own that is aligned.
std::uint64_t GpuOptimizer::state_bytes(std::uint32_t weight) const {
  const std::uint64_t all = job_.row(weight).state_bytes(share(weight));
  const std::uint64_t master = master_bytes(weight);
  return all > master ? up(master) + all - master : all;
}

std::uint64_t GpuOptimizer::master_bytes(std::uint32_t weight) const {
  const TensorRow& row = job_.row(weight);
  return row.has_own_master() ? row.master().bytes(share(weight)) : 0;
}

View GpuOptimizer::home(std::uint32_t weight) const {
  const std::uint64_t bytes = state_bytes(weight);
  return bytes == 0 ? View() : states_.view(offset_[weight], bytes);
}

GpuOptimizer::Paged GpuOptimizer::page_in(std::uint32_t weight, bool with_values) {
  Paged paged;
  paged.buffer = machine_.allocate_now(TierId::gpu, rank_, Bytes(state_bytes(weight)),
                                       Purpose::optimizer_states);
  if (!with_values) return paged;
  const Op& home_again = paged_out_[weight];
  paged.arrived = machine_.copy(rank_, paged.buffer.view(), home(weight),
                                home_again ? After(home_again) : After());
  return paged;
}

Op GpuOptimizer::page_out(std::uint32_t weight, const Paged& paged, const Op& changed) {
  paged_out_[weight] = machine_.copy(rank_, home(weight), paged.buffer.view(), changed);
  return paged_out_[weight];
}

std::vector<BoundOperand> GpuOptimizer::states(std::uint32_t weight, models::Access access,
                                               const View& at) const {
  const TensorRow& row = job_.row(weight);
  const std::uint64_t master = master_bytes(weight);
  const std::uint64_t others = row.state_bytes(share(weight)) - master;
  std::vector<BoundOperand> all;
  if (master) all.emplace_back(at.part(0, master), access, Role::master, row.master().type, weight);
  if (others)
    all.emplace_back(at.part(up(master), others), access, Role::states,
                     row.states.back().format.type, weight);
  return all;
}

View GpuOptimizer::late(std::uint32_t weight) const {
  return late_.view(late_offset_[weight], weights_.updated_share(weight).bytes);
}

/// This rank's weights between where kernels read them and where late ones wait. Out go those that
/// are their own masters, from which the next update goes on; in come all.
Task<> GpuOptimizer::copy_weights(bool out) {
  std::vector<Op> copies;
  for (std::uint32_t weight = 0; weight < offset_.size(); ++weight) {
    if (!job_.trains(weight) || (out && job_.row(weight).has_own_master())) continue;
    const View read = weights_.updated_share(weight);
    copies.push_back(machine_.copy(rank_, out ? late(weight) : read, out ? read : late(weight)));
  }
  for (const Op& copy : copies) co_await copy;
}

Task<> GpuOptimizer::publish_late() {
  if (!has_late_) co_return;
  has_late_ = false;
  co_await copy_weights(false);
  co_await gather(Op());
}

Task<> GpuOptimizer::first_states() {
  std::vector<GpuKernel> kernels;
  for (std::uint32_t weight = 0; weight < offset_.size(); ++weight) {
    if (!job_.holds(weight) || !state_bytes(weight)) continue;
    if (paged_) {
      const Paged paged = page_in(weight, false);
      const GpuKernel one = first_values_on_gpu(
          states(weight, models::Access::write, paged.buffer.view()), first_element(weight));
      co_await page_out(weight, paged, machine_.run(rank_, std::span<const GpuKernel>(&one, 1)));
      continue;
    }
    kernels.push_back(first_values_on_gpu(states(weight, models::Access::write, home(weight)),
                                          first_element(weight)));
  }
  if (!kernels.empty()) co_await machine_.run(rank_, kernels);
}

Task<> GpuOptimizer::checkpoint() {
  for (std::uint32_t weight = 0; weight < offset_.size(); ++weight) {
    if (!job_.trains(weight)) continue;
    const TensorRow& row = job_.row(weight);
    const View from = row.has_own_master() ? states_.view(offset_[weight], master_bytes(weight))
                                           : weights_.updated_share(weight);
    if (paged_ && row.has_own_master()) {
      co_await machine_.run(rank_, checkpointed(from, row.master().type, weight, share(weight),
                                                first_element(weight)));
      continue;
    }
    const Buffer landing =
        machine_.allocate_now(TierId::pageable, rank_, Bytes(from.bytes), Purpose::bounce_buffers);
    const Op copied = machine_.copy(rank_, landing.view(), from);
    CpuKernel kernel = checkpointed(landing.view(), row.master().type, weight, share(weight),
                                    first_element(weight));
    co_await machine_.run(rank_, std::move(kernel), copied);
  }
}

/// The update operator of the step program.
GpuKernel GpuOptimizer::kernel(const models::Operator& op, const StepNumbers& numbers, View into,
                               TypedView gradient, const View& states_at) const {
  const std::uint32_t weight = weight_of(op);
  const TensorRow& row = job_.row(weight);
  GpuKernel kernel;
  kernel.name = op.name;
  kernel.operation = &op;
  kernel.bytes =
      static_cast<double>(op.bytes.value()) / static_cast<double>(row.shards.state_ways());
  // a master where the step program has none: the weight is written besides
  if (row.has_own_master() && !row.has_copy)
    kernel.bytes += static_cast<double>(row.weight.bytes(share(weight)));
  // the moving average is read and written, the master read once more
  if (ema_) kernel.bytes += 3 * static_cast<double>(fp32_numbers.bytes(share(weight)));
  kernel.flops = op.flops.value();
  kernel.matrix = kernel.flops > 0;
  kernel.updated = static_cast<double>(share(weight));
  kernel.numbers = numbers;
  kernel.operands.emplace_back(std::move(into), models::Access::write, Role::weight,
                               row.weight.type, weight);
  kernel.operands.emplace_back(std::move(gradient.view), models::Access::read, Role::gradient,
                               gradient.type, weight);
  for (BoundOperand& operand : states(weight, models::Access::read_write, states_at))
    kernel.operands.push_back(std::move(operand));
  if (op.workspace.value() > 0 && !matrices_.has(weight))
    kernel.operands.emplace_back(scratch_.view(0, op.workspace.value()), models::Access::write,
                                 Role::workspace, ElementType::bf16, weight);
  return kernel;
}

/// Room for the matrices that a kernel of these makes on its way; kernels that run one after the
/// other share it.
void GpuOptimizer::take_scratch(std::span<const models::Operator> updates) {
  std::uint64_t most = 0;
  for (const models::Operator& op : updates)
    if (job_.holds(weight_of(op)) && !matrices_.has(weight_of(op)))
      most = std::max(most, op.workspace.value());
  if (most > 0)
    scratch_ = machine_.allocate_now(TierId::gpu, rank_, Bytes(most), Purpose::workspace);
}

/// One update alone: its kernel holds what it took.
Op GpuOptimizer::run_alone(const models::Operator& op, const StepNumbers& numbers, View into,
                           TypedView gradient, const View& states_at, const After& after) {
  take_scratch(std::span(&op, 1));
  const GpuKernel one = kernel(op, numbers, std::move(into), std::move(gradient), states_at);
  scratch_.reset();
  return machine_.run(rank_, std::span<const GpuKernel>(&one, 1), after);
}

std::uint32_t GpuOptimizer::weight_of(const models::Operator& op) const {
  return *job_.program.tensors[op.operands.front().tensor].weight;
}

TypedView GpuOptimizer::resident(std::uint32_t weight) const {
  ENSURE(gradients_, "an update of gradients that nobody keeps");
  return {gradients_->share(weight), gradients_->format(weight).type};
}

const models::Operator& GpuOptimizer::update_of(std::uint32_t weight) const {
  ENSURE(update_of_[weight], "a weight that no operator updates");
  return *update_of_[weight];
}

Op GpuOptimizer::update(std::uint32_t weight, const StepNumbers& numbers, View into,
                        const After& after) {
  ENSURE(!paged_, "an update in place of states that live elsewhere");
  return run_alone(update_of(weight), numbers, std::move(into), resident(weight), home(weight),
                   after);
}

Op GpuOptimizer::update(const GradientShare& gradient, const StepNumbers& numbers) {
  const std::uint32_t weight = gradient.weight;
  const NumberFormat& format = job_.row(weight).gradient_format();
  const View own = gradient.on_gpu.part(0, format.bytes(gradient.elements));  // without its padding
  const bool pages = paged_ && state_bytes(weight) > 0;
  Paged paged;
  if (pages) paged = page_in(weight, true);
  const After after = pages ? After(gradient.ready, paged.arrived) : After(gradient.ready);
  const Op updated =
      run_alone(update_of(weight), numbers, weights_.updated_share(weight), {own, format.type},
                pages ? paged.buffer.view() : home(weight), after);
  return pages ? page_out(weight, paged, updated) : updated;
}

/// Of all weights, the states of two on the GPU at once.
Task<> GpuOptimizer::update_paged(const StepNumbers& numbers) {
  Op updated;
  std::vector<Op> ways_home;
  for (const models::Operator& op : updates()) {
    const std::uint32_t weight = weight_of(op);
    if (!job_.holds(weight)) continue;
    if (ways_home.size() >= 2) co_await ways_home[ways_home.size() - 2];
    const bool pages = state_bytes(weight) > 0;
    Paged paged;
    if (pages) paged = page_in(weight, true);
    updated =
        run_alone(op, numbers, weights_.updated_share(weight), resident(weight),
                  pages ? paged.buffer.view() : View(), pages ? After(paged.arrived) : After());
    if (pages) ways_home.push_back(page_out(weight, paged, updated));
  }
  Pending<> gathered = machine_.spawn(gather(updated));
  for (const Op& way : ways_home) co_await way;
  co_await gathered;
}

GpuOptimizer::Flattened GpuOptimizer::flattened(std::uint32_t weight) const {
  const std::uint64_t flat = gradients_->format(weight).bytes(share(weight));
  const std::uint64_t fp32 = fp32_numbers.bytes(share(weight));
  const bool widens = job_.row(weight).has_own_master() && master_bytes(weight) >= fp32;
  return {flat, widens && fp32 > flat ? fp32 : 0};
}

/// Each is written and read, and what the update reads is scaled in place.
double GpuOptimizer::traffic_of(const Flattened& copies) const {
  const bool unscales = job_.scenario.strategy.optimizer.unscale || job_.scenario.training.clips();
  const std::uint64_t scaled = copies.wide ? copies.wide : copies.flat;
  return static_cast<double>(2 * copies.bytes() + (unscales ? 2 * scaled : 0));
}

/// The kernels of a sub-group, each with the copies of its gradient: one in the gradient's type,
/// and where the master is wider one in fp32, which the update reads. All live until the last ran.
///   Source  DeepSpeed 0.16, runtime/zero/stage_1_and_2.py, step; stage3.py, _prepare_sub_group
Op GpuOptimizer::run_flattened(std::vector<GpuKernel>& kernels) {
  std::uint64_t bytes = 0;
  for (GpuKernel& kernel : kernels) {
    const Flattened copies = flattened(weight_of(*kernel.operation));
    bytes += copies.bytes();
    kernel.bytes += traffic_of(copies);
  }
  const Buffer copies =
      machine_.allocate_now(TierId::gpu, rank_, Bytes(bytes), Purpose::optimizer_gradient_buffers);
  GpuKernel& first = kernels.front();
  first.operands.emplace_back(copies.view(0, bytes), models::Access::write, Role::workspace,
                              ElementType::bf16, weight_of(*first.operation));
  return machine_.run(rank_, kernels);
}

Task<> GpuOptimizer::update_flattened(const StepNumbers& numbers) {
  const std::uint64_t subgroup = job_.scenario.strategy.optimizer.subgroup.value();
  std::vector<GpuKernel> kernels;
  std::uint64_t elements = 0, of_matrices = 0, most_of_matrices = 0;  // bytes of a sub-group's
  Op updated;
  take_scratch(updates());
  for (const models::Operator& op : updates()) {
    const std::uint32_t weight = weight_of(op);
    if (!job_.holds(weight)) continue;
    if (matrices_.has(weight))
      of_matrices += flattened(weight).bytes();
    else
      kernels.push_back(
          kernel(op, numbers, weights_.updated_share(weight), resident(weight), home(weight)));
    elements += share(weight);
    if (elements < subgroup) continue;
    if (!kernels.empty()) updated = run_flattened(kernels);
    most_of_matrices = std::max(most_of_matrices, std::exchange(of_matrices, 0));
    kernels.clear();
    elements = 0;
    co_await updated;
  }
  if (!kernels.empty()) updated = run_flattened(kernels);
  kernels.clear();
  scratch_.reset();
  if (const std::uint64_t most = std::max(most_of_matrices, of_matrices)) {
    co_await updated;  // whose copies are gone
    const Buffer copies =
        machine_.allocate_now(TierId::gpu, rank_, Bytes(most), Purpose::optimizer_gradient_buffers);
    updated = update_matrices(numbers);
    co_await updated;
  }
  co_await gather(updated);
}

/// A kernel for each gradient that lies here, in the order of updates.
///   fill    (weight, its gradient, the kernel)
///   Result  of all of them; none where no gradient lies here
template <class Fill>
Op GpuOptimizer::for_gradients(const Fill& fill) {
  std::vector<GpuKernel> kernels;
  for (const models::Operator& op : updates())
    if (const std::uint32_t weight = weight_of(op); job_.holds(weight))
      fill(weight, resident(weight), kernels.emplace_back());
  return kernels.empty() ? Op() : machine_.run(rank_, kernels);
}

/// One after the other, each through a copy in fp64 where `gradients.norm` has one.
///   Source  DeepSpeed stage_1_and_2.py and stage3.py, get_grad_norm_direct; PyTorch,
///           clip_grad_norm_
Task<> GpuOptimizer::norm_gradients(const GradientNorm* clipped) {
  // those that leave for the CPU are normed on their way, and with them what stays
  if (!clipped && job_.scenario.strategy.gradients.policy != description::GradientPolicy::resident)
    co_return;
  std::uint64_t largest = 0;
  for (const models::Operator& op : updates())
    if (const std::uint32_t weight = weight_of(op); job_.holds(weight))
      largest = std::max(largest, norm_copies(job_.scenario, job_.row(weight)));
  if (largest == 0 && !clipped) co_return;
  Buffer copy;
  if (largest)
    copy = machine_.allocate_now(TierId::gpu, rank_, Bytes(largest), Purpose::norm_copies);
  const auto norm = [&](std::uint32_t weight, const TypedView& gradient, GpuKernel& kernel) {
    kernel.name = "gradient norm";
    kernel.work = GpuWork::norm;
    kernel.bytes = static_cast<double>(gradient.view.bytes);
    kernel.operands.emplace_back(gradient.view, models::Access::read, Role::input, gradient.type,
                                 0);
    if (clipped) clipped->leave(kernel, weight);
    if (!copy) return;
    const std::uint64_t bytes = fp64_bytes * share(weight);  // several parts of it in turn
    kernel.operands.emplace_back(copy.view(0, std::min(bytes, largest)), models::Access::write,
                                 Role::output, ElementType::fp32, 0);
    kernel.bytes += static_cast<double>(2 * bytes);  // the copy is written, and read again
  };
  if (const Op normed = for_gradients(norm)) co_await normed;
}

Op GpuOptimizer::scale_gradients() {
  if (!job_.scenario.training.clips()) return Op();
  return for_gradients([](std::uint32_t weight, const TypedView& gradient, GpuKernel& kernel) {
    kernel.name = "clip gradient";
    kernel.work = GpuWork::scale;
    kernel.bytes = static_cast<double>(2 * gradient.view.bytes);
    kernel.operands.emplace_back(gradient.view, models::Access::read_write, Role::gradient,
                                 gradient.type, weight);
  });
}

Task<> GpuOptimizer::update(const StepNumbers& numbers) {
  if (!job_.scenario.training.clips()) co_await norm_gradients(nullptr);
  if (job_.scenario.strategy.optimizer.flatten) {
    co_await update_flattened(numbers);
    co_return;
  }
  if (const Op scaled = scale_gradients()) co_await scaled;
  if (paged_) {
    co_await update_paged(numbers);
    co_return;
  }
  has_late_ = late_ ? true : false;
  if (has_late_) co_await copy_weights(true);
  std::vector<GpuKernel> kernels;
  std::vector<const models::Operator*> away;
  take_scratch(updates());
  for (const models::Operator& op : updates()) {
    const std::uint32_t weight = weight_of(op);
    if (!job_.holds(weight) || matrices_.has(weight)) continue;
    if (!weights_.on_gpu(weight)) {
      away.push_back(&op);
      continue;
    }
    View into = weights_.updated_share(weight);
    if (has_late_) into = late(weight);
    kernels.push_back(kernel(op, numbers, std::move(into), resident(weight), home(weight)));
  }
  Op updated;
  if (!kernels.empty()) updated = machine_.run(rank_, kernels);
  kernels.clear();  // what runs holds what it uses
  scratch_.reset();
  if (const Op matrices = update_matrices(numbers)) updated = matrices;
  if (has_late_) {
    co_await updated;
    co_return;
  }
  Pending<> gathered = machine_.spawn(gather(updated));
  co_await send_away(std::move(away), numbers);
  co_await gathered;
}

/// Behind all else on the stream.
Op GpuOptimizer::update_matrices(const StepNumbers& numbers) {
  return matrices_.update([&](std::uint32_t weight) {
    GpuKernel whole = kernel(update_of(weight), numbers, weights_.updated_share(weight),
                             resident(weight), home(weight));
    if (job_.scenario.strategy.optimizer.flatten) whole.bytes += traffic_of(flattened(weight));
    return whole;
  });
}

/// Of weights that live in host memory.
Task<> GpuOptimizer::send_away(std::vector<const models::Operator*> updates,
                               const StepNumbers& numbers) {
  std::vector<Op> copies;
  for (const models::Operator* const op : updates) {
    if (copies.size() >= 2) co_await copies[copies.size() - 2];
    const std::uint32_t weight = weight_of(*op);
    const std::uint64_t bytes = job_.row(weight).weight.bytes(share(weight));
    const Buffer fresh =
        machine_.allocate_now(TierId::gpu, rank_, Bytes(bytes), Purpose::gathered_weights);
    const Op made =
        run_alone(*op, numbers, fresh.view(0, bytes), resident(weight), home(weight), After());
    const View into = weights_.share(weight).part(0, bytes);
    copies.push_back(machine_.copy(rank_, into, fresh.view(0, bytes), made));
  }
  for (const Op& copy : copies) co_await copy;
}

/// Weights that every rank holds whole.
Task<> GpuOptimizer::gather(Op updated) {
  std::vector<Op> gathers;
  for (std::uint32_t weight = 0; weight < offset_.size(); ++weight)
    if (job_.row(weight).shards.state_ways() > 1 && weights_.whole(weight) && job_.trains(weight))
      gathers.push_back(machine_.collective(rank_, job_.gather_group(rank_, weight),
                                            Collective::all_gather, weights_.updated_share(weight),
                                            weights_.gathered_view(weight), updated));
  co_await updated;
  for (const Op& gather : gathers) co_await gather;
}

}  // namespace spillway::strategies
