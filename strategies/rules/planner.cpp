#include "scenarios/description/names.hpp"
#include "strategies/layout/fates.hpp"
#include "strategies/rules/facts.hpp"
#include "strategies/rules/tables.hpp"

namespace spillway::strategies::rules {

namespace {

using description::ActivationPlanner;
using description::ActivationPolicy;

/// `activations.planner` of a schedule that streams layers and follows a plan.
std::optional<ActivationPlanner> layer_planner(const Case& subject) {
  return streams(subject) ? activation_planner(subject.parts()) : std::nullopt;
}

/// "\"capuchin\"": the planner that the scenario names.
std::string written_planner(const Case& subject) {
  return "\"" + std::string(name_of(subject.parts().activations.planner.value())) + "\"";
}

/// Where what leaves the GPU by the plan goes; null: where `activations.homes` say, or nowhere.
const char* only_home(const Case& subject) {
  const std::optional<ActivationPlanner> planner = layer_planner(subject);
  if (!planner || planner == ActivationPlanner::g10) return nullptr;
  if (planner == ActivationPlanner::flashneuron) return "ssd";
  const bool stays =
      planner == ActivationPlanner::checkmate && subject.parts().activations.homes.empty();
  return stays ? nullptr : "host";
}

constexpr Rule planner_rows[] = {
    {.path = "strategy.activations.policy",
     .holds =
         [](const Case& c) {
           return streams(c) ||
                  (is_resident(c) && c.parts().optimizer.home == description::Home::gpu &&
                   c.parts().gradients.policy == description::GradientPolicy::resident);
         },
     .why = "the planner owns all tensors: none of them can have another home",
     .hint = "use weights.home gpu, gradients.policy resident and optimizer.home gpu"},
    {.path = "strategy.overflow_check",
     .holds =
         [](const Case& c) {
           return streams(c) || c.parts().overflow_check == description::OverflowCheck::none;
         },
     .why = "planned steps have no overflow check",
     .hint = "use none"},
    {.path = "strategy.activations.policy",
     .holds =
         [](const Case& c) {
           const ActivationPolicy policy = c.parts().activations.policy;
           return streams(c) || policy == ActivationPolicy::plan ||
                  policy == ActivationPolicy::keep;
         },
     .why = "a schedule tensor by tensor recomputes nothing and has no checkpoints",
     .hint = "use plan"},
    {.path = "training.ema",
     .holds = [](const Case& c) { return streams(c) || !c.training().ema; },
     .why = "planned steps keep no moving average",
     .hint = "use false"},
    {.path = "strategy.activations.planner",
     .holds =
         [](const Case& c) {
           const auto& planner = c.parts().activations.planner;
           return streams(c) || !planner || name_of(*planner) == c.parts().system;
         },
     .why =
         [](const Case& c) {
           return c.parts().system + " plans for all tensors and has its own planner";
         },
     .hint = "leave activations.planner out, or use a system that streams layers, such as lohan"},
    {.path = "strategy.activations.planner",
     .holds =
         [](const Case& c) {
           return !streams(c) || c.parts().activations.policy != ActivationPolicy::plan ||
                  layer_planner(c);
         },
     .why =
         [](const Case& c) {
           return c.parts().activations.planner
                      ? "no schedule that streams layers has the activations.planner " +
                            written_planner(c)
                      : "activations.policy plan has no activations.planner";
         },
     .hint = "use flashneuron, capuchin, checkmate or g10; teraio is a system of its own"},
    {.path = "strategy.activations.homes",
     .holds =
         [](const Case& c) {
           return layer_planner(c) != ActivationPlanner::g10 ||
                  !c.parts().activations.homes.empty();
         },
     .why = "activations.planner g10 moves activations, and activations.homes has nowhere to go",
     .hint = "write [\"host\", \"ssd\"], or one of them"},
    {.path = "strategy.activations.homes",
     .holds =
         [](const Case& c) {
           const char* home = only_home(c);
           return !home || c.parts().activations.homes == std::vector<std::string>{home};
         },
     .why =
         [](const Case& c) {
           return "activations.planner " + written_planner(c) + " moves activations to " +
                  only_home(c) + " only, whatever activations.homes say";
         },
     .hint = [](const Case& c) { return std::string("write [\"") + only_home(c) + "\"]"; }},
};

}  // namespace

Table planner_rules() { return planner_rows; }

}  // namespace spillway::strategies::rules
