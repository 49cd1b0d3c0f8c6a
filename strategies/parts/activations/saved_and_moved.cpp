#include "strategies/parts/activations/saved_and_moved.hpp"

#include <algorithm>

namespace spillway::strategies {

SavedAndMoved::SavedAndMoved(Machine& machine, Rank rank, const Job& job, ActivationMemory& memory)
    : SavedOnGpu(machine, rank, job, memory),
      returned_(memory.records(), std::vector<std::size_t>(job.plans.layers.size())) {
  const bool by_layer =
      job.scenario.strategy.micro_batches == description::MicroBatchOrder::by_layer;
  ENSURE(memory.records() == 1 || by_layer || job.plans.moved.empty(),
         "tensors of several micro-batches of a pipeline stage leave");
  for (std::size_t record = 0; record < memory.records(); ++record)
    swaps_.emplace_back(machine, rank, job);
}

Task<> SavedAndMoved::init() {
  for (ActivationSwap& one : swaps_) co_await one.init();
}

void SavedAndMoved::after_forward(std::uint32_t layer, const IssuedPass& issued) {
  for (const std::uint32_t i : plan(layer).leaves) {
    const MovedTensor& moved = job_.plans.moved[i];
    Buffer& buffer = memory_.of(moved);
    swap().leave(i, std::move(buffer), moved.hidden ? issued.last : issued.segments[moved.made_in]);
    buffer.reset();
  }
}

std::uint64_t SavedAndMoved::bytes_to_return(std::uint32_t layer) const {
  const std::vector<std::uint32_t>& returns = plan(layer).returns;
  std::uint64_t bytes = 0;
  for (std::size_t i = returned(layer); i < returns.size(); ++i)
    bytes += machine_.gpu_charge(job_.plans.moved[returns[i]].bytes);
  return bytes;
}

void SavedAndMoved::send_for_next(std::uint32_t layer, Buffer into) {
  const std::uint32_t moved = plan(layer).returns[returned(layer)];
  swap().call_back(moved, into.view());
  memory_.of(job_.plans.moved[moved]) = std::move(into);
  ++returned_[now_][layer];
}

void SavedAndMoved::call_back(std::uint32_t layer) {
  while (!returns_all(layer)) send_for_next(layer, memory_.allocate(next_back(layer).bytes));
}

Task<std::vector<Op>> SavedAndMoved::arrivals(std::uint32_t layer, std::size_t from) {
  std::vector<Op> hidden;
  for (std::size_t number = from; number < returned(layer); ++number) {
    const std::uint32_t i = plan(layer).returns[number];
    const MovedTensor& moved = job_.plans.moved[i];
    Op arrived = co_await swap().arrival(i);
    if (moved.hidden)
      hidden.push_back(std::move(arrived));
    else
      memory_.now().saved_arrivals[layer][moved.index] = std::move(arrived);
  }
  co_return hidden;
}

Task<> SavedAndMoved::end_micro_batch() {
  std::vector<std::size_t>& sent_for = returned_[now_];
  std::fill(sent_for.begin(), sent_for.end(), 0);
  return swap().settle();
}

}  // namespace spillway::strategies
