#include "tests/hw_backend/training.hpp"

#include <gtest/gtest.h>

/// Models whose queries, keys and values come from latents: they end with the bits of the
/// reference.
namespace spillway::hw_backend::latents_training_test {
namespace {

/// A dense block, and one of experts by sigmoids beside shared ones; values narrower than keys.
const Overrides deepseek{"model.model_type=deepseek_v3",
                         "model.num_key_value_heads=8",
                         "model.n_routed_experts=6",
                         "model.num_experts_per_tok=2",
                         "model.moe_intermediate_size=512",
                         "model.first_k_dense_replace=1",
                         "model.q_lora_rank=96",
                         "model.kv_lora_rank=64",
                         "model.qk_nope_head_dim=32",
                         "model.qk_rope_head_dim=16",
                         "model.v_head_dim=24"};
/// Dense blocks; queries straight from the hidden states, values wider than keys.
const Overrides dense{"model.model_type=deepseek_v2", "model.num_key_value_heads=8",
                      "model.n_routed_experts=0",     "model.kv_lora_rank=64",
                      "model.q_lora_rank=null",       "model.qk_nope_head_dim=24",
                      "model.qk_rope_head_dim=8",     "model.v_head_dim=40"};

struct Way {
  const char* name;
  const char* system;
  Overrides overrides;
  std::uint64_t ranks = 1;
};

/// `system` ends where resident training of the same does.
void expect_the_references_end(const std::string& system, const Way& way) {
  SCOPED_TRACE(system + ", " + way.name);
  expect_its_references_end(
      small_training(system, way.overrides, {.feed_forward = 2048 * way.ranks}),
      std::string("latents_") + way.name);
}

const Overrides lora{"training.method=lora", "training.lora.targets=attention",
                     "training.learning_rate=0.01"};

TEST(Latents, EndWhereTheReferenceDoes) {
  const Way ways[] = {
      {"deepseek", "zero_infinity", deepseek},
      {"deepseek", "zero_offload", deepseek},
      {"dense_accumulated", "megatrain",
       joined(dense, {"training.gradient_accumulation=2", "training.precision=fp32"})},
      {"two_ranks", "zero_infinity",
       joined(deepseek, {"parallel.data=2", "training.gradient_accumulation=2"}), 2},
      {"materialized", "zero_offload",
       joined(deepseek, {"training.attention=materialized", "training.dropout=0.1",
                         "training.precision=fp16_mixed"})},
      {"dense", "zero_infinity", dense},
      {"softmaxes", "zero_infinity", joined(deepseek, {"model.model_type=deepseek_v2"})},
      {"adapters", "zero_infinity", joined(deepseek, lora)},
  };
  for (const Way& way : sampled(ways)) expect_the_references_end(way.system, way);
}

// Whether saved tensors stay, leave the GPU and come back, or are computed again.
TEST(Latents, EndAlikeWhateverBecomesOfSavedTensors) {
  const Overrides fates[] = {
      {"training.recompute=full"},
      {"training.recompute=selective"},
      {R"(training.recompute=["attention","activation","norm"])"},
      {"strategy.activations.policy=checkpoint_ssd"},
      {"strategy.activations.policy=offload"},
      {"strategy.activations.policy=offload",
       R"(strategy.activations.offloaded=["attention","product"])"},
  };
  const RealRun& kept = reference_run(small_training("resident", deepseek), "latents_kept");
  for (const Overrides& fate : fates) {
    SCOPED_TRACE(fate.back());
    const RealRun run = train_for_real(small_training("resident", joined(deepseek, fate)));
    ASSERT_TRUE(run.result.feasible());
    EXPECT_EQ(run.trained.losses, kept.trained.losses);
    EXPECT_EQ(different(run.trained, kept.trained), 0u);
  }
}

TEST(Latents, EndWhereTheReferenceDoesOnRanksThatShareHeadsOrTokens) {
  const Way ways[] = {
      {"heads_and_tokens", "zero_infinity",
       joined(joined(deepseek, lora), {"parallel.tensor=2", "parallel.sequence_parallel=true"}), 2},
      {"heads", "zero_infinity", joined(deepseek, {"parallel.tensor=2"}), 2},
      {"ring", "zero_offload", joined(dense, {"parallel.context=2", "parallel.context_kind=ring"}),
       2},
      {"samples", "zero_infinity", joined(dense, {"parallel.context=2"}), 2},
  };
  for (const Way& way : sampled(ways)) expect_the_references_end(way.system, way);
}

TEST(Latents, EndWhereTheReferenceDoesInManyWays) {
  MANY_SYSTEMS_TEST();
  const Overrides four{"machine.gpu.count=4", "machine.host.memory=16 GiB"};
  const Overrides packed{"training.method=qlora", "training.lora.targets=all_linear",
                         "training.learning_rate=0.01"};
  const Overrides dora{"training.method=lora", "training.lora.targets=attention",
                       "training.lora.dora=true"};
  const Way ways[] = {
      {"packed", "zero_infinity", joined(deepseek, packed)},
      {"dora", "zero_offload", joined(dense, dora)},
      {"heads_and_samples", "zero_infinity",
       joined(joined(deepseek, four),
              {"parallel.tensor=2", "parallel.context=2", "parallel.context_kind=ring"}),
       2},
      {"experts_of_two", "zero_offload",
       joined(deepseek, {"parallel.data=2", "parallel.expert=2", "training.sequence=48"}), 2},
      {"stages", "resident",
       joined(deepseek, {"parallel.pipeline=2", "training.gradient_accumulation=2"}), 2},
      {"documents", "megatrain", joined(dense, {"training.packed=16"})},
      {"unfused", "zero_infinity", joined(deepseek, {"training.fused_kernels=false"})},
      {"muon", "ssdtrain", joined(dense, {"training.optimizer=muon"})},
  };
  for (const Way& way : ways) expect_the_references_end(way.system, way);
}

class LatentsIn : public ::testing::TestWithParam<std::string> {};

TEST_P(LatentsIn, EndWhereTheReferenceDoes) {
  MANY_SYSTEMS_TEST();
  expect_the_references_end(GetParam(), {"deepseek_everywhere", "", deepseek});
}

INSTANTIATE_TEST_SUITE_P(EverySystem, LatentsIn, ::testing::ValuesIn(systems_under_test()),
                         [](const auto& system) { return system.param; });

}  // namespace
}  // namespace spillway::hw_backend::latents_training_test
