#include "strategies/rules/facts.hpp"
#include "strategies/rules/tables.hpp"

/// An update that goes on beside the next steps.
namespace spillway::strategies::rules {

namespace {

using description::ActivationPolicy;
using description::GradientPolicy;
using description::Home;
using description::OptimizerDevice;

bool is_late(const Case& subject) { return subject.parts().optimizer.staleness > 0; }

constexpr const char* publishes_in_host =
    "optimizer.staleness async publishes weights in host memory, none of which may stay on the GPU "
    "as weights.home gpu and weights.persistence_threshold let them";
constexpr const char* keep_nothing =
    "use weights.home host and a weights.persistence_threshold of \"0 params\"";

/// Steps that wait for no update.
constexpr Rule loose_rows[] = {
    {.path = "strategy.optimizer.staleness",
     .holds =
         [](const Case& c) {
           const description::OptimizerPart& optimizer = c.parts().optimizer;
           return optimizer.staleness != description::any_staleness || updates_off_gpu(c) ||
                  optimizer.replay;
         },
     .why = "with optimizer.device gpu there is no time beside the steps to update in",
     .hint = "use optimizer.device cpu, or staleness 0"},
    {.path = "strategy.weights.home",
     .holds = [](const Case& c) { return !is_loose(c) || c.parts().weights.home != Home::gpu; },
     .why = publishes_in_host,
     .hint = keep_nothing},
    {.path = "strategy.weights.persistence_threshold",
     .holds =
         [](const Case& c) {
           const description::WeightsPart& weights = c.parts().weights;
           return !is_loose(c) || weights.home == Home::gpu ||
                  weights.persistence_threshold.value() == 0;
         },
     .why = publishes_in_host,
     .hint = keep_nothing},
    {.path = "strategy.gradients.convert",
     .holds =
         [](const Case& c) {
           return !is_loose(c) || c.parts().gradients.convert != description::ConvertOn::gpu;
         },
     .why = "optimizer.staleness async adds gradients up in host memory, where gradients.convert "
            "gpu reads them back",
     .hint = "use gradients.convert cpu"},
    {.path = "strategy.overflow_check",
     .holds =
         [](const Case& c) {
           return !is_loose(c) || c.parts().overflow_check == description::OverflowCheck::none;
         },
     .why = "optimizer.staleness async has no step to skip: an update takes gradients of several",
     .hint = "use overflow_check none, or optimizer.staleness 1"},
    {.path = "strategy.optimizer.order",
     .holds =
         [](const Case& c) {
           return !is_loose(c) ||
                  c.parts().optimizer.order == description::SubgroupOrder::ascending;
         },
     .why = "optimizer.staleness async takes sub-groups in turn",
     .hint = "use optimizer.order ascending"},
    {.path = "strategy.activations.policy",
     .holds =
         [](const Case& c) {
           const ActivationPolicy policy = c.parts().activations.policy;
           return !is_loose(c) ||
                  (policy != ActivationPolicy::swap && policy != ActivationPolicy::plan);
         },
     .why = "optimizer.staleness async renews weights between a block's forward and its second "
            "run: which run twice must not depend on a plan, as with activations.policy swap or "
            "plan",
     .hint = "use keep or a checkpoint policy, or optimizer.staleness 0"},
    {.path = "parallel.tensor",
     .holds = [](const Case& c) { return !is_loose(c) || c.parallel().tensor == 1; },
     .why = "ranks of a tensor-parallel group have tensors in common, which optimizer.staleness "
            "async would renew at different times",
     .hint = "use parallel.tensor 1, or optimizer.staleness 0"},
};

constexpr Rule staleness_rows[] = {
    {.path = "strategy.optimizer.staleness",
     .holds = [](const Case& c) { return !has_streaming_stages(c) || !is_late(c); },
     .why = "stages of a pipeline begin a step together, with weights of one update",
     .hint = "use 0, or parallel.pipeline 1"},
    {.path = "strategy.optimizer.staleness",
     .holds =
         [](const Case& c) {
           const std::uint64_t staleness = c.parts().optimizer.staleness;
           return staleness <= 1 || staleness == description::any_staleness;
         },
     .why = "updates come one step late, not late, or when they come",
     .hint = "use 0, 1 or \"async\""},
    {.path = "strategy.optimizer.staleness",
     .holds =
         [](const Case& c) {
           return !is_late(c) || c.parts().optimizer.device != OptimizerDevice::near_storage;
         },
     .why = "a late update inside the storage would change weights that the step reads",
     .hint = "use optimizer.device cpu, or staleness 0"},
    {.path = "strategy.optimizer.staleness",
     .holds = [](const Case& c) { return !is_late(c) || streams(c); },
     .why = "planned steps end with their update",
     .hint = "use 0"},
    {.path = "strategy.optimizer.staleness",
     .holds = [](const Case& c) { return !is_late(c) || c.parts().weights.home != Home::ssd; },
     .why = "weights.home ssd has one copy of each weight: a late update would change it under "
            "the step that reads it",
     .hint = "use weights.home host or gpu, or staleness 0"},
    {.path = "strategy.optimizer.staleness",
     .holds = [](const Case& c) { return !is_late(c) || !is_active(c); },
     .why = "gradients.policy active updates during backward, not beside the next step",
     .hint = "use gradients.policy host_fp16, or staleness 0"},
    {.path = "strategy.optimizer.staleness",
     .holds =
         [](const Case& c) { return !is_late(c) || !lie_on_storage(c.parts().gradients.policy); },
     .why = "gradients.policy ssd_fp16 or ssd_fp32 has room for the gradients of one step",
     .hint = "use gradients.policy host_fp16 or host_fp32, or staleness 0"},
    {.path = "strategy.optimizer.staleness",
     .holds =
         [](const Case& c) {
           return !is_late(c) || c.training().optimizer_state != description::StateWidth::bf16;
         },
     .why = "with 16-bit states the weight is the master: the step would read it half updated",
     .hint = "use training.optimizer_state fp32, or staleness 0"},
};

}  // namespace

Table loose_rules() { return loose_rows; }

Table staleness_rules() { return staleness_rows; }

}  // namespace spillway::strategies::rules
