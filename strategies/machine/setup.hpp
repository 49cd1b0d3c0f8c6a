#pragma once

#include "scenarios/description/scenario.hpp"
#include "strategies/machine/machine.hpp"

namespace spillway::strategies {

/// Topology and allocator rules that every machine derives from the resolved scenario in the same
/// way.
///   ranks    of the first of the equal nodes in use, which stands for all; where the stages of a
///            pipeline lie on several nodes, of the first node of each stage, or of all nodes;
///            rank = (pipeline index x data + data index) x tensor + tensor index
///   groups   0 all ranks; then the data-parallel groups, by stage and tensor index; then the
///            tensor-parallel ones, by first rank; then the data-parallel ones again, for
///            reductions. Data-parallel groups and the first span all nodes, tensor-parallel ones
///            none. With parallel.context behind them its groups. With parallel.expert behind them
///            the expert groups, ranks of a data-parallel group in a row, and those that hold the
///            same experts, for gathers and for reductions
///   rates    of peers: gpu.peer_rate, else network.intra_node_per_gpu, else PCIe, which bounds
///            those too that have no access to each other; a storage that nodes share gives each
///            its part of rate and capacity
///   fold     what is done once for all that are equal; Fold::nothing: each is simulated
MachineSetup setup_for(const description::Scenario& scenario, bool clock, bool trace,
                       Fold fold = Fold::nothing);

/// Whether all ranks of a node do the same at the same time, so that one of them, with its part of
/// what they share, stands for all: they have the same share of every tensor and compete for
/// drives, cores and DRAM only, which are divided equally among equal requests. Not so with
/// run.jitter, pipeline stages, arrays of some GPUs alone, GPUs that are the host's own threads or
/// share its memory, and what depends on who comes first: the room or turn of paths, and, of
/// updates that no step waits for, the room in drives' SLC caches.
bool ranks_are_alike(const description::Scenario& scenario);

/// Whether the micro-batches of a step between its first and its last may be equal, so that some
/// stand for all. Steps look whether they are. Not so with run.jitter, pipeline stages, caches of
/// activations, which count what they do, drives whose cache empties meanwhile, and late updates.
bool micro_batches_may_repeat(const description::Scenario& scenario);

/// Nodes that a run simulates. One stands for all of them where they are equal. Stages of a
/// pipeline differ: where they lie on several nodes, the first node of each stage, or all nodes if
/// one holds several stages.
std::uint64_t simulated_nodes(const description::Scenario& scenario);
/// Pipeline stages whose ranks, or some of them, a simulated node has, numbered from 0.
struct StagesOfNode {
  std::uint64_t first = 0, last = 0;
};
StagesOfNode stages_of_node(const description::Scenario& scenario, std::uint64_t node);
/// Ranks on the simulated nodes.
std::uint64_t simulated_ranks(const description::Scenario& scenario);

/// How pinned memory is rounded under `policy`.
Rounding rounding_of(description::PinnedPolicy policy);

/// The data-parallel group of `rank` (its gradients are reduced in it, its states partitioned over
/// it).
Group data_group(const description::Scenario& scenario, Rank rank);
/// The same ranks as data_group, with an order of their own: reductions and gathers overtake each
/// other, and how differs from rank to rank.
Group reduce_group(const description::Scenario& scenario, Rank rank);
/// Of parallel.context above 1: the ranks that share the tokens of `rank`'s samples, which are in a
/// row among those with the same weights.
Group context_group(const description::Scenario& scenario, Rank rank);
/// Of parallel.expert above 1: the ranks that hold the other experts of `rank`'s layers.
Group expert_group(const description::Scenario& scenario, Rank rank);
/// Those of its data-parallel group that hold the same experts; and again, for reductions.
Group expert_data_group(const description::Scenario& scenario, Rank rank);
Group expert_reduce_group(const description::Scenario& scenario, Rank rank);
/// The ranks that hold the other parts of `rank`'s tensors.
Group tensor_group(const description::Scenario& scenario, Rank rank);

/// Name of the element type whose `gpu.compute` rate the kernels of this training reach: fp16,
/// bf16, fp32.
std::string_view compute_type(description::Precision precision);
/// That rate; where the machine has none for fp32, its tf32.
///   Throws  ScenarioError when it has neither
double compute_rate(const description::Scenario& scenario);
/// Whether it has one, and one of 8-bit copies where the training makes such.
bool has_compute_rates(const description::Scenario& scenario);
/// The rate of products of 8-bit copies, `gpu.compute.fp8`.
///   Throws  ScenarioError when the machine has none
double fp8_rate(const description::Scenario& scenario);
/// Of the rates of this training's products the highest.
double fastest_rate(const description::Scenario& scenario);
/// What products of the CPU reach in that type, `host.compute`; 0: the machine has no rate.
double cpu_compute_rate(const description::Scenario& scenario);
/// The rate of flash attention in that type: `gpu.attention`, where the machine has none
/// compute_rate.
double attention_rate(const description::Scenario& scenario);

}  // namespace spillway::strategies
