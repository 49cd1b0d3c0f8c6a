#include "strategies/layout/chunk_knobs.hpp"
#include "strategies/rules/facts.hpp"
#include "strategies/rules/tables.hpp"

#include <fmt/format.h>

namespace spillway::strategies::rules {

namespace {

using description::WeightCopies;

bool is_fp8(const Case& subject) {
  return subject.training().precision == description::Precision::fp8;
}

/// Every rank has all of each weight of its stage on its GPU, from step to step.
bool weights_stay(const Case& subject) {
  const bool sharded = subject.parallel().zero_stage == 3 && subject.parallel().replicas() > 1;
  return subject.parts().weights.home == description::Home::gpu && !sharded && streams(subject) &&
         !chunk_knobs(subject.parts()).used;
}

constexpr const char* why_per_use =
    "weights that come to the GPU for their layer, or that a plan moves, are copied there each "
    "time";

constexpr const char* why_no_transposes =
    "the card's products in 8 bits read their operands along any dimension";

constexpr Rule rows[] = {
    {.path = "training.fp8",
     .ground = Ground::contradiction,
     .holds = [](const Case& c) { return is_fp8(c) || !c.says("training.fp8"); },
     .why =
         [](const Case& c) {
           return fmt::format("training.precision {} multiplies nothing in 8 bits",
                              name_of(c.training().precision));
         },
     .hint = "write \"fp8\" as training.precision, or leave training.fp8 out"},
    {.path = "training.precision",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return !c.model || !is_fp8(c) || c.scenario.machine.gpu.compute.contains("fp8");
         },
     .why =
         [](const Case& c) {
           return fmt::format("\"fp8\" needs machine.gpu.compute.fp8, which {} does not have",
                              c.scenario.machine.name);
         },
     .hint = "add its rate (of a card that multiplies in 8 bits: Ada, Hopper or later), or train "
             "in bf16_mixed"},
    {.path = "training.lora.base",
     .holds =
         [](const Case& c) {
           return !is_fp8(c) || !description::has_adapters(c.training().method) ||
                  c.training().lora.base == description::BaseType::bf16;
         },
     .why =
         [](const Case& c) {
           return fmt::format(
               "8-bit copies of matrices that lie in {} are not part of this version",
               name_of(c.training().lora.base));
         },
     .hint = "write \"bf16\" and training.method lora, or training.precision bf16_mixed"},
    {.path = "parallel.sequence_parallel",
     .holds = [](const Case& c) { return !is_fp8(c) || !c.parallel().sequence_parallel; },
     .why = "a gather of 8-bit inputs is not part of this version",
     .hint = "write false, or training.precision bf16_mixed"},
    {.path = "training.fp8.transposes",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return !is_fp8(c) || !c.training().fp8.transposes ||
                  !c.scenario.machine.gpu.fp8_any_layout;
         },
     .why = why_no_transposes,
     .hint = "write false",
     .settles = {[](description::Scenario& s) { s.training.fp8.transposes = false; },
                 why_no_transposes}},
    {.path = "training.fp8.weight_copies",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return !is_fp8(c) || c.training().fp8.weight_copies == WeightCopies::per_use ||
                  weights_stay(c);
         },
     .why = why_per_use,
     .hint = "write per_use",
     .settles = {[](description::Scenario& s) {
                   s.training.fp8.weight_copies = WeightCopies::per_use;
                 },
                 why_per_use}},
};

}  // namespace

Table fp8_rules() { return rows; }

}  // namespace spillway::strategies::rules
