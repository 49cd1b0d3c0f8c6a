#include "scenarios/description/errors.hpp"
#include "strategies/bounds/mandatory.hpp"
#include "strategies/layout/tensor_table.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <gmock/gmock.h>

/// Muon by ranks that have a share of each matrix.
namespace spillway::strategies::shared_matrices_test {
namespace {

using result::Phase;

/// GPT-2, whose twelve blocks have four matrices each, on some GPUs of a node of eight.
description::Scenario gpt2(std::uint64_t ranks, std::uint64_t stage,
                           const std::string& optimizer = "muon", const Overrides& more = {}) {
  Overrides all{"machine=h100_8gpu",
                "training.precision=bf16",
                "training.sequence=8",
                "training.micro_batch=1",
                "parallel.data=" + std::to_string(ranks),
                "parallel.zero_stage=" + std::to_string(stage),
                "training.optimizer=" + optimizer};
  all.insert(all.end(), more.begin(), more.end());
  return example("gpt2_resident", all);
}

std::vector<RankDemand> updates_of(const description::Scenario& scenario) {
  return count(scenario).demands.back().of(Phase::update).ranks;
}

struct Matrix {
  std::uint64_t m, n;  // the shorter side first
  double flops() const {
    const double rows = static_cast<double>(m), columns = static_cast<double>(n);
    return 5 * (4 * rows * rows * columns + 2 * rows * rows * rows);
  }
  std::uint64_t bytes() const { return 2 * m * n; }
};
constexpr std::uint64_t blocks = 12;
constexpr Matrix matrices[] = {{768, 2304}, {768, 768}, {768, 3072}, {768, 3072}};

double flops_of_all() {
  double all = 0;
  for (const Matrix& matrix : matrices) all += blocks * matrix.flops();
  return all;
}

TEST(SharedMatrices, AreDividedAmongRanks) {
  for (const std::uint64_t ranks : {1, 2, 4})
    for (const std::uint64_t stage : {1, 2, 3}) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, stage " + std::to_string(stage));
      const auto updates = updates_of(gpt2(ranks, stage));
      for (const RankDemand& rank : updates)
        EXPECT_DOUBLE_EQ(rank.flops, flops_of_all() / static_cast<double>(ranks));
    }
  // ranks that have whole states do all of it each
  for (const RankDemand& rank : updates_of(gpt2(4, 0)))
    EXPECT_DOUBLE_EQ(rank.flops, flops_of_all());
}

// Twelve of a shape among five ranks: two rounds of five, and one of two.
TEST(SharedMatrices, ThatAreLeftGoToTheFirstRanks) {
  const auto ranks = updates_of(gpt2(5, 1));
  ASSERT_EQ(ranks.size(), 5u);
  double all = 0;
  for (const RankDemand& rank : ranks) all += rank.flops;
  EXPECT_DOUBLE_EQ(all, flops_of_all());
  double first = 0, last = 0;
  for (const Matrix& matrix : matrices) {
    first += 3 * matrix.flops();
    last += 2 * matrix.flops();
  }
  EXPECT_DOUBLE_EQ(ranks[0].flops, first);
  EXPECT_DOUBLE_EQ(ranks[4].flops, last);
}

// There and back a rank sends its share of each matrix, in bf16, to the rank that has it whole.
TEST(SharedMatrices, CrossTheLinksTwiceInBf16) {
  for (const std::uint64_t ranks : {2, 4}) {
    std::uint64_t sent = 0;
    for (const Matrix& matrix : matrices)
      sent += 2 * blocks / ranks * matrix.bytes() / ranks * (ranks - 1);
    for (const std::uint64_t stage : {1, 2, 3}) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, stage " + std::to_string(stage));
      const auto muon = updates_of(gpt2(ranks, stage));
      const auto lion = updates_of(gpt2(ranks, stage, "lion"));
      for (std::size_t rank = 0; rank < muon.size(); ++rank)
        EXPECT_EQ(muon[rank].to_peers - lion[rank].to_peers, sent);
    }
  }
}

// Of matrices a momentum, of all else Adam's two, in fp32, of a share; three rounds of what goes
// and what comes, and two matrices and two squares.
TEST(SharedMatrices, HaveStatesOfAShareAndRoomForThreeRounds) {
  for (const std::uint64_t ranks : {2, 4}) {
    const description::Scenario scenario = gpt2(ranks, 1);
    std::uint64_t states = 0;
    for (const models::WeightTensor& weight : model_of(scenario).weights) {
      const std::uint64_t share = share_of(weight.parameters.value(), ranks, ElementType::bf16);
      states += (weight.multiplies_in_block() ? 4 : 8) * share;
    }
    const Matrix& largest = matrices[2];
    const std::uint64_t scratch =
        3 * 2 * largest.bytes() + 2 * largest.bytes() + 2 * 2 * largest.m * largest.m;
    const result::PeakBytes gpu = count(scenario).result.gpu;
    EXPECT_EQ(at_peak(gpu, "optimizer_states"), states);
    EXPECT_EQ(at_peak(gpu, "workspace"), scratch);
  }
}

// Beside an optimizer without products: a quarter of their time, and what is not hidden of what
// goes to and fro.
TEST(SharedMatrices, TakeAQuarterOfTheTimeOnFourRanks) {
  const double rate = gpt2(4, 0).machine.gpu.compute.at("bf16").value();
  const auto more = [](std::uint64_t stage) {
    return simulate(gpt2(4, stage)).update_s - simulate(gpt2(4, stage, "lion")).update_s;
  };
  const double whole = more(0);
  for (const std::uint64_t stage : {1, 2, 3}) {
    EXPECT_GT(more(stage), flops_of_all() / 4 / rate);
    EXPECT_GT(more(stage), 0.25 * whole);
    EXPECT_LT(more(stage), 0.3 * whole);
  }
}

// The busiest rank counts, and where ranks differ one does not stand for all.
TEST(SharedMatrices, TakeNoLessTimeThanWhatNoMachineDoesWithout) {
  for (const std::uint64_t ranks : {2, 5})
    for (const std::uint64_t stage : {1, 3}) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks, stage " + std::to_string(stage));
      const description::Scenario scenario = gpt2(ranks, stage);
      const auto bound = Mandatory::of(scenario), whole = Mandatory::of(scenario, Fold::nothing);
      ASSERT_TRUE(bound && whole);
      const double products = updates_of(scenario)[0].flops;
      EXPECT_GT(bound->step_s(scenario),
                products / scenario.machine.gpu.compute.at("bf16").value());
      EXPECT_DOUBLE_EQ(bound->step_s(scenario), whole->step_s(scenario));
      EXPECT_LE(bound->step_s(scenario), simulate(scenario).step_time_s);
    }
}

// DeepSpeed's copies of gradients are held beside the rounds.
TEST(SharedMatrices, AreUpdatedBesideFlattenedGradients) {
  const Overrides flat{"strategy.optimizer.flatten=true"};
  const auto plain = updates_of(gpt2(2, 2));
  const auto flattened = updates_of(gpt2(2, 2, "muon", flat));
  EXPECT_DOUBLE_EQ(flattened[0].flops, plain[0].flops);
  EXPECT_EQ(flattened[0].to_peers, plain[0].to_peers);
  EXPECT_GT(flattened[0].update_bytes + flattened[0].other_bytes,
            plain[0].update_bytes + plain[0].other_bytes);
  const result::PeakBytes gpu = count(gpt2(2, 2, "muon", flat)).result.gpu;
  EXPECT_GT(at_peak(gpu, "optimizer_gradient_buffers"), 0u);
}

TEST(SharedMatrices, AreRefusedWhereTheUpdateIsNotBehindBackward) {
  const auto why = [](const std::string& optimizer, const Overrides& more) -> std::string {
    try {
      gpt2(2, 2, optimizer, more);
    } catch (const description::ScenarioError& error) {
      return error.what();
    }
    return "";
  };
  const char* const refused =
      "updates whole matrices, of which this version's ranks have no shares";
  EXPECT_THAT(why("adafactor", {}), testing::HasSubstr(refused));
  EXPECT_THAT(why("muon", {"parallel.tensor=2"}), testing::HasSubstr(refused));
  EXPECT_THAT(why("muon", {"training.optimizer_in_backward=true"}), testing::HasSubstr(refused));
  EXPECT_EQ(why("muon", {}), "");
}

}  // namespace
}  // namespace spillway::strategies::shared_matrices_test
