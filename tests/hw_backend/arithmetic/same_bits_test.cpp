#include "tests/hw_backend/arithmetic/executor.hpp"

#include <gtest/gtest.h>

namespace spillway::hw_backend::same_bits_test {
namespace {

using models::Attention;
using models::Precision;

struct Case {
  const char* name;
  const char* config;
  Attention attention;
  bool fused;
  Precision precision;
  description::Training training = {};  ///< what is trained; else everything
  std::uint64_t tiles = 1;              ///< of dense feed-forwards
};

/// Adapters with magnitudes, in fp32.
description::Training wide_dora() {
  description::Training training;
  training.method = description::Method::lora;
  training.lora.rank = 3;
  training.lora.targets = {"all_linear"};
  training.lora.dora = true;
  training.lora.adapters = description::AdapterType::fp32;
  return training;
}

class SameBits : public testing::TestWithParam<Case> {
 protected:
  models::Workload workload() const {
    models::Workload workload = small_workload(GetParam().precision);
    workload.attention = GetParam().attention;
    workload.fused_kernels = GetParam().fused;
    workload.dropout = 0.1;
    workload.mlp_tiles = GetParam().tiles;
    workload.adapters = GetParam().training.lora.adapters;
    return workload;
  }
};

TEST_P(SameBits, ComeOutWhenALayersForwardRunsAgain) {
  Executor run(GetParam().config, workload(), 0, GetParam().training);
  const Moment moment{3, 1, 0, 1};
  run.forward(moment);
  for (std::uint32_t layer = 0; layer < run.model().layers.size(); ++layer) {
    if (!run.model().layers[layer].is_block) continue;
    const models::LayerSpan& span = run.program().layers[layer];
    std::vector<std::pair<models::TensorId, std::vector<std::byte>>> saved;
    for (const models::TensorId tensor : run.program().saved_by(layer)) {
      if (tensor == span.input) continue;
      saved.emplace_back(tensor, run.memory(tensor).copy());
      std::fill_n(run.memory(tensor).data(), run.memory(tensor).size(), std::byte{0x5A});
    }
    EXPECT_GT(saved.size(), 5u);
    run.run(span.forward, moment);
    for (const auto& [tensor, bytes] : saved)
      EXPECT_EQ(run.memory(tensor).copy(), bytes) << run.program().tensors[tensor].name;
  }
}

TEST_P(SameBits, ComeOutOfBuffersAtAnyAlignment) {
  const auto step = [&](std::size_t shift) {
    Executor run(GetParam().config, workload(), shift, GetParam().training);
    const double loss = run.forward();
    run.backward();
    std::vector<std::vector<std::byte>> bytes;
    for (models::TensorId tensor = 0; tensor < run.program().tensors.size(); ++tensor)
      bytes.push_back(run.memory(tensor).copy());
    return std::pair(loss, bytes);
  };
  const auto aligned = step(0);
  for (const std::size_t shift : {4u, 20u, 48u}) {
    const auto shifted = step(shift);
    EXPECT_EQ(shifted.first, aligned.first);
    EXPECT_TRUE(shifted.second == aligned.second) << shift;
  }
}

TEST_P(SameBits, MasksDifferBetweenMicroBatchesStepsRanksAndLayers) {
  models::Workload hidden = workload();
  hidden.attention = Attention::materialized;  // which keeps its mask in every model
  Executor run(GetParam().config, hidden, 0, GetParam().training);
  const auto masks = [&](Moment moment) {
    run.forward(moment);
    std::vector<std::vector<std::byte>> found;
    for (models::TensorId tensor = 0; tensor < run.program().tensors.size(); ++tensor)
      if (run.program().tensors[tensor].name.ends_with("dropout_mask"))
        found.push_back(run.memory(tensor).copy());
    return found;
  };
  const auto first = masks({0, 0, 0, 1});
  ASSERT_GE(first.size(), 2u);
  EXPECT_EQ(masks({0, 0, 0, 1}), first);
  const auto others = {masks({1, 0, 0, 1}), masks({0, 1, 0, 1}), masks({0, 0, 1, 1})};
  for (std::size_t i = 0; i < first.size(); ++i) {
    for (const auto& other : others) EXPECT_NE(other[i], first[i]);
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(first[i], first[j]);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, SameBits,
    testing::Values(
        Case{"llama_fp32", small_llama, Attention::flash, true, Precision::fp32},
        Case{"llama_bf16", small_llama, Attention::flash, true, Precision::bf16_mixed},
        Case{"llama_fp16_unfused", small_llama, Attention::materialized, false, Precision::fp16},
        Case{"llama_bf16_in_tiles", small_llama, Attention::flash, true, Precision::bf16_mixed,
             wide_dora(), 5},
        Case{"llama_fp16_unfused_in_tiles", small_llama, Attention::flash, false, Precision::fp16,
             wide_dora(), 5},
        Case{"mixtral_bf16", small_mixtral, Attention::flash, true, Precision::bf16_mixed},
        Case{"qwen2_moe_fp16_unfused", small_qwen2_moe, Attention::materialized, false,
             Precision::fp16_mixed},
        Case{"deepseek_v3_bf16", small_deepseek_v3, Attention::flash, true, Precision::bf16_mixed},
        Case{"deepseek_v2_unfused", small_deepseek_v2, Attention::materialized, false,
             Precision::bf16},
        Case{"gpt2_fp16", small_gpt2, Attention::flash, true, Precision::fp16_mixed},
        Case{"gpt2_bf16_unfused", small_gpt2, Attention::materialized, false, Precision::bf16},
        Case{"opt_fp32_unfused", norm_last_opt, Attention::materialized, false, Precision::fp32}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace spillway::hw_backend::same_bits_test
