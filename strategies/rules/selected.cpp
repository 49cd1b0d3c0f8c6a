#include "strategies/rules/facts.hpp"
#include "strategies/rules/tables.hpp"

#include "scenarios/description/names.hpp"

/// Columns that the GPU updates after each micro-batch, beside the update of all weights.
namespace spillway::strategies::rules {

namespace {

using description::GradientPolicy;
using description::Home;

bool selects(const Case& subject) { return subject.parts().optimizer.selected_share > 0; }
constexpr const char* path = "strategy.optimizer.selected_share";
constexpr const char* select_nothing = "set optimizer.selected_share to 0";

constexpr Rule selected_rows[] = {
    {.path = path,
     .holds = [](const Case& c) { return !selects(c) || streams(c); },
     .why = "plans of whole steps know of one update alone",
     .hint = select_nothing},
    {.path = "parallel.zero_stage",
     .holds =
         [](const Case& c) {
           return !selects(c) || c.parallel().zero_stage == 2 || c.parallel().replicas() > 1;
         },
     .settles = {[](description::Scenario& s) { s.parallel.zero_stage = 2; },
                 "one rank has whole weights and their sums, as in ZeRO-2", true}},
    {.path = "parallel.zero_stage",
     .holds = [](const Case& c) { return !selects(c) || c.parallel().zero_stage >= 2; },
     .why = "columns are selected by sums of each micro-batch, as ZeRO-2 and 3 have them",
     .hint = "use zero_stage 2 or 3, or optimizer.selected_share 0",
     .settles = {[](description::Scenario& s) { s.parallel.zero_stage = 2; },
                 "columns are selected by sums of each micro-batch", false,
                 [](const Case& c) { return selects(c) && c.parallel().zero_stage != 2; }}},
    {.path = path,
     .holds = [](const Case& c) { return !selects(c) || c.parts().weights.home == Home::gpu; },
     .why = "columns that the GPU updates after each micro-batch lie in weights that stay there",
     .hint = "use weights.home gpu, or optimizer.selected_share 0"},
    {.path = "training.method",
     .holds =
         [](const Case& c) {
           return !selects(c) || c.training().method == description::Method::full;
         },
     .why = "columns are selected in a training of all weights",
     .hint = "use full, or optimizer.selected_share 0"},
    {.path = path,
     .holds =
         [](const Case& c) {
           return !selects(c) || (c.training().has_plain_adam() &&
                                  c.training().optimizer_state == description::StateWidth::fp32);
         },
     .why = "columns are updated by Adam, beside fp32 states of all weights",
     .hint = select_nothing},
    {.path = path,
     .holds =
         [](const Case& c) {
           return !selects(c) || (c.parallel().tensor == 1 && c.parallel().pipeline == 1 &&
                                  c.parallel().expert == 1);
         },
     .why =
         "tensor, pipeline and expert ranks hold parts of weights, of which this version selects "
         "no columns",
     .hint = "use parallel.data alone, or optimizer.selected_share 0"},
    {.path = path,
     .holds =
         [](const Case& c) {
           const GradientPolicy policy = c.parts().gradients.policy;
           return !selects(c) ||
                  ((policy == GradientPolicy::resident || policy == GradientPolicy::host_fp16 ||
                    policy == GradientPolicy::host_fp32) &&
                   !c.training().optimizer_in_backward && c.parts().optimizer.cpu_share == 1 &&
                   c.parts().optimizer.delayed_share == 0 && !is_loose(c) &&
                   c.parts().micro_batches == description::MicroBatchOrder::one_by_one);
         },
     .why = "columns are put back when one update of all weights has ended, or comes one step late",
     .hint = "use gradients.policy host_fp32 or resident, micro-batches in turn, "
             "optimizer.cpu_share 1 and delayed_share 0, or optimizer.selected_share 0"},
    {.path = "strategy.optimizer.selected_states",
     .holds =
         [](const Case& c) {
           return !selects(c) || c.parts().optimizer.selected_states != Home::ssd;
         },
     .why = "states of columns that are updated after each micro-batch come and go in backward, "
            "for which drives have no schedule",
     .hint = "use gpu or host"},
    {.path = "training.precision",
     .other = path,
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return !selects(c) || (c.training().precision != description::Precision::fp16_mixed &&
                                  c.training().precision != description::Precision::fp16);
         },
     .why = "columns' moments have the weights' type, and the square of a gradient that was scaled "
            "for fp16 is beyond fp16",
     .hint = "use bf16_mixed, or optimizer.selected_share 0"},
    {.path = "strategy.weights.h2d",
     .other = path,
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return !selects(c) || c.parts().optimizer.staleness == 0 ||
                  !is_mixed(c.training().precision) ||
                  c.parts().weights.h2d == description::WeightCopy::typed ||
                  c.parts().gradients.lands == description::Landing::flat;
         },
     .why = "the CPU leaves fp32 masters in memory that it shares with its second process: they "
            "change type on their way up",
     .hint = "use typed, gradients.lands flat, or optimizer.staleness 0"},
    {.path = path,
     .other = "strategy.overflow_check",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return !selects(c) || c.parts().overflow_check == description::OverflowCheck::none;
         },
     .why = "columns are updated before the step's gradients have been searched for overflows",
     .hint = "use training.precision bf16_mixed, or optimizer.selected_share 0"},
};

}  // namespace

Table selected_rules() { return selected_rows; }

}  // namespace spillway::strategies::rules
