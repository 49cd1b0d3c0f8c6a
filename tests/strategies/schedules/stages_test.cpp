#include "strategies/layout/job.hpp"
#include "strategies/systems/catalogue.hpp"
#include "tests/strategies/systems/systems.hpp"

#include <gmock/gmock.h>

/// Pipeline stages that stream their layers: 1F1B of `resident` and `ssdtrain`.
namespace spillway::strategies::stages_test {
namespace {

Overrides with(Overrides some, const Overrides& more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}

Overrides stages(std::uint64_t count, std::uint64_t micro_batches) {
  return {"parallel.pipeline=" + std::to_string(count),
          "training.gradient_accumulation=" + std::to_string(micro_batches)};
}

/// All tensors of the blocks are cached, on GPUs so slow that every store ends within its step.
const Overrides slow{"machine.gpu.compute.fp16=0.2 TFLOPS", "strategy.activations.min_elements=0",
                     "strategy.activations.swap_bytes=all"};

constexpr std::uint64_t hidden_bytes = 2 * 64 * 1024 * 2;  // samples x tokens x width x 2 B

/// Four blocks, with a vocabulary so small that the ends take next to nothing.
description::Scenario even(const Overrides& overrides) {
  return small_model("llama", "resident",
                     with({"model.num_hidden_layers=4", "model.vocab_size=64",
                           "machine.gpu.compute.fp16=0.2 TFLOPS"},
                          overrides));
}

TEST(StagesInStreams, TakeTheTimeOfOneForwardOneBackward) {
  // step = (m + p - 1) t, with t the passes of a micro-batch on one stage; the update is short
  const auto passes_s = [](std::uint64_t count, std::uint64_t micro_batches) {
    return simulate(even(stages(count, micro_batches))).step_time_s;
  };
  for (const std::uint64_t count : {2u, 4u}) {
    const double t = (passes_s(count, 10) - passes_s(count, 6)) / 4;
    EXPECT_NEAR(passes_s(count, 6), static_cast<double>(6 + count - 1) * t, 0.05 * t) << count;
  }
  // stages have half of the work each, and what they hand over in addition
  const double one = (passes_s(1, 3) - passes_s(1, 2));
  const double half = (passes_s(2, 10) - passes_s(2, 6)) / 4;
  EXPECT_GT(half, one / 2);
  EXPECT_LT(half, 0.51 * one);
}

TEST(StagesInStreams, HandOverHiddenStatesAndTheirGradients) {
  const Counted run = count(even(stages(4, 3)));
  ASSERT_TRUE(run.result.feasible());
  // three boundaries, three micro-batches, both ways
  EXPECT_EQ(run.result.io.network, 3 * 3 * 2 * hidden_bytes);
  EXPECT_EQ(simulate(even(stages(4, 3))).io.network, 3 * 3 * 2 * hidden_bytes);
}

TEST(StagesInStreams, ExchangeTiedGradientsOnceAStep) {
  const auto sent = [](const std::string& model, std::uint64_t micro_batches) {
    return count(small_model(model, "resident", stages(2, micro_batches))).result.io.network;
  };
  // 5000 words, 1024 wide, 2 B; one copy each way
  const std::uint64_t words = 2 * sectors(2 * 5000 * 1024);
  EXPECT_EQ(sent("llama", 3), 3 * 2 * hidden_bytes);
  EXPECT_EQ(sent("llama_tied", 3), 3 * 2 * hidden_bytes + words);
  EXPECT_EQ(sent("llama_tied", 1), 2 * hidden_bytes + words);
}

TEST(StagesInStreams, HoldTheirLayersAndTheMicroBatchesUnderWay) {
  const auto peaks = [](std::uint64_t micro_batches) {
    description::Scenario scenario = even(stages(2, micro_batches));
    scenario.strategy.gradients.memory = description::GradientMemory::at_start;
    CountingMachine machine(scenario);
    EXPECT_TRUE(run(machine, decided_as_written(scenario), "counting").feasible());
    return std::pair(machine.ledger().peak_bytes(0), machine.ledger().peak_bytes(1));
  };
  const description::Scenario scenario = even(stages(2, 2));
  const Decision decision = decided_as_written(scenario);
  const Job job(decision, std::size_t{0});
  std::uint64_t saved = 0;
  for (const LayerPlan& layer : job.plans.layers) saved += saved_bytes(layer);
  for (const HiddenTensor& hidden : job.plans.hidden)
    if (!hidden.gradient && !hidden.sent_away) saved += hidden.bytes;
  // the first of two stages has two micro-batches under way, the last one
  EXPECT_EQ(peaks(2).first - peaks(1).first, saved);
  EXPECT_EQ(peaks(5).first, peaks(2).first);
  EXPECT_EQ(peaks(5).second, peaks(1).second);
}

TEST(StagesInStreams, HoldEachWeightOnceButTiedOnes) {
  const auto held = [](const std::string& model) {
    const description::Scenario scenario = small_model(model, "resident", stages(2, 2));
    const Decision decision = decided_as_written(scenario);
    const Prepared& prepared = *decision->prepared;
    std::uint64_t bytes = 0;
    for (std::size_t stage = 0; stage < prepared.stages.size(); ++stage) {
      const Job job(decision, stage);
      for (std::uint32_t i = 0; i < prepared.model.weights.size(); ++i) bytes += job.elements(i);
    }
    return bytes - prepared.model.parameters.value();
  };
  EXPECT_EQ(held("llama"), 0u);
  EXPECT_EQ(held("llama_tied"), 5000u * 1024);
}

class InStages : public ::testing::TestWithParam<std::string> {};

TEST_P(InStages, RunsWhateverIsKeptAndMoreRanks) {
  for (const char* system : {"resident", "ssdtrain"})
    for (const char* policy : {"keep", "checkpoint_gpu", "tensor_cache"})
      for (const Overrides& more :
           {Overrides{}, {"parallel.tensor=2", "parallel.data=2", "parallel.zero_stage=1"}}) {
        SCOPED_TRACE(std::string(system) + " " + policy);
        const description::Scenario scenario = small_model(
            GetParam(), system,
            with(with(stages(2, 3), more), {std::string("strategy.activations.policy=") + policy,
                                            "strategy.activations.swap_bytes=all",
                                            R"(strategy.activations.homes=["host"])"}));
        const result::Result run = simulate(scenario);
        ASSERT_TRUE(run.feasible());
        const result::Result counted = count(scenario).result;
        EXPECT_EQ(run.io.network, counted.io.network);
        EXPECT_EQ(run.io.d2h, counted.io.d2h);
      }
}

TEST_P(InStages, StoresWhatOneStageStores) {
  for (const char* keep : {"none", "module", "layer"}) {
    const Overrides cache = with(slow, {std::string("strategy.activations.keep_last=") + keep});
    const auto run = [&](std::uint64_t count) {
      return simulate(small_model(GetParam(), "ssdtrain", with(cache, stages(count, 3))));
    };
    const result::Result one = run(1), two = run(2);
    ASSERT_TRUE(two.feasible());
    // of each micro-batch the last stage alone has a backward that follows its forward
    EXPECT_EQ(two.io.ssd_write, one.io.ssd_write) << keep;
    std::uint64_t stored = two.io.ssd_read + two.plan.at("forwarded_bytes").get<std::uint64_t>();
    EXPECT_EQ(stored, two.io.ssd_write) << keep;
  }
}

// F0 B0 on both stages: both keep what they have just made.
TEST_P(InStages, OfOneMicroBatchEachKeepsItsLastLayer) {
  const auto written = [&](std::uint64_t count, const char* keep) {
    return simulate(small_model(GetParam(), "ssdtrain",
                                with(with(slow, stages(count, 1)),
                                     {std::string("strategy.activations.keep_last=") + keep})))
        .io.ssd_write;
  };
  EXPECT_EQ(written(2, "none"), written(1, "none"));
  EXPECT_LT(written(2, "layer"), written(1, "layer"));
}

// Tensor by tensor the same crosses: of T5 the encoder's output, and the decoder's first states.
TEST_P(InStages, HandOverAsMuchWhenStepsArePlanned) {
  for (const std::uint64_t stages_in_all : {2u, 3u}) {
    const auto sent = [&](const char* system) {
      const Overrides blocks{GetParam() == "t5"     ? "model.num_layers=2"
                             : GetParam() == "gpt2" ? "model.n_layer=4"
                                                    : "model.num_hidden_layers=4"};
      return count(small_model(GetParam(), system, with(blocks, stages(stages_in_all, 3))))
          .result.io.network;
    };
    EXPECT_EQ(sent("teraio"), sent("resident")) << stages_in_all;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, InStages, ::testing::ValuesIn(small_models()),
                         [](const auto& model) { return model.param; });

// F0 F1 B0: the second forward asks for what the first one's last module saved.
TEST(SsdtrainInStages, BringsBackTheNextMicroBatchBehindTheEndOfAPass) {
  const auto read_in_forward = [](std::uint64_t count) {
    const result::Result run = simulate(small_model(
        "llama", "ssdtrain",
        with(with(slow, stages(count, 3)),
             {"strategy.activations.keep_last=none", "strategy.activations.forwarding=false",
              "strategy.activations.cancel=never"})));
    return run.phase_bytes.at("forward").gpu_direct_read;
  };
  EXPECT_EQ(read_in_forward(1), 0u);
  // Llama's feed-forward: norm's input and output; gate, up and product of 4096; statistics
  const std::uint64_t tokens = 2 * 64;
  EXPECT_EQ(read_in_forward(2), tokens * (2 * 1024 + 3 * 4096) * 2 + sectors(tokens * 4));
}

TEST(SsdtrainInStages, PlansABudgetForEachMicroBatch) {
  const result::Result run =
      simulate(small_model("llama", "ssdtrain",
                           with(stages(2, 4), {"strategy.activations.min_elements=0",
                                               "strategy.activations.write_rate=1 MB/s"})));
  ASSERT_TRUE(run.feasible());
  EXPECT_EQ(run.io.ssd_write, 0u);  // nothing can be back in time
}

// Each stage streams its own layers from where they lie, for each micro-batch, and updates its own
// states: together as much as one stage does.
TEST(StagesOfOffloadingSystems, StreamTheirLayersAndUpdateTheirStates) {
  for (const char* system : {"zero_infinity", "memascend", "zero_offload"}) {
    const auto scenario = [&](std::uint64_t count, const Overrides& more) {
      return small_model(
          "llama", system,
          with(with(stages(count, 4), {"model.num_hidden_layers=8", "parallel.data=1",
                                       "strategy.activations.policy=checkpoint_gpu",
                                       "strategy.weights.max_reuse=0 params"}),
               more));
    };
    SCOPED_TRACE(system);
    const result::Result one = simulate(scenario(1, {}));
    ASSERT_TRUE(one.feasible());
    for (const Overrides& schedule :
         {Overrides{},
          {"parallel.schedule=gpipe"},
          {"parallel.schedule=interleaved"},
          {"parallel.schedule=zero_bubble", "strategy.activations.policy=keep"}}) {
      SCOPED_TRACE(schedule.empty() ? "1f1b" : schedule.front());
      const result::Result two = simulate(scenario(2, schedule));
      ASSERT_TRUE(two.feasible());
      const result::Result counted = count(scenario(2, schedule)).result;
      EXPECT_EQ(two.io.ssd_read, counted.io.ssd_read);
      EXPECT_EQ(two.io.h2d, counted.io.h2d);
      EXPECT_EQ(two.io.ssd_write, one.io.ssd_write);
      EXPECT_EQ(two.io.ssd_read, one.io.ssd_read);
      EXPECT_EQ(two.io.d2h, one.io.d2h);
    }
  }
}

// Whatever system is not refused runs, in every order of passes.
TEST(StagesOfOffloadingSystems, RunOrSayWhyNot) {
  std::vector<std::string> running;
  for (const System& system : catalogue()) {
    for (const char* schedule : {"1f1b", "gpipe", "interleaved", "zero_bubble", "sequential"}) {
      SCOPED_TRACE(std::string(system.name) + " " + schedule);
      const Overrides all = with(
          stages(2, 4), {"model.num_hidden_layers=4", "parallel.data=1",
                         std::string("parallel.schedule=") + schedule,
                         std::string("strategy.activations.policy=") +
                             (std::string(schedule) == "zero_bubble" ? "keep" : "checkpoint_gpu")});
      std::optional<description::Scenario> scenario;
      try {
        scenario = small_model("llama", system.name, all);
      } catch (const description::ScenarioError&) {
        continue;
      }
      const result::Result run = simulate(*scenario);
      EXPECT_TRUE(run.feasible());
      EXPECT_EQ(run.io.h2d, count(*scenario).result.io.h2d);
      if (std::string(schedule) == "1f1b") running.emplace_back(system.name);
    }
  }
  EXPECT_THAT(running, ::testing::IsSupersetOf({"resident", "ssdtrain", "zero_offload",
                                                "zero_infinity", "memascend", "mlp_offload"}));
}

TEST(StagesInStreams, RefuseWhatTheyCannotKeepApart) {
  const auto refusal = [](const std::string& system, const Overrides& overrides) {
    try {
      small_model("llama", system, with(stages(2, 2), overrides));
    } catch (const description::ScenarioError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(refusal("lohan", {}), HasSubstr("updates beside passes"));
  EXPECT_THAT(refusal("zero_infinity",
                      {"model.tie_word_embeddings=true", "strategy.activations.policy=keep"}),
              HasSubstr("two stages hold weights"));
  EXPECT_THAT(refusal("resident", {"strategy.activations.policy=checkpoint_host"}),
              HasSubstr("several micro-batches of a pipeline stage"));
  EXPECT_THAT(refusal("resident", {"strategy.optimizer.staleness=1"}),
              HasSubstr("begin a step together"));
  EXPECT_THAT(refusal("resident", {"parallel.data=2", "parallel.zero_stage=2"}),
              HasSubstr("parallel.zero_stage"));
  const Overrides two_nodes{"machine.gpu.count=4", "parallel.data=4", "parallel.zero_stage=0",
                            "machine.nodes=2"};
  EXPECT_EQ(refusal("ssdtrain", two_nodes), "");
  EXPECT_EQ(refusal("resident", two_nodes), "");
  EXPECT_THAT(refusal("resident", with(two_nodes, {"parallel.data=3"})),
              HasSubstr("stages of 3 ranks (data x tensor) neither fill nodes of 4 GPUs"));
  EXPECT_EQ(refusal("resident", {"parallel.data=2", "parallel.zero_stage=1"}), "");
}

}  // namespace
}  // namespace spillway::strategies::stages_test
