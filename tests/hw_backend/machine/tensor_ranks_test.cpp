#include "hw_backend/device/peers.hpp"
#include "strategies/run/numerics.hpp"
#include "tests/hw_backend/arithmetic/executor.hpp"
#include "tests/hw_backend/training.hpp"
#include "tests/long_test.hpp"

#include <gtest/gtest.h>
#include <cmath>

/// Ranks that cut matrices, heads and words: parallel.tensor.
namespace spillway::hw_backend::tensor_ranks_test {
namespace {

using description::LossKind;
using models::Attention;

struct Case {
  const char* name;
  const char* config;
  std::uint64_t ranks = 2;
  bool sequence_parallel = false;
  Attention attention = Attention::flash;
  double dropout = 0;
  LossKind loss = LossKind::fused;
  bool fused_kernels = true;
  description::Training training = {};  ///< what is trained; else everything
  std::uint64_t tiles = 1;              ///< of dense feed-forwards
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

models::Workload workload_of(const Case& one, std::uint64_t ranks) {
  models::Workload workload = small_workload();
  workload.attention = one.attention;
  workload.dropout = one.dropout;
  workload.loss = one.loss;
  workload.fused_kernels = one.fused_kernels;
  workload.mlp_tiles = one.tiles;
  workload.tensor = ranks;
  workload.sequence_parallel = one.sequence_parallel;
  return workload;
}

/// Second matrices of adapters begin as 0, and nothing would come to the first.
std::unique_ptr<Executor> with_adapters(std::unique_ptr<Executor> run) {
  for (std::uint32_t weight = 0; weight < run->weights(); ++weight) {
    if (run->model().weights[weight].kind != models::WeightKind::adapter_up) continue;
    const RandomStream noise = initial_stream(99, weight);
    const WeightSlice slice = run->slice(weight);
    for (std::uint64_t i = 0; i < slice.elements; ++i)
      store(run->weight(weight), i, initial_value({0, 0.1f}, noise, slice.in_whole(i)));
  }
  return run;
}

std::unique_ptr<Executor> run_of(const Case& one, std::uint64_t ranks, std::uint64_t rank = 0) {
  return with_adapters(
      std::make_unique<Executor>(one.config, workload_of(one, ranks), 0, one.training, rank));
}

/// The ranks of a group in step, each with memory of its own.
class Ranks {
 public:
  explicit Ranks(const Case& one) {
    for (std::uint64_t rank = 0; rank < one.ranks; ++rank)
      all_.push_back(run_of(one, one.ranks, rank));
  }
  Executor& rank(std::size_t index) { return *all_[index]; }

  void run() {
    for (const auto& rank : all_) rank->begin();
    const models::StepProgram& program = all_.front()->program();
    for (const models::Span& pass : {program.forward, program.backward})
      for (std::uint32_t i = pass.first; i < pass.last; ++i)
        if (is_collective(program.operators[i].kind))
          meet(program.operators[i]);
        else
          for (std::uint32_t rank = 0; rank < all_.size(); ++rank)
            all_[rank]->run({i, i + 1}, {.tensor = rank});
    for (std::uint32_t weight = 0; weight < all_.front()->weights(); ++weight)
      if (gradient_of(weight).partial) sum(weight);
  }

  /// Of a weight, each element from the rank that has it.
  std::vector<float> whole_gradient(std::uint32_t weight) {
    std::vector<float> whole(all_.front()->model().weights[weight].parameters.value(), NAN);
    for (const auto& rank : all_) {
      const WeightSlice slice = rank->slice(weight);
      for (std::uint64_t i = 0; i < slice.elements; ++i)
        whole.at(slice.in_whole(i)) = load(rank->gradient(weight), i);
    }
    return whole;
  }

 private:
  const models::Tensor& gradient_of(std::uint32_t weight) const {
    return all_.front()->program().tensors[all_.front()->weights() + weight];
  }

  void meet(const models::Operator& op) {
    using strategies::Collective;
    PeerCall call;
    call.what = op.kind == models::OperatorKind::all_gather   ? Collective::all_gather
                : op.kind == models::OperatorKind::all_reduce ? Collective::all_reduce
                                                              : Collective::reduce_scatter;
    call.type = Element::fp32;
    const bool gathers = call.what == Collective::all_gather;
    const models::TensorId in = op.operands.front().tensor, out = op.operands.back().tensor;
    call.bytes = all_.front()->memory(gathers ? out : in).size();
    for (const auto& rank : all_) {
      call.in.push_back(rank->memory(in).data());
      call.out.push_back(rank->memory(out).data());
    }
    combine(call);
  }

  void sum(std::uint32_t weight) {
    PeerCall call;
    call.what = strategies::Collective::all_reduce;
    call.type = Element::fp32;
    call.bytes = 4 * all_.front()->elements(weight);
    for (const auto& rank : all_) {
      call.in.push_back(rank->gradient(weight).data);
      call.out.push_back(rank->gradient(weight).data);
    }
    combine(call);
  }

  std::vector<std::unique_ptr<Executor>> all_;
};

double norm_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

class TensorRanks : public testing::TestWithParam<Case> {};

// Products, softmaxes and norms add up in another order; nothing else differs.
TEST_P(TensorRanks, HaveTheLossAndTheGradientsOfOne) {
  const std::unique_ptr<Executor> alone = run_of(GetParam(), 1);
  Executor& one = *alone;
  const double loss = one.forward();
  one.backward();
  Ranks ranks(GetParam());
  ranks.run();
  const auto expected = one.gradients();
  for (std::uint64_t rank = 0; rank < GetParam().ranks; ++rank)
    EXPECT_NEAR(ranks.rank(rank).loss(), loss, 1e-6 * loss);
  for (std::uint32_t weight = 0; weight < expected.size(); ++weight) {
    const std::string& name = one.model().weights[weight].name;
    if (one.model().weights[weight].frozen) continue;
    EXPECT_GT(norm_of(expected[weight]), 0) << name;
    std::vector<float> apart = ranks.whole_gradient(weight);
    ASSERT_EQ(apart.size(), expected[weight].size()) << name;
    for (std::size_t i = 0; i < apart.size(); ++i) apart[i] -= expected[weight][i];
    EXPECT_LT(norm_of(apart), 2e-5 * norm_of(expected[weight]) + 1e-7) << name;
  }
}

// Else they would drift apart, and which of them a checkpoint has would be chance.
TEST_P(TensorRanks, AgreeOnTheBitsOfWhatEachHasWhole) {
  Ranks ranks(GetParam());
  ranks.run();
  std::size_t compared = 0;
  for (std::uint32_t weight = 0; weight < ranks.rank(0).weights(); ++weight) {
    if (ranks.rank(0).slice(weight).own_row > 0) continue;
    ++compared;
    for (std::uint64_t rank = 1; rank < GetParam().ranks; ++rank)
      EXPECT_EQ(ranks.rank(rank).gradient_bytes(weight), ranks.rank(0).gradient_bytes(weight))
          << ranks.rank(0).model().weights[weight].name;
  }
  EXPECT_GE(compared, 5u);  // norms at least
}

// Odd words: the last rank's table is padded. Heads that share keys; queries, keys and values in
// one matrix; gate and up in one; inputs first; biases; norms of each head.
constexpr const char* odd_llama = R"({"model_type": "llama", "hidden_size": 24,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6,
    "intermediate_size": 40, "vocab_size": 51})";
constexpr const char* small_qwen3 = R"({"model_type": "qwen3", "hidden_size": 24,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6,
    "intermediate_size": 40, "vocab_size": 50, "tie_word_embeddings": true})";
constexpr const char* small_phi3 = R"({"model_type": "phi3", "hidden_size": 24,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 40, "vocab_size": 50})";
constexpr const char* small_neox = R"({"model_type": "gpt_neox", "hidden_size": 24,
    "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40, "vocab_size": 50,
    "rotary_pct": 0.7})";

// Experts with gate and up in one matrix, apart, inputs first; shared ones behind a gate.
constexpr const char* even_qwen2_moe = R"({"model_type": "qwen2_moe", "hidden_size": 24,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 40, "moe_intermediate_size": 20, "num_experts": 6,
    "num_experts_per_tok": 2, "shared_expert_intermediate_size": 36, "vocab_size": 50,
    "mlp_only_layers": [1]})";
constexpr const char* even_granite_moe = R"({"model_type": "granitemoeshared", "hidden_size": 24,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 28, "num_local_experts": 4, "num_experts_per_tok": 2,
    "shared_intermediate_size": 20, "vocab_size": 50})";
constexpr const char* even_dbrx = R"({"model_type": "dbrx", "d_model": 24, "n_heads": 4,
    "n_layers": 2, "max_seq_len": 64, "vocab_size": 50,
    "attn_config": {"kv_n_heads": 2, "clip_qkv": null},
    "ffn_config": {"ffn_hidden_size": 28, "moe_num_experts": 4, "moe_top_k": 2}})";

description::Training adapters(const char* targets) {
  description::Training training;
  training.method = description::Method::lora;
  training.lora.rank = 3;
  training.lora.targets = {targets};
  return training;
}

Case adapted(const char* name, const char* config, std::uint64_t ranks, bool sequence_parallel) {
  Case one{name, config, ranks, sequence_parallel};
  one.training = adapters("all_linear");
  return one;
}

/// Of 24 tokens the last of five tiles has fewer than the others.
Case in_tiles(Case one) {
  one.tiles = 5;
  return one;
}

Case apart(Case one) {
  one.training.experts = description::ExpertLayout::separate;
  return one;
}

const Case cases[] = {
    {"llama", small_llama},
    {"llama_sequence_parallel", small_llama, 2, true},
    {"llama_of_odd_words", odd_llama, 2, false, Attention::flash, 0, LossKind::plain, false},
    {"llama_of_odd_words_chunked", odd_llama, 2, true, Attention::flash, 0, LossKind::chunked},
    {"llama_dropping_scores", small_llama, 2, false, Attention::materialized, 0.2},
    {"gpt2_dropping", small_gpt2, 4, false, Attention::flash, 0.2},
    {"gpt2_dropping_sequence_parallel", small_gpt2, 4, true, Attention::flash, 0.2,
     LossKind::in_place},
    {"gpt2_dropping_scores", small_gpt2, 2, true, Attention::materialized, 0.2, LossKind::plain},
    {"opt", small_opt, 4, false, Attention::flash, 0, LossKind::chunked},
    {"opt_norm_last", norm_last_opt, 2, true},
    {"qwen3", small_qwen3},
    {"qwen3_sequence_parallel", small_qwen3, 2, true},
    {"phi3", small_phi3, 2, true},
    {"gpt_neox", small_neox, 4, true},
    {"mixtral", small_mixtral},
    {"mixtral_sequence_parallel", small_mixtral, 2, true},
    apart({"mixtral_apart", small_mixtral}),
    {"qwen2_moe", even_qwen2_moe, 2, true},
    {"granite_moe", even_granite_moe},
    {"dbrx", even_dbrx, 2, true},
    {"deepseek_v3", small_deepseek_v3},
    {"deepseek_v3_sequence_parallel", small_deepseek_v3, 2, true},
    {"deepseek_v3_dropping_scores", small_deepseek_v3, 2, true, Attention::materialized, 0.2,
     LossKind::plain, false},
    adapted("adapters_of_latents", small_deepseek_v3, 2, false),
    adapted("adapters_of_latents_sequence_parallel", small_deepseek_v3, 2, true),
    adapted("adapters_of_experts", small_mixtral, 2, true),
    adapted("adapters", odd_llama, 2, false),
    adapted("adapters_sequence_parallel", odd_llama, 2, true),
    adapted("adapters_of_one_matrix", small_phi3, 2, true),
    adapted("adapters_inputs_first", small_gpt2, 4, false),
    in_tiles({"llama_in_tiles", small_llama, 2, true}),
    in_tiles(adapted("adapters_in_tiles", odd_llama, 2, false)),
    in_tiles(adapted("adapters_in_tiles_sequence_parallel", odd_llama, 2, true)),
    in_tiles(adapted("adapters_in_tiles_of_one_matrix", small_phi3, 2, false)),
    in_tiles(adapted("adapters_in_tiles_inputs_first", small_gpt2, 4, true)),
};
INSTANTIATE_TEST_SUITE_P(On, TensorRanks, testing::ValuesIn(cases),
                         [](const auto& one) { return one.param.name; });

// ---- Whole trainings

constexpr Size of_two_ranks{.blocks = 2, .feed_forward = 4096};

const Overrides experts{"model.model_type=mixtral", "model.num_local_experts=4",
                        "model.num_experts_per_tok=2", "model.intermediate_size=512"};

void expect_the_reference(const std::string& system, const Overrides& overrides,
                          const std::string& way) {
  SCOPED_TRACE(system + " " + way);
  const description::Scenario scenario = small_training(system, overrides, of_two_ranks);
  const RealRun run = train_for_real(scenario);
  ASSERT_TRUE(run.result.feasible());
  const RealRun& reference = reference_run(scenario, "tensor_ranks_" + way);
  EXPECT_LT(run.trained.losses.back(), run.trained.losses.front());
  EXPECT_EQ(run.trained.losses, reference.trained.losses);
  EXPECT_EQ(different(run.trained, reference.trained), 0u);
}

TEST(TrainingOnTensorRanks, EndsWhereTheReferenceDoes) {
  expect_the_reference("zero_infinity", {"parallel.tensor=2"}, "bf16");
  expect_the_reference(
      "zero_infinity",
      {"parallel.tensor=2", "parallel.sequence_parallel=true", "training.gradient_accumulation=2"},
      "sequence_parallel");
  expect_the_reference(
      "zero_infinity",
      {"parallel.tensor=2", "training.method=lora", "training.lora.targets=all_linear",
       "training.learning_rate=0.01", "training.gradient_accumulation=2"},
      "adapters");
  expect_the_reference(
      "zero_infinity",
      {"parallel.tensor=2", "training.method=lora", "training.lora.targets=all_linear",
       "training.learning_rate=0.01", "training.mlp_tiles=3"},
      "adapters_in_tiles");
  expect_the_reference("zero_infinity",
                       {"parallel.tensor=2", "parallel.sequence_parallel=true", experts[0],
                        experts[1], experts[2], experts[3]},
                       "experts");
}

/// Trainings whose sums are in another order, and which are otherwise the same.
void expect_close(const Overrides& plain, const Overrides& more) {
  SCOPED_TRACE(more.back());
  Overrides shared = plain;
  shared.insert(shared.end(), more.begin(), more.end());
  const RealRun one = train_for_real(small_training("resident", plain, of_two_ranks));
  const RealRun two = train_for_real(small_training("resident", shared, of_two_ranks));
  for (std::size_t step = 0; step < one.trained.losses.size(); ++step)
    EXPECT_NEAR(two.trained.losses[step], one.trained.losses[step], 1e-5);
  EXPECT_GT(one.trained.losses.front() - one.trained.losses.back(), 1e-3);
  float most = 0;
  for (std::size_t weight = 0; weight < one.trained.masters.size(); ++weight)
    for (std::size_t i = 0; i < one.trained.masters[weight].size(); ++i)
      most =
          std::max(most, std::abs(one.trained.masters[weight][i] - two.trained.masters[weight][i]));
  EXPECT_LT(most, 1e-6);
}

const Overrides in_fp32{"training.precision=fp32", "training.optimizer=sgd",
                        "training.learning_rate=0.1", "training.gradient_accumulation=2"};
const Overrides gpt2{"model.model_type=gpt2", "model.n_embd=256",     "model.n_layer=2",
                     "model.n_head=4",        "model.n_positions=64", "training.dropout=0.1"};

TEST(TrainingOnTensorRanks, EndsCloseToTheTrainingOfOneRank) {
  LONG_TEST();
  for (const Overrides& model : {Overrides{}, gpt2, experts}) {
    Overrides plain = in_fp32;
    plain.insert(plain.end(), model.begin(), model.end());
    expect_close(plain, {"parallel.tensor=2"});
    expect_close(plain, {"parallel.tensor=2", "parallel.sequence_parallel=true"});
  }
}

TEST(TrainingOnTensorRanks, EndsCloseWhereTheySumGradientsOfNormsInEveryWay) {
  LONG_TEST();
  const Overrides parallel{"parallel.tensor=2", "parallel.sequence_parallel=true"};
  for (const char* more :
       {"parallel.zero_stage=2", "strategy.gradients.fused_accumulation=true",
        "strategy.gradients.memory=at_start", "strategy.gradients.accumulation=fp16"}) {
    Overrides plain = in_fp32;
    plain.emplace_back(more);
    expect_close(plain, parallel);
  }
}

TEST(TrainingOnTensorRanks, EndsWhereTheReferenceDoesInManyWays) {
  MANY_SYSTEMS_TEST();
  const std::string four = "machine.gpu.count=4", memory = "machine.host.memory=16 GiB";
  const std::pair<const char*, Overrides> ways[] = {
      {"fp16_accumulated", {"training.precision=fp16_mixed", "training.gradient_accumulation=2"}},
      {"dropping", {"training.dropout=0.1", "training.attention=materialized"}},
      {"plain_loss", {"training.loss=plain"}},
      {"norms_of_heads", {"model.model_type=qwen3", "training.gradient_accumulation=2"}},
      {"gpt2", gpt2},
      {"experts", experts},
      {"experts_of_two_groups",
       {experts[0], experts[1], experts[2], experts[3], "parallel.data=2", "parallel.expert=2",
        "training.expert_load=[3, 2, 1, 2]", four, memory, "training.gradient_accumulation=2"}},
      {"fp32_adapters",
       {"training.method=lora", "training.lora.targets=all_linear", "training.lora.adapters=fp32",
        "training.learning_rate=0.01", "training.gradient_accumulation=2"}},
      {"two_replicas_each", {"parallel.data=2", four, memory, "training.gradient_accumulation=2"}},
      {"two_shares_of_samples_each", {"parallel.context=2", four, memory}},
      {"two_stages", {"parallel.pipeline=2", four, memory, "training.gradient_accumulation=2"}},
  };
  for (const auto& [way, overrides] : ways)
    for (const char* shares : {"false", "true"})
      for (const char* system : {"zero_infinity", "zero_offload", "resident"}) {
        const bool stages = way == std::string("two_stages");
        if (stages && system != std::string("resident")) continue;
        Overrides all = overrides;
        all.insert(all.end(),
                   {"parallel.tensor=2", std::string("parallel.sequence_parallel=") + shares});
        expect_the_reference(system, all, std::string(way) + "_" + shares);
      }
}

// Whatever streams; plans are for one GPU a stage, and who updates at any time has no tensor ranks.
TEST(TrainingOnTensorRanks, EndsWhereTheReferenceDoesInEverySystem) {
  MANY_SYSTEMS_TEST();
  std::size_t trained = 0;
  for (const char* shares : {"false", "true"})
    for (const std::string& system : systems_under_test()) {
      const Overrides overrides{"parallel.tensor=2",
                                std::string("parallel.sequence_parallel=") + shares};
      try {
        static_cast<void>(small_training(system, overrides, of_two_ranks));
      } catch (const description::ScenarioError&) {
        continue;
      }
      expect_the_reference(system, overrides, std::string("every_") + shares);
      ++trained;
    }
  EXPECT_GE(trained, 16u);
}

}  // namespace
}  // namespace spillway::hw_backend::tensor_ranks_test
