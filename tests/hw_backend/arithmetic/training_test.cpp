#include "tests/hw_backend/arithmetic/executor.hpp"

#include <gtest/gtest.h>
#include <cmath>

namespace spillway::hw_backend::training_test {
namespace {

using models::Precision;

constexpr const char* trained_llama = R"({"model_type": "llama", "hidden_size": 64,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 128, "vocab_size": 64})";
constexpr const char* trained_gpt2 = R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 2,
    "n_head": 4, "n_positions": 64, "vocab_size": 64})";

constexpr const char* trained_mixtral = R"({"model_type": "mixtral", "hidden_size": 64,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 64, "num_local_experts": 4, "num_experts_per_tok": 2,
    "vocab_size": 64})";

struct Case {
  const char* name;
  const char* config;
  Precision precision;
  float loss_scale = 1;
};

class Training : public testing::TestWithParam<Case> {};

TEST_P(Training, FiftyStepsOfAdamLearnTheText) {
  models::Workload workload = small_workload(GetParam().precision);
  workload.micro_batch = 8;
  workload.sequence = 32;
  Executor run(GetParam().config, workload);
  Moment moment;
  moment.loss_scale = GetParam().loss_scale;
  double first = 0, last = 0;
  for (moment.step = 0; moment.step < 50; ++moment.step) {
    last = run.forward(moment);
    if (moment.step == 0) first = last;
    run.backward(moment);
    run.update(moment.step, 5e-3, GetParam().loss_scale);
  }
  // ln 64 = 4.16 of nothing known; 1.2 is left to who knows the chain
  EXPECT_NEAR(first, std::log(64), 0.05);
  EXPECT_LT(last, 2.0);
  EXPECT_GT(last, 1.0);
}

INSTANTIATE_TEST_SUITE_P(
    Models, Training,
    testing::Values(Case{"llama_fp32", trained_llama, Precision::fp32},
                    Case{"llama_bf16_mixed", trained_llama, Precision::bf16_mixed},
                    Case{"llama_bf16", trained_llama, Precision::bf16},
                    Case{"llama_fp16_mixed", trained_llama, Precision::fp16_mixed, 1024},
                    Case{"mixtral_bf16_mixed", trained_mixtral, Precision::bf16_mixed},
                    Case{"gpt2_fp32", trained_gpt2, Precision::fp32},
                    Case{"gpt2_bf16_mixed", trained_gpt2, Precision::bf16_mixed},
                    Case{"gpt2_fp16_mixed", trained_gpt2, Precision::fp16_mixed, 1024}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace spillway::hw_backend::training_test
