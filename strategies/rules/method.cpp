#include "strategies/layout/chunk_knobs.hpp"
#include "strategies/rules/facts.hpp"
#include "strategies/rules/tables.hpp"

#include <fmt/format.h>

namespace spillway::strategies::rules {

namespace {

using description::ActivationPolicy;
using description::Method;

bool has_adapters(const Case& subject) {
  return description::has_adapters(subject.training().method);
}

bool trains_all(const Case& subject) { return subject.training().method == Method::full; }

std::string method_of(const Case& subject) {
  return fmt::format("training.method {}", name_of(subject.training().method));
}

std::string not_with_method(const Case& subject) {
  return fmt::format("is not part of this version with {}", method_of(subject));
}

constexpr Rule method_rows[] = {
    {.path = "training.lora",
     .ground = Ground::contradiction,
     .holds = [](const Case& c) { return has_adapters(c) || !c.says("training.lora"); },
     .why = [](const Case& c) { return fmt::format("{} trains no adapters", method_of(c)); },
     .hint = "write \"lora\" or \"qlora\" as training.method, or leave training.lora out"},
    {.path = "training.lora.base",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return c.training().method != Method::qlora ||
                  c.training().lora.base != description::BaseType::bf16;
         },
     .why = "training.method qlora has its base in 8 or 4 bits",
     .hint = "write \"nf4\" or \"int8\", or training.method \"lora\""},
    {.path = "training.optimizer",
     .holds =
         [](const Case& c) {
           return !has_adapters(c) || c.training().optimizer != description::OptimizerKind::muon;
         },
     .warning =
         "muon updates matrices of blocks; adapters are updated as its other weights are, by "
         "Adam"},
    {.path = "training.frozen",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return c.training().method == Method::frozen || c.training().frozen.empty();
         },
     .why = [](const Case& c) -> std::string {
       return has_adapters(c) ? "with adapters all of the model is frozen"
                              : "training.method full trains every weight";
     },
     .hint = [](const Case& c) -> std::string {
       return has_adapters(c) ? "leave it out" : "write \"frozen\" as training.method";
     }},
    {.path = "training.frozen",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return c.training().method != Method::frozen || !c.training().frozen.empty();
         },
     .why = "training.method frozen needs names of what is not trained",
     .hint = "write a list, such as [\"embeddings\", \"layers.0\"], or the method full"},
    {.path = "model",
     .holds =
         [](const Case& c) {
           return trains_all(c) || !c.model || !c.model->architecture.is_diffusion();
         },
     .why = [](const Case& c) { return "a diffusion model " + not_with_method(c); },
     .hint = "train all of it, or a language model"},
    {.path = "parallel.tensor",
     .holds =
         [](const Case& c) {
           return !has_adapters(c) || c.parallel().tensor == 1 ||
                  (c.training().lora.base == description::BaseType::bf16 &&
                   !c.training().lora.dora);
         },
     .why = [](const Case& c) -> std::string {
       return c.training().lora.dora ? "norms of rows that tensor ranks cut are not part of this "
                                       "version"
                                     : fmt::format(
                                           "a cut of matrices in {} is not part of this "
                                           "version",
                                           name_of(c.training().lora.base));
     },
     .hint = "write 1, and parallel.data for more GPUs"},
    {.path = "parallel.pipeline",
     .holds =
         [](const Case& c) {
           return c.training().method != Method::frozen || c.parallel().pipeline == 1;
         },
     .why = [](const Case& c) { return "a pipeline " + not_with_method(c); },
     .hint = "write 1, and parallel.data for more GPUs"},
    {.path = "strategy.system",
     .holds = [](const Case& c) { return trains_all(c) || streams(c); },
     .why =
         [](const Case& c) {
           return fmt::format("{}, which plans whole steps, {}", c.parts().system,
                              not_with_method(c));
         },
     .hint =
         "use resident, zero_offload, zero_infinity or another system that goes layer by layer"},
    {.path = "strategy.activations.policy",
     .holds =
         [](const Case& c) {
           const ActivationPolicy policy = c.parts().activations.policy;
           return trains_all(c) ||
                  (policy != ActivationPolicy::swap && policy != ActivationPolicy::plan);
         },
     .why = [](const Case& c) { return "a plan of what is swapped " + not_with_method(c); },
     .hint = "use keep or a policy that checkpoints"},
    {.path = "strategy.weights.chunk",
     .holds = [](const Case& c) { return trains_all(c) || !chunk_knobs(c.parts()).used; },
     .why = [](const Case& c) { return "weights by chunks " + not_with_method(c); },
     .hint = "leave it out, or use zero_offload in place of colossal_gemini"},
    {.path = "strategy.optimizer.staleness",
     .holds =
         [](const Case& c) {
           return trains_all(c) || c.parts().optimizer.staleness != description::any_staleness;
         },
     .why = [](const Case& c) { return "updates that no step waits for " + not_with_method(c); },
     .hint = "write 0 or 1"},
};

}  // namespace

Table method_rules() { return method_rows; }

}  // namespace spillway::strategies::rules
