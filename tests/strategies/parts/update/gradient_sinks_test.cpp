#include "tests/strategies/parts/parts_rig.hpp"

namespace spillway::strategies::gradient_sinks_test {
namespace {

constexpr std::uint32_t weight = 0;  // the embedding: 5000 x 1024
constexpr std::uint64_t elements = 5000 * 1024;

/// A gradient of the embedding as the GPU has computed it.
std::vector<GradientShare> computed(PartsRig& rig) {
  const Buffer memory = rig.machine.allocate_now(
      TierId::gpu, rig.rank, Bytes(rig.job.row(weight).gradient_format().bytes(elements)),
      Purpose::gradients);
  std::vector<GradientShare> shares;
  shares.push_back({weight, elements, memory.view(), Op()});
  return shares;
}

Task<> comes(PartsRig* rig, GradientSink* sink, MicroBatch micro) {
  std::vector<GradientShare> shares = computed(*rig);
  sink->issue(shares, micro);
  co_await sink->take(std::move(shares), LayerGradients(), micro);
}

// ---- Loose

Task<> begins_anew(PartsRig* rig) {
  StreamingRank parts(rig->machine, rig->rank, rig->job);
  co_await parts.init();
  LooseGradients& sink = *parts.sinks.loose;
  EXPECT_FALSE(sink.has_news(weight));
  const std::uint64_t before = rig->gpu_used();
  co_await comes(rig, &sink, {true, false});
  EXPECT_EQ(rig->gpu_used(), before);
  EXPECT_TRUE(sink.has_news(weight));
  EXPECT_FALSE(sink.has_news(weight + 1));
  co_await comes(rig, &sink, {true, false});
  EXPECT_EQ(sink.taken(weight, Op()), 2u);  // both are in the sum that is taken
  EXPECT_FALSE(sink.has_news(weight));
  co_await comes(rig, &sink, {true, false});
  EXPECT_TRUE(sink.has_news(weight));
  EXPECT_EQ(sink.taken(weight, Op()), 3u);  // of the run
}

TEST(LooseGradients, CountWhatHasComeSinceTheSumWasTaken) {
  PartsRig rig(small_model("llama", "angel_ptm"));
  rig.run(begins_anew(&rig));
}

// ---- Late

Task<> changes_hands(PartsRig* rig) {
  StreamingRank parts(rig->machine, rig->rank, rig->job);
  co_await parts.init();
  LateGradients& sink = *parts.sinks.late;
  const Block* const filled = sink.gradient(weight).block.get();
  const Block* const other = sink.handed_over(weight).block.get();
  EXPECT_NE(filled, other);
  sink.hand_over();
  EXPECT_EQ(sink.handed_over(weight).block.get(), filled);
  EXPECT_EQ(sink.gradient(weight).block.get(), other);
  EXPECT_EQ(sink.handed_over(weight).bytes, sink.format(weight).bytes(elements));
}

TEST(LateGradients, HandOneBufferOverAndFillTheOther) {
  PartsRig rig(small_model("gpt2", "zero_offload", {"strategy.optimizer.staleness=1"}));
  rig.run(changes_hands(&rig));
}

// ---- Which sink and updater

TEST(GradientSinks, AreThoseThatUpdatesTakeThemFrom) {
  const auto made = [](const std::string& system, const Overrides& overrides = {}) {
    PartsRig rig(small_model("llama", system, overrides));
    const StreamingRank parts(rig.machine, rig.rank, rig.job);
    return std::vector<bool>{parts.sinks.resident != nullptr, parts.sinks.active != nullptr,
                             parts.sinks.loose != nullptr, parts.sinks.late != nullptr};
  };
  using Flags = std::vector<bool>;
  EXPECT_EQ(made("resident"), (Flags{true, false, false, false}));
  EXPECT_EQ(made("lohan"), (Flags{false, true, false, false}));
  EXPECT_EQ(made("angel_ptm"), (Flags{false, false, true, false}));
  EXPECT_EQ(made("zero_offload", {"strategy.optimizer.staleness=1"}),
            (Flags{false, false, false, true}));
  EXPECT_EQ(made("zero_infinity"), (Flags{false, false, false, false}));
}

}  // namespace
}  // namespace spillway::strategies::gradient_sinks_test
