#include "strategies/parts/update/selected_columns.hpp"

#include "strategies/machine/cpu_kernels.hpp"
#include "strategies/machine/gpu_kernels.hpp"

#include <cmath>

namespace spillway::strategies {

namespace {

using models::Access;

constexpr std::uint64_t index_bytes = 4;
constexpr std::uint64_t sum_bytes = 4;

/// GPU memory is read and written in sectors of so many bytes.
///   Source  NVIDIA, CUDA C++ Best Practices Guide, 10.2.1
constexpr double gpu_sector = 32;

std::uint64_t aligned(std::uint64_t bytes) { return padded(bytes, share_alignment); }

/// Share of a matrix's sectors in which chosen columns lie, wherever these are.
double touched(double chosen, std::uint64_t width) {
  return 1 - std::pow(1 - chosen, gpu_sector / static_cast<double>(width));
}

}  // namespace

SelectedColumns::SelectedColumns(Machine& machine, Rank rank, const Job& job, Weights& weights)
    : machine_(machine),
      rank_(rank),
      job_(job),
      weights_(weights),
      stream_(job.scenario.strategy.gradients.overlap ? GpuStream::side : GpuStream::compute),
      matrices_(job.model.weights.size()),
      in_host_(job.scenario.strategy.optimizer.selected_states == description::Home::host) {
  const models::Span span = job.program.update;
  for (std::uint32_t i = span.first; i < span.last; ++i) {
    const models::Operator& op = job.program.operators[i];
    const std::uint32_t weight = *job.program.tensors[op.operands.front().tensor].weight;
    if (job.trains(weight)) matrices_[weight].update = &op;
  }
}

Task<> SelectedColumns::init() {
  const double share = job_.scenario.strategy.optimizer.selected_share;
  std::uint64_t bytes = 0, count = 0, widest = 0, largest = 0;
  for (std::uint32_t i = 0; i < matrices_.size(); ++i) {
    Matrix& matrix = matrices_[i];
    if (!matrix.update) continue;
    const models::WeightTensor& weight = job_.model.weights[i];
    const NumberFormat& format = job_.row(i).weight;
    matrix.columns = weight.shape.back();
    matrix.rows = job_.elements(i) / matrix.columns;
    matrix.chosen = weight.decays()
                        ? static_cast<std::uint64_t>(share * static_cast<double>(matrix.columns))
                        : matrix.columns;
    const std::uint64_t ways = job_.row(i).shards.state_ways();
    const PackedColumns packed{matrix.rows, matrix.columns, matrix.chosen, job_.share(i, ways)};
    const std::uint64_t own = format.bytes(packed.room());
    matrix.offset = bytes;
    matrix.bytes = aligned(own) * shares_here(i);
    matrix.first_index = count;
    bytes += matrix.bytes;
    count += aligned(index_bytes * matrix.chosen);
    widest = std::max(widest, matrix.columns);
    largest = std::max(largest, matrix.bytes);
  }
  const auto take = [this](std::uint64_t size, Purpose purpose, TierId tier = TierId::gpu) {
    return machine_.allocate_now(tier, rank_, Bytes(size), purpose);
  };
  const TierId home = in_host_ ? TierId::pinned : TierId::gpu;
  states_ = take(2 * bytes, Purpose::optimizer_states, home);
  gradients_ = take(bytes, Purpose::gradients);
  saved_ = take(bytes, Purpose::workspace, home);
  indices_ = take(count, Purpose::workspace);
  sums_ = take(sum_bytes * widest, Purpose::workspace);
  std::vector<BoundOperand> cleared;
  cleared.emplace_back(gradients_.view(), Access::write, Role::gradient, ElementType::fp32, 0);
  if (in_host_) {
    for (int i = 0; i < 2; ++i) slots_.push_back({take(3 * largest, Purpose::workspace), Op()});
    co_await machine_.run(rank_, zeros(states_.view()));
  } else {
    cleared.emplace_back(states_.view(), Access::write, Role::states, ElementType::fp32, 0);
  }
  const GpuKernel clear = first_values_on_gpu(std::move(cleared), 0);
  co_await machine_.run(rank_, std::span<const GpuKernel>(&clear, 1));
}

void SelectedColumns::begin(const StepNumbers& numbers, bool completes) {
  const std::uint64_t micro_batches = job_.scenario.training.gradient_accumulation;
  numbers_ = numbers;
  numbers_.update = (numbers.update - 1) * micro_batches + numbers.micro_batch + 1;
  completes_ = completes;
}

View SelectedColumns::selected(const Buffer& buffer, const Matrix& matrix) const {
  return buffer.view(matrix.offset, matrix.bytes);
}

View SelectedColumns::states_of(const Matrix& matrix) const {
  return states_.view(2 * matrix.offset, 2 * matrix.bytes);
}

/// `slot`: where they come to; null: they live on the GPU.
SelectedColumns::Place SelectedColumns::place(std::uint32_t weight, const Slot* slot) const {
  const Matrix& matrix = matrices_[weight];
  if (!slot) return {selected(saved_, matrix), states_of(matrix)};
  return {slot->buffer.view(0, matrix.bytes), slot->buffer.view(matrix.bytes, 2 * matrix.bytes)};
}

SelectedColumns::Slot& SelectedColumns::next_slot() { return slots_[turn_++ % slots_.size()]; }

GpuKernel SelectedColumns::of_matrix(const char* name, GpuWork work, std::uint32_t weight) const {
  GpuKernel kernel;
  kernel.name = name;
  kernel.work = work;
  kernel.rows = matrices_[weight].rows;
  kernel.columns = matrices_[weight].columns;
  kernel.share = job_.share(weight, job_.row(weight).shards.state_ways());
  return kernel;
}

void SelectedColumns::bind_indices(GpuKernel& kernel, std::uint32_t weight, Access access) const {
  const Matrix& matrix = matrices_[weight];
  kernel.operands.emplace_back(indices_.view(matrix.first_index, index_bytes * matrix.chosen),
                               access, Role::indices, ElementType::fp32, weight);
}

/// Of the weight, where this rank's share of its gradient begins.
std::uint64_t SelectedColumns::first_element(std::uint32_t weight) const {
  const std::uint64_t ways = job_.row(weight).shards.state_ways();
  return ways > 1 ? job_.member(rank_, weight) * job_.share(weight, ways) : 0;
}

/// Shares of the weight's columns that this rank updates.
std::uint64_t SelectedColumns::shares_here(std::uint32_t weight) const {
  return weights_.whole(weight) ? job_.row(weight).shards.state_ways() : 1;
}

/// What this GPU has of a weight.
BoundOperand SelectedColumns::whole(std::uint32_t weight, Access access, Role role) const {
  View view =
      weights_.whole(weight) ? weights_.gathered_view(weight) : weights_.updated_share(weight);
  return {std::move(view), access, role, job_.row(weight).weight.type, weight};
}

View SelectedColumns::sums(std::uint32_t weight) const {
  return sums_.view(0, sum_bytes * matrices_[weight].columns);
}

/// One kernel between a matrix, or a rank's share of it, and its chosen columns as `packed`.
///   shares  of the matrix that it goes through
GpuKernel SelectedColumns::between(const char* name, GpuWork work, std::uint32_t weight,
                                   BoundOperand whole, BoundOperand packed,
                                   std::uint64_t shares) const {
  const Matrix& matrix = matrices_[weight];
  const NumberFormat& format = job_.row(weight).weight;
  const double chosen = static_cast<double>(matrix.chosen) / static_cast<double>(matrix.columns);
  const double part =
      static_cast<double>(shares) / static_cast<double>(job_.row(weight).shards.state_ways());
  GpuKernel kernel = of_matrix(name, work, weight);
  kernel.shares = shares;
  kernel.first_element = shares == 1 ? first_element(weight) : 0;  // its own, or all from the first
  bind_indices(kernel, weight, Access::read);
  kernel.bytes = part * touched(chosen, format.bytes(1)) *
                     static_cast<double>(format.bytes(matrix.rows * matrix.columns)) +
                 static_cast<double>(packed.view.bytes);
  kernel.operands.push_back(std::move(whole));
  kernel.operands.push_back(std::move(packed));
  return kernel;
}

GpuKernel SelectedColumns::add_up(const GradientShare& share) const {
  GpuKernel kernel = of_matrix("add up columns", GpuWork::sum_columns, share.weight);
  kernel.bytes = static_cast<double>(share.on_gpu.bytes);
  kernel.first_element = first_element(share.weight);
  kernel.operands.emplace_back(share.on_gpu, Access::read, Role::input,
                               job_.row(share.weight).gradient_format().type, share.weight);
  kernel.operands.emplace_back(sums(share.weight), Access::write, Role::output, ElementType::fp32,
                               share.weight);
  return kernel;
}

GpuKernel SelectedColumns::choose(std::uint32_t weight) const {
  GpuKernel kernel = of_matrix("choose columns", GpuWork::choose_columns, weight);
  kernel.bytes = static_cast<double>(sums(weight).bytes);
  bind_indices(kernel, weight, Access::write);
  kernel.operands.emplace_back(sums(weight), Access::read, Role::input, ElementType::fp32, weight);
  return kernel;
}

/// The same columns on all ranks that share the gradient.
Op SelectedColumns::choose_together(const GradientShare& share) const {
  const GpuKernel adding = add_up(share), choosing = choose(share.weight);
  const auto run = [this](const GpuKernel& kernel, const Op& after) {
    return machine_.run(rank_, std::span<const GpuKernel>(&kernel, 1), after, stream_);
  };
  Op added = run(adding, share.ready);
  if (job_.row(share.weight).shards.state_ways() > 1)
    added =
        machine_.collective(rank_, job_.reduce_group(rank_, share.weight), Collective::all_reduce,
                            sums(share.weight), sums(share.weight), added, ElementType::fp32);
  return run(choosing, added);
}

GpuKernel SelectedColumns::out_of_weight(std::uint32_t weight, const Place& place) const {
  const ElementType type = job_.row(weight).weight.type;
  return between("take columns", GpuWork::take_columns, weight,
                 whole(weight, Access::read, Role::input),
                 {place.columns, Access::write, Role::output, type, weight}, shares_here(weight));
}

GpuKernel SelectedColumns::into_weight(std::uint32_t weight, const Place& place) const {
  const ElementType type = job_.row(weight).weight.type;
  return between("put columns", GpuWork::put_columns, weight,
                 whole(weight, Access::read_write, Role::output),
                 {place.columns, Access::read, Role::input, type, weight}, shares_here(weight));
}

/// Of the columns there, by those in `gradients_`.
GpuKernel SelectedColumns::adam(std::uint32_t weight, const Place& place) const {
  const Matrix& matrix = matrices_[weight];
  const TensorRow& row = job_.row(weight);
  GpuKernel kernel;
  kernel.name = "adam of columns";
  kernel.operation = matrix.update;
  kernel.numbers = numbers_;
  // states and weights are read and written, gradients read
  kernel.bytes = static_cast<double>(7 * matrix.bytes);
  kernel.updated = static_cast<double>(matrix.chosen * matrix.rows) *
                   static_cast<double>(shares_here(weight)) /
                   static_cast<double>(row.shards.state_ways());
  kernel.operands.emplace_back(place.columns, Access::read_write, Role::weight, row.weight.type,
                               weight);
  kernel.operands.emplace_back(selected(gradients_, matrix), Access::read, Role::gradient,
                               row.gradient_format().type, weight);
  kernel.operands.emplace_back(place.states, Access::read_write, Role::states, row.weight.type,
                               weight);
  return kernel;
}

Op SelectedColumns::take(const GradientShare& share) {
  Matrix& matrix = matrices_[share.weight];
  if (matrix.chosen == 0) return share.ready;
  const TensorRow& row = job_.row(share.weight);
  const std::uint64_t ways = shares_here(share.weight);
  const std::uint64_t own = matrix.bytes / ways;
  const View all = selected(gradients_, matrix);
  const View mine = ways == 1 ? all : all.part(job_.member(rank_, share.weight) * own, own);
  Op known = matrix.ready ? share.ready : choose_together(share);
  matrix.ready = true;
  const ElementType type = row.gradient_format().type;
  std::vector<GpuKernel> kernels;
  kernels.push_back(between("take columns", GpuWork::take_columns, share.weight,
                            {share.on_gpu, Access::read, Role::input, type, share.weight},
                            {mine, Access::write, Role::output, type, share.weight}, 1));
  Op there = machine_.run(rank_, kernels, known, stream_);
  if (ways > 1)
    there = machine_.collective(rank_, job_.gather_group(rank_, share.weight),
                                Collective::all_gather, mine, all, there);
  if (completes_) return there;
  if (in_host_) return update_from_host(share.weight, there);
  const Place here = place(share.weight, nullptr);
  const GpuKernel updating[] = {out_of_weight(share.weight, here), adam(share.weight, here),
                                into_weight(share.weight, here)};
  return machine_.run(rank_, updating, there, stream_);
}

/// Their states come, and go when they have been renewed.
Op SelectedColumns::update_from_host(std::uint32_t weight, const Op& gradients) {
  Slot& slot = next_slot();
  const Place here = place(weight, &slot);
  const View home = states_of(matrices_[weight]);
  const Op come = machine_.copy(rank_, here.states, home, slot.left);
  const GpuKernel updating[] = {out_of_weight(weight, here), adam(weight, here),
                                into_weight(weight, here)};
  const Op updated = machine_.run(rank_, updating, {gradients, come}, stream_);
  slot.left = machine_.copy(rank_, home, here.states, updated);
  return slot.left;
}

Op SelectedColumns::save_to_host(std::uint32_t weight) {
  Slot& slot = next_slot();
  const Place here = place(weight, &slot);
  const GpuKernel out = out_of_weight(weight, here);
  const Op taken = machine_.run(rank_, std::span<const GpuKernel>(&out, 1), slot.left, stream_);
  slot.left = machine_.copy(rank_, selected(saved_, matrices_[weight]), here.columns, taken);
  return slot.left;
}

Op SelectedColumns::restore_from_host(std::uint32_t weight) {
  const Matrix& matrix = matrices_[weight];
  Slot& slot = next_slot();
  const Place here = place(weight, &slot);
  std::vector<Op> come{machine_.copy(rank_, here.columns, selected(saved_, matrix), slot.left)};
  std::vector<GpuKernel> kernels;
  if (completes_) {
    come.push_back(machine_.copy(rank_, here.states, states_of(matrix), slot.left));
    kernels.push_back(adam(weight, here));
  }
  kernels.push_back(into_weight(weight, here));
  const Op there = machine_.run(rank_, kernels, come, stream_);
  slot.left = completes_ ? machine_.copy(rank_, states_of(matrix), here.states, there) : there;
  return slot.left;
}

Task<> SelectedColumns::save() {
  std::vector<GpuKernel> kernels;
  std::vector<Op> saved;
  for (std::uint32_t weight = 0; weight < matrices_.size(); ++weight) {
    if (matrices_[weight].chosen == 0) continue;
    if (in_host_)
      saved.push_back(save_to_host(weight));
    else
      kernels.push_back(out_of_weight(weight, place(weight, nullptr)));
  }
  if (!in_host_) co_await machine_.run(rank_, kernels);
  for (const Op& op : saved) co_await op;
}

Task<> SelectedColumns::restore() {
  std::vector<GpuKernel> kernels;
  std::vector<Op> restored;
  for (std::uint32_t weight = 0; weight < matrices_.size(); ++weight) {
    if (matrices_[weight].chosen == 0) continue;
    if (in_host_) {
      restored.push_back(restore_from_host(weight));
      continue;
    }
    const Place here = place(weight, nullptr);
    if (completes_) kernels.push_back(adam(weight, here));
    kernels.push_back(into_weight(weight, here));
  }
  completes_ = false;
  if (!in_host_) co_await machine_.run(rank_, kernels);
  for (const Op& op : restored) co_await op;
}

void GradientsBesideSelected::issue(GradientShare& share, MicroBatch micro) {
  updated_.push_back(columns_.take(share));
  sink_->issue(share, micro);
}

Task<> GradientsBesideSelected::take(std::vector<GradientShare> shares, LayerGradients layer,
                                     MicroBatch micro) {
  const std::vector<Op> updated = std::exchange(updated_, {});
  co_await sink_->take(std::move(shares), std::move(layer), micro);
  for (const Op& op : updated) co_await op;
}

Task<> UpdaterBesideSelected::init() {
  co_await columns_.init();
  co_await others_->init();
}

void UpdaterBesideSelected::before_backward(const StepNumbers& numbers, bool completes) {
  columns_.begin(numbers, completes);
  others_->before_backward(numbers, completes);
}

Task<> UpdaterBesideSelected::update(const StepNumbers& numbers) {
  if (!late_) co_await columns_.save();
  co_await others_->update(numbers);
  if (!late_) co_await columns_.restore();
}

Task<> UpdaterBesideSelected::publish() {
  if (late_) co_await columns_.save();
  co_await others_->publish();
  if (late_) co_await columns_.restore();
}

}  // namespace spillway::strategies
