#include "strategies/rules/facts.hpp"
#include "strategies/rules/tables.hpp"

namespace spillway::strategies::rules {

namespace {

using description::ActivationPolicy;
using description::CancelStores;

ActivationPolicy policy_of(const Case& subject) { return subject.parts().activations.policy; }

constexpr const char* recompute = "training.recompute";
constexpr const char* every = "strategy.activations.checkpoint_every";
constexpr const char* one_each = "use 1";
bool shares_checkpoints(const Case& subject) {
  return subject.parts().activations.checkpoint_every != 1;
}
/// Ranks pass keys and values on, around a ring.
bool passes_on(const Case& subject) {
  return subject.parallel().context > 1 &&
         subject.parallel().context_kind == description::ContextKind::ring;
}
bool checkpoints(ActivationPolicy policy) {
  return policy == ActivationPolicy::checkpoint_gpu ||
         policy == ActivationPolicy::checkpoint_host || policy == ActivationPolicy::checkpoint_ssd;
}

/// Blocks that share a checkpoint have two turns in backward.
constexpr Rule every_rows[] = {
    {.path = every,
     .holds = [](const Case& c) { return !shares_checkpoints(c) || checkpoints(policy_of(c)); },
     .why = "only checkpoint policies make a block's input again from that of a block before it",
     .hint = "use 1, or activations.policy checkpoint_gpu"},
    {.path = every,
     .holds = [](const Case& c) { return !shares_checkpoints(c) || streams(c); },
     .why = "plans of whole steps have no blocks that run twice",
     .hint = one_each},
    {.path = every,
     .holds = [](const Case& c) { return !shares_checkpoints(c) || !c.parts().weights.chunk; },
     .why = "weights.chunk plans its chunks for one turn of each layer in a pass",
     .hint = "use 1, or a system without weights.chunk, such as zero_offload"},
    {.path = every,
     .holds =
         [](const Case& c) {
           return !shares_checkpoints(c) ||
                  c.parts().optimizer.staleness != description::any_staleness;
         },
     .why = "optimizer.staleness async renews weights between a block's turns",
     .hint = "use 1, or optimizer.staleness 0"},
    {.path = every,
     .holds = [](const Case& c) { return !shares_checkpoints(c) || c.parallel().pipeline == 1; },
     .why = "inputs that another stage has sent are kept",
     .hint = "use 1, or parallel.pipeline 1"},
};

constexpr Rule activations_rows[] = {
    {.path = "strategy.activations.policy",
     .other = recompute,
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return !c.training().recompute.full || policy_of(c) != ActivationPolicy::keep;
         },
     .why = "what is kept is not computed again",
     .hint = "leave activations.policy out, or write recompute",
     .settles = {.set =
                     [](description::Scenario& s) {
                       s.strategy.activations.policy = ActivationPolicy::checkpoint_gpu;
                     },
                 .reason = "training.recompute full: blocks keep their input alone"}},
    {.path = recompute,
     .other = "strategy.activations.policy",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) { return !c.training().recompute.full || !moves_by_plan(policy_of(c)); },
     .why = "a planner or a cache decides what is computed again",
     .hint = "leave training.recompute out, or use activations.policy recompute"},
    {.path = recompute,
     .other = "strategy.activations.policy",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return !c.training().recompute.full || policy_of(c) != ActivationPolicy::offload;
         },
     .why = "what operators save leaves the GPU and comes back: nothing is computed again",
     .hint = "leave training.recompute out, or use activations.policy recompute"},
    {.path = "strategy.activations.policy",
     .other = recompute,
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return c.training().recompute.operators.empty() || !checkpoints(policy_of(c));
         },
     .why = "a block of which the input alone is kept is computed again as a whole",
     .hint = "leave activations.policy out, or write keep",
     .settles = {.set =
                     [](description::Scenario& s) {
                       s.strategy.activations.policy = ActivationPolicy::keep;
                     },
                 .reason = "training.recompute names operators: what others make is kept"}},
    {.path = recompute,
     .other = "strategy.activations.policy",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return c.training().recompute.operators.empty() ||
                  policy_of(c) == ActivationPolicy::keep || checkpoints(policy_of(c));
         },
     .why = "this policy decides itself what is computed again",
     .hint = "leave training.recompute out, or use activations.policy keep"},
    {.path = recompute,
     .holds =
         [](const Case& c) {
           const auto& again = c.training().recompute;
           return again.full || !again.operators.empty() || !c.says(recompute) ||
                  !checkpoints(policy_of(c));
         },
     .warning =
         [](const Case& c) {
           return part_with_value(c.scenario, "activations.policy") +
                  " keeps blocks' inputs alone, so that backward computes blocks again all the "
                  "same: activations.policy keep does not";
         }},
    {.path = recompute,
     .holds = [](const Case& c) { return c.training().recompute.operators.empty() || streams(c); },
     .why = [](const Case& c) { return c.parts().system + " plans tensors of the whole step"; },
     .hint = "leave it out"},
    {.path = "parallel.sequence_parallel",
     .holds =
         [](const Case& c) {
           return !c.parallel().sequence_parallel || c.parallel().tensor == 1 ||
                  (streams(c) && !moves_by_plan(policy_of(c)));
         },
     .why = "this version shares tokens where saved tensors stay on the GPU or are computed again",
     .hint = "use activations.policy keep or recompute, or write false"},
    {.path = "strategy.activations.policy",
     .holds =
         [](const Case& c) {
           return !has_streaming_stages(c) || c.parallel().one_at_a_time() ||
                  policy_of(c) == ActivationPolicy::keep ||
                  policy_of(c) == ActivationPolicy::checkpoint_gpu ||
                  policy_of(c) == ActivationPolicy::tensor_cache;
         },
     .why = "several micro-batches of a pipeline stage are under way at once, which this policy "
            "does not tell apart",
     .hint = "use keep, recompute or tensor_cache, or parallel.schedule sequential"},
    {.path = "strategy.activations.policy",
     .holds =
         [](const Case& c) {
           return !c.parallel().splits_backward() || !streams(c) ||
                  policy_of(c) == ActivationPolicy::keep;
         },
     .why = "zero_bubble computes gradients of weights later, from what is kept until then",
     .hint = "use keep, or parallel.schedule 1f1b"},
    {.path = "training.recompute",
     .holds =
         [](const Case& c) {
           const auto& again = c.training().recompute.operators;
           return !c.parallel().splits_backward() ||
                  std::all_of(again.begin(), again.end(), [](auto one) {
                    return one == description::RecomputedOperator::attention;
                  });
         },
     .why = "zero_bubble computes gradients of weights later, from what norms and activations made",
     .hint = "write selective, none or parallel.schedule 1f1b"},
    {.path = recompute,
     .other = "parallel.context_kind",
     .holds =
         [](const Case& c) {
           const auto& again = c.training().recompute.operators;
           return !passes_on(c) ||
                  std::find(again.begin(), again.end(),
                            description::RecomputedOperator::attention) == again.end();
         },
     .why = "the attention of a ring goes block by block, which is computed again with its whole "
            "layer alone",
     .hint = "write full or none, or parallel.context_kind ulysses"},
    {.path = "strategy.activations.offloaded",
     .other = "parallel.context_kind",
     .holds =
         [](const Case& c) {
           const auto& leave = c.parts().activations.offloaded;
           return !passes_on(c) || !leave ||
                  std::find(leave->begin(), leave->end(), description::SavingOperator::attention) ==
                      leave->end();
         },
     .why = "the blocks of a ring's attention are no tensors of one operator",
     .hint = "leave it out, or write parallel.context_kind ulysses"},
    {.path = "strategy.activations.homes",
     .holds =
         [](const Case& c) {
           return policy_of(c) != ActivationPolicy::offload ||
                  c.parts().activations.homes.size() == 1;
         },
     .why = "activations.policy offload has one home",
     .hint = "write [\"host\"] or [\"ssd\"]",
     .settles = {.set = [](description::Scenario& s) { s.strategy.activations.homes = {"host"}; },
                 .reason = "what is offloaded goes to host memory where nobody says more"}},
    {.path = "strategy.activations.offloaded",
     .holds =
         [](const Case& c) {
           return !c.parts().activations.offloaded || policy_of(c) == ActivationPolicy::offload;
         },
     .why = "only activations.policy offload asks which operators' tensors leave",
     .hint = "leave it out, or use activations.policy offload"},
    {.path = "strategy.activations.homes",
     .holds =
         [](const Case& c) {
           return policy_of(c) != ActivationPolicy::swap || !c.parts().activations.homes.empty();
         },
     .why = "activations.policy swap has no activations.homes to swap to",
     .hint = "write [\"host\", \"ssd\"], or one of them"},
    {.path = "strategy.activations.homes",
     .holds =
         [](const Case& c) {
           return policy_of(c) != ActivationPolicy::tensor_cache ||
                  c.parts().activations.homes.size() == 1;
         },
     .why = "a cache of activations has one home",
     .hint = "write [\"ssd\"] or [\"host\"]"},
    {.path = "strategy.activations.checkpoints_per_block",
     .holds =
         [](const Case& c) {
           return c.parts().activations.checkpoints_per_block != 2 ||
                  policy_of(c) == ActivationPolicy::swap;
         },
     .why = "only what is swapped, or computed again, tensor by tensor has checkpoints inside "
            "blocks",
     .hint = "use 1, or activations.policy swap"},
    {.path = "strategy.activations.cancel",
     .other = "strategy.activations.forwarding",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           const description::ActivationsPart& part = c.parts().activations;
           return part.forwarding != false || !part.cancel || part.cancel == CancelStores::never;
         },
     .why = "only a store whose tensor was forwarded can be cancelled",
     .hint = "set activations.cancel to \"never\" or activations.forwarding to true"},
};

}  // namespace

Table checkpoint_rules() { return every_rows; }

Table activations_rules() { return activations_rows; }

}  // namespace spillway::strategies::rules
