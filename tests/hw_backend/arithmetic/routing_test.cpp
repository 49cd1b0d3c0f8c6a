#include "hw_backend/arithmetic/routing.hpp"
#include "models/program/expert_choice.hpp"
#include "tests/hw_backend/arithmetic/executor.hpp"

#include <gtest/gtest.h>
#include <cmath>
#include <numeric>
#include <set>

namespace spillway::hw_backend::routing_test {
namespace {

using Counts = std::vector<std::uint64_t>;

models::Architecture with_experts(std::uint64_t experts, std::uint64_t chosen) {
  models::Architecture a;
  a.router_rule = models::RouterRule::softmax_of_chosen;
  a.experts = experts;
  a.experts_per_token = chosen;
  return a;
}

models::Workload of_tokens(std::uint64_t tokens, const description::ExpertLoad& load = {}) {
  models::Workload workload;
  workload.micro_batch = 1;
  workload.sequence = tokens;
  workload.expert_load = load;
  return workload;
}

TEST(Routing, GivesEachTokenExpertsThatDifferAndEachExpertItsLoad) {
  const description::ExpertLoad loads[] = {
      {}, {1.3, {}}, {std::nullopt, {5, 0, 1, 1, 90, 2}}, {std::nullopt, {1, 1, 0, 0, 0, 1}}};
  for (const description::ExpertLoad& load : loads)
    for (const std::uint64_t tokens : {1u, 2u, 12u, 97u, 256u})
      for (std::uint64_t step = 0; step < 3; ++step) {
        const auto a = with_experts(6, 3);
        const Routing r = routing_of(a, of_tokens(tokens, load), {7, step});
        ASSERT_EQ(r.copies(), 3 * tokens);
        const Counts counts = models::copies_of_experts(a, of_tokens(tokens, load), 0, 0);
        Counts seen(6, 0);
        std::vector<std::set<std::uint32_t>> of_token(tokens);
        for (std::uint32_t copy = 0; copy < r.copies(); ++copy) {
          ++seen[r.expert_of(copy)];
          of_token[r.token_of(copy)].insert(r.expert_of(copy));
        }
        EXPECT_EQ(seen, counts);
        for (std::uint32_t token = 0; token < tokens; ++token) {
          EXPECT_EQ(of_token[token].size(), 3u);
          for (std::uint32_t i = 0; i < 3; ++i)
            EXPECT_EQ(r.token_of(r.first_copy(token) + i * r.tokens), token);
        }
      }
}

TEST(Routing, IsAnotherForEachLayerStepMicroBatchAndRankAndNoneForEachCall) {
  const auto order = [](const RandomKey& key) {
    const Routing r = routing_of(with_experts(4, 2), of_tokens(64), key);
    std::vector<std::uint32_t> tokens;
    for (std::uint32_t copy = 0; copy < r.copies(); ++copy) tokens.push_back(r.token_of(copy));
    return tokens;
  };
  const RandomKey base{1, 2, 3, 0, 5, 0};
  EXPECT_EQ(order(base), order(base));
  std::set<std::vector<std::uint32_t>> all{order(base)};
  all.insert(order({2, 2, 3, 0, 5, 0}));
  all.insert(order({1, 3, 3, 0, 5, 0}));
  all.insert(order({1, 2, 4, 0, 5, 0}));
  all.insert(order({1, 2, 3, 1, 5, 0}));
  all.insert(order({1, 2, 3, 0, 6, 0}));
  EXPECT_EQ(all.size(), 6u);
}

/// The tensors of a layer's forward by name.
class Layer {
 public:
  Layer(Executor& run, std::uint32_t layer) : run_(run), layer_(layer) {}
  double at(const std::string& name, std::size_t index) {
    const auto& tensors = run_.program().tensors;
    for (models::TensorId id = 0; id < tensors.size(); ++id)
      if (tensors[id].layer == layer_ && tensors[id].name.ends_with(name))
        return load(ConstArray(run_.memory(id).data(), Element::fp32), index);
    ADD_FAILURE() << "no tensor " << name;
    return 0;
  }

 private:
  Executor& run_;
  std::uint32_t layer_;
};

double silu(double x) { return x / (1 + std::exp(-x)); }

/// What expert `expert` of stacked ones makes of a row of 24, number `column`.
std::vector<double> expert_of_row(Layer& layer, const std::string& name, std::uint32_t expert,
                                  const std::vector<double>& x, std::size_t inner) {
  std::vector<double> product(inner), y(x.size(), 0.0);
  const std::size_t hidden = x.size();
  for (std::size_t i = 0; i < inner; ++i) {
    double gate = 0, up = 0;
    for (std::size_t k = 0; k < hidden; ++k) {
      const std::size_t row = (expert * 2 * inner + i) * hidden + k;
      gate += layer.at(name + "gate_up_proj", row) * x[k];
      up += layer.at(name + "gate_up_proj", row + inner * hidden) * x[k];
    }
    product[i] = silu(gate) * up;
  }
  for (std::size_t k = 0; k < hidden; ++k)
    for (std::size_t i = 0; i < inner; ++i)
      y[k] += layer.at(name + "down_proj", (expert * hidden + k) * inner + i) * product[i];
  return y;
}

/// The softmax of a token's experts among all; normalised over them where `chosen` is true.
std::vector<double> shares_of(Layer& layer, const std::set<std::uint32_t>& of, std::uint32_t token,
                              std::uint32_t experts, bool chosen) {
  double sum = 0;
  for (std::uint32_t e = 0; e < experts; ++e)
    if (!chosen || of.count(e) > 0) sum += std::exp(layer.at("router.logits", token * experts + e));
  std::vector<double> shares(experts, 0.0);
  for (const std::uint32_t e : of)
    shares[e] = std::exp(layer.at("router.logits", token * experts + e)) / sum;
  return shares;
}

/// Token by token and expert by expert, in double.
void expect_outputs(const char* config, std::uint32_t experts, std::uint32_t chosen,
                    std::size_t inner, bool normalised) {
  models::Workload workload = small_workload();
  workload.expert_load.zipf = 0.8;
  Executor run(config, workload);
  const RandomStream noise = initial_stream(3, 3);
  for (std::size_t weight = 0; weight < run.weights(); ++weight)
    for (std::size_t i = 0; i < run.elements(weight); ++i)
      store(run.weight(weight), i,
            load(run.weight(weight), i) + initial_value({0, 0.2f}, noise, i + weight));
  const Moment moment{2, 1, 0, 1};
  run.forward(moment);
  const std::uint32_t block = 1;  // behind the embedding
  Layer layer(run, block);
  const Routing r = routing_of(run.model().architecture, workload,
                               {Executor::seed, moment.step, moment.micro_batch, 0, block, 0});
  std::vector<std::set<std::uint32_t>> of_token(r.tokens);
  std::vector<std::uint32_t> first_copy(r.tokens, r.copies());
  for (std::uint32_t copy = 0; copy < r.copies(); ++copy) {
    of_token[r.token_of(copy)].insert(r.expert_of(copy));
    first_copy[r.token_of(copy)] = std::min(first_copy[r.token_of(copy)], copy);
  }
  double largest = 0;
  for (const std::uint32_t token : {0u, 7u, r.tokens - 1}) {
    ASSERT_EQ(of_token[token].size(), chosen);
    std::vector<double> x(24), sum(24, 0.0);
    for (std::size_t k = 0; k < 24; ++k)
      x[k] = layer.at("experts.input", first_copy[token] * 24 + k);
    const auto shares = shares_of(layer, of_token[token], token, experts, normalised);
    for (const std::uint32_t e : of_token[token]) {
      const auto y = expert_of_row(layer, "mlp.experts.", e, x, inner);
      for (std::size_t k = 0; k < 24; ++k) sum[k] += shares[e] * y[k];
    }
    for (std::size_t k = 0; k < 24; ++k) {
      EXPECT_NEAR(layer.at("experts.output", token * 24 + k), sum[k], 1e-5) << token << " " << k;
      largest = std::max(largest, std::abs(sum[k]));
    }
  }
  EXPECT_GT(largest, 1e-2);
}

TEST(RoutedExperts, AddUpWhatEachOfATokensExpertsMakesOfIt) {
  expect_outputs(small_mixtral, 5, 3, 28, true);
  expect_outputs(small_qwen2_moe, 6, 2, 20, false);
}

}  // namespace
}  // namespace spillway::hw_backend::routing_test
