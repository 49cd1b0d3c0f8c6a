#include "strategies/decide/checkmate_fates.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "strategies/planner/saved/saved_items.hpp"

namespace spillway::strategies {
namespace {

TEST(CheckmateFates, HoldsWhatKernelsMakeTogetherWithLaterItems) {
  // Latent attention rotates queries and the part that all keys share in one kernel.
  const models::Model model = models::build_model(models::read_architecture(
      nlohmann::json::parse(R"({"model_type": "deepseek_v3", "hidden_size": 64,
          "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 96,
          "vocab_size": 100, "q_lora_rank": 40, "kv_lora_rank": 24, "qk_nope_head_dim": 16,
          "qk_rope_head_dim": 8, "v_head_dim": 16, "n_routed_experts": 4, "num_experts_per_tok": 2,
          "moe_intermediate_size": 32, "first_k_dense_replace": 0})"),
      "test", "test.json"));
  const models::StepProgram program = models::build_step_program(model, {});
  SavedProfile profile;
  profile.operator_s.assign(program.operators.size(), 1e-6);
  profile.items = saved_items(model, program, profile.operator_s, {});
  std::uint64_t bytes = 0;
  bool to_and_fro = false;
  for (std::uint32_t i = 0; i < profile.items.size(); ++i) {
    bytes += profile.items[i].bytes;
    const auto& sources = profile.items[i].sources;
    to_and_fro |= std::any_of(sources.begin(), sources.end(), [&](auto s) { return s >= i; });
  }
  ASSERT_TRUE(to_and_fro);  // else this says nothing
  const DecidedFates fates = checkmate_fates({}, profile, program, bytes, 0);
  EXPECT_EQ(
      std::count(fates.activations.fates.begin(), fates.activations.fates.end(), Fate::recompute),
      0);
}

}  // namespace
}  // namespace spillway::strategies
