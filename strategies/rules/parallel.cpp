#include "strategies/rules/facts.hpp"
#include "strategies/rules/tables.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <numeric>

namespace spillway::strategies::rules {

namespace {

using description::Home;

std::uint64_t gpus_of_a_node(const Case& subject) { return subject.scenario.machine.gpu.count; }

/// Ranks on several nodes, which are to be filled alike.
bool spans_nodes(const Case& subject) {
  return subject.parallel().ranks() > gpus_of_a_node(subject);
}

bool has_stages_on_nodes(const Case& subject) {
  return subject.parallel().pipeline > 1 && spans_nodes(subject);
}

/// Ranks of a pipeline stage: its data- and tensor-parallel ones.
std::uint64_t ranks_of_a_stage(const Case& subject) {
  return subject.parallel().replicas() * subject.parallel().tensor;
}

/// Of data parallelism: multiples of so many fill nodes, beside the others.
std::uint64_t ranks_that_fill_nodes(const Case& subject) {
  const std::uint64_t gpus = gpus_of_a_node(subject);
  return gpus / std::gcd(gpus, subject.parallel().tensor * subject.parallel().context);
}

std::uint64_t blocks_of(const models::Model& model) {
  return model.architecture.layers + model.architecture.encoder_layers;
}

/// "12 attention heads": what tensor-parallel ranks would have to cut a piece of.
std::vector<std::string> undivided(const Case& subject) {
  std::vector<std::string> all;
  if (!subject.model) return all;
  for (const auto& [what, count] : subject.model->architecture.shared_by_ranks())
    if (count % subject.parallel().tensor != 0) all.push_back(fmt::format("{} {}", count, what));
  return all;
}

using description::PipelineSchedule;

bool interleaves(const Case& subject) { return subject.parallel().pieces() > 1; }

/// Layers read what lies further back than the layer before them.
bool reads_from_afar(const models::Architecture& a) {
  return a.is_diffusion() || (a.encoder_layers > 0 && a.layers > 0) ||
         std::any_of(a.blocks.begin(), a.blocks.end(),
                     [](const models::BlockTraits& block) { return !block.own_index; });
}

constexpr const char* one_gpu_a_stage = "a plan is for one GPU a pipeline stage";

constexpr Rule parallel_rows[] = {
    {.path = "parallel",
     .ground = Ground::contradiction,
     .holds = [](const Case& c) { return c.parallel().ranks() <= c.scenario.machine.gpus(); },
     .why =
         [](const Case& c) {
           const description::Parallel& parallel = c.parallel();
           const std::uint64_t gpus = c.scenario.machine.gpus();
           return fmt::format(
               "data {} x tensor {} x pipeline {}{} makes {} ranks, but {} has {} GPU{}",
               parallel.data, parallel.tensor, parallel.pipeline,
               parallel.context > 1 ? fmt::format(" x context {}", parallel.context) : "",
               parallel.ranks(), c.scenario.machine.name, gpus, gpus == 1 ? "" : "s");
         },
     .hint = "lower one of them or raise machine.gpu.count or machine.nodes"},
    {.path = "parallel.tensor",
     .ground = Ground::contradiction,
     .broken_by = undivided,
     .why =
         [](const Case& c) {
           return fmt::format("{} does not divide the {} of {}", c.parallel().tensor, c.item,
                              c.scenario.model_name);
         }},
    {.path = "parallel.pipeline",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) { return !c.model || c.parallel().pipeline <= blocks_of(*c.model); },
     .why =
         [](const Case& c) {
           return fmt::format("{} stages, but {} has {} blocks", c.parallel().pipeline,
                              c.model->name(), blocks_of(*c.model));
         }},
    {.path = "parallel.pipeline",
     .holds =
         [](const Case& c) {
           const std::uint64_t stage = ranks_of_a_stage(c), gpus = gpus_of_a_node(c);
           return !has_stages_on_nodes(c) || gpus % stage == 0 || stage % gpus == 0;
         },
     .why =
         [](const Case& c) {
           return fmt::format(
               "stages of {} ranks (data x tensor) neither fill nodes of {} GPUs nor divide them",
               ranks_of_a_stage(c), gpus_of_a_node(c));
         },
     .hint = "choose parallel.data and parallel.tensor so that a node holds whole stages, or a "
             "stage fills whole nodes"},
    {.path = "parallel.schedule",
     .holds =
         [](const Case& c) {
           return streams(c) || (!interleaves(c) && !c.parallel().splits_backward());
         },
     .why =
         [](const Case& c) {
           return c.parts().system +
                  " plans whole steps, whose passes wait for what stages hand over";
         },
     .hint = "write 1f1b, gpipe or sequential"},
    {.path = "training.gradient_accumulation",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return !interleaves(c) ||
                  c.training().gradient_accumulation % c.parallel().pipeline == 0;
         },
     .why =
         [](const Case& c) {
           return fmt::format(
               "{} micro-batches, which {} stages do not divide: interleaved, a "
               "stage has as many of one piece in a row as there are stages",
               c.training().gradient_accumulation, c.parallel().pipeline);
         },
     .hint =
         [](const Case& c) {
           return fmt::format("write a multiple of {}, or parallel.schedule 1f1b",
                              c.parallel().pipeline);
         }},
    {.path = "parallel.virtual_stages",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return !interleaves(c) || !c.model ||
                  blocks_of(*c.model) % (c.parallel().pipeline * c.parallel().pieces()) == 0;
         },
     .why =
         [](const Case& c) {
           return fmt::format("{} pieces on each of {} stages do not divide the {} blocks of {}",
                              c.parallel().pieces(), c.parallel().pipeline, blocks_of(*c.model),
                              c.model->name());
         },
     .hint = "choose so that virtual_stages x pipeline divides them"},
    {.path = "parallel.virtual_stages",
     .holds =
         [](const Case& c) {  // results name the usual value, whatever the schedule
           return interleaves(c) ||
                  c.parallel().virtual_stages == description::Parallel().virtual_stages;
         },
     .warning = "only stages of parallel.schedule interleaved have pieces: it changes nothing"},
    {.path = "parallel.schedule",
     .holds =
         [](const Case& c) {
           return !interleaves(c) || !c.model || !reads_from_afar(c.model->architecture);
         },
     .why =
         [](const Case& c) {
           return "blocks of " + c.model->name() +
                  " read what lies further back than the block before: its way would lead several "
                  "times through each stage";
         },
     .hint = "write 1f1b, gpipe, zero_bubble or sequential"},
    {.path = "parallel.pipeline_cut",
     .holds =
         [](const Case& c) {
           return !interleaves(c) || c.parallel().pipeline_cut == description::PipelineCut::layers;
         },
     .why = "pieces of interleaved stages have equal numbers of blocks",
     .hint = "leave it out, or write parallel.schedule 1f1b",
     .settles = {.set =
                     [](description::Scenario& s) {
                       s.parallel.pipeline_cut = description::PipelineCut::layers;
                     },
                 .reason = "pieces of interleaved stages have equal numbers of blocks"}},
    {.path = "parallel.context",
     .holds =
         [](const Case& c) {
           return c.parallel().context == 1 || !moves_by_plan(c.parts().activations.policy);
         },
     .why = "this version shares samples where saved tensors stay on the GPU or are computed again",
     .hint = "use activations.policy keep or recompute, or write 1"},
    {.path = "parallel.context",
     .holds =
         [](const Case& c) {
           const std::uint64_t ranks = c.parallel().context * c.parallel().tensor;
           return c.parallel().context == 1 ||
                  (streams(c) && std::min(gpus_of_a_node(c), ranks_of_a_stage(c)) % ranks == 0);
         },
     .why = [](const Case& c) -> std::string {
       return streams(c) ? "context ranks stay inside a node in this version" : one_gpu_a_stage;
     },
     .hint = [](const Case& c) -> std::string {
       if (!streams(c)) return "write parallel.context 1, and parallel.pipeline for more GPUs";
       return fmt::format("let context x tensor divide the {} GPUs of a node", gpus_of_a_node(c));
     }},
    {.path = "parallel.data",
     .holds = [](const Case& c) { return streams(c) || c.parallel().data == 1; },
     .why = one_gpu_a_stage,
     .hint = "use parallel.data 1, and parallel.pipeline for more GPUs"},
    {.path = "parallel.tensor",
     .holds = [](const Case& c) { return streams(c) || c.parallel().tensor == 1; },
     .why = one_gpu_a_stage,
     .hint = "use parallel.tensor 1, and parallel.pipeline for more GPUs"},
    {.path = "parallel.pipeline",
     .holds = [](const Case& c) { return !has_streaming_stages(c) || updates_behind_passes(c); },
     .why =
         [](const Case& c) {
           return c.parts().system +
                  " updates beside passes, in drives or in chunks of weights, and stages of a "
                  "pipeline do so behind all of their passes";
         },
     .hint = "use tensor or data parallelism, with parallel.pipeline 1"},
    {.path = "parallel.pipeline",
     .holds =
         [](const Case& c) {
           return !has_streaming_stages(c) || is_resident(c) || !c.model ||
                  (!c.model->architecture.tied_embeddings &&
                   c.model->architecture.relative_position_buckets == 0);
         },
     .why =
         [](const Case& c) {
           return "two stages hold weights of " + c.model->name() +
                  ", whose gradients are summed where they stay on the GPU: weights.home gpu, "
                  "optimizer.device gpu";
         },
     .hint = "use tensor or data parallelism, with parallel.pipeline 1"},
    {.path = "parallel.zero_stage",
     .holds =
         [](const Case& c) {
           return !has_streaming_stages(c) || c.parallel().replicas() == 1 ||
                  c.parallel().zero_stage < 2;
         },
     .why = "1F1B adds micro-batches to gradients that are whole on each rank: stages 2 and 3 "
            "would spread them after each",
     .hint = "use parallel.zero_stage 0 or 1"},
    {.path = "parallel.tensor",
     .holds =
         [](const Case& c) {
           return !spans_nodes(c) || gpus_of_a_node(c) % c.parallel().tensor == 0;
         },
     .why =
         [](const Case& c) {
           const std::uint64_t tensor = c.parallel().tensor, gpus = gpus_of_a_node(c);
           return fmt::format(
               "{} {} the {} GPUs of a node: its ranks would exchange activations between nodes",
               tensor, tensor > gpus ? "exceeds" : "does not divide", gpus);
         },
     .hint =
         [](const Case& c) {
           return fmt::format("use a divisor of {}, and parallel.data across nodes",
                              gpus_of_a_node(c));
         }},
    {.path = "parallel.data",
     .holds =
         [](const Case& c) {
           const std::uint64_t gpus = gpus_of_a_node(c);
           return !spans_nodes(c) || has_stages_on_nodes(c) || gpus % c.parallel().tensor != 0 ||
                  c.parallel().ranks() % gpus == 0;
         },
     .why =
         [](const Case& c) {
           return fmt::format("{} ranks do not fill nodes of {} GPUs equally", c.parallel().ranks(),
                              gpus_of_a_node(c));
         },
     .hint =
         [](const Case& c) {
           return fmt::format(
               "use a multiple of {}, or set machine.gpu.count to the GPUs that "
               "are used of each node",
               ranks_that_fill_nodes(c));
         }},
    {.path = "parallel.zero_stage",
     .holds =
         [](const Case& c) {
           return c.parallel().zero_stage == 3 || c.parts().weights.home == Home::gpu ||
                  c.parallel().replicas() == 1;
         },
     .why =
         [](const Case& c) {
           const bool shares = c.parallel().context > 1;
           return fmt::format(
               "weights outside the GPU need ZeRO stage 3 where parallel.data{} is {}",
               shares ? " x context" : "", c.parallel().replicas());
         },
     .hint = "set parallel.zero_stage to 3 or strategy.weights.home to gpu"},
};

}  // namespace

Table parallel_rules() { return parallel_rows; }

}  // namespace spillway::strategies::rules
