#include "strategies/parts/room.hpp"
#include "strategies/parts/activations/saved_on_gpu.hpp"
#include "tests/strategies/parts/parts_rig.hpp"

namespace spillway::strategies::room_test {
namespace {

/// Saved tensors of which so many buffers are still to leave, one by one.
class Leaving final : public SavedOnGpu {
 public:
  using SavedOnGpu::SavedOnGpu;
  bool waits() const override { return true; }
  Task<bool> one_leaves() override {
    if (leaving.empty()) co_return false;
    leaving.pop_back();
    ++left;
    co_return true;
  }
  std::vector<Buffer> leaving;
  int left = 0;
};

/// A rank whose weights come from host memory, on a GPU whose allocator rounds nothing.
struct RoomRig : PartsRig {
  RoomRig()
      : PartsRig(small_model("llama", "zero_infinity",
                             {"strategy.weights.home=host", "strategy.gpu_allocator=exact",
                              "strategy.weights.persistence_threshold=0 params"})) {}
};

/// All that a Room asks, around a rank that is set up.
struct Asked {
  Asked(RoomRig& rig, StreamingRank& parts)
      : memory(rig.machine, rig.rank, rig.job, 1),
        saved(rig.machine, rig.rank, rig.job, memory),
        fetches(rig.machine, rig.job, parts.weights),
        room(rig.machine, rig.rank, rig.job, fetches, parts.activations, saved, parts.gradients) {
    fetches.begin_pass(false);
    room.begin_pass();
  }
  ActivationMemory memory;
  Leaving saved;
  LayerFetches fetches;
  Room room;
};

constexpr std::uint32_t block = 1;

Task<> waits_in_order(RoomRig* rig) {
  StreamingRank parts(rig->machine, rig->rank, rig->job);
  co_await parts.init();
  Asked asked(*rig, parts);
  const std::uint64_t needed = parts.weights.gpu_bytes(block);
  EXPECT_GT(needed, 3u);
  // three buffers leave: the second one makes the room that is missing
  for (const std::uint64_t bytes : {needed, needed / 2 + 1, needed / 2})
    asked.saved.leaving.push_back(
        rig->machine.allocate_now(TierId::gpu, rig->rank, Bytes(bytes), Purpose::activations));
  const Buffer full = rig->fill_gpu_but(0);
  co_await asked.room.for_weights(block);
  EXPECT_EQ(asked.saved.left, 2);
  co_await asked.room.for_weights(block);  // there is room now
  EXPECT_EQ(asked.saved.left, 2);
  const GatheredWeights weights = co_await asked.fetches.arrive(block);
  EXPECT_EQ(asked.fetches.missing_bytes(block + 1), parts.weights.gpu_bytes(block + 1));
  asked.saved.leaving.clear();
  const GatheredWeights rest = co_await asked.fetches.arrive(block + 1);
}

TEST(Room, WaitsForWhatLeavesOnlyUntilTheLayersWeightsFit) {
  RoomRig rig;
  rig.run(waits_in_order(&rig));
}

Task<> fetched_to_the_byte(RoomRig* rig) {
  StreamingRank parts(rig->machine, rig->rank, rig->job);
  co_await parts.init();
  Asked asked(*rig, parts);
  const std::uint64_t needed = parts.weights.gpu_bytes(block);
  {
    const Buffer full = rig->fill_gpu_but(needed);
    EXPECT_EQ(asked.fetches.missing_bytes(block), 0u);  // all of it is on its way
    EXPECT_EQ(rig->gpu_free(), 0u);
  }
  EXPECT_EQ(parts.weights.gpu_bytes(block + 1), needed);
  {
    const Buffer full = rig->fill_gpu_but(needed - 1);
    EXPECT_EQ(asked.fetches.missing_bytes(block + 1), needed);  // and waits for its turn
    EXPECT_GT(rig->gpu_free(), 0u);
  }
  const GatheredWeights one = co_await asked.fetches.arrive(block);
  const GatheredWeights other = co_await asked.fetches.arrive(block + 1);
}

TEST(Room, ALayerThatFitsToTheByteIsFetchedAheadOfItsTurn) {
  RoomRig rig;
  rig.run(fetched_to_the_byte(&rig));
}

Task<> leaves_for_the_layer_below(RoomRig* rig) {
  StreamingRank parts(rig->machine, rig->rank, rig->job);
  co_await parts.init();
  Asked asked(*rig, parts);
  EXPECT_EQ(asked.room.left_by(0), 0u);
  // weights and gradients of the first block, each in the format of its row
  std::uint64_t bytes = 0;
  for (const LayerWeight& slot : rig->job.plans.layers[block].weights)
    bytes += slot.share_bytes + slot.gradient_share_bytes;
  EXPECT_GT(bytes, 0u);
  EXPECT_EQ(asked.room.left_by(block + 1), bytes);
}

TEST(Room, IsLeftForTheWeightsAndGradientsOfTheLayerBelow) {
  RoomRig rig;
  rig.run(leaves_for_the_layer_below(&rig));
}

}  // namespace
}  // namespace spillway::strategies::room_test
