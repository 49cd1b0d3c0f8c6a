#include "strategies/layout/chunk_knobs.hpp"
#include "strategies/machine/setup.hpp"
#include "strategies/rules/facts.hpp"
#include "strategies/rules/tables.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <numeric>

namespace spillway::strategies::rules {

namespace {

using description::Home;

std::uint64_t ways(const Case& subject) { return subject.parallel().expert; }
std::uint64_t experts_of(const Case& subject) { return subject.model->architecture.experts; }
/// Any number divides those of a model that is not known.
std::uint64_t experts_of_any(const Case& subject) {
  return subject.model ? experts_of(subject) : 0;
}
bool are_shared(const Case& subject) { return ways(subject) > 1; }
bool are_on_cpu(const Case& subject) { return subject.parts().weights.experts_on_cpu(); }
bool are_alone(const Case& subject) { return subject.parts().weights.experts_alone(); }
const std::vector<double>& counts(const Case& subject) {
  return subject.training().expert_load.counts;
}

/// Ranks with tokens of their own on a node, of one stage and tensor index.
std::uint64_t replicas_of_a_node(const Case& subject) {
  const auto& parallel = subject.parallel();
  const std::uint64_t gpus = subject.scenario.machine.gpu.count;
  return std::max<std::uint64_t>(std::min(parallel.replicas(), gpus / parallel.tensor), 1);
}

/// As ChosenExperts has it.
bool come_as_chosen(const Case& subject) {
  const description::Training& training = subject.training();
  return training.experts == description::ExpertLayout::separate && !training.lora.dora &&
         subject.parallel().replicas() == 1;
}

/// Only what other knobs read.
bool is_read(const Case& subject) {
  return are_shared(subject) || are_on_cpu(subject) || are_alone(subject);
}

constexpr Rule expert_rows[] = {
    {.path = "parallel.expert",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return !c.model || !are_shared(c) || (experts_of(c) > 0 && experts_of(c) % ways(c) == 0);
         },
     .why = [](const Case& c) -> std::string {
       return experts_of(c) == 0
                  ? c.model->name() + " has no routed experts to share"
                  : fmt::format("{} does not divide the {} routed experts of a layer of {}",
                                ways(c), experts_of(c), c.model->name());
     },
     .hint = [](const Case& c) -> std::string {
       return experts_of(c) == 0 ? "write 1" : fmt::format("use a divisor of {}", experts_of(c));
     }},
    {.path = "parallel.expert",
     .ground = Ground::contradiction,
     .holds = [](const Case& c) { return c.parallel().replicas() % ways(c) == 0; },
     .why =
         [](const Case& c) {
           const bool shares = c.parallel().context > 1;
           const std::uint64_t gpus = c.scenario.machine.gpus();
           const std::string too_few =
               ways(c) > gpus
                   ? fmt::format("; each is on a GPU of its own, of which the machine has {}", gpus)
                   : "";
           return fmt::format(
               "{} does not divide the {} data-parallel ranks{}, which share experts{}", ways(c),
               c.parallel().replicas(), shares ? " x context" : "", too_few);
         },
     .hint = [](const Case& c) -> std::string {
       const std::uint64_t most = std::gcd(c.parallel().replicas(), experts_of_any(c));
       if (ways(c) > c.scenario.machine.gpus())
         return fmt::format("write {}, or take a machine with {} GPUs", most, ways(c));
       return fmt::format("write {}, or a parallel.data of {}", most, ways(c));
     }},
    {.path = "parallel.expert",
     .holds =
         [](const Case& c) {
           const std::uint64_t local = replicas_of_a_node(c);
           return local % ways(c) == 0 || ways(c) % local == 0;
         },
     .why =
         [](const Case& c) {
           return fmt::format(
               "groups of {} ranks neither fill nodes, with {} data-parallel ranks "
               "each, nor divide them",
               ways(c), replicas_of_a_node(c));
         },
     .hint = "use a multiple or a divisor of the data-parallel ranks of a node"},
    {.path = "training.experts",
     .holds =
         [](const Case& c) {
           return !are_shared(c) || c.training().experts == description::ExpertLayout::stacked;
         },
     .why = "parallel.expert cuts tensors of several experts, and separate ones have one each",
     .hint = "write \"stacked\", or parallel.expert 1"},
    {.path = "strategy.weights.chunk",
     .holds =
         [](const Case& c) {
           return !(are_shared(c) || are_alone(c)) || !chunk_knobs(c.parts()).used;
         },
     .why = "chunks hold weights of one place and one group of ranks, and experts have their own",
     .hint = "leave it out, write parallel.expert 1 and weights.experts as_others, or use "
             "zero_offload in place of colossal_gemini"},
    {.path = "training.expert_load",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return !c.model || counts(c).empty() || counts(c).size() == experts_of(c);
         },
     .why =
         [](const Case& c) {
           return fmt::format("{} counts, but a layer of {} has {} routed experts",
                              counts(c).size(), c.model->name(), experts_of(c));
         },
     .hint = "write one for each of them, or { \"zipf\": 1.1 }"},
    {.path = "training.expert_load",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           const auto used = static_cast<std::uint64_t>(std::count_if(
               counts(c).begin(), counts(c).end(), [](double count) { return count > 0; }));
           return !c.model || counts(c).size() != experts_of(c) || counts(c).empty() ||
                  used >= c.model->architecture.experts_per_token;
         },
     .why =
         [](const Case& c) {
           return fmt::format("each token goes to {} experts, and fewer are chosen at all",
                              c.model->architecture.experts_per_token);
         },
     .hint = "write how many tokens went to each expert"},
    {.path = "training.expert_load",
     .holds = [](const Case& c) { return c.training().expert_load.even() || is_read(c); },
     .warning = [](const Case& c) -> std::string {
       return experts_of(c) == 0
                  ? c.model->name() + " has no routed experts: it changes nothing"
                  : "one rank has all experts, whatever tokens choose: it changes nothing";
     }},
    {.path = "training.expert_load",
     .holds =
         [](const Case& c) {
           return c.training().expert_load.even() || !are_alone(c) || come_as_chosen(c);
         },
     .warning = "experts that lie in one tensor, that several ranks gather together or that have "
                "DoRA come for each layer all but those in the cache, chosen or not: what tokens "
                "choose changes times, and no traffic"},
    {.path = "strategy.weights.experts",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return !c.model || !(are_alone(c) || are_on_cpu(c)) || experts_of(c) > 0;
         },
     .why = [](const Case& c) { return c.model->name() + " has no routed experts"; },
     .hint = "leave it out"},
    {.path = "strategy.weights.experts",
     .ground = Ground::contradiction,
     .holds = [](const Case& c) { return !are_alone(c) || c.parts().weights.home != Home::gpu; },
     .why = "experts alone leave the GPU, and weights.home gpu keeps them",
     .hint = "write strategy.weights.home host or ssd, or leave it out"},
    {.path = "strategy.weights.expert_cache",
     .holds = [](const Case& c) { return !c.parts().weights.expert_cache || are_alone(c); },
     .warning = "only experts that leave the GPU have a cache on it: it changes nothing"},
    {.path = "strategy.weights.experts",
     .holds =
         [](const Case& c) {
           return !are_on_cpu(c) || description::has_adapters(c.training().method);
         },
     .why = "what the CPU multiplies by is not trained in this version",
     .hint = "write training.method lora or qlora, whose adapters are beside other matrices"},
    {.path = "training.experts",
     .holds =
         [](const Case& c) {
           return !are_on_cpu(c) || c.training().experts == description::ExpertLayout::stacked;
         },
     .why = "experts that the CPU multiplies by have no adapters, and separate ones might",
     .hint = "write \"stacked\""},
    {.path = "strategy.weights.experts",
     .ground = Ground::contradiction,
     .holds = [](const Case& c) { return !are_on_cpu(c) || cpu_compute_rate(c.scenario) > 0; },
     .why =
         [](const Case& c) {
           return fmt::format("the CPU of {} has no rate for products in {}",
                              c.scenario.machine.name, compute_type(c.training().precision));
         },
     .hint =
         "add machine.host.compute with a rate: what spillway probe writes, or such as { \"bf16\": "
         "\"20 TFLOPS\" } of AMX"},
    {.path = "strategy.weights.experts",
     .holds = [](const Case& c) { return !are_on_cpu(c) || (!are_shared(c) && streams(c)); },
     .why = "the CPU of a node has all experts of its layers, and goes layer by layer",
     .hint = "write parallel.expert 1, and a system that goes layer by layer, such as resident"},
};

}  // namespace

Table expert_rules() { return expert_rows; }

}  // namespace spillway::strategies::rules
