#include "answers/fit/first_change.hpp"
#include "answers/fit/outlay.hpp"
#include "explore/outcome/runs_with.hpp"
#include "reports/result/way.hpp"
#include "scenarios/document/read_machine.hpp"
#include "tests/answers/fit/fit_questions.hpp"
#include "tests/long_test.hpp"
#include "tests/reports/text/words_of.hpp"

#include <gmock/gmock.h>

/// What `fit` would have people buy.
namespace spillway::answers::fit_change_test {
namespace {

TEST(FitChange, OffersADriveThatTheBoardTakes) {
  description::Scenario box;
  box.machine = scenarios::read_machine("gaming_4090");
  const auto drive = [&] { return first_drive(box).value().words; };
  EXPECT_FALSE(first_drive(box));
  box.machine.storage.clear();
  EXPECT_EQ(drive(), "a 990 PRO 2TB");
  box.machine.host.slots = {{"card", 8}, {"u2", 16}};
  EXPECT_EQ(drive(), "a D7-P5510 3.84TB");
  box.machine.host.slots["u2"] = 0;
  EXPECT_FALSE(first_drive(box));
}

// 64 GiB have no room for Gemini's gradients until the update; with 96 it waits for drives a
// sixteenth as often.
TEST(FitChange, BringsMoreSamplesAStepWhereTodaysMemoryHasNoRoomForThem) {
  FitQuestion question = about("qwen2.5-7b", {"4090", "64G", "2T"});
  question.systems = {"colossal_gemini"};
  const FitAnswer answer = fit(sim(), question);
  ASSERT_TRUE(answer.runnable && answer.change && answer.change->tokens_per_s);
  EXPECT_FALSE(answer.more_samples);
  EXPECT_THAT(answer.change->words,
              ::testing::ContainsRegex("^96 GiB of host memory.* 16 micro-batches.* before each "
                                       "update, [0-9]+ samples a step in place of [0-9]+$"));
  EXPECT_GT(*answer.change->tokens_per_s, 5 * answer.runnable->tokens_per_s);
  const auto changed =
      scenarios::read_scenario(answer.runnable->scenario, answer.change->set,
                               explore::known_systems(), scenarios::Refuse::what_cannot_run);
  EXPECT_EQ(changed.scenario.training.gradient_accumulation, 16u);
  EXPECT_NEAR(explore::simulate(sim(), changed.scenario).tokens_per_s, *answer.change->tokens_per_s,
              0.005 * *answer.change->tokens_per_s);
}

// An 8B's 30.5 GiB of fp32 gradients have no room in 64 GiB beside what ZeRO-Infinity pins; 16 bits
// have, and cost nothing. What is bought is measured by that.
TEST(FitChange, NarrowsGradientsForMoreSamplesBeforeItSellsMemory) {
  LONG_TEST();
  FitQuestion question = about("qwen3-8b", {"5090", "64G", "2T"});
  question.systems = {"colossal_gemini", "zero_infinity"};
  question.overrides = {"training.loss=fused", "training.fused_kernels=true"};
  const FitAnswer answer = fit(sim(), question);
  ASSERT_TRUE(answer.runnable && answer.more_samples);
  const MoreSamples& more = *answer.more_samples;
  EXPECT_EQ(answer.runnable->system, "colossal_gemini");
  EXPECT_EQ(more.system, "zero_infinity + gradients.accumulation fp16");
  const auto rate_with = [&](const std::vector<std::string>& set) {
    return rate_of(*answer.runnable, set);
  };
  EXPECT_NEAR(rate_with(more.set) / more.tokens_per_s, 1, 0.005);
  if (answer.change && more.changed_tokens_per_s) {
    std::vector<std::string> both = more.set;
    both.insert(both.end(), answer.change->set.begin(), answer.change->set.end());
    EXPECT_NEAR(rate_with(both) / *more.changed_tokens_per_s, 1, 0.005);
    EXPECT_GT(*more.changed_tokens_per_s, more.tokens_per_s);
  }
  question.overrides.emplace_back("training.gradient_accumulation=16");
  const FitAnswer with_many = fit(sim(), question);
  ASSERT_TRUE(with_many.runnable);
  EXPECT_EQ(with_many.runnable_way, more.system);
  EXPECT_NEAR(with_many.runnable->tokens_per_s / more.tokens_per_s, 1, 0.02);
}

// Gemini's step of one sample moves all states; with sixteen the box trains many times as fast.
TEST(FitChange, SaysWhatMoreSamplesAStepBringOnTheBoxThatMakesItFit) {
  LONG_TEST();
  FitQuestion question = about("qwen3-14b", {"3090", "64G", "2T"});
  const FitAnswer answer = fit(sim(), question);
  ASSERT_TRUE(!answer.runnable && answer.change && answer.change->more_samples);
  EXPECT_GT(answer.change->more_samples->tokens_per_s, 5 * answer.change->tokens_per_s.value());
  EXPECT_EQ(answer.change->more_samples->accumulation, 16u);
  EXPECT_EQ(nlohmann::json(nlohmann::json(answer).get<FitAnswer>()), nlohmann::json(answer));
}

// Four drives of generation 5 are held up by the board's slots; a board for $200 more has the slots
// for them, and its answer is that of the same box on that board.
TEST(FitChange, IsABoardWhereItsSlotsHoldTheDrivesUp) {
  LONG_TEST();
  const auto on = [](const std::string& board) {
    FitQuestion question = about("llama-3.1-8b", {"4090", "64G", "T705 2TBx4", board});
    question.systems = {"zero_infinity"};
    return fit(sim(), question);
  };
  const FitAnswer desktop = on("desktop"), desktop_5 = on("desktop with PCIe 5");
  ASSERT_TRUE(desktop.change && desktop.runnable && desktop_5.runnable);
  EXPECT_EQ(desktop.change->words, "a desktop with PCIe 5 in place of the desktop");
  EXPECT_DOUBLE_EQ(desktop.change->tokens_per_s.value(), desktop_5.runnable->tokens_per_s);
  EXPECT_DOUBLE_EQ(desktop.change->price_usd.value(), desktop_5.runnable->price_usd.value());
  EXPECT_GT(desktop.change->outlay_usd.value(),
            desktop.change->price_usd.value() - desktop.price_usd.value());
}

description::MachineFile machine_of(const BoxWords& words) {
  return box_of(words, scenarios::part_catalogue()).machine.get<description::MachineFile>();
}

// Nobody pays a list price for a card that was used.
TEST(Outlay, OfWhatIsReplacedBringsNothingBack) {
  const auto now = machine_of({"5090", "64G", "2T", "workstation"});
  const auto card = machine_of({"a6000", "64G", "2T", "workstation"});
  EXPECT_DOUBLE_EQ(outlay_usd(now, card).value(), card.prices_usd->gpu);
  EXPECT_GT(card.prices_usd->gpu, *card.price() - *now.price());
  const auto desktop = machine_of({"4090", "64G", "T705 2TBx4", "desktop"});
  const auto board = machine_of({"4090", "64G", "T705 2TBx4", "desktop with PCIe 5"});
  ASSERT_EQ(desktop.prices_usd->dram_per_gib, board.prices_usd->dram_per_gib);
  EXPECT_DOUBLE_EQ(outlay_usd(desktop, board).value(), board.prices_usd->server);
}

TEST(Outlay, OfWhatIsAddedIsWhatTheBoxCostsMore) {
  const auto now = machine_of({"5090", "64G", "2T", "workstation"});
  for (const BoxWords& more : {BoxWords{"5090", "96G", "2T", "workstation"},
                               BoxWords{"5090", "64G", "2Tx3", "workstation"},
                               BoxWords{"5090x2", "64G", "2T", "workstation"}}) {
    const auto then = machine_of(more);
    EXPECT_NEAR(outlay_usd(now, then).value(), *then.price() - *now.price(), 1e-9);
  }
}

// Two nodes with an array between them need its fourth drive once; a third node brings all of its
// own and shares the array too.
TEST(Outlay, OfNodesCountsTheDrivesThatTheyShareOnce) {
  auto now = machine_of({"5090", "64G", "2Tx3", "workstation"});
  now.nodes = 2;
  now.storage.front().shared_by_nodes = true;
  auto then = now;
  then.storage.front().count = 4;
  EXPECT_NEAR(outlay_usd(now, then).value(), *then.price() - *now.price(), 1e-9);
  then.storage.front().shared_by_nodes = now.storage.front().shared_by_nodes = false;
  EXPECT_NEAR(outlay_usd(now, then).value(), *then.price() - *now.price(), 1e-9);
  then.nodes = 3;
  EXPECT_NEAR(outlay_usd(now, then).value(), *then.price() - *now.price(), 1e-9);
}

// Whole logits take the room of larger micro-batches.
TEST(FitChange, NamesAFusedLossWhereItCostsNothingAndBringsMore) {
  LONG_TEST();
  FitQuestion question = about("qwen3-4b", {"4090", "64G", "2T"});
  question.runnable = true;
  const FitAnswer answer = fit(sim(), question);
  ASSERT_TRUE(answer.runnable && answer.fused_loss && answer.fused_loss->tokens_per_s);
  EXPECT_GT(*answer.fused_loss->tokens_per_s, 1.1 * answer.runnable->tokens_per_s);
  const auto changed =
      scenarios::read_scenario(answer.runnable->scenario, answer.fused_loss->set,
                               explore::known_systems(), scenarios::Refuse::what_cannot_run);
  EXPECT_NEAR(explore::simulate(sim(), changed.scenario).tokens_per_s,
              *answer.fused_loss->tokens_per_s, 0.005 * *answer.fused_loss->tokens_per_s);
  question.overrides = {"training.loss=fused", "training.fused_kernels=true"};
  EXPECT_FALSE(fit(sim(), question).fused_loss);
}

// 122 GiB of fp32 gradients are what 128 GiB of host memory have no room for: 16 bits are free.
TEST(FitChange, NarrowsGradientsBeforeItSellsMemory) {
  LONG_TEST();
  FitQuestion question = about("qwen2.5-32b", {"3090x2", "128G", "2Tx2"});
  question.runnable = true;
  const FitAnswer answer = fit(sim(), question);
  ASSERT_TRUE(answer.runnable);
  EXPECT_EQ(answer.runnable_way, "zero_infinity + gradients.accumulation fp16");
  EXPECT_EQ(answer.runnable->price_usd, answer.price_usd);
}

// With a drive something else fits too, four times as slow.
TEST(FitChange, NarrowsGradientsAlsoWhereSomethingSlowerFits) {
  LONG_TEST();
  FitQuestion question = about("llama-3.1-8b", {"4090", "192G", "2T"});
  question.runnable = true;
  const FitAnswer answer = fit(sim(), question);
  ASSERT_TRUE(answer.runnable);
  EXPECT_EQ(answer.runnable_way, "zero_offload + gradients.accumulation fp16");
  question.overrides = {"strategy.gradients.accumulation=fp32"};
  const FitAnswer wide = fit(sim(), question);
  ASSERT_TRUE(wide.runnable);
  EXPECT_LT(3 * wide.runnable->tokens_per_s, answer.runnable->tokens_per_s);
}

// 192 GiB have no room for fp32 gradients of an 8B beside its states; for 16 bits they have.
TEST(FitChange, SellsMemoryForAWayWithSmallerGradients) {
  LONG_TEST();
  const auto on = [](const std::string& memory, const std::vector<std::string>& overrides) {
    FitQuestion question = about("llama-3.1-8b", {"4090", memory, "2T"});
    question.context = 2048;
    question.runnable = true;
    question.overrides = overrides;
    return fit(sim(), question);
  };
  const FitAnswer today = on("128G", {}), then = on("192G", {});
  ASSERT_TRUE(today.change && then.runnable);
  EXPECT_EQ(today.change->words,
            "192 GiB of host memory and zero_offload + gradients.accumulation fp16");
  EXPECT_DOUBLE_EQ(today.change->tokens_per_s.value(), then.runnable->tokens_per_s);
  EXPECT_DOUBLE_EQ(today.change->price_usd.value(), then.price_usd.value());
  // who says how wide they are is taken at the word
  const FitAnswer wide = on("128G", {"strategy.gradients.accumulation=fp32"});
  ASSERT_TRUE(wide.change);
  EXPECT_THAT(wide.change->words, ::testing::Not(::testing::HasSubstr("fp16")));
}

// With two samples the link has more to carry than kernels hide.
TEST(Fit, TakesASmallerMicroBatchWhereItIsFaster) {
  FitQuestion question = about("qwen2.5-7b", {"4090", "64G", "2T"});
  question.overrides = {"training.method=lora", "training.loss=fused",
                        "training.fused_kernels=true"};
  const FitAnswer answer = fit(sim(), question);
  ASSERT_TRUE(answer.runnable);
  EXPECT_EQ(answer.runnable->scenario.at("training").at("micro_batch"), 1);
  question.overrides.emplace_back("training.micro_batch=2");
  const FitAnswer larger = fit(sim(), question);
  ASSERT_TRUE(larger.runnable);
  EXPECT_LT(larger.runnable->tokens_per_s, answer.runnable->tokens_per_s);
}

// 32 GiB have no room for what backward needs of a 14B; without it kernels run again.
TEST(FitChange, OffersMemoryForActivations) {
  FitQuestion question = about("phi-4", {"3090", "32G", "1T"});
  question.overrides = {"training.method=lora", "training.lora.base=nf4"};
  const FitAnswer answer = fit(sim(), question);
  ASSERT_TRUE(answer.runnable && answer.change && answer.change->tokens_per_s);
  EXPECT_EQ(result::way_of(*answer.runnable), "resident with recomputation");
  EXPECT_THAT(answer.change->words, testing::HasSubstr("resident with activation offloading"));
  EXPECT_GT(*answer.change->tokens_per_s, 1.2 * answer.runnable->tokens_per_s);
}

// Memory is not sold for what today's has room for.
TEST(FitChange, OffersActivationsInHostMemoryThatIsThereForNothing) {
  FitQuestion question = about("llama-3.1-8b", {"4090", "64G", "2T"});
  question.overrides = {"training.method=lora"};
  const FitAnswer answer = fit(sim(), question);
  ASSERT_TRUE(answer.runnable && answer.change && answer.change->outlay_usd);
  EXPECT_EQ(answer.change->words, "resident with activation offloading");
  EXPECT_EQ(*answer.change->outlay_usd, 0);
  EXPECT_NEAR(*answer.change->tokens_per_s, rate_of(*answer.runnable, answer.change->set), 1e-6);
}

// Where gradients have room at last, larger micro-batches have it too.
TEST(FitChange, SellsMemoryWithTheMicroBatchThatItHasRoomFor) {
  LONG_TEST();
  FitQuestion question = about("mistral-7b", {"4090x2", "128G", "2Tx2"});
  question.runnable = true;
  const FitAnswer answer = fit(sim(), question);
  ASSERT_TRUE(answer.runnable && answer.change && answer.change->tokens_per_s);
  EXPECT_THAT(answer.change->words, testing::HasSubstr("of host memory and zero_offload"));
  EXPECT_THAT(answer.change->set.back(), testing::StartsWith("training.micro_batch="));
  std::vector<std::string> as_before = answer.change->set;
  as_before.pop_back();
  EXPECT_GT(*answer.change->tokens_per_s, 1.1 * rate_of(*answer.runnable, as_before));
}

// Half as much again is enough for a 7B's activations: no kit of 64 GiB is sold for them.
TEST(FitChange, SellsNoMoreMemoryThanHelps) {
  FitQuestion question = about("qwen2.5-7b", {"3060", "16G", "1T"});
  question.context = 2048;
  question.runnable = true;
  question.overrides = {"training.method=lora", "training.lora.base=nf4"};
  const FitAnswer answer = fit(sim(), question);
  ASSERT_TRUE(answer.runnable && answer.change && answer.change->tokens_per_s);
  EXPECT_EQ(answer.change->words, "24 GiB of host memory and resident with activation offloading");
  EXPECT_GT(*answer.change->tokens_per_s, 1.2 * answer.runnable->tokens_per_s);
}

// The change is said with the micro-batch that it was simulated with, and fits with it.
TEST(FitChange, KeepsItsMicroBatchBesideMoreSamples) {
  LONG_TEST();
  FitQuestion question = about("llama-3.1-8b", {"3090", "64G", "2T"});
  question.runnable = true;
  question.overrides = {"training.loss=fused", "training.fused_kernels=true"};
  const FitAnswer answer = fit(sim(), question);
  ASSERT_TRUE(answer.runnable && answer.more_samples && answer.change);
  const auto changed =
      scenarios::read_scenario(answer.runnable->scenario, answer.change->set,
                               explore::known_systems(), scenarios::Refuse::what_cannot_run);
  const result::Result alone = explore::simulate(sim(), changed.scenario);
  ASSERT_TRUE(alone.feasible());
  ASSERT_TRUE(answer.change->tokens_per_s);
  EXPECT_NEAR(alone.tokens_per_s, *answer.change->tokens_per_s, 0.005 * alone.tokens_per_s);
}

// An 8B's activations in host memory cost less time than what makes them again.
TEST(FitChange, TriesActivationsInHostMemory) {
  FitQuestion question = about("llama-3.1-8b", {"4090", "128G", "2T"});
  question.overrides = {"training.method=lora", "training.loss=fused",
                        "training.fused_kernels=true"};
  const FitAnswer answer = fit(sim(), question);
  ASSERT_TRUE(answer.runnable);
  EXPECT_EQ(result::way_of(*answer.runnable), "resident with activation offloading");
}

// 28 heads of queries and 4 of keys: of eight GPUs four share a sample.
TEST(FreeChanges, SplitASampleOverAsManyGpusAsCanShareItsHeads) {
  const auto machine = box_of({"4090x8", "64G", ""}, scenarios::part_catalogue()).machine;
  const auto now = scenarios::read_scenario(
      {{"model", "qwen2.5-7b"}, {"machine", machine}, {"strategy", {{"system", "resident"}}}}, {},
      explore::known_systems());
  std::vector<std::vector<std::string>> sets;
  for (const auto& round : free_changes(now.scenario, {}))
    for (const FirstChange& change : round) sets.push_back(change.set);
  EXPECT_THAT(sets,
              testing::Contains(testing::ElementsAre("parallel.context=4", "parallel.data=2")));
}

// One tensor of all experts is not quantised: as modules they take a quarter of the memory.
TEST(FitChange, PacksExpertsBeforeItSellsMemory) {
  LONG_TEST();
  FitQuestion question = about("mixtral-8x7b", {"a6000", "128G", "2T"});
  question.runnable = true;
  question.overrides = {"training.method=qlora"};
  const FitAnswer answer = fit(sim(), question);
  EXPECT_FALSE(answer.fits);
  ASSERT_TRUE(answer.change && answer.change->tokens_per_s);
  EXPECT_THAT(answer.change->words, ::testing::HasSubstr("training.experts separate"));
  EXPECT_EQ(answer.change->price_usd, answer.price_usd);
  // who says how they lie is taken at the word
  question.overrides.emplace_back("training.experts=stacked");
  const FitAnswer stacked = fit(sim(), question);
  EXPECT_FALSE(stacked.change && stacked.change->price_usd == stacked.price_usd);
}

// GPT-OSS's experts lie in one tensor and stay in 16 bits, 50 GiB with what nf4 packs; a base in 16
// bits may wait on drives.
TEST(FitChange, TakesABaseIn16BitsBeforeItSellsALargerCard) {
  LONG_TEST();
  FitQuestion question = about("gpt-oss-20b", {"5090", "64G", "2T"});
  question.runnable = true;
  question.overrides = {"training.method=qlora"};
  const FitAnswer answer = fit(sim(), question);
  EXPECT_FALSE(answer.fits);
  ASSERT_TRUE(answer.fused_loss && answer.fused_loss->tokens_per_s);
  EXPECT_EQ(answer.fused_loss->set.front(), "training.method=lora");
  EXPECT_EQ(answer.fused_loss->outlay_usd, 0.0);
  ASSERT_TRUE(answer.change && answer.change->outlay_usd);
  EXPECT_GT(*answer.change->outlay_usd, 0);
  std::vector<std::string> notes;
  for (const text::Text& note : answer.notes) notes.push_back(text::words(note));
  EXPECT_THAT(notes, testing::Contains(testing::HasSubstr("which is not quantised")));
  question.overrides = {"training.method=lora"};
  const FitAnswer lora = fit(sim(), question);
  ASSERT_TRUE(lora.runnable);
  EXPECT_DOUBLE_EQ(lora.runnable->tokens_per_s, *answer.fused_loss->tokens_per_s);
}

// Weights wait in host memory that would be idle, unless the user says how many do.
TEST(FitChange, FillsIdleHostMemoryWithWeightsBeforeItSellsAny) {
  LONG_TEST();
  FitQuestion question = about("mixtral-8x7b", {"4090", "128G", "2T"});
  question.runnable = true;
  question.overrides = {"training.method=lora"};
  const FitAnswer answer = fit(sim(), question);
  ASSERT_TRUE(answer.runnable && answer.change);
  EXPECT_THAT(answer.runnable_way, ::testing::HasSubstr("weights.max_in_host"));
  EXPECT_GT(*answer.change->tokens_per_s, answer.runnable->tokens_per_s);
  const auto same = scenarios::read_scenario(
      answer.runnable->scenario, {}, explore::known_systems(), scenarios::Refuse::what_cannot_run);
  EXPECT_DOUBLE_EQ(explore::simulate(sim(), same.scenario).tokens_per_s,
                   answer.runnable->tokens_per_s);
  question.overrides.emplace_back("strategy.weights.max_in_host=0 params");
  const FitAnswer none = fit(sim(), question);
  ASSERT_TRUE(none.runnable);
  EXPECT_LT(1.2 * none.runnable->tokens_per_s, answer.runnable->tokens_per_s);
  EXPECT_LT(2 * none.runnable->host.total, answer.runnable->host.total);
}

// On the CPU Adam and Lion are simulated: what fits with Adam may fit with Muon too.
TEST(Fit, SaysWhichSystemsItCannotSimulateWithWhatIsAskedFor) {
  FitQuestion question = about("qwen2.5-7b", {"4090", "64G", "2T"});
  question.overrides = {"training.optimizer=muon"};
  const auto notes_of = [&] {
    const FitAnswer answer = fit(sim(), question);
    EXPECT_FALSE(answer.fits);
    return text::words_of(answer.notes);
  };
  EXPECT_THAT(notes_of(), testing::Contains(testing::AllOf(
                              testing::StartsWith("not simulated with what is asked for: zero_"),
                              testing::HasSubstr("Adam and Lion"))));
}

// What fit advises can be asked for again: two cards that share a sample leave none to share more.
TEST(Fit, SplitsSamplesOverTheCardsThatNoSampleTakes) {
  FitQuestion question = about("llama-3.1-8b", {"4090x2", "128G", "2T"});
  question.runnable = true;
  question.overrides = {"training.method=lora", "parallel.context=2"};
  const FitAnswer answer = fit(sim(), question);
  ASSERT_TRUE(answer.runnable);
  EXPECT_EQ(answer.runnable->scenario.at("parallel").at("data"), 1);
  EXPECT_EQ(answer.runnable->scenario.at("parallel").at("context"), 2);
}

// Checkpoints of a long sample have no room on the GPU, which costs nothing to mend.
TEST(FitChange, MovesCheckpointsOrSplitsSamplesBeforeItSellsALargerCard) {
  LONG_TEST();
  FitQuestion question = about("llama-3.1-8b", {"3090x2", "128G", "2T"});
  question.context = 65536;
  question.runnable = true;
  question.overrides = {"training.method=qlora", "training.loss=fused"};
  const FitAnswer moved = fit(sim(), question);
  ASSERT_TRUE(moved.runnable);
  EXPECT_EQ(moved.runnable->scenario.at("/strategy/activations/policy"_json_pointer),
            "checkpoint_host");
  question.overrides.emplace_back("strategy.activations.policy=checkpoint_gpu");
  const FitAnswer answer = fit(sim(), question);
  EXPECT_FALSE(answer.fits);
  ASSERT_TRUE(answer.change && answer.change->tokens_per_s);
  EXPECT_EQ(answer.change->price_usd, answer.price_usd);
  question.overrides.insert(question.overrides.end(), answer.change->set.begin(),
                            answer.change->set.end());
  const FitAnswer then = fit(sim(), question);
  ASSERT_TRUE(then.runnable);
  EXPECT_DOUBLE_EQ(then.runnable->tokens_per_s, *answer.change->tokens_per_s);
  // who says where activations stay, and that nobody shares a sample or the layers, is taken at
  // the word
  question.overrides = {"training.method=qlora", "training.loss=fused",
                        "strategy.activations.policy=checkpoint_gpu", "parallel.context=1",
                        "parallel.pipeline=1"};
  const FitAnswer kept = fit(sim(), question);
  ASSERT_TRUE(!kept.fits && kept.change);
  EXPECT_GT(kept.change->price_usd, kept.price_usd);
}

// A slower way that has room is no reason to leave out one that has it with checkpoints in host
// memory.
TEST(FitChange, TriesCheckpointsInHostMemoryBesideASlowerWayThatFits) {
  FitQuestion question = about("qwen3.5-122b-a10b", {"4090x2", "512G", "2Tx2"});
  question.context = 32768;
  question.systems = {"resident", "zero_offload"};
  question.overrides = {"training.method=lora", "training.loss=fused",
                        "training.fused_kernels=true"};
  const FitAnswer answer = fit(sim(), question);
  ASSERT_TRUE(answer.runnable);
  EXPECT_EQ(answer.runnable->scenario.at("/strategy/system"_json_pointer), "zero_offload");
  EXPECT_EQ(answer.runnable->scenario.at("/strategy/activations/policy"_json_pointer),
            "checkpoint_host");
  question.overrides.emplace_back("strategy.activations.policy=checkpoint_gpu");
  const FitAnswer kept = fit(sim(), question);
  ASSERT_TRUE(kept.runnable);
  EXPECT_LT(5 * kept.runnable->tokens_per_s, answer.runnable->tokens_per_s);
}

}  // namespace
}  // namespace spillway::answers::fit_change_test
