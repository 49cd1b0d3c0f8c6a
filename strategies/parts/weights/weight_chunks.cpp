#include "strategies/parts/weights/weight_chunks.hpp"

#include "strategies/machine/setup.hpp"

#include <algorithm>
#include <set>

namespace spillway::strategies {

WeightChunks::WeightChunks(Machine& machine, Rank rank, const Job& job, const WeightLayout& layout)
    : machine_(machine),
      rank_(rank),
      job_(job),
      share_bytes_(layout.share_bytes),
      group_(data_group(job.scenario, rank)),
      ways_(partition_of(job.scenario).weight_ways()),
      layout_(chunk_layout(job, layout)),
      chunk_of_(layout.size()),
      place_in_(layout.size()),
      offset_(layout.size()) {
  lay_out();
  plan();
  std::uint64_t bytes = 0;
  for (const std::uint64_t chunk : chunk_bytes_) bytes += whole_bytes(chunk);
  host_ = std::make_unique<HostShares>(machine, rank, job, layout, offset_, bytes);
}

/// Of a chunk in host memory: as large as all others, in whole sectors.
std::uint64_t WeightChunks::whole_bytes(std::uint64_t filled) const {
  return in_sectors(std::max(filled, job_.tensors.largest([this](const TensorRow& row) {
    return row.weight.bytes(layout_.elements);
  })));
}

void WeightChunks::lay_out() {
  std::uint64_t first = 0;
  for (std::uint32_t chunk = 0; chunk < layout_.chunks.size(); ++chunk) {
    std::uint64_t filled = 0;
    std::uint32_t place = 0;
    for (const std::uint32_t weight : layout_.chunks[chunk]) {
      chunk_of_[weight] = chunk;
      place_in_[weight] = place++;
      offset_[weight] = first + filled;
      filled += share_bytes_[weight];
    }
    chunk_first_.push_back(first);
    chunk_bytes_.push_back(filled);
    first += whole_bytes(filled);
  }
  on_gpu_.resize(layout_.chunks.size());
}

/// Steps are the layers of a forward, then those of a backward.
void WeightChunks::plan() {
  const std::size_t layers = job_.plans.layers.size();
  std::vector<std::vector<std::uint32_t>> needed(2 * layers);
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    std::set<std::uint32_t> chunks;
    for (const LayerWeight& slot : job_.plans.layers[layer].weights)
      chunks.insert(chunk_of_[slot.weight]);
    needed[layer].assign(chunks.begin(), chunks.end());
    needed[2 * layers - 1 - layer] = needed[layer];
  }
  std::vector<std::uint64_t> bytes;
  for (std::uint32_t chunk = 0; chunk < layout_.chunks.size(); ++chunk)
    bytes.push_back(machine_.gpu_charge(gpu_bytes(chunk)));
  moves_ = plan_chunk_moves(needed, bytes, chunk_knobs(job_.scenario.strategy).cache.value_or(0));
}

std::size_t WeightChunks::step_of(std::uint32_t layer) const {
  return backward_ ? 2 * job_.plans.layers.size() - 1 - layer : layer;
}

void WeightChunks::begin_pass(bool backward) {
  backward_ = backward;
  if (!backward) step_ends();
}

void WeightChunks::step_ends() {
  for (OnGpu& chunk : on_gpu_) chunk = OnGpu();
}

std::uint64_t WeightChunks::gpu_bytes_of_layer(std::uint32_t layer) const {
  std::uint64_t bytes = 0;
  for (const std::uint32_t chunk : moves_.come[step_of(layer)])
    if (!on_gpu_[chunk].memory) bytes += machine_.gpu_charge(gpu_bytes(chunk));
  return bytes;
}

/// One copy where the rank has all of it; else its part of each tensor, and the others' parts.
void WeightChunks::bring(std::uint32_t chunk) {
  OnGpu& here = on_gpu_[chunk];
  here.memory =
      machine_.allocate_now(TierId::gpu, rank_, Bytes(gpu_bytes(chunk)), Purpose::gathered_weights);
  const auto& weights = layout_.chunks[chunk];
  if (ways_ == 1) {
    last_copy_ = machine_.copy(rank_, here.memory.view(0, chunk_bytes_[chunk]),
                               host_->view(chunk_first_[chunk], chunk_bytes_[chunk]), last_copy_);
    here.ready.assign(weights.size(), last_copy_);
    return;
  }
  const std::uint64_t own = job_.member(rank_);
  for (const std::uint32_t weight : weights) {
    const std::uint64_t bytes = share_bytes_[weight];
    const View region = here.memory.view(first_in_chunk(weight) * ways_, bytes * ways_);
    const View part = region.part(own * bytes, bytes);
    last_copy_ = machine_.copy(rank_, part, share(weight), last_copy_);
    here.ready.push_back(
        machine_.collective(rank_, group_, Collective::all_gather, part, region, last_copy_));
  }
}

void WeightChunks::begin_layer(std::uint32_t layer) {
  const std::size_t step = step_of(layer);
  if (step > 0)  // kernels that still use one hold its memory
    for (const std::uint32_t chunk : moves_.leave[step - 1]) on_gpu_[chunk] = OnGpu();
  for (const std::uint32_t chunk : moves_.come[step])
    if (!on_gpu_[chunk].memory) bring(chunk);
}

Task<FetchedWeight> WeightChunks::fetch(const LayerWeight& slot, Buffer) {
  const OnGpu& chunk = on_gpu_[chunk_of_[slot.weight]];
  co_return FetchedWeight{
      chunk.memory.view(first_in_chunk(slot.weight) * ways_, slot.share_bytes * ways_),
      chunk.ready[place_in_[slot.weight]], Op()};
}

}  // namespace spillway::strategies
