#include "tests/strategies/systems/systems.hpp"

namespace spillway::strategies::gradient_knobs_test {
namespace {

constexpr std::uint64_t parameters = 8'030'261'248, norms = 65 * 4096;
constexpr std::uint64_t swapped = parameters - norms;
constexpr std::uint64_t largest = 128256 * 4096ull;

description::Scenario llama(const Overrides& overrides = {}) {
  return example("llama8b_memascend_c1", overrides);
}

TEST(GradientKnobs, ConvertingOnTheCpuMovesTwoBytesDownAndNothingBack) {
  const Counted run = count(llama({"strategy.gradients.convert=cpu"}));
  EXPECT_EQ(run.result.io.d2h, 2 * parameters);
  EXPECT_EQ(run.result.io.h2d, 4 * swapped + 2 * norms);  // weights only
  // widened: 2 B read and 4 written; then copied to its staging, 4 and 4
  EXPECT_EQ(run.demands.back()
                .of(result::Phase::backward)
                .cpu_traffic[static_cast<std::size_t>(CpuWork::convert)],
            6 * parameters + 8 * swapped);
  EXPECT_EQ(run.result.io.ssd_write, count(llama()).result.io.ssd_write);
}

TEST(GradientKnobs, MicroStepsAddUpInHostMemoryWhenTheCpuConverts) {
  const Counted run =
      count(llama({"strategy.gradients.convert=cpu", "training.gradient_accumulation=3"}));
  EXPECT_EQ(run.result.io.d2h, 3 * 2 * parameters);
  EXPECT_EQ(run.result.io.h2d, 3 * 4 * swapped + 2 * norms);
  // 2 + 4 written the first time, 2 + 4 + 4 when adding, 8 to staging
  EXPECT_EQ(run.demands.back()
                .of(result::Phase::backward)
                .cpu_traffic[static_cast<std::size_t>(CpuWork::convert)],
            (6 + 2 * 10) * parameters + 8 * swapped);
}

TEST(GradientKnobs, AddingFp32InHostMemoryIsNoConversion) {
  const Counted run =
      count(llama({"strategy.gradients.convert=cpu", "training.precision=fp32",
                   "machine.gpu.compute.fp32=60 TFLOPS", "training.gradient_accumulation=3"}));
  const PhaseDemand& backward = run.demands.back().of(result::Phase::backward);
  // two further micro-steps: 4 B read and 8 of the sum
  EXPECT_EQ(backward.cpu_traffic[static_cast<std::size_t>(CpuWork::add)], 2 * 12 * parameters);
  EXPECT_EQ(backward.cpu_traffic[static_cast<std::size_t>(CpuWork::convert)], 8 * swapped);
}

// The peak is at the second of twelve blocks from the end: gradients of the embedding, which is the
// head, of the last norm and of two blocks are there; from the start they are those of all weights.
TEST(GradientKnobs, GradientsThatComeWithBackwardMeetFewerActivations) {
  constexpr double embedding = 50257 * 768, block = 7'087'872, norm = 2 * 768,
                   positions = 1024 * 768;
  constexpr double all = 2 * (embedding + positions + 12 * block + norm);
  constexpr double met = 2 * (embedding + 2 * block + norm);
  const auto peak = [](const char* memory, const char* micro_batches) {
    return count(example("gpt2_resident",
                         {std::string("strategy.gradients.memory=") + memory,
                          std::string("training.gradient_accumulation=") + micro_batches}))
        .result.gpu;
  };
  const result::PeakBytes stay = peak("at_start", "1"), come = peak("in_backward", "1");
  EXPECT_NEAR(at_peak(stay, "gradients"), all, 0.002 * all);
  EXPECT_NEAR(at_peak(come, "gradients"), met, 0.002 * met);
  EXPECT_LT(come.total, stay.total);
  // sums of the first micro-batch are there when the second one's backward begins
  EXPECT_NEAR(at_peak(peak("in_backward", "2"), "gradients"), all, 0.002 * all);
}

// A ring of four sends 3/4 of all gradients once when it scatters their sum, and again when every
// rank gets all of it; gathering the renewed weights is the same in both.
TEST(GradientKnobs, AllReduceSendsTwiceWhatReduceScatterDoes) {
  constexpr std::uint64_t ranks = 4, once = (ranks - 1) * 2 * parameters;
  const auto sent = [](const char* stage, const char* collective) {
    const Overrides overrides{"machine=h100_8gpu", "strategy.system=resident", "parallel.data=4",
                              std::string("parallel.zero_stage=") + stage,
                              std::string("strategy.gradients.collective=") + collective};
    return count(example("llama8b_four_gpus", overrides)).result.io.network;
  };
  for (const char* stage : {"1", "2"}) {
    const std::uint64_t scattered = sent(stage, "reduce_scatter");
    EXPECT_NEAR(sent(stage, "all_reduce") - scattered, once, 0.001 * once);
    EXPECT_EQ(sent(stage, "auto"), *stage == '1' ? sent(stage, "all_reduce") : scattered);
    EXPECT_NEAR(scattered, 2 * once, 0.001 * once);
  }
}

// Copied into the bucket and divided there, 2 B read and 2 written each time; put together by rank
// where each rank gets its own. One rank does so too.
TEST(GradientKnobs, ABucketRewritesGradientsBeforeTheyAreAddedUp) {
  const auto rewritten = [](const Overrides& overrides) {
    double bytes = 0;
    for (const char* bucket : {"0 params", "1e6 params"}) {
      Overrides all = overrides;
      all.push_back(std::string("strategy.gradients.reduce_bucket=") + bucket);
      const auto demand = count(llama(all)).demands.back().of(result::Phase::backward);
      bytes = demand.ranks[0].other_bytes - bytes;
    }
    return bytes / parameters;
  };
  EXPECT_DOUBLE_EQ(rewritten({}), 12);
  EXPECT_DOUBLE_EQ(rewritten({"training.gradient_accumulation=3"}), 36);
  EXPECT_DOUBLE_EQ(rewritten({"parallel.data=2"}), 12);
  EXPECT_DOUBLE_EQ(rewritten({"parallel.data=2", "strategy.gradients.collective=all_reduce"}), 8);
}

/// On one GPU without limits, by a loss that holds no logits: little is there beside a norm.
description::Scenario offload(const char* stage, const char* weights, const char* norm) {
  return llama({"strategy={\"system\": \"zero_offload\"}", "strategy.gpu_capacity=unlimited",
                std::string("parallel.zero_stage=") + stage, "training.sequence=128",
                std::string("strategy.weights.home=") + weights, "training.loss=fused",
                "training.micro_batch=1", "strategy.gradients.overlap=false",
                std::string("strategy.gradients.norm=") + norm});
}

// The gradient in fp32, two masks, their union, and that in fp32: of all of the largest tensor.
TEST(GradientKnobs, GradientsThatLandInStatesAreSearchedInCopiesOfElevenBytes) {
  const Counted copied = count(offload("2", "gpu", "fp64"));
  EXPECT_EQ(at_peak(copied.result.gpu, "norm_copies"), 11 * largest);
  const Counted plain = count(offload("2", "gpu", "in_place"));
  EXPECT_EQ(at_peak(plain.result.gpu, "norm_copies"), 0);
  EXPECT_EQ(copied.result.io.d2h, plain.result.io.d2h);
}

TEST(GradientKnobs, NormsOfTheFlatBufferAreOfPartsOfIt) {
  EXPECT_EQ(at_peak(count(offload("3", "host", "fp64")).result.gpu, "norm_copies"),
            8 * 250'000'000ull);
}

// 8 B written and 8 read for the norm; the search writes and reads 36.
TEST(GradientKnobs, CopiesOfNormsTakeTheTimeThatTheyMoveBytes) {
  const double rate = offload("2", "gpu", "fp64").machine.gpu.memory_rate.value();
  const double copied = simulate(offload("2", "gpu", "fp64")).phase_busy.at("backward").gpu;
  const double plain = simulate(offload("2", "gpu", "in_place")).phase_busy.at("backward").gpu;
  EXPECT_NEAR(copied - plain, 52.0 * parameters / rate, 0.01 * 52.0 * parameters / rate);
}

// Below stage 3 of a whole tensor, though four ranks share what they update.
TEST(GradientKnobs, AnUpdateOnTheGpuNormsACopyOfTheLargestGradient) {
  const Overrides overrides{"machine=h100_8gpu",
                            "strategy={\"system\": \"resident\"}",
                            "parallel.data=4",
                            "parallel.zero_stage=2",
                            "training.sequence=128",
                            "training.loss=fused",
                            "strategy.gradients.norm=fp64",
                            "strategy.gpu_capacity=unlimited"};
  EXPECT_EQ(at_peak(count(example("llama8b_four_gpus", overrides)).result.gpu, "norm_copies"),
            8 * largest);
}

// Each gradient that Adam reads is multiplied before: 4 B read and 4 written.
TEST(GradientKnobs, UnscalingReadsAndWritesWhatAdamReads) {
  const auto scaled = [](const char* unscale) {
    Overrides overrides{std::string("strategy.optimizer.unscale=") + unscale};
    return count(llama(overrides))
        .demands.back()
        .of(result::Phase::update)
        .cpu_traffic[static_cast<std::size_t>(CpuWork::scale)];
  };
  EXPECT_EQ(scaled("false"), 0);
  EXPECT_EQ(scaled("true"), 8 * parameters);
}

TEST(GradientKnobs, PageableCopiesRunAtTheirOwnRateThroughBounceBuffers) {
  const Overrides cpu{"strategy.gradients.convert=cpu"};
  Overrides pageable = cpu;
  pageable.push_back("strategy.gradients.d2h=pageable");
  const result::Result fast = simulate(llama(cpu)), slow = simulate(llama(pageable));
  EXPECT_EQ(slow.io.d2h, fast.io.d2h);
  const double bytes = 2.0 * parameters;
  EXPECT_NEAR(fast.phase_busy.at("backward").d2h, bytes / 52e9, 0.02 * bytes / 52e9);
  EXPECT_NEAR(slow.phase_busy.at("backward").d2h, bytes / 12e9, 0.02 * bytes / 12e9);
  // two tensors in flight at most
  EXPECT_EQ(at_peak(slow.host, "bounce_buffers"), 2 * 2 * largest);
}

TEST(GradientKnobs, AccumulationInFp16HalvesTheBufferAndItsCheck) {
  const result::PeakBytes wide = count(llama()).result.host;
  const result::PeakBytes narrow =
      count(llama({"strategy.gradients.accumulation=fp16"})).result.host;
  EXPECT_EQ(at_peak(wide, "gradient_flat_buffer"), 4 * parameters);
  EXPECT_EQ(at_peak(narrow, "gradient_flat_buffer"), 2 * parameters);
  EXPECT_EQ(at_peak(wide, "overflow_check_temporaries"), (4 + 1) * parameters);
  EXPECT_EQ(at_peak(narrow, "overflow_check_temporaries"), (2 + 1) * parameters);
}

TEST(GradientKnobs, Fp16SumsAreWidenedOnTheGpuBeforeTheyGoToSsd) {
  const result::IoBytes io = count(llama({"strategy.gradients.accumulation=fp16"})).result.io;
  EXPECT_EQ(io.ssd_write, 18 * swapped + 12 * norms);
  EXPECT_EQ(io.d2h, 2 * parameters + 4 * swapped);
  EXPECT_EQ(io.h2d, 4 * swapped + 2 * parameters + 2 * norms);
}

TEST(GradientKnobs, WithoutAStagingBufferItsBytesAreGone) {
  const result::PeakBytes with = count(llama()).result.host;
  const result::PeakBytes without =
      count(llama({"strategy.gradients.staging_buffer=false"})).result.host;
  EXPECT_EQ(at_peak(with, "pinned_gradient_buffer"), 4 * largest);
  EXPECT_EQ(at_peak(without, "pinned_gradient_buffer"), 0u);
  EXPECT_EQ(with.total - without.total, power(4 * largest));
}

TEST(GradientKnobs, InitCopyDoublesTheFlatBufferWhilePinning) {
  // bf16: no check, so set-up is the fullest moment
  const description::Scenario scenario =
      llama({"training.precision=bf16_mixed", "strategy.gradients.init_copy=true"});
  const result::PeakBytes host = count(scenario).result.host;
  EXPECT_EQ(host.phase, "init");
  EXPECT_EQ(at_peak(host, "init_copy"), 4 * parameters);
  EXPECT_EQ(host.total, 9 * power(2 * largest) + 4 * parameters + power(4 * parameters) +
                            scenario.machine.host.process_base.value());
}

TEST(GradientKnobs, PinnedExactRoundsTheFlatBufferAloneNoMore) {
  const result::PeakBytes rounded = count(llama()).result.host;
  const result::PeakBytes exact = count(llama({"strategy.gradients.pinned=exact"})).result.host;
  EXPECT_EQ(rounded.total - exact.total, power(4 * parameters) - sectors(4 * parameters));
}

TEST(GradientKnobs, ReduceBucketIsHeldOnTheGpu) {
  const auto held = [](const Overrides& overrides) {
    return at_peak(count(llama(overrides)).result.gpu, "reduce_buckets");
  };
  EXPECT_EQ(held({}), 2 * 500'000'000ull);
  EXPECT_EQ(held({"strategy.gradients.reduce_bucket=2e8 params"}), 2 * 200'000'000ull);
  EXPECT_EQ(held({"strategy.gradients.reduce_bucket=0 params"}), 0u);
}

}  // namespace
}  // namespace spillway::strategies::gradient_knobs_test
