#include "strategies/parts/activations/recomputed.hpp"
#include "strategies/parts/activations/saved_by_plan.hpp"
#include "strategies/parts/activations/saved_in_cache.hpp"
#include "tests/strategies/parts/parts_rig.hpp"

namespace spillway::strategies::saved_tensors_test {
namespace {

/// A model of an embedding, two blocks and a head, all on a GPU whose allocator rounds nothing.
description::Scenario resident() {
  return small_model("llama", "resident", {"strategy.gpu_allocator=exact"});
}

constexpr std::uint32_t block = 1;  // the first of the two

/// The same job, in which what the first block saves leaves for host memory.
struct MovedRig : PartsRig {
  MovedRig()
      : PartsRig(resident()), moved_job(scenario, *decision->prepared, job.tensors, to_host()) {
    moved_job.steps = &steps;
    moved_job.shared = &shared;
  }
  ActivationPlan to_host() const {
    ActivationPlan fates = keep_everything(job.program);
    for (const SavedTensor& saved : job.plans.layers[block].saved)
      fates.fates[saved.tensor] = Fate::host;
    return fates;
  }
  Job moved_job;
};

/// The layer's forward as if it had been issued and had ended.
IssuedPass ended(const LayerPlan& plan) {
  IssuedPass issued;
  issued.segments.resize(plan.forward.segments.size());
  return issued;
}

std::uint64_t bytes_that_return(const Job& job, std::uint32_t layer) {
  std::uint64_t bytes = 0;
  for (const std::uint32_t i : job.plans.layers[layer].returns) bytes += job.plans.moved[i].bytes;
  return bytes;
}

// ---- What is chosen

template <class Expected>
bool chosen(const std::string& system, const Overrides& overrides) {
  PartsRig rig(small_model("llama", system, overrides));
  ActivationMemory memory(rig.machine, rig.rank, rig.job, 1);
  const auto saved = make_saved_tensors(rig.machine, rig.rank, rig.job, memory);
  return dynamic_cast<const Expected*>(saved.get()) != nullptr;
}

TEST(SavedTensors, AreThoseThatThePolicyStandsFor) {
  EXPECT_TRUE((chosen<SavedOnGpu>("resident", {"strategy.activations.policy=keep"})));
  EXPECT_TRUE(
      (chosen<Recomputed<SavedOnGpu>>("resident", {"strategy.activations.policy=checkpoint_gpu"})));
  EXPECT_TRUE((chosen<Recomputed<SavedAndMoved>>("zero_infinity",
                                                 {"strategy.activations.policy=checkpoint_host"})));
  EXPECT_TRUE((chosen<SavedByPlan>("flashneuron", {})));
  EXPECT_TRUE((chosen<SavedInCache>("ssdtrain", {})));
}

// ---- On the GPU

Task<> keeps(PartsRig* rig) {
  ActivationMemory memory(rig->machine, rig->rank, rig->job, 1);
  SavedOnGpu saved(rig->machine, rig->rank, rig->job, memory);
  const LayerPlan& plan = rig->job.plans.layers[block];
  const std::uint64_t before = rig->gpu_used();
  saved.before_forward(block);
  EXPECT_GT(saved_bytes(plan), 0u);
  EXPECT_EQ(rig->gpu_used() - before, saved_bytes(plan));
  saved.after_forward(block, ended(plan));
  EXPECT_EQ(rig->gpu_used() - before, saved_bytes(plan));
  EXPECT_TRUE(saved.returns_all(block));
  EXPECT_FALSE(saved.recomputes(block));
  memory.end_micro_batch();
  EXPECT_EQ(rig->gpu_used(), before);
  co_return;
}

TEST(SavedTensors, ThatStayHaveTheirBytesFromForwardToTheEndOfBackward) {
  PartsRig rig(resident());
  rig.run(keeps(&rig));
}

Task<> remakes(PartsRig* rig) {
  const Job job(rig->scenario, *rig->decision->prepared, rig->job.tensors,
                checkpoint_blocks(rig->job.model, rig->job.program, Fate::keep));
  ActivationMemory memory(rig->machine, rig->rank, job, 1);
  Recomputed<SavedOnGpu> saved(rig->machine, rig->rank, job, memory);
  const std::uint64_t before = rig->gpu_used();
  saved.before_forward(block);
  EXPECT_EQ(rig->gpu_used(), before);  // a block saves nothing but its input
  EXPECT_FALSE(saved.recomputes(0));
  EXPECT_TRUE(saved.recomputes(block));
  EXPECT_TRUE(saved.recomputes(block + 1));
  co_return;
}

TEST(SavedTensors, ThatAreMadeAgainHaveNoBytesInForward) {
  PartsRig rig(resident());
  rig.run(remakes(&rig));
}

// ---- Away and back

Task<> moves(MovedRig* rig) {
  const Job& job = rig->moved_job;
  ActivationMemory memory(rig->machine, rig->rank, job, 1);
  SavedAndMoved saved(rig->machine, rig->rank, job, memory);
  co_await saved.init();
  const std::uint64_t before = rig->gpu_used();
  const std::uint64_t host = rig->machine.usage(TierId::pinned, rig->rank).used;
  saved.before_forward(block);
  saved.after_forward(block, ended(job.plans.layers[block]));
  EXPECT_FALSE(saved.waits());
  EXPECT_EQ(saved.bytes_to_return(block), bytes_that_return(job, block));
  EXPECT_FALSE(saved.returns_all(block));
  EXPECT_GE(rig->machine.usage(TierId::pinned, rig->rank).used - host,
            bytes_that_return(job, block));

  saved.prefetch(block, ~std::uint64_t{0} >> 1);  // who does not wait for room leaves none
  EXPECT_TRUE(saved.returns_all(block));
  EXPECT_EQ(saved.bytes_to_return(block), 0u);
  BackwardTurn turn;
  turn.layer = block;
  co_await saved.before_backward(turn);
  for (const Op& arrived : memory.now().saved_arrivals[block]) co_await arrived;
  memory.end_micro_batch();
  co_await saved.end_micro_batch();
  EXPECT_EQ(rig->gpu_used(), before);
  EXPECT_FALSE(saved.returns_all(block)) << "the next micro-batch's are away again";
}

TEST(SavedTensors, ThatLeaveComeBackALayerAhead) {
  MovedRig rig;
  rig.run(moves(&rig));
}

Task<> comes_back_to_the_byte(MovedRig* rig) {
  const Job& job = rig->moved_job;
  ActivationMemory memory(rig->machine, rig->rank, job, 1);
  SavedByPlan saved(rig->machine, rig->rank, job, memory);
  co_await saved.init();
  saved.before_forward(block);
  saved.after_forward(block, ended(job.plans.layers[block]));
  bool more = true;
  while (more) more = co_await saved.one_leaves();
  const std::uint64_t all = bytes_that_return(job, block);
  const std::vector<std::uint32_t>& returns = job.plans.layers[block].returns;
  const std::uint64_t first = job.plans.moved[returns[0]].bytes;
  const std::uint64_t second = job.plans.moved[returns[1]].bytes;
  constexpr std::uint64_t leave = 4096;

  Buffer full = rig->fill_gpu_but(first - 1);
  saved.prefetch(block, 0);
  EXPECT_EQ(saved.bytes_to_return(block), all);
  full.reset();
  full = rig->fill_gpu_but(first);
  saved.prefetch(block, 0);
  EXPECT_EQ(saved.bytes_to_return(block), all - first);
  EXPECT_EQ(rig->gpu_free(), 0u);

  full.reset();
  full = rig->fill_gpu_but(second + leave - 1);
  saved.prefetch(block, leave);
  EXPECT_EQ(saved.bytes_to_return(block), all - first);
  full.reset();
  full = rig->fill_gpu_but(second + leave);
  saved.prefetch(block, leave);
  EXPECT_EQ(saved.bytes_to_return(block), all - first - second);

  full.reset();
  saved.call_back(block);
  EXPECT_TRUE(saved.returns_all(block));
  memory.end_micro_batch();
  co_await saved.end_micro_batch();
}

TEST(SavedTensors, OfAPlanComeBackAsSoonAsTheyFitToTheByte) {
  MovedRig rig;
  rig.run(comes_back_to_the_byte(&rig));
}

}  // namespace
}  // namespace spillway::strategies::saved_tensors_test
