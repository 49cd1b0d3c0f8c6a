#include "strategies/layout/chunk_knobs.hpp"
#include "strategies/layout/landing.hpp"
#include "strategies/layout/norm_copies.hpp"
#include "strategies/rules/facts.hpp"
#include "strategies/rules/tables.hpp"

#include <fmt/format.h>
#include <algorithm>

/// Settings that a person wrote and that nothing reads beside the other settings: legal, but an
/// answer would be taken for theirs.
namespace spillway::strategies::rules {

namespace {

using description::ActivationPolicy;
using description::GradientPolicy;
using description::Home;

/// A setting, and what it is read by.
struct Setting {
  const char* path;
  bool (*is_read)(const Case&);
  const char* why_not;  ///< "changes nothing here: ..."
};

/// What people would have without writing it.
const description::Parallel& usual() {
  static const description::Parallel parallel;
  return parallel;
}

bool has_stages(const Case& c) {
  return c.parallel().pipeline > 1 || c.parallel().schedule == usual().schedule;
}
bool has_cuts(const Case& c) {
  return c.parallel().pipeline > 1 || c.parallel().pipeline_cut == usual().pipeline_cut;
}
bool has_tensor_ranks(const Case& c) {
  return c.parallel().tensor > 1 || c.parallel().sequence_parallel == usual().sequence_parallel;
}
bool has_context_ranks(const Case& c) {
  return c.parallel().context > 1 || c.parallel().context_kind == usual().context_kind;
}

/// Weights come to the GPU for a layer: from another tier, or from the shares of other ranks.
bool fetches_weights(const Case& c) {
  const description::WeightsPart& weights = c.parts().weights;
  return weights.home != Home::gpu || weights.experts_alone() || weights.experts_on_cpu() ||
         weights.chunk || (c.parallel().zero_stage == 3 && c.parallel().replicas() > 1);
}
/// A layer's weights, not the chunks that they lie in.
bool fetches_weights_alone(const Case& c) { return !chunk_knobs(c.parts()).used; }
bool reads_weights_from_drives(const Case& c) { return c.parts().weights.home == Home::ssd; }
bool has_pages(const Case& c) { return c.parts().weights.pool == description::PoolKind::pages; }
bool has_buffers_of_one_size(const Case& c) { return has_equal_buffers(c.parts().weights.pool); }

bool moves_saved_tensors(const Case& c) {
  const ActivationPolicy policy = c.parts().activations.policy;
  return moves_by_plan(policy) || policy == ActivationPolicy::offload;
}

bool sends_gradients_off(const Case& c) {
  return c.parts().gradients.policy != GradientPolicy::resident;
}
/// Else they land in states that are pinned.
bool copies_gradients_so(const Case& c) {
  return c.parts().gradients.d2h != description::CopyMemory::pageable ||
         !lands_in_states(c.scenario) || gradients_are_pageable(c.scenario);
}
/// Norms are taken on the GPU: on the way to the host, or before an update there.
bool takes_norms(const Case& c) {
  return c.parts().gradients.norm == description::GradientNorm::in_place ||
         norms_on_the_way(c.scenario) ||
         (!sends_gradients_off(c) && !c.training().optimizer_in_backward);
}
/// An update follows backward on the CPU, or a GPU flattens what it reads.
bool multiplies_gradients(const Case& c) {
  const description::OptimizerPart& optimizer = c.parts().optimizer;
  if (!optimizer.unscale || optimizer.flatten) return true;
  return optimizer.device == description::OptimizerDevice::cpu &&
         (!updates_in_backward(c.parts().gradients.policy) || optimizer.roll_back) &&
         optimizer.staleness != description::any_staleness;
}
bool sums_gradients_on_the_gpu(const Case& c) { return !sends_gradients_off(c); }
bool writes_gradients(const Case& c) { return lie_on_storage(c.parts().gradients.policy); }
bool shares_whole_gradients(const Case& c) {
  return c.parallel().replicas() > 1 && c.parallel().zero_stage < 3;
}

bool has_gradients_to_sum(const Case& c) {
  return c.parallel().replicas() > 1 || c.parallel().tensor > 1;
}

bool selects_columns(const Case& c) { return c.parts().optimizer.selected_share > 0; }
bool keeps_states_on_drives(const Case& c) { return c.parts().optimizer.home == Home::ssd; }
bool has_several_paths(const Case& c) { return c.parts().optimizer.paths.size() > 1; }
bool has_ranks_at_the_same_drives(const Case& c) {
  return keeps_states_on_drives(c) && c.scenario.node_ranks() > 1;
}
bool updates_by_subgroups(const Case& c) {
  return updates_off_gpu(c) || c.parts().optimizer.home == Home::host;
}
/// A GPU that flattens gradients does so for a sub-group at a time.
bool limits_updates(const Case& c) {
  return updates_by_subgroups(c) || c.parts().optimizer.flatten;
}
bool uses_drives(const Case& c) {
  return c.scenario.run.io_bench || !drive_users(c).empty() || keeps_states_on_drives(c) ||
         writes_gradients(c);
}

constexpr const char* one_stage = "there is one stage";
constexpr const char* stays = "weights stay on the GPU";
constexpr const char* no_drive_states = "states are not on SSD";
constexpr const char* nothing_moves = "no saved tensors are moved";
constexpr const char* gradients_stay = "gradients stay on the GPU";
constexpr const char* gpu_updates = "the GPU updates";

constexpr Setting settings[] = {
    {"parallel.schedule", has_stages, one_stage},
    {"parallel.pipeline_cut", has_cuts, one_stage},
    {"parallel.sequence_parallel", has_tensor_ranks, "parallel.tensor is 1"},
    {"parallel.context_kind", has_context_ranks, "parallel.context is 1"},
    {"strategy.weights.prefetch_blocks", fetches_weights, stays},
    {"strategy.weights.prefetch_bucket", fetches_weights, stays},
    {"strategy.weights.max_live", fetches_weights, stays},
    {"strategy.weights.max_reuse", fetches_weights, stays},
    {"strategy.weights.max_reuse", fetches_weights_alone,
     "weights move in chunks, which stay as weights.chunk_cache has room"},
    {"strategy.weights.overlap", reads_weights_from_drives, "no weights are on SSD"},
    {"strategy.weights.max_in_host", reads_weights_from_drives, "no weights are on SSD"},
    {"strategy.weights.page", has_pages, "weights.pool is not \"pages\""},
    {"strategy.weights.buffer_count", has_buffers_of_one_size,
     "weights pass no pool of equal buffers"},
    {"strategy.weights.buffer_size", has_buffers_of_one_size,
     "weights pass no pool of equal buffers"},
    {"strategy.activations.homes", moves_saved_tensors, nothing_moves},
    {"strategy.activations.swap_bytes", moves_saved_tensors, nothing_moves},
    {"strategy.gradients.d2h", sends_gradients_off, gradients_stay},
    {"strategy.gradients.d2h", copies_gradients_so,
     "gradients land in states, which gradients.pinned pins unless it is exact"},
    {"strategy.gradients.norm", takes_norms, "no norms are taken on the GPU"},
    {"strategy.gradients.staging_buffer", sends_gradients_off, gradients_stay},
    {"strategy.gradients.init_copy", sends_gradients_off, gradients_stay},
    {"strategy.gradients.pinned", sends_gradients_off, gradients_stay},
    {"strategy.gradients.flush_tail", writes_gradients, "gradients are not on SSD"},
    {"strategy.gradients.fused_accumulation", sums_gradients_on_the_gpu, "gradients leave the GPU"},
    {"strategy.gradients.sums", has_gradients_to_sum, "no ranks add up gradients"},
    {"strategy.gradients.collective", shares_whole_gradients,
     "no ranks of ZeRO-0, 1 or 2 share gradients"},
    {"strategy.optimizer.ssd_share", keeps_states_on_drives, no_drive_states},
    {"strategy.optimizer.pipeline_read", keeps_states_on_drives, no_drive_states},
    {"strategy.optimizer.pipeline_write", keeps_states_on_drives, no_drive_states},
    {"strategy.optimizer.buffers", keeps_states_on_drives, no_drive_states},
    {"strategy.optimizer.host_fill", keeps_states_on_drives, no_drive_states},
    {"strategy.optimizer.tier_lock", has_ranks_at_the_same_drives, "one rank has the drives"},
    {"strategy.optimizer.adapt", has_several_paths, "states have one path"},
    {"strategy.optimizer.host_cache", updates_by_subgroups, gpu_updates},
    {"strategy.optimizer.order", updates_by_subgroups, gpu_updates},
    {"strategy.optimizer.subgroup", limits_updates, gpu_updates},
    {"strategy.optimizer.grouping", updates_by_subgroups, gpu_updates},
    {"strategy.optimizer.fused_tensors", updates_by_subgroups, gpu_updates},
    {"strategy.optimizer.unscale", multiplies_gradients, "updates take gradients as they come"},
    {"strategy.optimizer.selected_states", selects_columns, "the GPU updates no columns besides"},
    {"strategy.io_engine", uses_drives, "nothing is on drives"},
};

/// Written settings that nothing reads, in the order of their table.
std::vector<const Setting*> unread_settings(const Case& c) {
  std::vector<const Setting*> unread;
  for (const Setting& one : settings)
    if (c.says(one.path) && !one.is_read(c)) unread.push_back(&one);
  return unread;
}

/// Without those of the strategy that say what the system has anyway.
void leave_out_defaults(const Case& c, std::vector<const Setting*>& unread) {
  const nlohmann::json said = {{"strategy", c.parts()}}, usual = {{"strategy", *c.defaults}};
  std::erase_if(unread, [&](const Setting* one) {
    std::string pointer = std::string("/") + one->path;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    const nlohmann::json::json_pointer place(pointer);
    return pointer.starts_with("/strategy/") &&
           said.value(place, nlohmann::json()) == usual.value(place, nlohmann::json());
  });
}

/// Those with one reason together: "a, b".
std::vector<std::string> idle_settings(const Case& c) {
  std::vector<std::string> items;
  if (!c.defaults || !streams(c)) return items;
  std::vector<const Setting*> unread = unread_settings(c);
  if (unread.empty()) return items;
  leave_out_defaults(c, unread);
  std::string_view reason;
  for (const Setting* one : unread) {
    if (reason == one->why_not)
      items.back() += std::string(", ") + one->path;
    else
      items.emplace_back(one->path);
    reason = one->why_not;
  }
  return items;
}

constexpr Rule idle_rows[] = {
    {.path = "{}",
     .broken_by = idle_settings,
     .warning =
         [](const Case& c) {
           const std::string first = c.item.substr(0, c.item.find(','));
           const auto* found = std::find_if(
               std::begin(settings), std::end(settings),
               [&](const Setting& one) { return one.path == first && !one.is_read(c); });
           return fmt::format("nothing reads {} here, as {}: {} nothing",
                              c.item == first ? "it" : "them", found->why_not,
                              c.item == first ? "it changes" : "they change");
         }},
};

}  // namespace

Table idle_rules() { return idle_rows; }

}  // namespace spillway::strategies::rules
