#include "strategies/decide/tensors.hpp"
#include "strategies/layout/layer_plan.hpp"
#include "tests/strategies/systems/systems.hpp"

namespace spillway::strategies {
namespace {

using result::Phase;

TEST(Resident, SixteenBytesPerParameterOfGpt2) {
  const description::Scenario scenario =
      example("gpt2_resident", {"strategy.gradients.memory=at_start"});
  const models::Model model = model_of(scenario);
  const result::PeakBytes gpu = count(scenario).result.gpu;
  EXPECT_EQ(at_peak(gpu, "weights"), padded(model, 2, 4096));
  EXPECT_EQ(at_peak(gpu, "gradients"), padded(model, 2, 4096));
  EXPECT_EQ(at_peak(gpu, "optimizer_states"), padded(model, 12, 64));
  EXPECT_EQ(at_peak(gpu, "context"), scenario.machine.gpu.context.value());
  const double states = static_cast<double>(at_peak(gpu, "weights") + at_peak(gpu, "gradients") +
                                            at_peak(gpu, "optimizer_states"));
  EXPECT_NEAR(states / (16.0 * 124'439'808), 1, 0.002);  // padding of biases and norms
  EXPECT_EQ(at_peak(gpu, "gathered_weights"), 0u);
}

// Of 64 sinks of attention each of eight tensor ranks has eight, whose masters take 32 bytes.
TEST(Resident, StatesBehindAMasterOfFewNumbersAreAligned) {
  const auto states = [](const std::string& optimizer) {
    const description::Scenario scenario =
        example("gpt2_resident", {"model=gpt-oss-20b", "machine=h100_8gpu", "parallel.data=1",
                                  "parallel.tensor=8", "training.optimizer=" + optimizer});
    return at_peak(count(scenario).result.gpu, "optimizer_states");
  };
  EXPECT_GT(states("adamw"), states("adam8bit"));
}

TEST(Resident, MainGradientsTakeFourBytesWithOneMicroBatchToo) {
  const Overrides wide{"strategy.gradients.accumulation=fp32",
                       "strategy.gradients.main_gradients=true"};
  const description::Scenario scenario = example("gpt2_resident", wide);
  const models::Model model = model_of(scenario);
  const auto gradients = [](const description::Scenario& of) {
    return at_peak(count(of).result.gpu, "gradients");
  };
  // beside them those of norms, biases and embeddings of the layers in flight, as they are computed
  EXPECT_GE(gradients(scenario), padded(model, 4, 4096));
  EXPECT_GT(gradients(scenario), 19 * gradients(example("gpt2_resident")) / 10);
  EXPECT_EQ(gradients(example("gpt2_resident", {"strategy.gradients.accumulation=fp32"})),
            gradients(example("gpt2_resident")));
}

// Products add to them: no layer's matrices have gradients of 16 bits, but each kind of matrix a
// tensor without values, of 2 h^2 bytes for one of h x h. A block of GPT-2 has h x 3h, h x h,
// h x 4h and 4h x h.
TEST(Resident, ProductsThatAddToMainGradientsKeepOnePlaceholderForEachKindOfMatrix) {
  const Overrides wide{"strategy.gradients.accumulation=fp32",
                       "strategy.gradients.main_gradients=true"};
  const auto at_init = [](const description::Scenario& of) {
    std::vector<std::uint64_t> bytes;
    for (const result::PeakEntry& entry : count(of).result.gpu.entries)
      if (entry.purpose == "gradients" && entry.phase == "init")
        bytes.insert(bytes.end(), entry.count, entry.asked_bytes);
    std::sort(bytes.begin(), bytes.end());
    return bytes;
  };
  const std::uint64_t square = 2 * 768 * 768;
  std::vector<std::uint64_t> all = at_init(example("gpt2_resident", wide));
  ASSERT_EQ(all.size(), 5u);
  all.pop_back();  // the main gradients
  EXPECT_EQ(all, (std::vector<std::uint64_t>{square, 3 * square, 4 * square, 4 * square}));
  Overrides by_kernels = wide;
  by_kernels.emplace_back("strategy.gradients.fused_accumulation=false");
  EXPECT_EQ(at_init(example("gpt2_resident", by_kernels)).size(), 1u);
}

// Two ranks send half of 4 bytes a parameter twice to each other: what they do beside backward by
// layer waits behind it at the end, after a kernel that divides it.
TEST(Resident, SumsAtTheEndWaitForBackwardAndTakeNoMoreMemory) {
  const auto summed = [](const std::string& when) {
    return simulate(
        example("gpt2_resident",
                {"machine=h100_8gpu", "parallel.data=2", "strategy.gradients.accumulation=fp32",
                 "strategy.gradients.main_gradients=true", "strategy.gradients.sums=" + when}));
  };
  const result::Result end = summed("at_end"), layer = summed("by_layer"), open = summed("auto");
  EXPECT_EQ(open.step_time_s, end.step_time_s);
  EXPECT_EQ(end.gpu.total, layer.gpu.total);
  const double link = 4.0 * 124'439'808 / 450e9;  // of NVLink, each way
  EXPECT_GT(end.backward_s, layer.backward_s + 0.5 * link);
  EXPECT_LT(end.backward_s, layer.backward_s + 4 * link);
}

// Six bytes for each parameter of a sub-group: gradients of two and copies of four.
TEST(Resident, FlattensTheGradientsOfASubgroupAtATime) {
  const auto copies = [](const std::string& subgroup) {
    const result::PeakBytes gpu =
        count(example("gpt2_resident", {"training.sequence=8", "training.micro_batch=1",
                                        "strategy.optimizer.flatten=true",
                                        "strategy.optimizer.subgroup=" + subgroup}))
            .result.gpu;
    return static_cast<double>(at_peak(gpu, "optimizer_gradient_buffers"));
  };
  EXPECT_NEAR(copies("1e12 params") / (6.0 * 124'439'808), 1, 1e-3);
  // the embedding has 38.6e6 parameters of it
  EXPECT_NEAR(copies("1 params") / (6.0 * 50257 * 768), 1, 1e-3);
}

TEST(Resident, KeepsWhatEveryBlockSavesOrOneBlockAtATime) {
  const description::Scenario keep =
      example("gpt2_resident", {"strategy.gradients.memory=at_start"});
  const description::Scenario recompute =
      example("gpt2_resident",
              {"strategy.gradients.memory=at_start", "strategy.activations.policy=checkpoint_gpu"});
  const Prepared prepared = prepare(keep);
  // what 12 blocks save beside their inputs, which are kept either way, and the largest pass
  const TensorTable tensors = decide_tensors(keep, prepared).at(0);
  const LayerPlans all =
      plan_layers(prepared.model, prepared.program, tensors, keep_everything(prepared.program));
  const LayerPlans one =
      plan_layers(prepared.model, prepared.program, tensors,
                  checkpoint_blocks(prepared.model, prepared.program, Fate::keep));
  const auto room = [](const LayerPlans& plans) {
    std::uint64_t most = 0;
    for (const LayerPlan& layer : plans.layers)
      for (const PassPlan* pass : {&layer.forward, &layer.recompute, &layer.backward})
        most = std::max(most, pass->transient_bytes);
    return most;
  };
  const std::uint64_t block = saved_bytes(all.layers[1]);
  ASSERT_GT(block, 0u);
  const Counted kept = count(keep), recomputed = count(recompute);
  // a block that runs again writes its output once more; of one that does not it is gone
  const std::uint64_t output = all.hidden.at(all.layers[1].produced.front()).bytes;
  EXPECT_EQ(at_peak(kept.result.gpu, "activations") + room(one) + output,
            at_peak(recomputed.result.gpu, "activations") + room(all) + 12 * block);
  EXPECT_EQ(kept.demands.back().of(Phase::backward).ranks[0].recompute_flops, 0);
  EXPECT_GT(recomputed.demands.back().of(Phase::backward).ranks[0].recompute_flops, 0);
}

struct StageBytes {
  const char* stage;
  std::uint64_t weights, gradients, states;  ///< ranks that share each
  double network;                            ///< bytes per parameter that a rank of four receives
};

TEST(Resident, StagesOfZeroSpreadStatesThenGradientsThenWeights) {
  const StageBytes stages[] = {
      {"0", 1, 1, 1, 3.0},  // all-reduce: 2 x 3/4 x 2 B
      {"1", 1, 1, 4, 4.5},  // the same, and an all-gather of new weights, 3/4 x 2 B
      {"2", 1, 4, 4, 3.0},  // reduce-scatter and all-gather: 3/2 + 3/2
      {"3", 4, 4, 4, 4.5},  // all-gather twice, reduce-scatter: 3 x 3/2
  };
  for (const StageBytes& stage : stages) {
    SCOPED_TRACE(stage.stage);
    const description::Scenario scenario =
        small_model("llama", "resident",
                    {"parallel.data=4", std::string("parallel.zero_stage=") + stage.stage,
                     "strategy.activations.policy=keep"});
    const models::Model model = model_of(scenario);
    const Counted run = count(scenario);
    // whole tensors in sectors, shares in 64 B
    EXPECT_EQ(at_peak(run.result.gpu, "weights"),
              padded(model, 2, stage.weights == 1 ? 4096 : 64, stage.weights));
    EXPECT_EQ(at_peak(run.result.gpu, "optimizer_states"), padded(model, 12, 64, stage.states));
    if (stage.gradients == 1) {
      EXPECT_EQ(at_peak(run.result.gpu, "gradients"), padded(model, 2, 4096));
    } else {  // the share, and whole gradients of the layers in flight
      EXPECT_GE(at_peak(run.result.gpu, "gradients"), padded(model, 2, 4096, 4));
    }
    const double parameters = static_cast<double>(model.parameters.value());
    const double received = static_cast<double>(run.result.io.network) / 4 / parameters;
    EXPECT_NEAR(received, stage.network, 0.01 * stage.network);
  }
}

TEST(Resident, TensorParallelRanksMeetTwiceABlockAndDirection) {
  const description::Scenario scenario =
      small_model("llama", "resident", {"parallel.tensor=2", "parallel.zero_stage=0"});
  const Prepared prepared = prepare(scenario);
  std::uint64_t planned = 0;
  for (const models::Operator& op : prepared.program.operators)
    if (op.kind == models::OperatorKind::all_reduce) ++planned;
  // 2 blocks x 2 x 2, the embedding, and the head's loss and input gradient at most
  EXPECT_GE(planned, 8u);
  EXPECT_LE(planned, 11u);
  const result::Result run = count(scenario).result;
  // each moves 2 x 1/2 of 2 B x 2 x 64 x 1024 to each of both ranks, when it is a hidden state
  const std::uint64_t hidden = 2 * 2 * 64 * 1024;
  EXPECT_GE(run.io.network, 2 * 8 * hidden);
  const std::uint64_t statistics = 2 * 64 * 8;  // two numbers a token, of the other rank's words
  EXPECT_LE(run.io.network, 2 * planned * hidden + 2 * statistics);
  EXPECT_GT(count(small_model("llama", "resident")).result.gpu.total, run.gpu.total);
}

// Of two blocks and the head five norms, of 2 KiB in 16 bits, which lie in sectors of 4 KiB.
TEST(Resident, TensorRanksThatShareTokensSumGradientsOfNormsOnceAStep) {
  const auto network = [](const char* stage, const char* accumulation) {
    return count(small_model("llama", "resident",
                             {"parallel.tensor=2", "parallel.sequence_parallel=true",
                              std::string("parallel.zero_stage=") + stage,
                              std::string("training.gradient_accumulation=") + accumulation}))
        .result.io.network;
  };
  constexpr std::uint64_t sums = 2 * 5 * 4096;  // each of two ranks sends as much as it has
  EXPECT_EQ(3 * network("0", "1") - network("0", "3"), 2 * sums);
  EXPECT_EQ(3 * network("2", "1"), network("2", "3"));  // each time, as ZeRO-2 does
}

TEST(Resident, MicroBatchesReduceTheirSumOnce) {
  const auto network = [](const char* stage, const char* accumulation) {
    return count(small_model("llama", "resident",
                             {"parallel.data=2", std::string("parallel.zero_stage=") + stage,
                              std::string("training.gradient_accumulation=") + accumulation}))
        .result.io.network;
  };
  EXPECT_EQ(network("0", "1"), network("0", "3"));
  EXPECT_EQ(network("1", "1"), network("1", "3"));
  // ZeRO-2 reduces each micro-batch, 1 B a parameter and rank of two; ZeRO-3 gathers each as well
  EXPECT_GT(network("2", "3"), network("2", "1"));
  EXPECT_EQ(network("3", "3"), 3 * network("3", "1"));
}

TEST(Resident, SgdHasAMasterButNoMoments) {
  const models::Model model = model_of(example("gpt2_resident"));
  const auto states = [](const Overrides& overrides) {
    return at_peak(count(example("gpt2_resident", overrides)).result.gpu, "optimizer_states");
  };
  EXPECT_EQ(states({"training.optimizer=sgd"}), padded(model, 4, 64));
  EXPECT_EQ(states({"training.optimizer=sgd", "training.precision=bf16"}), 0u);
  EXPECT_EQ(states({"training.optimizer_state=bf16"}), padded(model, 4, 64));
  EXPECT_EQ(states({"training.precision=fp32"}), padded(model, 8, 64));
}

// Adafactor: a row and a column of each matrix, and of each vector a variance. Muon: a momentum of
// the matrices of blocks, Adam's two of all else.
TEST(Resident, AdafactorHasFactorsAndMuonAMomentum) {
  const models::Model model = model_of(example("gpt2_resident"));
  const auto states = [](const char* optimizer) {
    return at_peak(
        count(example("gpt2_resident", {"training.precision=bf16", optimizer})).result.gpu,
        "optimizer_states");
  };
  std::uint64_t factors = 0, momenta = 0;
  const auto up = [](std::uint64_t bytes) { return (bytes + 63) / 64 * 64; };
  for (const models::WeightTensor& weight : model.weights) {
    const std::uint64_t elements = weight.parameters.value();
    const bool matrix = weight.shape.size() > 1;
    factors += up(4 * (matrix ? weight.shape[0] + weight.shape[1] : elements));
    momenta += up((weight.multiplies_in_block() ? 4 : 8) * elements);
  }
  EXPECT_EQ(states("training.optimizer=adafactor"), factors);
  EXPECT_EQ(states("training.optimizer=muon"), momenta);
}

// Five iterations of 4 m m n + 2 m m m FLOPs for each matrix of a block, m the shorter side.
TEST(Resident, MuonTakesTheTimeOfItsProducts) {
  const auto step = [](const char* optimizer) {
    return simulate(example("gpt2_resident", {"training.precision=bf16", optimizer}));
  };
  const models::Model model = model_of(example("gpt2_resident"));
  double flops = 0;
  for (const models::WeightTensor& weight : model.weights) {
    if (!weight.multiplies_in_block()) continue;
    const double m = static_cast<double>(std::min(weight.shape[0], weight.shape[1]));
    const double n = static_cast<double>(std::max(weight.shape[0], weight.shape[1]));
    flops += 5 * (4 * m * m * n + 2 * m * m * m);
  }
  const double rate = example("gpt2_resident").machine.gpu.compute.at("bf16").value();
  const double more =
      step("training.optimizer=muon").update_s - step("training.optimizer=lion").update_s;
  EXPECT_GT(more, 0.5 * flops / rate);
}

// Two weights' states at a time come to the GPU; all lie in host memory.
TEST(Resident, PagedStatesLieInHostMemory) {
  const auto run = [](const char* optimizer) {
    return count(example("gpt2_resident", {"training.precision=bf16", optimizer})).result;
  };
  const result::Result kept = run("training.optimizer=adam8bit");
  const result::Result paged = run("training.optimizer=paged_adam8bit");
  const std::uint64_t states = at_peak(kept.gpu, "optimizer_states");
  EXPECT_EQ(at_peak(paged.host, "optimizer_states"), states);
  EXPECT_EQ(at_peak(kept.host, "optimizer_states"), 0u);
  // What pads each weight's states to 64 B does not move.
  const std::uint64_t moved = paged.io.h2d - kept.io.h2d;
  EXPECT_EQ(paged.io.d2h - kept.io.d2h, moved);
  EXPECT_LE(moved, states);
  EXPECT_GT(moved + 64 * model_of(example("gpt2_resident")).weights.size(), states);
  EXPECT_LT(paged.gpu.total, kept.gpu.total);
}

// Of gradients there are those of two layers at most; behind backward nothing is left to update.
TEST(Resident, AnUpdateDuringBackwardKeepsNoGradients) {
  const auto run = [](const char* during) {
    return simulate(
        example("gpt2_resident", {"training.precision=bf16", "strategy.overflow_check=none",
                                  "strategy.gradients.memory=at_start", during}));
  };
  const result::Result behind = run("training.optimizer_in_backward=false");
  const result::Result during = run("training.optimizer_in_backward=true");
  const models::Model model = model_of(example("gpt2_resident"));
  std::uint64_t largest = 0;  // the embedding's, which the head begins
  for (const models::WeightTensor& weight : model.weights)
    largest = std::max(largest, 2 * weight.parameters.value());
  EXPECT_EQ(at_peak(behind.gpu, "gradients"), padded(model, 2, 4096));
  EXPECT_LT(at_peak(during.gpu, "gradients"), padded(model, 2, 4096));
  EXPECT_GE(behind.gpu.total, during.gpu.total + (padded(model, 2, 4096) - 2 * largest) / 2);
  EXPECT_NEAR(during.step_time_s, behind.step_time_s, 0.02 * behind.step_time_s);
}

// Gradients of 2 B a parameter are read for their norms, and read and written to be multiplied.
TEST(Resident, AClippedNormTakesThreePassesOverGradients) {
  const auto run = [](const char* clipping) {
    return simulate(example("gpt2_resident", {"training.precision=bf16", clipping}));
  };
  const result::Result plain = run("training.gradient_clipping=0");
  const result::Result clipped = run("training.gradient_clipping=1");
  const description::Scenario scenario = example("gpt2_resident", {"training.precision=bf16"});
  const double passes_s = 3 * 2 * static_cast<double>(model_of(scenario).parameters.value()) /
                          scenario.machine.gpu.memory_rate.value();
  EXPECT_GE(clipped.update_s - plain.update_s, passes_s);
  EXPECT_LE(clipped.update_s - plain.update_s, 1.5 * passes_s + 1e-3);
  EXPECT_DOUBLE_EQ(clipped.backward_s, plain.backward_s);
}

TEST(Resident, LionHasOneMomentAnd8BitAdamTwoOfAByte) {
  const models::Model model = model_of(example("gpt2_resident"));
  const auto run = [](const Overrides& overrides) {
    return count(example("gpt2_resident", overrides)).result;
  };
  const auto states = [&](const char* optimizer) {
    return at_peak(run({"training.precision=bf16", optimizer}).gpu, "optimizer_states");
  };
  EXPECT_EQ(states("training.optimizer=lion"), padded(model, 4, 64));
  EXPECT_EQ(states("training.optimizer=sgd_momentum"), padded(model, 4, 64));
  EXPECT_EQ(states("training.optimizer=adamw"), padded(model, 8, 64));
  std::uint64_t eight = 0;
  for (const models::WeightTensor& weight : model.weights) {
    const std::uint64_t n = weight.parameters.value();
    const std::uint64_t bytes = n < 4096 ? 8 * n : 2 * (n + 4 * ((n + 255) / 256));
    eight += (bytes + 63) / 64 * 64;
  }
  EXPECT_EQ(states("training.optimizer=adam8bit"), eight);
  EXPECT_EQ(states("training.optimizer_state=int8"), eight);
  EXPECT_LT(eight, padded(model, 8, 64) * 27 / 100);
}

}  // namespace
}  // namespace spillway::strategies
