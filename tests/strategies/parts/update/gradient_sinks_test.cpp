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
  for (GradientShare& share : shares) sink->issue(share, micro);
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
  HandedOver& handed = *parts.sinks.late;
  auto& sink = dynamic_cast<LateGradients&>(handed);
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

// ---- Sinks of two owners

/// How much of the GPU a layer's gradient holds while it is brought away, and where it is then.
Task<> goes_to_its_owner(PartsRig* rig, std::uint32_t of_gpu, std::uint32_t of_cpu) {
  StreamingRank parts(rig->machine, rig->rank, rig->job);
  EXPECT_NE(parts.sinks.resident, nullptr);
  EXPECT_NE(parts.sinks.host, nullptr);
  co_await parts.init();
  // places of those that a sink owns, and none of the others'
  EXPECT_EQ(parts.sinks.resident->own(of_gpu).bytes,
            in_sectors(rig->job.row(of_gpu).gradient_format().bytes(rig->job.elements(of_gpu))));
  EXPECT_EQ(parts.sinks.resident->own(of_cpu).bytes, 0u);
  EXPECT_EQ(parts.sinks.host->gradient(of_gpu).bytes, 0u);
  EXPECT_EQ(parts.sinks.host->gradient(of_cpu).bytes,
            parts.sinks.host->format(of_cpu).bytes(rig->job.elements(of_cpu)));
  const TensorTable& table = rig->job.tensors;
  const auto bytes_of = [&](description::OptimizerDevice who, std::uint64_t each) {
    return table.sum(
        [&](const TensorRow& row) { return row.updater == who ? each * row.elements : 0; });
  };
  using description::OptimizerDevice;
  EXPECT_EQ(parts.sinks.resident->all().bytes, bytes_of(OptimizerDevice::gpu, 2));
  EXPECT_EQ(parts.sinks.host->all().bytes, bytes_of(OptimizerDevice::cpu, 4));
}

TEST(GradientsByOwner, HavePlacesForTheirOwnRowsAlone) {
  PartsRig rig(small_model("llama", "zero_offload", {"strategy.optimizer.cpu_share=0.5"}));
  std::uint32_t of_cpu = 0;
  while (rig.job.row(of_cpu).updater != description::OptimizerDevice::cpu) ++of_cpu;
  ASSERT_GT(of_cpu, 0u);
  rig.run(goes_to_its_owner(&rig, 0, of_cpu));
}

}  // namespace
}  // namespace spillway::strategies::gradient_sinks_test
