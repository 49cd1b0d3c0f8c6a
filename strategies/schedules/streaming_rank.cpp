#include "strategies/schedules/streaming_rank.hpp"

#include "strategies/machine/setup.hpp"
#include "strategies/parts/update/overflow_check.hpp"
#include "strategies/parts/weights/weight_chunks.hpp"

namespace spillway::strategies {

StreamingRank::StreamingRank(Machine& its_machine, Rank its_rank, const Job& its_job)
    : machine(its_machine),
      rank(its_rank),
      job(its_job),
      sources(make_weights(machine, rank, job)),
      weights(*sources.all),
      activation_memory(machine, rank, job, StageLinks::records_of(job.scenario, rank)),
      saved(make_saved_tensors(machine, rank, job, activation_memory)),
      activations(machine, rank, job, activation_memory, *saved),
      links(machine, rank, job, activations),
      owners(job),
      norm(job.scenario.training.clips() ? std::make_unique<GradientNorm>(machine, rank, job)
                                         : nullptr),
      on_cpu(owners.others ? std::make_unique<CpuOptimizer>(machine, rank, *owners.others, weights,
                                                            norm.get())
                           : nullptr),
      selected(job.scenario.strategy.optimizer.selected_share > 0
                   ? std::make_unique<SelectedColumns>(machine, rank, job, weights)
                   : nullptr),
      sinks(make_gradients(machine, rank, job, owners, on_cpu.get(),
                           sources.replayed ? &sources.replayed->replay() : nullptr,
                           selected.get())),
      gradients(*sinks.all),
      on_gpu(owners.gpu ? std::make_unique<GpuOptimizer>(machine, rank, *owners.gpu, weights,
                                                         sinks.resident)
                        : nullptr),
      updater(make_updater(machine, rank, job, sources, sinks, on_gpu.get(), on_cpu.get(),
                           selected.get())),
      cpu_experts(CpuExperts::any(job)
                      ? std::make_unique<CpuExperts>(machine, rank, job, links.records())
                      : nullptr),
      progress(job),
      held(machine, rank) {}

Task<> StreamingRank::init() {
  held.hold_bases(job.scenario.machine);
  hold_fp8(held, job);
  // weights are made in fp32, and stay so until their masters have left for storage
  const Buffer wide = in_fp32();
  if (cpu_experts) co_await cpu_experts->init();
  co_await weights.init();
  co_await saved->init();
  weights.find_staying([this](auto layer) { return saved->recomputes(layer); });
  if (norm) co_await norm->init();
  co_await gradients.init();
  co_await updater->init();
}

/// Of a system whose chunks are made from whole fp32 weights.
Buffer StreamingRank::in_fp32() {
  if (!chunk_knobs(job.scenario.strategy).used) return Buffer();
  const std::uint64_t bytes = job.tensors.sum(
      [](const TensorRow& row) { return fp32_numbers.bytes(row.share(row.shards.weight_ways())); });
  return machine.allocate_now(TierId::pageable, rank, Bytes(bytes), Purpose::init_copy);
}

Task<> StreamingRank::gpu_gradients() {
  if (!sinks.active || !sinks.resident) co_return;
  sinks.active->end_backward();
  co_await gradients.drain();
}

Task<> StreamingRank::sum_tied() {
  if (sinks.resident) co_await links.sum_tied(*sinks.resident);
}

Task<bool> StreamingRank::overflows() {
  if (job.scenario.strategy.overflow_check == description::OverflowCheck::none) co_return false;
  machine.enter(rank, result::Phase::overflow_check);
  co_return co_await check_overflow(machine, rank, job, sinks);
}

Task<StepNumbers> StreamingRank::clipped(StepNumbers numbers) {
  if (!norm) co_return numbers;
  if (sinks.active) {
    sinks.active->end_backward();
    co_await gradients.drain();
  }
  if (on_gpu) co_await on_gpu->norm_gradients(norm.get());
  co_return co_await norm->clipped(numbers);
}

Task<> StreamingRank::end_update(bool overflow, const StepNumbers& numbers) {
  machine.enter(rank, result::Phase::update);
  weights.step_ends();
  if (overflow)
    co_await updater->take_back();
  else
    co_await updater->update(co_await clipped(numbers));
}

Task<bool> StreamingRank::next_step(bool overflow) {
  if (sinks.resident) sinks.resident->end_step();
  progress.step_ended(overflow);
  saved->step_ended();
  co_return co_await job.steps->next();
}

Task<> StreamingRank::close() {
  co_await saved->settle();
  if (job.scenario.run.checkpoint) co_await updater->checkpoint();
}

Meetings meetings_of(const StreamingRank& parts) {
  const description::Scenario& scenario = parts.job.scenario;
  Meetings meetings{tensor_group(scenario, parts.rank),
                    {},
                    {},
                    parts.cpu_experts.get(),
                    parts.job.program.to_expert_ranks};
  if (scenario.parallel.context > 1) meetings.context = context_group(scenario, parts.rank);
  if (scenario.parallel.expert > 1) meetings.expert = expert_group(scenario, parts.rank);
  return meetings;
}

}  // namespace spillway::strategies
