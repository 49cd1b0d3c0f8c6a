#pragma once

#include "scenarios/description/machine_file.hpp"
#include "scenarios/description/parts.hpp"
#include "scenarios/description/training.hpp"

#include <array>
#include <optional>
#include <string_view>

namespace spillway::description {

/// The words that people write for the values of each enum, in the order of its declaration.
template <class E>
inline constexpr std::array<std::string_view, 0> names_of{};

template <>
inline constexpr std::array<std::string_view, 3> names_of<Home>{"gpu", "host", "ssd"};
template <>
inline constexpr std::array<std::string_view, 4> names_of<PoolKind>{"none", "monolithic",
                                                                    "adaptive", "pages"};
template <>
inline constexpr std::array<std::string_view, 7> names_of<ActivationPolicy>{
    "keep", "checkpoint_gpu", "checkpoint_host", "checkpoint_ssd", "swap", "tensor_cache", "plan"};
template <>
inline constexpr std::array<std::string_view, 6> names_of<GradientPolicy>{
    "resident", "host_fp16", "host_fp32", "ssd_fp32", "active_naive", "active"};
template <>
inline constexpr std::array<std::string_view, 3> names_of<OptimizerDevice>{"gpu", "cpu",
                                                                           "near_storage"};
template <>
inline constexpr std::array<std::string_view, 3> names_of<SubgroupOrder>{"ascending", "descending",
                                                                         "alternating"};
template <>
inline constexpr std::array<std::string_view, 3> names_of<Grouping>{"parameter_groups",
                                                                    "model_order", "layers"};
template <>
inline constexpr std::array<std::string_view, 3> names_of<OverflowCheck>{"none", "chained",
                                                                         "fused"};
template <>
inline constexpr std::array<std::string_view, 2> names_of<PinnedPolicy>{"power_of_two", "exact"};
template <>
inline constexpr std::array<std::string_view, 3> names_of<IoEngine>{"file", "direct", "gds"};
template <>
inline constexpr std::array<std::string_view, 2> names_of<GpuAllocator>{"caching", "exact"};
template <>
inline constexpr std::array<std::string_view, 2> names_of<Width>{"fp16", "fp32"};
template <>
inline constexpr std::array<std::string_view, 2> names_of<ConvertOn>{"gpu", "cpu"};
template <>
inline constexpr std::array<std::string_view, 2> names_of<Landing>{"flat", "states"};
template <>
inline constexpr std::array<std::string_view, 2> names_of<GpuCapacity>{"machine", "unlimited"};
template <>
inline constexpr std::array<std::string_view, 2> names_of<SwapOrder>{"offloading_benefit", "layer"};
template <>
inline constexpr std::array<std::string_view, 2> names_of<MinSwap>{"inter_block", "none"};
template <>
inline constexpr std::array<std::string_view, 5> names_of<ActivationPlanner>{
    "teraio", "g10", "flashneuron", "capuchin", "checkmate"};
template <>
inline constexpr std::array<std::string_view, 3> names_of<KeepLast>{"none", "module", "layer"};
template <>
inline constexpr std::array<std::string_view, 3> names_of<CancelStores>{"never", "behind_budget",
                                                                        "always"};
template <>
inline constexpr std::array<std::string_view, 3> names_of<SkippedLayer>{"loss", "head", "model"};
template <>
inline constexpr std::array<std::string_view, 2> names_of<UpdateOverlap>{"none", "backward"};
template <>
inline constexpr std::array<std::string_view, 2> names_of<PlanDestination>{"ssd", "host"};
template <>
inline constexpr std::array<std::string_view, 2> names_of<PlanSaturation>{"ideal_finish",
                                                                          "no_window"};
template <>
inline constexpr std::array<std::string_view, 2> names_of<CopyMemory>{"pinned", "pageable"};
template <>
inline constexpr std::array<std::string_view, 5> names_of<Precision>{"fp16_mixed", "bf16_mixed",
                                                                     "fp16", "bf16", "fp32"};
template <>
inline constexpr std::array<std::string_view, 5> names_of<ElementType>{"fp32", "fp16", "bf16",
                                                                       "int8", "nf4"};
template <>
inline constexpr std::array<std::string_view, 2> names_of<OptimizerKind>{"adam", "sgd"};
template <>
inline constexpr std::array<std::string_view, 2> names_of<StateWidth>{"fp32", "bf16"};
template <>
inline constexpr std::array<std::string_view, 2> names_of<AttentionKind>{"flash", "materialized"};
template <>
inline constexpr std::array<std::string_view, 3> names_of<LossKind>{"plain", "in_place", "fused"};
template <>
inline constexpr std::array<std::string_view, 2> names_of<ExpertLayout>{"stacked", "separate"};
template <>
inline constexpr std::array<std::string_view, 3> names_of<IoDirection>{"read", "write", "mixed"};
template <>
inline constexpr std::array<std::string_view, 2> names_of<StorageKind>{"ssd", "remote"};
template <>
inline constexpr std::array<std::string_view, 2> names_of<ElementwiseCost>{"included", "separate"};

template <class E>
constexpr std::string_view name_of(E value) {
  return names_of<E>.at(static_cast<std::size_t>(value));
}

/// The value whose word is `name`; none when it is no word of the enum.
template <class E>
constexpr std::optional<E> value_named(std::string_view name) {
  for (std::size_t i = 0; i < names_of<E>.size(); ++i)
    if (names_of<E>[i] == name) return static_cast<E>(i);
  return std::nullopt;
}

}  // namespace spillway::description
