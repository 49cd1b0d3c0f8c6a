#include "strategies/layout/stage_layers.hpp"

#include "strategies/layout/timed_cut.hpp"

#include <algorithm>
#include <numeric>

namespace spillway::strategies {

namespace {

/// A block with what goes with it.
struct Unit {
  std::uint32_t first = 0;  ///< layer
  double work = 0;
};

std::vector<Unit> units_of(const std::vector<bool>& is_block, const std::vector<double>& work) {
  std::vector<Unit> units;
  bool any_block = false;
  for (std::uint32_t layer = 0; layer < is_block.size(); ++layer) {
    if (units.empty() || (is_block[layer] && any_block)) units.push_back({layer, 0});
    any_block = any_block || is_block[layer];
    units.back().work += work[layer];
  }
  return units;
}

/// The first unit of each stage where each takes as many as `limit` allows.
std::vector<std::size_t> filled_up_to(double limit, const std::vector<Unit>& units) {
  std::vector<std::size_t> first;
  double filled = 0;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (first.empty() || filled + units[i].work > limit) {
      first.push_back(i);
      filled = 0;
    }
    filled += units[i].work;
  }
  return first;
}

/// Makes `stages` of fewer: the stages with most units are cut in two, which gives none more.
void cut_further(std::vector<std::size_t>& first, std::size_t units, std::size_t stages) {
  while (first.size() < std::min(stages, units)) {
    std::size_t widest = 0, most = 0;
    for (std::size_t stage = 0; stage < first.size(); ++stage) {
      const std::size_t end = stage + 1 < first.size() ? first[stage + 1] : units;
      if (end - first[stage] <= most) continue;
      most = end - first[stage];
      widest = stage;
    }
    first.insert(first.begin() + static_cast<std::ptrdiff_t>(widest) + 1, first[widest] + most / 2);
  }
}

}  // namespace

std::vector<double> layer_flops(const models::StepProgram& program) {
  std::vector<double> flops;
  for (const models::LayerSpan& layer : program.layers) {
    double sum = 0;
    for (const models::Span span : {layer.forward, layer.backward})
      for (std::uint32_t i = span.first; i < span.last; ++i)
        sum += program.operators[i].flops.value();
    flops.push_back(sum);
  }
  return flops;
}

std::vector<StageLayers> split_evenly(const std::vector<bool>& is_block, std::uint64_t stages) {
  const auto blocks =
      static_cast<std::uint64_t>(std::count(is_block.begin(), is_block.end(), true));
  std::vector<StageLayers> split(stages);
  std::uint64_t seen = 0, stage = 0;
  for (std::uint32_t layer = 0; layer < is_block.size(); ++layer) {
    // the block that would be the first beyond this stage's part begins the next one
    while (is_block[layer] && stage + 1 < stages && seen >= blocks * (stage + 1) / stages) {
      split[stage].last = layer;
      split[++stage].first = layer;
    }
    seen += is_block[layer];
  }
  split[stage].last = static_cast<std::uint32_t>(is_block.size());
  return split;
}

std::vector<StageLayers> split_by_work(const std::vector<bool>& is_block,
                                       const std::vector<double>& work, std::uint64_t stages) {
  const std::vector<Unit> units = units_of(is_block, work);
  // the smallest limit that so many stages keep, by halving
  double low = 0, high = std::accumulate(work.begin(), work.end(), 0.0);
  for (const Unit& unit : units) low = std::max(low, unit.work);
  if (filled_up_to(low, units).size() <= stages) high = low;
  constexpr int halvings = 60;
  for (int i = 0; i < halvings && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    (filled_up_to(middle, units).size() <= stages ? high : low) = middle;
  }
  std::vector<std::size_t> first = filled_up_to(high, units);
  cut_further(first, units.size(), stages);
  const auto layers = static_cast<std::uint32_t>(is_block.size());
  std::vector<StageLayers> split(stages, {layers, layers});
  for (std::size_t stage = 0; stage < first.size(); ++stage) {
    split[stage].first = units[first[stage]].first;
    if (stage > 0) split[stage - 1].last = split[stage].first;
  }
  return split;
}

std::vector<StageLayers> stage_layers(const models::Model& model,
                                      const models::StepProgram& program,
                                      const description::Scenario& scenario) {
  std::vector<bool> blocks;
  for (const models::Layer& layer : model.layers) blocks.push_back(layer.is_block);
  const std::uint64_t stages = scenario.parallel.pipeline, pieces = scenario.parallel.pieces();
  if (pieces > 1 || scenario.parallel.pipeline_cut == description::PipelineCut::layers)
    return split_evenly(blocks, stages * pieces);
  if (scenario.parallel.cut_by_time()) return TimedCut(model, program, scenario).stages(scenario);
  return split_by_work(blocks, layer_flops(program), stages);
}

std::vector<models::PipelineStage> cut_into_stages(const models::Model& model,
                                                   const models::StepProgram& program,
                                                   const std::vector<StageLayers>& layers,
                                                   std::uint64_t stages) {
  std::vector<std::uint32_t> first;
  for (const StageLayers& stage : layers) first.push_back(stage.first);
  return models::cut_into_stages(model, program, first, stages);
}

}  // namespace spillway::strategies
