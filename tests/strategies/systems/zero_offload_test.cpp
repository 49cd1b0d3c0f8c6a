#include "strategies/layout/subgroups.hpp"
#include "tests/strategies/systems/systems.hpp"

namespace spillway::strategies::zero_offload_test {
namespace {

description::Scenario motivation(const std::string& model, Overrides overrides = {}) {
  for (const std::string& fixed : {"model=" + model, std::string("machine=memascend_motivation"),
                                   std::string("strategy.system=zero_offload")})
    overrides.insert(overrides.begin(), fixed);
  return example("llama8b_memascend_c1", overrides);
}

constexpr std::uint64_t parameters = 1'235'814'400, embedding = 128256 * 2048ull;
constexpr std::uint64_t norms = 33 * 2048;  // below 1e5: whole on the GPU

TEST(ZeroOffload, HostLedgerOfLlama1bByPurpose) {
  const description::Scenario scenario = motivation("llama-3.2-1b");
  const result::PeakBytes host = count(scenario).result.host;
  const models::Model model = model_of(scenario);
  ASSERT_EQ(model.parameters.value(), parameters);
  EXPECT_EQ(host.phase, "overflow_check");
  EXPECT_EQ(at_peak(host, "parameter_flat_buffer"), 2 * (parameters - norms));
  EXPECT_EQ(at_peak(host, "master_weights"), 4 * parameters);
  EXPECT_EQ(at_peak(host, "optimizer_states"), 8 * parameters);
  EXPECT_EQ(at_peak(host, "optimizer_gradient_buffers"), 4 * parameters);
  EXPECT_EQ(at_peak(host, "gradient_flat_buffer"), 4 * parameters);
  EXPECT_EQ(at_peak(host, "pinned_gradient_buffer"), 4 * embedding);
  EXPECT_EQ(at_peak(host, "overflow_check_temporaries"), 5 * parameters);
  EXPECT_EQ(at_peak(host, "allocator_cache"), 2 * parameters);
  EXPECT_EQ(at_peak(host, "process_base"), scenario.machine.host.process_base.value());
  // every pinned block is a power of two: the flats, one gradient buffer a sub-group, one block a
  // parameter
  std::uint64_t rounding = power(2 * (parameters - norms)) - 2 * (parameters - norms) +
                           power(4 * parameters) - 4 * parameters + power(4 * embedding) -
                           4 * embedding;
  for (const models::WeightTensor& weight : model.weights)
    rounding += power(2 * weight.parameters.value()) - 2 * weight.parameters.value();
  for (const Subgroup& group : make_subgroups(
           model, 100'000'000, description::Grouping::parameter_groups, false, 1024,
           [&](std::uint32_t weight) { return model.weights[weight].parameters.value(); }))
    rounding += power(4 * group.elements) - 4 * group.elements;
  // and the norms' new values on their way to the GPU
  const std::uint64_t out = 2 * norms;
  EXPECT_EQ(at_peak(host, "swap_out_buffer"), out);
  EXPECT_EQ(at_peak(host, "pinned_rounding"), rounding + power(out) - out);
}

TEST(ZeroOffload, HostPeaksOfTableOneArePublished) {
  for (const auto& [model, published] :
       {std::pair{"llama-3.2-1b", 42.99}, {"llama-3.2-3b", 104.17}}) {
    const result::PeakBytes host = count(motivation(model)).result.host;
    EXPECT_NEAR(static_cast<double>(host.total) / gib, published, 0.025 * published) << model;
  }
}

TEST(ZeroOffload, EightBillionDoNotFit) {
  const result::Result run = count(motivation("llama-3.1-8b")).result;
  ASSERT_TRUE(run.infeasible);
  EXPECT_EQ(run.infeasible->tier, "host");
}

TEST(ZeroOffload, TrafficIsOnTheLinkOnly) {
  const result::Result run = count(motivation("llama-3.2-1b")).result;
  EXPECT_EQ(run.io.ssd_read + run.io.ssd_write, 0u);
  EXPECT_EQ(run.ssd.total, 0u);
  // the embedding is tied: fetched for the look-up and for the head, in both passes
  const std::uint64_t fetched = 2 * (parameters - norms + embedding);
  EXPECT_EQ(run.phase_bytes.at("forward").h2d, fetched);
  EXPECT_EQ(run.phase_bytes.at("backward").h2d, fetched + 4 * parameters);
  EXPECT_EQ(run.phase_bytes.at("backward").d2h, 8 * parameters);  // into the flat buffer, on
  EXPECT_EQ(run.phase_bytes.at("update").h2d, 2 * norms);
  EXPECT_EQ(run.phase_bytes.at("update").d2h, 0u);
}

/// Parameters of the first int((1 - share) * n) of n sub-groups, all of them matrices.
std::uint64_t stepped_on_gpu(const models::Model& model, double share) {
  const std::vector<Subgroup> groups =
      make_subgroups(model, 100'000'000, description::Grouping::parameter_groups, false, 1024,
                     [&](std::uint32_t w) { return model.weights[w].parameters.value(); });
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>((1 - share) * double(groups.size())); ++i)
    sum += groups[i].elements;
  return sum;
}

// Twin-Flow: what the GPU steps it holds 12 B a parameter of, and sends 2 B down instead of 8.
TEST(ZeroOffload, OfWhatTheGpuStepsNoStatesAndNoGradientsLeaveIt) {
  const description::Scenario scenario =
      motivation("llama-3.2-1b", {"strategy.optimizer.cpu_share=0.5"});
  const std::uint64_t there = stepped_on_gpu(model_of(scenario), 0.5), here = parameters - there;
  ASSERT_GT(there, parameters / 3);
  const result::Result run = count(scenario).result;
  EXPECT_EQ(at_peak(run.gpu, "optimizer_states"), 12 * there);
  EXPECT_EQ(at_peak(run.host, "master_weights"), 4 * here);
  EXPECT_EQ(at_peak(run.host, "optimizer_states"), 8 * here);
  EXPECT_EQ(at_peak(run.host, "optimizer_gradient_buffers"), 4 * here);
  EXPECT_EQ(at_peak(run.host, "gradient_flat_buffer"), 4 * here);
  EXPECT_EQ(at_peak(run.host, "overflow_check_temporaries"), 5 * here);
  EXPECT_EQ(at_peak(run.host, "parameter_flat_buffer"), 2 * (parameters - norms));
  // the embedding is tied: fetched for the look-up and for the head, in both passes
  const std::uint64_t fetched = 2 * (parameters - norms + embedding);
  EXPECT_EQ(run.phase_bytes.at("forward").h2d, fetched);
  EXPECT_EQ(run.phase_bytes.at("backward").h2d, fetched + 4 * here);
  EXPECT_EQ(run.phase_bytes.at("backward").d2h, 8 * here);
  EXPECT_EQ(run.phase_bytes.at("update").h2d, 2 * norms);
  EXPECT_EQ(run.phase_bytes.at("update").d2h, 2 * there);
}

/// CPU traffic of one kind of work in a phase.
std::uint64_t cpu_traffic(const Counted& run, result::Phase phase, CpuWork work) {
  return run.demands.back().of(phase).cpu_traffic[static_cast<std::size_t>(work)];
}

// Up for their norm as 2 B, down as 2 B into new pages, where the CPU makes 4 of them.
TEST(ZeroOffload, TypedGradientsComeDownNarrowAndAreConvertedThere) {
  const Overrides narrow{"strategy.gradients.accumulation=fp16"};
  Overrides typed = narrow;
  typed.push_back("strategy.gradients.d2h=typed");
  const Counted pinned = count(motivation("llama-3.2-1b", narrow));
  const Counted run = count(motivation("llama-3.2-1b", typed));
  const auto d2h = [](const Counted& counted) {
    return counted.result.phase_bytes.at("backward").d2h;
  };
  EXPECT_EQ(d2h(pinned), 6 * parameters);  // 2 into the flat buffer, 4 on
  EXPECT_EQ(d2h(run), 4 * parameters);
  const result::Phase backward = result::Phase::backward;
  EXPECT_EQ(cpu_traffic(pinned, backward, CpuWork::convert), 0u);
  EXPECT_EQ(cpu_traffic(run, backward, CpuWork::convert), 6 * parameters);
  EXPECT_EQ(run.demands.back().of(backward).ranks[0].pageable_d2h, 2 * parameters);
  // norms and matrices below 32 MiB find pages that they had before
  std::uint64_t large = 0;
  for (const models::WeightTensor& weight : model_of(motivation("llama-3.2-1b")).weights)
    if (weight.parameters.value() >= 16ull << 20) large += 2 * weight.parameters.value();
  ASSERT_GT(large, parameters);
  EXPECT_EQ(cpu_traffic(run, backward, CpuWork::touch), large);
}

TEST(ZeroOffload, TypedWeightsAreMadeOfTheMastersOfASubgroup) {
  const Overrides on_gpu{"strategy.weights.home=gpu"};
  Overrides typed = on_gpu;
  typed.push_back("strategy.weights.h2d=typed");
  const Counted pinned = count(motivation("llama-3.2-1b", on_gpu));
  const Counted run = count(motivation("llama-3.2-1b", typed));
  EXPECT_EQ(run.result.phase_bytes.at("update").h2d, 2 * parameters);
  const result::Phase update = result::Phase::update;
  EXPECT_EQ(run.demands.back().of(update).ranks[0].pageable_h2d, 2 * parameters);
  EXPECT_EQ(pinned.demands.back().of(update).ranks[0].pageable_h2d, 0u);
  EXPECT_EQ(cpu_traffic(run, update, CpuWork::convert), 6 * parameters);
  EXPECT_EQ(cpu_traffic(pinned, update, CpuWork::adam) - cpu_traffic(run, update, CpuWork::adam),
            2 * parameters);  // which Adam no longer writes
}

std::uint64_t cpu_elements(const Counted& run, result::Phase phase) {
  return run.demands.back().of(phase).cpu_elements[static_cast<std::size_t>(CpuWork::adam)];
}

// Adam touches 12 B of states twice, a gradient of 4 and a weight of 2: 30 B, Lion 22, without the
// variance. It is as fast by the bytes, or as the machine says.
TEST(ZeroOffload, LionOnTheCpuIsAsFastAsAdamByTheBytesThatItTouches) {
  const result::Phase update = result::Phase::update;
  const Counted adam = count(motivation("llama-3.2-1b"));
  const Counted lion = count(motivation("llama-3.2-1b", {"training.optimizer=lion"}));
  EXPECT_EQ(cpu_traffic(adam, update, CpuWork::adam), 30 * parameters);
  EXPECT_EQ(cpu_traffic(lion, update, CpuWork::adam), 22 * parameters);
  EXPECT_EQ(
      at_peak(adam.result.host, "optimizer_states") - at_peak(lion.result.host, "optimizer_states"),
      4 * parameters);
  EXPECT_EQ(cpu_elements(adam, update), parameters);
  EXPECT_NEAR(static_cast<double>(cpu_elements(lion, update)),
              static_cast<double>(parameters) * 22 / 30, 1e3);
  const Counted stated =
      count(motivation("llama-3.2-1b", {"training.optimizer=lion", "machine.host.adam=1 Gparam/s",
                                        "machine.host.lion=4 Gparam/s"}));
  EXPECT_NEAR(static_cast<double>(cpu_elements(stated, update)),
              static_cast<double>(parameters) / 4, 1e3);
}

TEST(ZeroOffload, TypedCopiesHoldUpBackwardAndUpdate) {
  const auto seconds = [](const char* overlap, Overrides overrides) {
    overrides.insert(overrides.end(), {"strategy.gradients.accumulation=fp16",
                                       "strategy.weights.home=gpu", "machine.gpu.memory=1 TiB",
                                       std::string("strategy.gradients.overlap=") + overlap});
    return simulate(motivation("llama-3.2-1b", overrides));
  };
  const auto pinned = seconds("true", {});
  const auto typed =
      seconds("true", {"strategy.gradients.d2h=typed", "strategy.weights.h2d=typed",
                       "machine.host.first_touch=2 GB/s", "machine.pcie.pageable_d2h=4 GB/s",
                       "machine.pcie.pageable_h2d=4 GB/s"});
  // an update has to make 2 B a parameter of new pages at 2 GB/s, and to copy them at 4, both
  // beside nothing; new pages may come while Adam still works
  EXPECT_GT(typed.update_s, pinned.update_s + 2.0 * parameters / 4e9);
  // backward: touched and copied, 2 B at 2 and at 4 GB/s
  EXPECT_GT(typed.backward_s, 2.0 * parameters * (1 / 2e9 + 1 / 4e9) * 0.9);
  EXPECT_LT(pinned.backward_s, typed.backward_s);
}

TEST(ZeroOffload, WhereWeightsLieOnTheGpuItsShareOfTheUpdateMovesNothing) {
  const Overrides on_gpu{"strategy.weights.home=gpu"};
  const auto run = [&](const char* share) {
    Overrides all = on_gpu;
    all.push_back(std::string("strategy.optimizer.cpu_share=") + share);
    return count(motivation("llama-3.2-1b", all)).result;
  };
  const std::uint64_t there = stepped_on_gpu(model_of(motivation("llama-3.2-1b")), 0.5);
  EXPECT_EQ(run("1").phase_bytes.at("update").h2d, 2 * parameters);
  EXPECT_EQ(run("0.5").phase_bytes.at("update").h2d, 2 * (parameters - there));
  EXPECT_EQ(run("0.5").phase_bytes.at("update").d2h, 0u);
  EXPECT_GE(at_peak(run("0.5").gpu, "gradients"), 2 * there);  // and those of two layers
  const result::Result all = run("0");
  EXPECT_EQ(all.io.h2d + all.io.d2h, 0u);
  EXPECT_EQ(at_peak(all.gpu, "optimizer_states"), 12 * parameters);
  EXPECT_EQ(at_peak(all.host, "optimizer_states"), 0u);
}

TEST(ZeroOffload, OriginalFormKeepsSixteenBitWeightsOnTheGpu) {
  const result::Result run =
      count(motivation("llama-3.2-1b", {"strategy.weights.home=gpu", "parallel.zero_stage=2"}))
          .result;
  EXPECT_EQ(at_peak(run.gpu, "weights"), 2 * parameters);
  EXPECT_EQ(at_peak(run.host, "parameter_flat_buffer"), 0u);
  EXPECT_EQ(at_peak(run.host, "allocator_cache"), 0u);
  EXPECT_EQ(run.phase_bytes.at("forward").h2d, 0u);
  EXPECT_EQ(run.phase_bytes.at("update").h2d, 2 * parameters);
}

/// ZeRO-1 and 2 as DeepSpeed's stage_1_and_2.py has them, one rank.
result::Result in_states(Overrides more) {
  for (const char* fixed : {"strategy.weights.home=gpu", "strategy.optimizer.subgroup=1e12 params",
                            "strategy.pinned=exact"})
    more.insert(more.begin(), fixed);
  return count(motivation("llama-3.2-1b", std::move(more))).result;
}

TEST(ZeroOffload, StageTwoSendsGradientsOnceInFp32) {
  const result::Result run = in_states({"parallel.zero_stage=2"});
  EXPECT_EQ(run.phase_bytes.at("backward").d2h, 4 * parameters);
  EXPECT_EQ(run.phase_bytes.at("backward").h2d, 0u);
  EXPECT_EQ(run.phase_bytes.at("update").h2d, 2 * parameters);
  // masters 4, states 8, gradients 4, and 2 for new weights: 18 B a parameter, no flat buffer
  EXPECT_EQ(at_peak(run.host, "master_weights"), 4 * parameters);
  EXPECT_EQ(at_peak(run.host, "optimizer_states"), 8 * parameters);
  EXPECT_EQ(at_peak(run.host, "optimizer_gradient_buffers"), 4 * parameters);
  EXPECT_EQ(at_peak(run.host, "swap_out_buffer"), 2 * parameters);
  EXPECT_EQ(at_peak(run.host, "gradient_flat_buffer"), 0u);
  EXPECT_EQ(at_peak(run.host, "overflow_check_temporaries"), 0u);
  EXPECT_EQ(at_peak(run.host, "pinned_gradient_buffer"), 2 * embedding);
}

TEST(ZeroOffload, StageTwoAddsMicroBatchesInHostMemory) {
  const result::Result run =
      in_states({"parallel.zero_stage=2", "training.gradient_accumulation=3"});
  // 2 B down each time, 2 B up before the second and the third, 4 B down after the last
  EXPECT_EQ(run.phase_bytes.at("backward").d2h, (3 * 2 + 4) * parameters);
  EXPECT_EQ(run.phase_bytes.at("backward").h2d, 2 * 2 * parameters);
  EXPECT_EQ(at_peak(run.host, "gradient_accumulation"), 2 * parameters);
}

TEST(ZeroOffload, StageOneAddsMicroBatchesOnTheGpu) {
  const result::Result run =
      in_states({"parallel.zero_stage=1", "training.gradient_accumulation=3"});
  EXPECT_EQ(run.phase_bytes.at("backward").d2h, 4 * parameters);
  EXPECT_EQ(at_peak(run.host, "gradient_accumulation"), 0u);
  EXPECT_GE(at_peak(run.gpu, "gradients"), 2 * parameters);
}

/// 2 B each: master, momentum, variance, gradient, and room for the new weights. Gradients go down
/// and new weights up once.
TEST(ZeroOffload, SixteenBitMastersTakeGradientsOfSixteenBits) {
  const result::Result run =
      in_states({"parallel.zero_stage=2", "training.precision=bf16_mixed",
                 "training.optimizer_state=bf16", "strategy.optimizer.master=copy"});
  EXPECT_EQ(at_peak(run.host, "master_weights"), 2 * parameters);
  EXPECT_EQ(at_peak(run.host, "optimizer_states"), 4 * parameters);
  EXPECT_EQ(at_peak(run.host, "optimizer_gradient_buffers"), 2 * parameters);
  EXPECT_EQ(at_peak(run.host, "swap_out_buffer"), 2 * parameters);
  EXPECT_EQ(at_peak(run.host, "gradient_flat_buffer"), 0u);
  EXPECT_EQ(run.phase_bytes.at("backward").d2h, 2 * parameters);
  EXPECT_EQ(run.phase_bytes.at("update").h2d, 2 * parameters);
}

TEST(ZeroOffload, StageThreeSendsThemToTheFlatBufferAndOn) {
  // 2 B down, 2 B up for the norm, 4 B down
  const result::Result run =
      in_states({"parallel.zero_stage=3", "strategy.gradients.accumulation=fp16"});
  EXPECT_EQ(run.phase_bytes.at("backward").d2h, 6 * parameters);
  EXPECT_EQ(run.phase_bytes.at("backward").h2d, 2 * parameters);
  EXPECT_EQ(at_peak(run.host, "gradient_flat_buffer"), 2 * parameters);
}

TEST(ZeroOffload, NothingIsPinnedWhereDeepSpeedPinsNothing) {
  const result::Result run =
      in_states({"parallel.zero_stage=2", "strategy.pinned=power_of_two",
                 "strategy.gradients.d2h=pageable", "strategy.gradients.pinned=exact"});
  EXPECT_EQ(at_peak(run.host, "pinned_rounding"), 0u);
}

TEST(ZeroOffload, Fp32TrainingNeedsNeitherGradientBuffersNorCasts) {
  const result::PeakBytes host =
      count(example("llama8b_memascend_c1", {"model=llama-3.2-1b", "strategy.system=zero_offload",
                                             "training.precision=fp32", "machine=h100_8gpu"}))
          .result.host;
  EXPECT_EQ(at_peak(host, "parameter_flat_buffer"), 4 * (parameters - norms));
  EXPECT_EQ(at_peak(host, "gradient_flat_buffer"), 4 * parameters);
  EXPECT_EQ(at_peak(host, "optimizer_gradient_buffers"), 0u);
  EXPECT_EQ(at_peak(host, "allocator_cache"), 0u);
  EXPECT_EQ(at_peak(host, "overflow_check_temporaries"), 0u);
}

}  // namespace
}  // namespace spillway::strategies::zero_offload_test
