#include "scenarios/description/names.hpp"
#include "strategies/rules/facts.hpp"
#include "strategies/rules/tables.hpp"

namespace spillway::strategies::rules {

namespace {

using description::Home;
using description::OptimizerDevice;
using description::OptimizerKind;
using description::OptimizerPart;
using description::StateWidth;
using description::SubgroupOrder;
using description::UpdateOverlap;

const OptimizerPart& optimizer_of(const Case& subject) { return subject.parts().optimizer; }

/// The GPU updates some sub-groups beside the CPU.
bool is_shared_out(const Case& subject) { return optimizer_of(subject).cpu_share != 1; }
constexpr const char* host_cache = "strategy.optimizer.host_cache";
constexpr const char* wait = "strategy.optimizer.wait";
constexpr const char* kernels = "strategy.optimizer.kernels";
bool is_fused(const Case& subject) {
  return optimizer_of(subject).kernels == description::AdamKernels::fused;
}
constexpr const char* share = "strategy.optimizer.cpu_share";
constexpr const char* share_nothing = "set optimizer.cpu_share to 1";

/// Whoever updates off the GPU has the optimizer.
bool updates_by_its_rule(const Case& subject) {
  const bool cpu = optimizer_of(subject).device == description::OptimizerDevice::cpu;
  return subject.training().has_plain_adam() ||
         (cpu && subject.training().optimizer == OptimizerKind::lion);
}

bool is_behind_backward_on_gpu(const Case& subject) {
  return is_resident(subject) && optimizer_of(subject).staleness == 0 &&
         optimizer_of(subject).home == Home::gpu && !subject.parts().weights.chunk &&
         !subject.training().optimizer_in_backward;
}

bool shares_states(const Case& subject) {
  return subject.parallel().replicas() > 1 && subject.parallel().zero_stage > 0;
}

constexpr Rule optimizer_rows[] = {
    {.path = "strategy.optimizer.order",
     .holds =
         [](const Case& c) {
           return !is_active(c) || optimizer_of(c).order == SubgroupOrder::descending;
         },
     .why = "gradients.policy active updates sub-groups as backward completes them, last first: "
            "another optimizer.order would wait for all of it",
     .hint = "use optimizer.order descending, or gradients.policy host_fp16",
     .settles = {[](description::Scenario& s) {
                   s.strategy.optimizer.order = SubgroupOrder::descending;
                 },
                 "active gradients arrive last layer first", false, is_active}},
    {.path = "strategy.optimizer.overlap",
     .holds =
         [](const Case& c) {
           return !streams(c) || optimizer_of(c).overlap != UpdateOverlap::backward;
         },
     .why = [](const Case& c) { return c.parts().system + " updates behind backward"; },
     .hint = "use none; gradients.policy active has the CPU update during backward, and g10 the "
             "GPU"},
    {.path = "strategy.optimizer.subgroup",
     .holds = [](const Case& c) { return optimizer_of(c).subgroup.value() > 0; },
     .why = "a sub-group of no parameters",
     .hint = "write a size such as \"1e8 params\""},
    {.path = "strategy.optimizer.home",
     .holds =
         [](const Case& c) {
           return c.training().optimizer != OptimizerKind::paged_adam8bit || updates_off_gpu(c) ||
                  optimizer_of(c).home == Home::host;
         },
     .why = "paged states live in host memory",
     .hint = "write host",
     .settles = {[](description::Scenario& s) { s.strategy.optimizer.home = Home::host; },
                 "paged states live in host memory"}},
    {.path = "strategy.optimizer.home",
     .holds =
         [](const Case& c) {
           return updates_off_gpu(c) ? optimizer_of(c).home != Home::gpu
                                     : optimizer_of(c).home != Home::ssd;
         },
     .why = [](const Case& c) -> std::string {
       return updates_off_gpu(c) ? "states on the GPU cannot be updated by the CPU"
                                 : "states on SSD cannot be updated by the GPU";
     },
     .hint = "let optimizer.device and optimizer.home agree"},
    {.path = "strategy.optimizer.home",
     .holds =
         [](const Case& c) {
           return updates_off_gpu(c) || optimizer_of(c).home != Home::host ||
                  (streams(c) && !c.training().ema && optimizer_of(c).staleness == 0 &&
                   c.parts().weights.home == Home::gpu);
         },
     .why = "states come from host memory for updates on the GPU where weights stay there, without "
            "a moving average and in time",
     .hint = "use optimizer.home gpu, or optimizer.device cpu"},
    {.path = "strategy.optimizer.home",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return c.training().optimizer != OptimizerKind::sgd ||
                  is_mixed(c.training().precision) || optimizer_of(c).home != Home::ssd;
         },
     .why = "optimizer.home \"ssd\" contradicts training.optimizer \"sgd\": without momentum and "
            "master weights there are no states to keep there",
     .hint = "set optimizer.home to \"gpu\" or training.optimizer to \"adam\""},
    {.path = "training.ema",
     .holds = [](const Case& c) { return !updates_off_gpu(c) || !c.training().ema; },
     .why = "the moving average lies beside the weights that optimizer.device gpu updates",
     .hint = "use false, or optimizer.device gpu"},
    {.path = "training.optimizer",
     .holds = [](const Case& c) { return !updates_off_gpu(c) || updates_by_its_rule(c); },
     .why = [](const Case& c) -> std::string {
       if (c.training().has_8bit_states() && description::is_adam(c.training().optimizer))
         return "states in 8 bits are updated by the GPU alone";
       return optimizer_of(c).device == description::OptimizerDevice::cpu
                  ? "the CPU optimizers of this version are Adam and Lion"
                  : "drives update by Adam alone";
     },
     .hint = "use adam with optimizer_state fp32 or bf16, or optimizer.device gpu"},
    {.path = "training.optimizer",
     .holds =
         [](const Case& c) {
           if (!description::needs_whole_matrices(c.training().optimizer)) return true;
           const bool exchanges =
               c.training().optimizer == OptimizerKind::muon && is_behind_backward_on_gpu(c);
           return streams(c) && c.parallel().tensor == 1 && (!shares_states(c) || exchanges);
         },
     .why =
         [](const Case& c) {
           std::string why(name_of(c.training().optimizer));
           why += " updates whole matrices, of which this version's ranks have no shares";
           if (c.training().optimizer == OptimizerKind::muon && c.parallel().tensor == 1)
             why += " but on the GPU: behind backward, of weights and states that stay there";
           return why;
         },
     .hint = [](const Case& c) -> std::string {
       return c.training().optimizer == OptimizerKind::muon
                  ? "use parallel.tensor 1 and resident, with training.optimizer_in_backward "
                    "false where ranks share states, or adam"
                  : "use parallel.tensor 1 and zero_stage 0 with resident, or adam";
     }},
    {.path = "training.optimizer_state",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return c.training().optimizer_state != StateWidth::int8 ||
                  description::is_adam(c.training().optimizer);
         },
     .why =
         [](const Case& c) {
           return std::string(name_of(c.training().optimizer)) + " has no states in 8 bits here";
         },
     .hint = "use fp32 or bf16, or training.optimizer adam8bit"},
    {.path = "training.optimizer",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return !description::is_8bit_adam(c.training().optimizer) ||
                  c.training().optimizer_state != StateWidth::bf16;
         },
     .why = "adam8bit contradicts training.optimizer_state \"bf16\"",
     .hint = "leave training.optimizer_state out, or use adam"},
    {.path = "strategy.optimizer.read_ahead",
     .holds = [](const Case& c) { return is_active(c) || optimizer_of(c).read_ahead == 0; },
     .why = "optimizer.read_ahead reads states while backward goes on, which only "
            "gradients.policy active does",
     .hint = "use read_ahead 0, or gradients.policy active"},
    {.path = kernels,
     .holds = [](const Case& c) { return is_fused(c) || !streams(c); },
     .why =
         "only systems that plan whole steps, as teraio and g10, schedule each of Adam's kernels",
     .hint = "use fused"},
    {.path = kernels,
     .holds =
         [](const Case& c) {
           return is_fused(c) || !description::is_adam(c.training().optimizer) ||
                  (c.training().optimizer_state == StateWidth::fp32 &&
                   !c.training().has_8bit_states());
         },
     .why = "kernels that hand on states of 16 or 8 bits round once more than a fused one",
     .hint = "use fused, or training.optimizer_state fp32",
     .settles = {[](description::Scenario& s) {
                   s.strategy.optimizer.kernels = description::AdamKernels::fused;
                 },
                 "kernels that hand on narrow states would round once more"}},
    {.path = "strategy.optimizer.flatten",
     .holds =
         [](const Case& c) {
           return !optimizer_of(c).flatten || (streams(c) && is_behind_backward_on_gpu(c) &&
                                               !c.parts().gradients.main_gradients);
         },
     .why =
         "only an update on the GPU, behind backward, of weights, gradients and states that stay "
         "there has all gradients to copy",
     .hint = "use false"},
    {.path = host_cache,
     .holds =
         [](const Case& c) {
           const auto& room = optimizer_of(c).host_cache;
           return !c.says(host_cache) || !room || room->value() == 0 ||
                  optimizer_of(c).home != Home::ssd ||
                  optimizer_of(c).order == SubgroupOrder::alternating;
         },
     .warning = "sub-groups stay in host memory only with optimizer.order alternating, or where "
                "optimizer.buffers hold all of them"},
    {.path = wait,
     .holds =
         [](const Case& c) {
           return optimizer_of(c).wait ||
                  c.parts().gradients.policy == description::GradientPolicy::active;
         },
     .why = "only gradients.policy active writes a sub-group while the next one is in Adam; every "
            "other update is waited for before anything of it is written",
     .hint = "use wait true, or gradients.policy active"},
    {.path = wait,
     .holds =
         [](const Case& c) { return optimizer_of(c).wait || optimizer_of(c).home == Home::ssd; },
     .why = "states in host memory are written nowhere, so that nothing could be written too early",
     .hint = "use wait true, or optimizer.home ssd"},
    {.path = wait,
     .holds =
         [](const Case& c) { return optimizer_of(c).wait || c.parts().weights.home == Home::ssd; },
     .why = "weights of a home outside the drives would be handed to kernels half updated",
     .hint = "use wait true, or weights.home ssd"},
    {.path = wait,
     .holds = [](const Case& c) { return optimizer_of(c).wait; },
     .warning = "optimizer.wait false: states and weights are written whether or not Adam has "
                "answered. Where Adam is slower than the drives, updates are lost; the training is "
                "not the one of the same steps with true, and no two runs agree"},
};

constexpr const char* master = "strategy.optimizer.master";
bool keeps_no_master(const Case& subject) {
  return optimizer_of(subject).master == description::MasterKept::weight;
}
bool copies_weights(const Case& subject) {
  return optimizer_of(subject).master == description::MasterKept::copy;
}
constexpr const char* back = "strategy.optimizer.roll_back";
bool rolls_back(const Case& subject) { return optimizer_of(subject).roll_back; }

constexpr const char* delayed = "strategy.optimizer.delayed_share";
constexpr const char* order = "strategy.micro_batches";
bool by_layer(const Case& subject) {
  return subject.parts().micro_batches == description::MicroBatchOrder::by_layer;
}

/// Micro-batches that go through a layer together, and an update that the next forward ends.
constexpr Rule by_layer_rows[] = {
    {.path = order,
     .holds =
         [](const Case& c) { return !by_layer(c) || (streams(c) && c.parallel().pipeline == 1); },
     .why = "only a model whose layers stream on one stage takes all micro-batches through a layer",
     .hint = "use one_by_one, or parallel.pipeline 1 and a system that streams its layers"},
    {.path = order,
     .holds =
         [](const Case& c) {
           using description::ActivationPolicy;
           const ActivationPolicy policy = c.parts().activations.policy;
           return !by_layer(c) || policy == ActivationPolicy::keep ||
                  policy == ActivationPolicy::checkpoint_gpu ||
                  policy == ActivationPolicy::checkpoint_host ||
                  policy == ActivationPolicy::checkpoint_ssd;
         },
     .why = "plans and caches of activations are made for one micro-batch after the other",
     .hint = "use one_by_one, or activations.policy checkpoint_host"},
    {.path = order,
     .holds =
         [](const Case& c) {
           return !by_layer(c) || (optimizer_of(c).staleness == 0 && !c.parts().weights.chunk &&
                                   !c.parts().gradients.main_gradients);
         },
     .why = "updates that come late, chunks of weights and gradients of another type follow each "
            "micro-batch",
     .hint = "use one_by_one, or optimizer.staleness 0, gradients.main_gradients false and no "
             "weights.chunk"},
    {.path = delayed,
     .holds =
         [](const Case& c) {
           return optimizer_of(c).delayed_share == 0 ||
                  (by_layer(c) && !is_active(c) && optimizer_of(c).device == OptimizerDevice::cpu &&
                   c.parts().weights.home != Home::gpu);
         },
     .why = "only the CPU's update of weights outside the GPU is left for the next forward, of all "
            "micro-batches by layer",
     .hint = "use 0, or micro_batches by_layer, optimizer.device cpu, weights.home host or ssd and "
             "a gradients.policy that is not active"},
    {.path = delayed,
     .holds =
         [](const Case& c) {
           return optimizer_of(c).delayed_share == 0 ||
                  c.training().optimizer_state == StateWidth::fp32;
         },
     .why = "weights that are their own masters may be sent for before their delayed update",
     .hint = "use 0, or training.optimizer_state fp32"},
};

/// What an update cannot be without: masters of its own, and a way back.
constexpr Rule update_rows[] = {
    {.path = master,
     .holds =
         [](const Case& c) {
           const description::WeightsPart& weights = c.parts().weights;
           return !keeps_no_master(c) ||
                  (weights.home == Home::host && weights.persistence_threshold.value() == 0 &&
                   !weights.chunk);
         },
     .why = "the CPU updates weights themselves only where all of them lie in host memory, and no "
            "gradients take their place, as with weights.chunk",
     .hint =
         "use own, or weights.home host, a weights.persistence_threshold of \"0 params\" and no "
         "weights.chunk"},
    {.path = master,
     .holds =
         [](const Case& c) {
           return !keeps_no_master(c) ||
                  (optimizer_of(c).device == OptimizerDevice::cpu &&
                   optimizer_of(c).cpu_share == 1 && optimizer_of(c).staleness == 0);
         },
     .why = "only the CPU updates weights in host memory, between steps that read them",
     .hint = "use own, or optimizer.device cpu, cpu_share 1 and staleness 0"},
    {.path = master,
     .holds =
         [](const Case& c) {
           return !keeps_no_master(c) || optimizer_of(c).home != Home::ssd ||
                  is_mixed(c.training().precision) ||
                  c.training().optimizer_state != StateWidth::fp32;
         },
     .why = "fp32 states on drives pass host memory beside masters of their own",
     .hint = "use own, or optimizer.home host, or training.optimizer_state bf16"},
    {.path = master,
     .holds =
         [](const Case& c) {
           return !copies_weights(c) || (c.training().optimizer_state == StateWidth::bf16 &&
                                         c.training().precision != description::Precision::fp32);
         },
     .why = "a master as wide as the weight goes with states of 16 bits and weights of 16; fp32 "
            "states of mixed precision have an fp32 one anyway",
     .hint = "use own, or training.optimizer_state bf16 and a precision of 16 bits"},
    {.path = master,
     .holds = [](const Case& c) { return !copies_weights(c) || streams(c); },
     .why =
         [](const Case& c) {
           return c.parts().system + " plans for the tensors of the step, which has no such master";
         },
     .hint = "use own, or a system that streams its layers, as resident and zero_infinity"},
    {.path = back,
     .holds =
         [](const Case& c) {
           return !rolls_back(c) ||
                  c.parts().gradients.policy == description::GradientPolicy::active;
         },
     .why = "only gradients.policy active updates before it is known whether the step overflows",
     .hint = "use roll_back false, or gradients.policy active"},
    {.path = back,
     .holds =
         [](const Case& c) {
           return !rolls_back(c) ||
                  (optimizer_of(c).home == Home::host && c.parts().weights.home != Home::ssd);
         },
     .why = "old values are kept beside the new ones in host memory; what has been written to "
            "drives is not taken back",
     .hint = "use roll_back false, or optimizer.home host and weights.home host or gpu"},
    {.path = "strategy.overflow_check",
     .holds =
         [](const Case& c) {
           return !rolls_back(c) || c.parts().overflow_check != description::OverflowCheck::chained;
         },
     .warning = "optimizer.roll_back with overflow_check chained: where a step overflows DeepSpeed "
                "computes old values by Adam the other way round, which sets weights whose "
                "gradients overflowed to 0 and leaves no number in their momentum; bf16 has no "
                "overflow to take back, and with fused copies are kept"},
};

/// What an update by GPU and CPU together cannot be combined with.
constexpr Rule cpu_share_rows[] = {
    {.path = share,
     .other = "strategy.optimizer.device",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) {
           return !is_shared_out(c) || optimizer_of(c).device == OptimizerDevice::cpu;
         },
     .why = "the GPU takes its share of what the CPU would update",
     .hint = "set optimizer.cpu_share to 1, or optimizer.device to cpu and optimizer.home to host"},
    {.path = share,
     .other = "strategy.optimizer.home",
     .ground = Ground::contradiction,
     .holds = [](const Case& c) { return !is_shared_out(c) || optimizer_of(c).home != Home::ssd; },
     .why = "states that come from drives come to host memory, where the CPU updates them",
     .hint = "set optimizer.cpu_share to 1, or optimizer.home to host"},
    {.path = share,
     .other = "strategy.weights.home",
     .ground = Ground::contradiction,
     .holds =
         [](const Case& c) { return !is_shared_out(c) || c.parts().weights.home != Home::ssd; },
     .why = "weights on drives are written there by the CPU's update",
     .hint = "set optimizer.cpu_share to 1, or weights.home to host or gpu"},
    {.path = share,
     .other = "strategy.optimizer.staleness",
     .ground = Ground::contradiction,
     .holds = [](const Case& c) { return !is_shared_out(c) || optimizer_of(c).staleness == 0; },
     .why =
         "beside the steps, when updates that come late go on, the GPU has no time for its share",
     .hint = share_nothing},
};

}  // namespace

Table cpu_share_rules() { return cpu_share_rows; }

Table by_layer_rules() { return by_layer_rows; }

Table update_rules() { return update_rows; }

Table optimizer_rules() { return optimizer_rows; }

}  // namespace spillway::strategies::rules
