#include "strategies/parts/make.hpp"

#include "strategies/layout/landing.hpp"
#include "strategies/parts/activations/recomputed.hpp"
#include "strategies/parts/activations/saved_by_plan.hpp"
#include "strategies/parts/activations/saved_in_cache.hpp"
#include "strategies/parts/update/cpu_updater.hpp"
#include "strategies/parts/update/gpu_updater.hpp"
#include "strategies/parts/update/gradients_by_owner.hpp"
#include "strategies/parts/update/gradients_in_slabs.hpp"
#include "strategies/parts/update/gradients_in_weights.hpp"
#include "strategies/parts/update/gradients_to_storage.hpp"
#include "strategies/parts/update/joint_updater.hpp"
#include "strategies/parts/weights/weight_chunks.hpp"

#include <algorithm>
#include <functional>

namespace spillway::strategies {

using description::Home;

MadeWeights make_weights(Machine& machine, Rank rank, const Job& job) {
  Weights::Sources sources;
  sources.layout = std::make_unique<const WeightLayout>(job);
  const WeightLayout& layout = *sources.layout;
  MadeWeights made;
  const description::Strategy& strategy = job.scenario.strategy;
  const bool loose = strategy.optimizer.staleness == description::any_staleness;
  if (loose && strategy.optimizer.device == description::OptimizerDevice::gpu) {
    ENSURE(job.replay, "no delays to repeat");
    auto replayed =
        std::make_unique<ReplayedWeights>(machine, rank, job, layout, job.replay->at(rank.index));
    made.replayed = replayed.get();
    sources.gpu = std::move(replayed);
  } else {
    sources.gpu = std::make_unique<WeightsOnGpu>(machine, rank, job, layout);
  }
  if (layout.any(Home::host)) {
    if (chunk_knobs(strategy).used) {
      sources.host = std::make_unique<WeightChunks>(machine, rank, job, layout);
    } else if (loose) {
      auto renewed = std::make_unique<RenewedWeights>(machine, rank, job, layout,
                                                      job.shared->delays[rank.index].seen);
      made.renewed = renewed.get();
      sources.host = std::move(renewed);
    } else {
      sources.host = std::make_unique<WeightsInHost>(machine, rank, job, layout);
    }
  }
  if (strategy.weights.home == Home::ssd)
    sources.storage = std::make_unique<WeightsOnStorage>(machine, rank, job, layout);
  made.all = std::make_unique<Weights>(machine, rank, job, std::move(sources));
  return made;
}

namespace {

/// As `Others` has them, or with layers that make some again.
template <class Others>
std::unique_ptr<SavedTensors> make_saved(Machine& machine, Rank rank, const Job& job,
                                         ActivationMemory& memory) {
  const bool again =
      std::any_of(job.plans.layers.begin(), job.plans.layers.end(),
                  [](const LayerPlan& layer) { return !layer.recompute.segments.empty(); });
  if (again) return std::make_unique<Recomputed<Others>>(machine, rank, job, memory);
  return std::make_unique<Others>(machine, rank, job, memory);
}

}  // namespace

std::unique_ptr<SavedTensors> make_saved_tensors(Machine& machine, Rank rank, const Job& job,
                                                 ActivationMemory& memory) {
  using description::ActivationPolicy;
  const ActivationPolicy policy = job.scenario.strategy.activations.policy;
  if (job.activations.by_module) return make_saved<SavedInCache>(machine, rank, job, memory);
  if (policy == ActivationPolicy::swap || policy == ActivationPolicy::plan ||
      policy == ActivationPolicy::offload)
    return make_saved<SavedByPlan>(machine, rank, job, memory);
  if (!job.plans.moved.empty()) return make_saved<SavedAndMoved>(machine, rank, job, memory);
  return make_saved<SavedOnGpu>(machine, rank, job, memory);
}

namespace {

/// Makes a sink, which `one` then points to.
template <class Sink, class... More>
std::unique_ptr<GradientsToHost> make_sink(Sink*& one, Machine& machine, Rank rank, const Job& job,
                                           CpuOptimizer& optimizer, const More&... more) {
  auto made = std::make_unique<Sink>(machine, rank, job, optimizer, more...);
  one = made.get();
  return made;
}

/// `all`: with the rows that others update.
std::unique_ptr<GradientsToHost> make_host_sink(MadeGradients& made, Machine& machine, Rank rank,
                                                const Job& job, CpuOptimizer& optimizer,
                                                const Job& all) {
  const description::Strategy& strategy = job.scenario.strategy;
  if (lands_in_states(job.scenario)) {
    if (strategy.optimizer.staleness == 0)
      return make_sink(made.states, machine, rank, job, optimizer);
    auto late = std::make_unique<LateGradientsIntoStates>(machine, rank, job, optimizer);
    made.states = late.get();
    made.late = late.get();
    return late;
  }
  if (updates_in_backward(strategy.gradients.policy))
    return make_sink(made.active, machine, rank, job, optimizer, all);
  if (strategy.optimizer.staleness == description::any_staleness)
    return make_sink(made.loose, machine, rank, job, optimizer);
  if (strategy.optimizer.staleness == 1) {
    auto late = std::make_unique<LateGradients>(machine, rank, job, optimizer);
    made.late = late.get();
    return late;
  }
  if (reuses_chunks(job.scenario))
    return std::make_unique<GradientsInWeights>(machine, rank, job, optimizer);
  if (lie_on_storage(strategy.gradients.policy))
    return std::make_unique<GradientsToStorage>(machine, rank, job, optimizer);
  if (strategy.gradients.slabs > 0)
    return std::make_unique<GradientsInSlabs>(machine, rank, job, optimizer);
  return std::make_unique<GradientsToHost>(machine, rank, job, optimizer);
}

}  // namespace

Owners::Owners(const Job& job) {
  const auto on_gpu = [](const TensorRow& row) {
    return row.updater == description::OptimizerDevice::gpu;
  };
  const auto any = [&](bool wanted) {
    const auto& rows = job.tensors.rows();
    return std::any_of(rows.begin(), rows.end(),
                       [&](const TensorRow& row) { return row.subgroup && on_gpu(row) == wanted; });
  };
  const bool gpus = any(true), other = any(false);
  if (gpus && other) {
    gpu = &gpu_rows_.emplace(job, job.tensors.owned(on_gpu));
    others = &other_rows_.emplace(job, job.tensors.owned(std::not_fn(on_gpu)));
  } else {
    (other ? others : gpu) = &job;
  }
}

MadeGradients make_gradients(Machine& machine, Rank rank, const Job& job, const Owners& owners,
                             CpuOptimizer* optimizer, Replay* replay, SelectedColumns* selected) {
  MadeGradients made;
  std::vector<OwnedGradients> sinks;
  if (owners.gpu && job.scenario.training.optimizer_in_backward) {
    auto taken = std::make_unique<GradientsIntoGpuUpdate>(*owners.gpu);
    made.in_backward = taken.get();
    sinks.push_back({owners.gpu, std::move(taken)});
  } else if (owners.gpu) {
    auto resident = std::make_unique<ResidentGradients>(machine, rank, *owners.gpu, replay);
    made.resident = resident.get();
    sinks.push_back({owners.gpu, std::move(resident)});
  }
  if (optimizer) {
    auto host = make_host_sink(made, machine, rank, *owners.others, *optimizer, job);
    made.host = host.get();
    sinks.push_back({owners.others, std::move(host)});
  }
  std::unique_ptr<GradientSink> sink;
  if (sinks.size() == 1)
    sink = std::move(sinks.front().sink);
  else
    sink = std::make_unique<GradientsByOwner>(machine, std::move(sinks));
  if (selected) sink = std::make_unique<GradientsBesideSelected>(*selected, std::move(sink));
  made.all = std::make_unique<Gradients>(machine, rank, job, std::move(sink));
  return made;
}

namespace {

std::unique_ptr<Updater> make_host_updater(Machine& machine, Rank rank, const Job& job,
                                           const MadeWeights& weights, const MadeGradients& sinks,
                                           CpuOptimizer* on_cpu) {
  if (sinks.active) return std::make_unique<ActiveUpdater>(*on_cpu, *sinks.all, *sinks.active);
  if (sinks.late) return std::make_unique<LateUpdater>(machine, *on_cpu, *sinks.late);
  if (!sinks.loose) return std::make_unique<CpuUpdater>(*on_cpu, *sinks.host);
  ENSURE(weights.renewed, "weights that no loose update can renew");
  return std::make_unique<LooseUpdater>(machine, rank, job, *weights.renewed, *on_cpu,
                                        *sinks.loose);
}

}  // namespace

std::unique_ptr<Updater> make_updater(Machine& machine, Rank rank, const Job& job,
                                      const MadeWeights& weights, const MadeGradients& sinks,
                                      GpuOptimizer* on_gpu, CpuOptimizer* on_cpu,
                                      SelectedColumns* selected) {
  std::vector<std::unique_ptr<Updater>> all;
  if (on_gpu && weights.replayed)
    all.push_back(std::make_unique<RepeatedUpdater>(*on_gpu, weights.replayed->replay()));
  else if (on_gpu && sinks.in_backward)
    all.push_back(std::make_unique<GpuUpdaterInBackward>(*on_gpu, *sinks.in_backward));
  else if (on_gpu)
    all.push_back(std::make_unique<GpuUpdater>(*on_gpu));
  if (on_cpu) all.push_back(make_host_updater(machine, rank, job, weights, sinks, on_cpu));
  std::unique_ptr<Updater> updater;
  if (all.size() == 1)
    updater = std::move(all.front());
  else
    updater = std::make_unique<JointUpdater>(machine, std::move(all));
  if (!selected) return updater;
  const bool late = job.scenario.strategy.optimizer.staleness > 0;
  return std::make_unique<UpdaterBesideSelected>(*selected, std::move(updater), late);
}

}  // namespace spillway::strategies
