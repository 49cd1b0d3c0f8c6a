#include "scenarios/description/names.hpp"
#include "strategies/layout/norm_copies.hpp"
#include "strategies/rules/facts.hpp"
#include "strategies/rules/tables.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace spillway::strategies::rules {

namespace {

using description::ActivationPolicy;

/// The type whose products a kernel computes: a key of machine.gpu.compute.
std::string compute_type(const Case& subject) {
  return std::string(name_of(description::kernel_type(subject.training().precision)));
}

/// Knobs that any system has, whoever's defaults say them: who plans activations and for how long,
/// that no lower limits are tried, and weights in host memory by chunks.
bool of_any_system(const Case& subject, const std::string& path) {
  if (path == "plan.lower_limits" || path == "weights.chunk" || path == "weights.chunk_cache" ||
      path == "weights.experts" || path == "weights.expert_cache" ||
      path == "activations.offloaded")
    return true;
  return subject.parts().activations.policy == ActivationPolicy::plan &&
         (path == "activations.planner" || path == "activations.node_limit" ||
          path == "activations.gap" || path == "activations.time_limit");
}

/// Written knobs that the system does not read.
std::vector<std::string> unread_knobs(const Case& subject) {
  std::vector<std::string> unread;
  if (!subject.defaults) return unread;
  const std::set<std::string> own = particular_knobs(*subject.defaults);
  for (const std::string& path : particular_knobs(subject.parts()))
    if (subject.says("strategy." + path) && !own.contains(path) && !of_any_system(subject, path))
      unread.push_back(path);
  return unread;
}

bool has_dense_feed_forward(const models::Architecture& architecture) {
  const auto& blocks = architecture.blocks;
  return architecture.experts == 0 || architecture.dense_beside_experts ||
         std::any_of(blocks.begin(), blocks.end(),
                     [](const auto& block) { return block.feeds && !block.experts; });
}

/// Of a micro-batch, on one rank.
std::uint64_t tokens_of_a_pass(const Case& subject) {
  const std::uint64_t all = subject.training().micro_batch * subject.training().sequence;
  return std::max<std::uint64_t>(1, all / subject.parallel().context);
}

constexpr const char* in_backward = "training.optimizer_in_backward";
bool updates_so(const Case& subject) { return subject.training().optimizer_in_backward; }

constexpr const char* clipping = "training.gradient_clipping";

/// Some gradients are applied before the last ones are there, for good.
bool applies_early(const Case& subject) {
  return updates_so(subject) || (is_active(subject) && !subject.parts().optimizer.roll_back);
}

/// Some updates are of gradients of no one step.
bool updates_at_any_time(const Case& subject) {
  const description::OptimizerPart& optimizer = subject.parts().optimizer;
  return optimizer.staleness == description::any_staleness || optimizer.selected_share > 0;
}

/// Updates know the norm of all gradients of their step.
bool waits_for_norms(const Case& subject) {
  return streams(subject) && !applies_early(subject) && !updates_at_any_time(subject) &&
         (!updates_off_gpu(subject) || norms_on_the_way(subject.scenario));
}

std::string without_norm(const Case& subject) {
  if (!streams(subject))
    return subject.parts().system + " plans steps that take no norm of all gradients";
  if (applies_early(subject))
    return "the norm is known after the last gradient, when the first are applied already";
  if (updates_at_any_time(subject))
    return "an update that begins before all gradients of a step are there knows no norm of them";
  return "nothing takes a norm of gradients on their way to host memory: gradients.convert cpu, "
         "slabs and chunks of weights have no place for it";
}

constexpr Rule training_rows[] = {
    {.path = "training.sequence",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           const std::uint64_t positions = c.model ? c.model->architecture.max_positions : 0;
           return positions == 0 || c.training().sequence <= positions;
         },
     .why =
         [](const Case& c) {
           return fmt::format("{} tokens, but {} has {} positions", c.training().sequence,
                              c.model->name(), c.model->architecture.max_positions);
         },
     .hint =
         [](const Case& c) {
           return fmt::format("write at most {}", c.model->architecture.max_positions);
         }},
    {.path = "training.experts",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return !c.model || models::refusal(c.model->architecture, c.training().experts).empty();
         },
     .why =
         [](const Case& c) { return models::refusal(c.model->architecture, c.training().experts); },
     .hint = "leave it out or write \"stacked\""},
    {.path = "training.precision",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return !c.model || c.scenario.machine.gpu.compute.contains(compute_type(c));
         },
     .why =
         [](const Case& c) {
           return fmt::format("\"{}\" needs machine.gpu.compute.{}, which {} does not have",
                              name_of(c.training().precision), compute_type(c),
                              c.scenario.machine.name);
         },
     .hint = [](const Case& c) -> std::string {
       return compute_type(c) == "fp32"
                  ? "add its rate, of fp32 or tf32, or train in another precision"
                  : "add its rate or train in another precision";
     }},
    {.path = "training.mlp_tiles",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return !c.model || c.training().mlp_tiles == 1 ||
                  has_dense_feed_forward(c.model->architecture);
         },
     .why = [](const Case& c) { return c.model->name() + " has no dense feed-forward to tile"; },
     .hint = "leave it out"},
    {.path = "training.mlp_tiles",
     .holds =
         [](const Case& c) {
           return c.training().mlp_tiles == 1 ||
                  c.training().precision != description::Precision::fp8;
         },
     .why = "this version has no 8-bit products inside feed-forwards that go in tiles",
     .hint = "write 1, or precision bf16_mixed"},
    {.path = "training.mlp_tiles",
     .holds = [](const Case& c) { return c.training().mlp_tiles <= tokens_of_a_pass(c); },
     .warning =
         [](const Case& c) {
           return fmt::format(
               "a rank has {} tokens in a pass, and a tile one at least: more "
               "tiles change nothing",
               tokens_of_a_pass(c));
         }},
    {.path = "training.optimizer_state",
     .holds =
         [](const Case& c) {
           return c.training().optimizer_state != description::StateWidth::bf16 ||
                  c.training().precision != description::Precision::fp16_mixed;
         },
     .warning = "bf16 states with fp16_mixed weights lose range or precision at every step"},
    {.path = "training.optimizer_state",
     .holds =
         [](const Case& c) {
           return c.training().optimizer != description::OptimizerKind::sgd ||
                  !c.says("training.optimizer_state");
         },
     .warning = "SGD without momentum has no states, the width changes nothing"},
    {.path = "training.optimizer",
     .holds =
         [](const Case& c) {
           return c.training().optimizer != description::OptimizerKind::paged_adam8bit;
         },
     .warning = "states, masters too, come from host memory for each update, as where the GPU has "
                "no room for them; where it has, the driver leaves them there, and adam8bit is "
                "what it comes to"},
    {.path = "training.packed",
     .holds = [](const Case& c) { return c.training().packed.document <= c.training().sequence; },
     .warning = "documents longer than training.sequence fill it, it changes nothing"},
    {.path = in_backward,
     .holds =
         [](const Case& c) {
           return !updates_so(c) ||
                  (streams(c) && c.parts().optimizer.device == description::OptimizerDevice::gpu);
         },
     .why = [](const Case& c) -> std::string {
       return streams(c) ? "the CPU updates during backward by gradients.policy active"
                         : c.parts().system + " plans its update with the rest of the step";
     },
     .hint = "write false"},
    {.path = in_backward,
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) { return !updates_so(c) || c.training().gradient_accumulation == 1; },
     .why = "no gradient stays that micro-batches could add up in",
     .hint = "write false, or training.gradient_accumulation 1"},
    {.path = in_backward,
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return !updates_so(c) || c.parts().overflow_check == description::OverflowCheck::none;
         },
     .why = "an overflow would be found when weights have been updated",
     .hint = "write false, or strategy.overflow_check none with bf16"},
    {.path = in_backward,
     .holds =
         [](const Case& c) {
           return !updates_so(c) || (c.parallel().replicas() == 1 && c.parallel().pipeline == 1 &&
                                     c.parts().weights.home == description::Home::gpu &&
                                     c.parts().optimizer.staleness == 0);
         },
     .why = "this version updates during backward on one GPU a model, with weights that stay there "
            "and updates that come in time",
     .hint = "write false, or parallel.data 1, parallel.pipeline 1, weights.home gpu and "
             "optimizer.staleness 0"},
    {.path = clipping,
     .holds = [](const Case& c) { return !c.training().clips() || waits_for_norms(c); },
     .why = without_norm,
     .hint = "use 0; or zero_offload, zero_infinity or resident, or superoffload, which takes a "
             "step back where its norm is too long"},
    {.path = "strategy.overflow_check",
     .other = clipping,
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return !c.training().clips() || !c.parts().optimizer.roll_back ||
                  c.parts().overflow_check != description::OverflowCheck::chained;
         },
     .why = "a step whose norm is too long is taken back to copies of old values, which chained "
            "keeps none of",
     .hint = "use fused",
     .settles = {[](description::Scenario& s) {
                   s.strategy.overflow_check = description::OverflowCheck::fused;
                 },
                 "a step that is clipped is taken back to old values, which are kept with fused"}},
    {.path = "strategy.{}",
     .broken_by = unread_knobs,
     .warning =
         [](const Case& c) { return c.parts().system + " has no such knob, it changes nothing"; }},
};

}  // namespace

Table training_rules() { return training_rows; }

}  // namespace spillway::strategies::rules
