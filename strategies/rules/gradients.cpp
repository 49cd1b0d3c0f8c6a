#include "scenarios/description/names.hpp"
#include "strategies/layout/landing.hpp"
#include "strategies/rules/facts.hpp"
#include "strategies/rules/tables.hpp"

namespace spillway::strategies::rules {

namespace {

using description::GradientCollective;
using description::GradientMemory;
using description::GradientPolicy;
using description::Home;
using description::Landing;
using description::OverflowCheck;
using description::StateWidth;

GradientPolicy gradients_of(const Case& subject) { return subject.parts().gradients.policy; }

bool scatters(const Case& subject) { return scatters_gradients(subject.scenario); }
bool land_in_states(const Case& subject) {
  return subject.parts().gradients.lands == Landing::states;
}
constexpr const char* staleness = "strategy.optimizer.staleness";
constexpr const char* cpu_share = "strategy.optimizer.cpu_share";

/// Paths of parts with which gradients cannot land in the optimizer's states.
std::vector<std::string> what_keeps_them_out(const Case& subject) {
  std::vector<std::string> paths;
  if (!land_in_states(subject)) return paths;
  const auto require = [&](bool holds, const char* path) {
    if (!holds) paths.emplace_back(path);
  };
  const description::OptimizerPart& optimizer = subject.parts().optimizer;
  require(gradients_of(subject) == GradientPolicy::host_fp32, "strategy.gradients.policy");
  require(subject.parts().weights.home == Home::gpu, "strategy.weights.home");
  require(optimizer.home == Home::host, "strategy.optimizer.home");
  require(optimizer.device == description::OptimizerDevice::cpu, "strategy.optimizer.device");
  require(optimizer.cpu_share == 1, cpu_share);
  require(optimizer.staleness == 0 || optimizer.selected_share > 0, staleness);
  return paths;
}
std::string why_not_in_states(const Case& subject) {
  if (subject.item == staleness) return "a late update still reads them while the next step's come";
  if (subject.item == cpu_share) return "ZeRO-1 and 2, which land them so, have the CPU update all";
  return "only gradients that lie beside states in host memory take them in";
}
constexpr const char* land_flat = "set gradients.lands to \"auto\"";

std::string no_loss_scale(const Case& subject) {
  return std::string(name_of(subject.training().precision)) +
         " has no loss scale, so nothing is checked for overflow";
}

/// What is left of the ways where weights, states and their width stay.
std::string without_overflows(const Case& subject) {
  const description::OptimizerPart& optimizer = subject.parts().optimizer;
  const std::string none = "set overflow_check to \"none\"";
  if (optimizer.home == Home::host)
    return none +
           (subject.parts().weights.home == Home::ssd ? "" : " or optimizer.roll_back to true");
  const bool fits = subject.training().optimizer_state != StateWidth::bf16;
  return none + " or gradients.policy to \"" + (fits ? "ssd_fp32" : "host_fp32") + "\"" +
         (optimizer.read_ahead > 0 ? " with optimizer.read_ahead 0" : "");
}

/// Searching gradients for overflows.
constexpr Rule overflow_rows[] = {
    {.path = "strategy.overflow_check",
     .holds =
         [](const Case& c) {
           return c.parts().overflow_check == OverflowCheck::none ||
                  kernel_type(c.training().precision) == description::ElementType::fp16;
         },
     .settles = {[](description::Scenario& s) { s.strategy.overflow_check = OverflowCheck::none; },
                 no_loss_scale, true},
     .warning =
         [](const Case& c) {
           return c.says("strategy.overflow_check") ? no_loss_scale(c) : std::string();
         }},
    {.path = "strategy.overflow_check",
     .other = "strategy.gradients.policy",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return !is_active(c) || c.parts().overflow_check == OverflowCheck::none ||
                  c.parts().optimizer.roll_back;
         },
     .why = "an overflow is known after the last gradient, when the first are applied already",
     .hint = without_overflows},
};

constexpr Rule gradients_rows[] = {
    {.path = "strategy.gradients.policy",
     .holds =
         [](const Case& c) {
           return updates_off_gpu(c) == (gradients_of(c) != GradientPolicy::resident);
         },
     .why = [](const Case& c) -> std::string {
       return updates_off_gpu(c) ? "gradients that stay on the GPU never reach the CPU optimizer"
                                 : "the GPU optimizer needs its gradients on the GPU";
     },
     .hint = [](const Case& c) -> std::string {
       return updates_off_gpu(c) ? "use host_fp16, host_fp32 or ssd_fp32" : "use resident";
     }},
    {.path = "strategy.gradients.policy",
     .holds =
         [](const Case& c) {
           return !lie_on_storage(gradients_of(c)) || c.parts().optimizer.home == Home::ssd;
         },
     .why = "ssd_fp16 and ssd_fp32 stage gradients in the swap buffers of an optimizer on SSD",
     .hint = "use host_fp32, or optimizer.home ssd"},
    {.path = "strategy.gradients.policy",
     .holds =
         [](const Case& c) {
           return gradients_of(c) != GradientPolicy::ssd_fp32 ||
                  c.training().optimizer_state != StateWidth::bf16;
         },
     .why = "ssd_fp32 gradients do not fit the swap buffers of bf16 optimizer states",
     .hint = "use host_fp32, or training.optimizer_state fp32",
     .settles = {[](description::Scenario& s) {
                   s.strategy.gradients.policy = GradientPolicy::host_fp32;
                 },
                 "a bf16 optimizer reads gradients from the flat buffer"}},
    {.path = "strategy.gradients.policy",
     .holds =
         [](const Case& c) {
           return gradients_of(c) != GradientPolicy::ssd_fp16 ||
                  c.parts().optimizer.device == description::OptimizerDevice::near_storage;
         },
     .why = "only drives that update what lies on them take 16-bit gradients; the CPU reads fp32",
     .hint = "use ssd_fp32, or optimizer.device near_storage"},
    {.path = "strategy.gradients.convert",
     .holds =
         [](const Case& c) {
           return !is_active(c) || c.parts().gradients.convert == description::ConvertOn::cpu ||
                  c.parts().optimizer.roll_back;
         },
     .why = "gradients.policy active has no gradients left to norm on the GPU, as "
            "gradients.convert gpu does",
     .hint = "use gradients.convert cpu, or gradients.policy host_fp32",
     .settles = {[](description::Scenario& s) {
                   s.strategy.gradients.convert = description::ConvertOn::cpu;
                 },
                 "active gradients are updated as they land in host memory", false,
                 [](const Case& c) { return is_active(c) && !c.parts().optimizer.roll_back; }}},
    {.path = "strategy.gradients.d2h",
     .holds =
         [](const Case& c) {
           const description::GradientsPart& part = c.parts().gradients;
           return part.d2h != description::CopyMemory::typed ||
                  (gradients_of(c) == GradientPolicy::host_fp32 && !land_in_states(c) &&
                   part.convert == description::ConvertOn::gpu);
         },
     .why = "only gradients that leave the GPU for fp32 ones of the host change type on their way",
     .hint = "use pinned, or gradients.policy host_fp32, lands flat and convert gpu"},
    {.path = "strategy.gradients.d2h",
     .holds =
         [](const Case& c) {
           const description::GradientsPart& part = c.parts().gradients;
           return part.d2h != description::CopyMemory::typed ||
                  part.accumulation == description::Width::fp16;
         },
     .settles = {[](description::Scenario& s) {
                   s.strategy.gradients.d2h = description::CopyMemory::pinned;
                 },
                 "gradients that are summed as fp32 keep their type on their way down", true},
     .warning = "gradients that are summed as fp32 keep their type on their way down"},
    {.path = "strategy.gradients.slabs",
     .holds =
         [](const Case& c) {
           const description::GradientsPart& part = c.parts().gradients;
           return part.slabs == 0 || (gradients_of(c) == GradientPolicy::host_fp16 ||
                                      gradients_of(c) == GradientPolicy::host_fp32);
         },
     .why = "only gradients that are kept in host memory pass slabs on their way there",
     .hint = "use 0, or gradients.policy host_fp16 or host_fp32"},
    {.path = "strategy.gradients.slabs",
     .holds =
         [](const Case& c) {
           const description::GradientsPart& part = c.parts().gradients;
           return part.slabs == 0 ||
                  (part.convert == description::ConvertOn::cpu && !land_in_states(c) &&
                   part.d2h == description::CopyMemory::pinned &&
                   c.parts().optimizer.staleness == 0 && !c.parts().weights.chunk &&
                   updates_off_gpu(c));
         },
     .why = "the CPU adds a slab up, in one flat buffer, whose update is waited for",
     .hint =
         "use 0, or gradients.convert cpu, d2h pinned and lands flat, optimizer.staleness 0 and "
         "no weights.chunk"},
    {.path = "strategy.gradients.main_gradients",
     .holds =
         [](const Case& c) {
           return !c.parts().gradients.main_gradients ||
                  gradients_of(c) == GradientPolicy::resident;
         },
     .why = "only gradients that stay on the GPU are added to others there",
     .hint = "use gradients.policy resident, or main_gradients false"},
    {.path = "strategy.gradients.sums",
     .holds =
         [](const Case& c) {
           return c.parts().gradients.sums != description::GradientSums::at_end ||
                  (gradients_of(c) == GradientPolicy::resident && streams(c) &&
                   c.parallel().zero_stage < 2 && !c.training().optimizer_in_backward);
         },
     .settles = {[](description::Scenario& s) {
                   s.strategy.gradients.sums = description::GradientSums::by_layer;
                 },
                 "only whole gradients that stay on the GPU until the step's update are all there "
                 "when backward is through",
                 true}},
    {.path = "strategy.gradients.collective",
     .holds =
         [](const Case& c) {
           return scatters(c) || c.parallel().zero_stage < 3 ||
                  c.parts().optimizer.selected_share == 0;
         },
     .settles = {[](description::Scenario& s) {
                   s.strategy.gradients.collective = GradientCollective::reduce_scatter;
                 },
                 "columns are selected of each rank's share of a sum in ZeRO-3", true}},
    {.path = "strategy.gradients.collective",
     .holds = [](const Case& c) { return !scatters(c) || c.parallel().zero_stage > 0; },
     .settles = {[](description::Scenario& s) {
                   s.strategy.gradients.collective = GradientCollective::all_reduce;
                 },
                 "each rank of ZeRO-0 updates all weights, and needs all of each sum", true}},
    {.path = "strategy.gradients.collective",
     .holds =
         [](const Case& c) {
           return !scatters(c) || c.parallel().zero_stage != 1 || c.parallel().replicas() == 1 ||
                  (gradients_of(c) == GradientPolicy::resident &&
                   !c.training().optimizer_in_backward);
         },
     .why = "ZeRO-1 scatters only gradients that stay on the GPU until the step's update",
     .hint = "use all_reduce, or parallel.zero_stage 2"},
    {.path = "strategy.gradients.memory",
     .holds =
         [](const Case& c) {
           return c.parts().gradients.memory == GradientMemory::at_start ||
                  (gradients_of(c) == GradientPolicy::resident &&
                   !c.parts().gradients.main_gradients &&
                   !moves_by_plan(c.parts().activations.policy) &&
                   (c.parallel().zero_stage < 2 || c.parallel().replicas() == 1) &&
                   c.parts().overflow_check == OverflowCheck::none);
         },
     .settles = {[](description::Scenario& s) {
                   s.strategy.gradients.memory = GradientMemory::at_start;
                 },
                 "only whole gradients of the type that kernels make, which stay on the GPU beside "
                 "activations that nobody plans, and are not searched for overflows, come and go "
                 "with backward",
                 true}},
    {.path = "strategy.gradients.lands",
     .other = "{}",
     .ground = Ground::contradiction,
     .broken_by = what_keeps_them_out,
     .why = why_not_in_states,
     .hint = land_flat},
    {.path = "strategy.gradients.lands",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return !land_in_states(c) || (is_mixed(c.training().precision) &&
                                         c.training().optimizer_state == StateWidth::fp32);
         },
     .why =
         "gradients.lands \"states\" needs master weights beside those that kernels read, and "
         "fp32 states: training.precision fp16_mixed or bf16_mixed, training.optimizer_state fp32",
     .hint = land_flat},
};

}  // namespace

Table overflow_rules() { return overflow_rows; }

Table gradients_rules() { return gradients_rows; }

}  // namespace spillway::strategies::rules
