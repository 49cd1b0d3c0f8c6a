#include "hw_backend/device/peers.hpp"
#include "tests/hw_backend/arithmetic/executor.hpp"
#include "tests/hw_backend/training.hpp"

#include <gtest/gtest.h>
#include <cmath>

/// Ranks that share the tokens of each sample: parallel.context.
namespace spillway::hw_backend::shared_samples_test {
namespace {

using models::Attention;

struct Case {
  const char* name;
  const char* config;
  std::uint64_t ranks;
  Attention attention = Attention::flash;
  double dropout = 0;
  description::LossKind loss = description::LossKind::fused;
  bool ring = false;
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

models::Workload workload_of(const Case& one, std::uint64_t ranks) {
  models::Workload workload = small_workload();
  workload.attention = one.attention;
  workload.dropout = one.dropout;
  workload.loss = one.loss;
  workload.context = ranks;
  workload.context_in_ring = one.ring;
  if (one.ring) workload.attention_dropout = 0;
  return workload;
}

/// The ranks of a group in step, each with memory of its own.
class Ranks {
 public:
  explicit Ranks(const Case& one) {
    for (std::uint64_t rank = 0; rank < one.ranks; ++rank)
      all_.push_back(std::make_unique<Executor>(one.config, workload_of(one, one.ranks)));
  }

  void run() {
    for (const auto& rank : all_) rank->begin();
    const models::StepProgram& program = all_.front()->program();
    for (const models::Span& pass : {program.forward, program.backward})
      for (std::uint32_t i = pass.first; i < pass.last; ++i)
        if (is_collective(program.operators[i].kind))
          meet(program.operators[i]);
        else
          for (std::uint32_t rank = 0; rank < all_.size(); ++rank)
            all_[rank]->run({i, i + 1}, {.share = rank});
  }

  /// Of all tokens.
  double loss() const {
    double sum = 0;
    for (const auto& rank : all_) sum += rank->loss();
    return sum / static_cast<double>(all_.size());
  }
  std::vector<std::vector<float>> gradients() {
    std::vector<std::vector<float>> sums = all_.front()->gradients();
    for (std::size_t rank = 1; rank < all_.size(); ++rank) {
      const std::vector<std::vector<float>> more = all_[rank]->gradients();
      for (std::size_t weight = 0; weight < sums.size(); ++weight)
        for (std::size_t i = 0; i < sums[weight].size(); ++i) sums[weight][i] += more[weight][i];
    }
    for (std::vector<float>& weight : sums)
      for (float& value : weight) value /= static_cast<float>(all_.size());
    return sums;
  }

 private:
  void meet(const models::Operator& op) {
    using strategies::Collective;
    const bool shifts = op.kind == models::OperatorKind::ring_shift;
    ASSERT_TRUE(shifts || op.kind == models::OperatorKind::context_all_to_all);
    PeerCall call;
    call.what = shifts ? Collective::ring_shift : Collective::all_to_all;
    call.type = Element::fp32;
    call.bytes = all_.front()->memory(op.operands[0].tensor).size();
    call.pieces = {op.pieces_out, op.pieces_in};
    for (const auto& rank : all_) {
      call.in.push_back(rank->memory(op.operands[0].tensor).data());
      call.out.push_back(rank->memory(op.operands[1].tensor).data());
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

class SharedSamples : public testing::TestWithParam<Case> {};

// Sums are in another order, as each rank sums over its own tokens first; nothing else differs.
TEST_P(SharedSamples, HaveTheLossAndTheGradientsOfWholeOnes) {
  Executor whole(GetParam().config, workload_of(GetParam(), 1));
  const double loss = whole.forward();
  whole.backward();
  Ranks ranks(GetParam());
  ranks.run();
  EXPECT_NEAR(ranks.loss(), loss, 1e-6 * loss);
  const auto expected = whole.gradients(), found = ranks.gradients();
  for (std::size_t weight = 0; weight < expected.size(); ++weight) {
    const std::string& name = whole.model().weights[weight].name;
    ASSERT_EQ(found[weight].size(), expected[weight].size()) << name;
    std::vector<float> apart = found[weight];
    for (std::size_t i = 0; i < apart.size(); ++i) apart[i] -= expected[weight][i];
    EXPECT_LT(norm_of(apart), 1e-5 * norm_of(expected[weight]) + 1e-8) << name;
  }
}

const Case cases[] = {
    {"llama", small_llama, 2},
    {"llama_dropping_scores", small_llama, 2, Attention::materialized, 0.2},
    {"gpt2_dropping", small_gpt2, 4, Attention::flash, 0.2},
    {"gpt2_dropping_scores", small_gpt2, 2, Attention::materialized, 0.2,
     description::LossKind::plain},
    {"opt", small_opt, 4, Attention::flash, 0, description::LossKind::chunked},
    {"llama_in_a_ring", small_llama, 3, Attention::flash, 0, description::LossKind::fused, true},
    {"deepseek_v2", small_deepseek_v2, 3},
    {"deepseek_v2_dropping_scores", small_deepseek_v2, 3, Attention::materialized, 0.2},
    {"deepseek_v2_in_a_ring", small_deepseek_v2, 3, Attention::flash, 0,
     description::LossKind::fused, true},
    {"gpt2_in_a_ring", small_gpt2, 2, Attention::flash, 0.2, description::LossKind::in_place, true},
};
INSTANTIATE_TEST_SUITE_P(On, SharedSamples, testing::ValuesIn(cases),
                         [](const auto& one) { return one.param.name; });

// ---- Whole trainings

constexpr Size of_two_ranks{.blocks = 2, .feed_forward = 4096};

void expect_the_reference(const std::string& system, const Overrides& overrides,
                          const std::string& way, const Size& size = of_two_ranks) {
  SCOPED_TRACE(system + " " + way);
  expect_its_references_end(small_training(system, overrides, size), "shared_samples_" + way);
}

/// Experts that every rank has, or those of one sample or of two share.
Overrides with_experts(Overrides more = {}) {
  more.insert(more.end(),
              {"model.model_type=mixtral", "model.num_local_experts=4",
               "model.num_experts_per_tok=2", "model.intermediate_size=512",
               "training.expert_load=[3, 2, 1, 2]", "training.gradient_accumulation=2"});
  return more;
}

TEST(TrainingOnSharedSamples, EndsWhereTheReferenceDoes) {
  constexpr Size small{.blocks = 1, .feed_forward = 4096};
  expect_the_reference("zero_infinity", with_experts({"parallel.context=2", "parallel.expert=2"}),
                       "small_experts", small);
  expect_the_reference("zero_infinity", {"parallel.context=2"}, "small", small);
  expect_the_reference("zero_offload", {"parallel.context=2", "parallel.context_kind=ring"},
                       "small_ring", small);
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

TEST(TrainingOnSharedSamples, EndsCloseToTheTrainingOfOneRank) {
  const Overrides plain{"training.precision=fp32", "training.optimizer=sgd",
                        "training.learning_rate=0.1", "training.dropout=0.1",
                        "training.gradient_accumulation=2"};
  expect_close(plain, {"parallel.context=2"});
  Overrides kept = plain;
  kept.emplace_back("training.dropout=0");
  expect_close(kept, {"parallel.context=2", "parallel.context_kind=ring"});
}

TEST(TrainingOnSharedSamples, EndsWhereTheReferenceDoesInManyWays) {
  MANY_SYSTEMS_TEST();
  const std::pair<const char*, Overrides> ways[] = {
      {"fp16_accumulated", {"training.precision=fp16_mixed", "training.gradient_accumulation=2"}},
      {"dropping", {"training.dropout=0.1", "training.attention=materialized"}},
      {"two_stages",
       {"parallel.pipeline=2", "parallel.zero_stage=1", "machine.gpu.count=4",
        "training.gradient_accumulation=2", "machine.host.memory=16 GiB"}},
      {"experts", with_experts()},
      {"experts_of_two", with_experts({"parallel.expert=2"})},
      {"experts_of_four", with_experts({"parallel.data=2", "parallel.expert=4",
                                        "machine.gpu.count=4", "machine.host.memory=16 GiB"})},
      {"two_replicas_each",
       {"parallel.data=2", "machine.gpu.count=4", "machine.host.memory=16 GiB"}},
  };
  for (const auto& [way, overrides] : ways)
    for (const char* kind : {"ulysses", "ring"})
      for (const char* system : {"zero_infinity", "zero_offload", "resident"}) {
        const bool drops = way == std::string("dropping");
        if (drops && kind == std::string("ring")) continue;  // it drops no attention weights
        const bool stages = way == std::string("two_stages");
        if (stages && system != std::string("resident")) continue;
        Overrides all = overrides;
        all.insert(all.end(), {"parallel.context=2", std::string("parallel.context_kind=") + kind});
        expect_the_reference(system, all, std::string(way) + "_" + kind);
      }
}

// Whatever streams, but what moves saved tensors by a plan, whose tokens are all of a sample.
TEST(TrainingOnSharedSamples, EndsWhereTheReferenceDoesInEverySystem) {
  MANY_SYSTEMS_TEST();
  std::size_t trained = 0;
  for (const char* kind : {"ulysses", "ring"})
    for (const std::string& system : systems_under_test()) {
      const Overrides overrides{"parallel.context=2", std::string("parallel.context_kind=") + kind};
      try {
        static_cast<void>(small_training(system, overrides, of_two_ranks));
      } catch (const description::ScenarioError&) {
        continue;
      }
      expect_the_reference(system, overrides, std::string("every_") + kind);
      ++trained;
    }
  EXPECT_GE(trained, 16u);
}

}  // namespace
}  // namespace spillway::hw_backend::shared_samples_test
