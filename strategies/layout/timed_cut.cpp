#include "strategies/layout/timed_cut.hpp"

#include "strategies/layout/fates.hpp"
#include "strategies/machine/kernel_time.hpp"

#include <algorithm>
#include <tuple>

namespace spillway::strategies {

namespace {

/// All that its time follows from.
auto cost_of(const LoggedKernel& kernel) {
  const NarrowKernel& narrow = kernel.narrow;
  return std::tuple(kernel.flops, kernel.bytes, kernel.updated, kernel.matrix, kernel.in_pass,
                    kernel.side, kernel.rate, kernel.widened, kernel.tokens, kernel.width,
                    narrow.flops, narrow.bytes, narrow.side, narrow.tokens, narrow.width);
}

bool cost_the_same(const std::vector<LoggedKernel>& one, const std::vector<LoggedKernel>& other) {
  return std::equal(
      one.begin(), one.end(), other.begin(), other.end(),
      [](const LoggedKernel& a, const LoggedKernel& b) { return cost_of(a) == cost_of(b); });
}

/// Collectives and the CPU's work are no kernels of the GPU.
void add_kernel(std::vector<LoggedKernel>& kernels, const models::Operator& op) {
  if (models::is_collective(op.kind) || op.kind == models::OperatorKind::on_cpu) return;
  kernels.push_back(kernel_of_pass(op));
  kernels.back().name = {};
}

void add_kernels(std::vector<LoggedKernel>& kernels, const models::StepProgram& program,
                 models::Span span) {
  for (std::uint32_t i = span.first; i < span.last; ++i) add_kernel(kernels, program.operators[i]);
}

/// Those of both passes, and what backward runs again.
std::vector<LoggedKernel> kernels_of(const models::StepProgram& program, std::uint32_t layer,
                                     const std::optional<ActivationPlan>& fates) {
  std::vector<LoggedKernel> kernels;
  const models::LayerSpan& spans = program.layers[layer];
  add_kernels(kernels, program, spans.forward);
  add_kernels(kernels, program, spans.backward);
  if (!fates) return kernels;
  for (const std::uint32_t i : operators_to_rerun(program, layer, *fates))
    add_kernel(kernels, program.operators[i]);
  if (hands_on_again(program, layer, *fates)) add_kernels(kernels, program, spans.forward);
  return kernels;
}

}  // namespace

TimedCut::TimedCut(const models::Model& model, const models::StepProgram& program,
                   const description::Scenario& scenario)
    : flops_(layer_flops(program)), stages_(scenario.parallel.pipeline) {
  const auto fates = fates_of_policy(scenario.strategy, model, program);
  for (std::uint32_t layer = 0; layer < program.layers.size(); ++layer) {
    Kernels kernels = kernels_of(program, layer, fates);
    const auto same = std::find_if(distinct_.begin(), distinct_.end(), [&](const Kernels& known) {
      return cost_the_same(known, kernels);
    });
    of_layer_.push_back(static_cast<std::size_t>(same - distinct_.begin()));
    if (same == distinct_.end()) distinct_.push_back(std::move(kernels));
  }
  for (const models::Layer& layer : model.layers) is_block_.push_back(layer.is_block);
}

std::optional<std::vector<double>> TimedCut::layer_seconds(
    const description::Scenario& scenario) const {
  if (!has_kernel_rates(scenario)) return std::nullopt;
  std::vector<double> each, seconds;
  for (const Kernels& kernels : distinct_) {
    double sum = 0;
    for (const LoggedKernel& kernel : kernels) sum += kernel_seconds(kernel, scenario);
    each.push_back(sum);
  }
  for (const std::size_t i : of_layer_) seconds.push_back(each[i]);
  return seconds;
}

std::vector<StageLayers> TimedCut::stages(const description::Scenario& scenario) const {
  return split_by_work(is_block_, layer_seconds(scenario).value_or(flops_), stages_);
}

}  // namespace spillway::strategies
