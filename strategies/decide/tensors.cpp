#include "strategies/decide/tensors.hpp"

#include "strategies/decide/gpu_share.hpp"
#include "strategies/layout/landing.hpp"
#include "strategies/layout/subgroups.hpp"

#include <algorithm>

namespace spillway::strategies {

namespace {

using description::Home;
using description::OptimizerDevice;

/// Fills the rows of one table.
class Rows {
 public:
  Rows(const description::Scenario& scenario, const models::Model& model,
       const models::StepProgram& program, std::vector<bool> held)
      : scenario_(scenario),
        weights_(scenario.strategy.weights),
        optimizer_(scenario.strategy.optimizer),
        model_(model),
        formats_(scenario.training),
        partition_(partition_of(scenario)),
        of_experts_(expert_partition_of(scenario)),
        host_room_(weights_.max_in_host.value()),
        rows_(model.weights.size()) {
    for (const models::Tensor& tensor : program.tensors)
      if (tensor.weight && tensor.role == models::TensorRole::weight && held[*tensor.weight] &&
          !is_on_cpu(*tensor.weight))
        rows_[*tensor.weight].elements = tensor.elements;
  }

  TensorTable fill() {
    find_leaving();
    for (std::uint32_t weight = 0; weight < rows_.size(); ++weight) fill_row(weight);
    group_states();
    return TensorTable(std::move(rows_));
  }

 private:
  void fill_row(std::uint32_t weight) {
    TensorRow& row = rows_[weight];
    const models::WeightFormats formats = formats_.of(model_.weights[weight]);
    row.weight = formats.weight;
    row.parameter = formats.parameter;
    row.gradient = formats.gradient;
    if (row.gradient && products_widen(scenario_, model_.weights[weight]))
      row.gradient = fp32_numbers;
    // where nothing is mixed no copy is counted, though a CPU may keep fp32 masters of 16 bits
    row.has_copy = formats.has_master();
    row.shards = model_.weights[weight].routed ? of_experts_ : partition_;
    const bool stays = persistent(weight);
    row.whole = row.shards.weight_ways() == 1 || stays;
    row.home = stays ? Home::gpu : home_of(row.share(row.shards.weight_ways()));
    if (!row.trainable()) return;
    row.updater = optimizer_.device;
    row.state_home = optimizer_.home;
    row.states = formats.states;
    add_states(row);
  }

  /// The CPU multiplies by it where it lies, and nobody trains it.
  bool is_on_cpu(std::uint32_t weight) const {
    return weights_.experts_on_cpu() && model_.weights[weight].routed;
  }

  /// Where experts alone leave the GPU: all of them but those in its cache, which most tokens
  /// choose. A tensor of several experts is one.
  void find_leaving() {
    if (!weights_.experts_alone()) return;
    leaves_.assign(rows_.size(), false);
    std::vector<std::uint32_t> experts;
    for (std::uint32_t weight = 0; weight < rows_.size(); ++weight)
      if (model_.weights[weight].routed && rows_[weight].elements > 0) experts.push_back(weight);
    for (const std::uint32_t weight : experts) leaves_[weight] = true;
    const models::Architecture& a = model_.architecture;
    const std::vector<double> shares = scenario_.training.expert_load.shares(
        std::max<std::uint64_t>(a.experts, 1), std::max<std::uint64_t>(a.experts_per_token, 1));
    std::stable_sort(experts.begin(), experts.end(), [&](std::uint32_t one, std::uint32_t other) {
      return shares[model_.weights[one].expert] > shares[model_.weights[other].expert];
    });
    std::uint64_t room = weights_.expert_cache ? weights_.expert_cache->value() : 0;
    for (const std::uint32_t weight : experts) {
      const std::uint64_t bytes =
          formats_.of(model_.weights[weight]).weight.bytes(rows_[weight].elements);
      if (bytes > room) return;
      room -= bytes;
      leaves_[weight] = false;
    }
  }

  bool persistent(std::uint32_t weight) const {
    const TensorRow& row = rows_[weight];
    if (!leaves_.empty() && !leaves_[weight]) return true;
    if (row.elements <= weights_.persistence_threshold.value()) return true;
    if (weights_.home != Home::ssd) return false;
    return !model_.weights[weight].decays() ||
           row.weight.bytes(row.share(row.shards.weight_ways())) < smallest_swapped;
  }

  /// Of a share of so many elements; takes them from the room that weights have in host memory.
  Home home_of(std::uint64_t elements) {
    if (weights_.home != Home::ssd) return weights_.home;
    if (elements > host_room_) return Home::ssd;
    host_room_ -= elements;
    return Home::host;
  }

  void add_states(TensorRow& row) const {
    if (optimizer_.master == description::MasterKept::copy) return add_master(row);
    if (optimizer_.device == OptimizerDevice::gpu || row.has_own_master()) return;
    const bool wide = scenario_.training.optimizer_state == description::StateWidth::fp32 &&
                      optimizer_.master == description::MasterKept::own;
    const bool apart =
        row.home == Home::gpu || (optimizer_.home != Home::ssd && row.home == Home::ssd);
    if (wide || apart) add_master(row);
  }

  void add_master(TensorRow& row) const {
    if (row.has_own_master()) return;
    const bool wide = scenario_.training.optimizer_state == description::StateWidth::fp32;
    row.states.insert(row.states.begin(), {StateKind::master, wide ? fp32_numbers : row.weight});
  }

  /// Of the sub-groups up to each one, `ssd_share` lies on drives.
  bool goes_to_drives(std::uint32_t subgroup) const {
    const auto up_to = [&](std::uint32_t count) {
      return static_cast<std::uint64_t>(optimizer_.ssd_share * count);
    };
    return up_to(subgroup + 1) > up_to(subgroup);
  }

  void group_states() {
    const std::vector<Subgroup> groups = make_subgroups(
        model_, optimizer_.subgroup.value(), optimizer_.grouping, optimizer_.fused_tensors,
        subgroup_alignment(rows_), [this](std::uint32_t weight) {
          const TensorRow& row = rows_[weight];
          return row.trainable() ? row.share(row.shards.state_ways()) : 0;
        });
    const std::size_t of_gpu = subgroups_of_gpu(optimizer_.cpu_share, groups.size());
    for (std::uint32_t index = 0; index < groups.size(); ++index) {
      const bool swapped = optimizer_.home == Home::ssd && goes_to_drives(index) &&
                           fp32_numbers.bytes(groups[index].elements) >= smallest_swapped;
      for (const Subgroup::Member& member : groups[index].members) {
        TensorRow& row = rows_[member.weight];
        row.subgroup = index;
        if (index < of_gpu) {
          row.updater = OptimizerDevice::gpu;
          row.state_home = Home::gpu;
          add_master(row);
        }
        if (swapped || optimizer_.home != Home::ssd) continue;
        row.state_home = Home::host;
        row.updater = OptimizerDevice::cpu;
        if (row.home == Home::ssd) add_master(row);  // no update in host memory reads it from there
      }
    }
  }

  const description::Scenario& scenario_;
  const description::WeightsPart& weights_;
  const description::OptimizerPart& optimizer_;
  const models::Model& model_;
  const models::Formats formats_;
  const Partition partition_, of_experts_;
  std::uint64_t host_room_;
  std::vector<TensorRow> rows_;
  std::vector<bool> leaves_;  ///< by weight, where not all do that weights.home has; else empty
};

}  // namespace

std::vector<TensorTable> decide_tensors(const description::Scenario& scenario,
                                        const Prepared& prepared) {
  std::vector<TensorTable> tables;
  if (scenario.run.io_bench) return tables;
  const std::size_t weights = prepared.model.weights.size();
  for (const models::PipelineStage& stage : prepared.stages) {
    std::vector<bool> held(weights, false);
    for (const models::Layer& layer : stage.model.layers)
      for (const std::uint32_t weight : layer.weights) held[weight] = true;
    tables.push_back(Rows(scenario, stage.model, stage.program, std::move(held)).fill());
  }
  if (tables.empty())
    tables.push_back(
        Rows(scenario, prepared.model, prepared.program, std::vector<bool>(weights, true)).fill());
  return tables;
}

}  // namespace spillway::strategies
