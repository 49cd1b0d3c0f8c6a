#pragma once

#include "strategies/layout/chunk_knobs.hpp"
#include "strategies/layout/chunk_layout.hpp"
#include "strategies/parts/weights/weights_in_host.hpp"

#include <memory>

namespace spillway::strategies {

/// One rank's weights in host memory by chunks, and the chunks that are on its GPU: those of the
/// layer that computes and of the next, and idle ones as far as `weights.chunk_cache` goes, by
/// Belady's rule over the order of layers, which a warm-up step would record.
///   Spread    by ZeRO-3 each rank holds its part of each tensor of a chunk; all-gathers tensor by
///             tensor
///   Source    PatrickStar (arXiv 2108.05818); ColossalAI 0.3.5, Gemini
class WeightChunks final : public WeightSource {
 public:
  WeightChunks(Machine& machine, Rank rank, const Job& job, const WeightLayout& layout);

  Task<> init() override { return host_->init(); }
  View share(std::uint32_t weight) const override { return host_->share(weight); }
  bool fetches(const LayerWeight&) const override { return true; }
  std::uint64_t gpu_bytes(const LayerWeight&) const override { return 0; }
  /// Of what the last begin_layer brought.
  Task<FetchedWeight> fetch(const LayerWeight& slot, Buffer into) override;

  std::uint64_t gpu_bytes_of_layer(std::uint32_t layer) const override;
  /// Drops what leaves after the layer before, brings what this one lacks.
  void begin_layer(std::uint32_t layer) override;
  void begin_pass(bool backward) override;
  /// What is on the GPU is as old as the step.
  void step_ends() override;

 private:
  struct OnGpu {
    Buffer memory;
    std::vector<Op> ready;  ///< parallel to the chunk's weights
  };
  std::size_t step_of(std::uint32_t layer) const;
  void lay_out();
  void plan();
  std::uint64_t whole_bytes(std::uint64_t filled) const;
  void bring(std::uint32_t chunk);
  std::uint64_t gpu_bytes(std::uint32_t chunk) const { return chunk_bytes_[chunk] * ways_; }
  std::uint64_t first_in_chunk(std::uint32_t weight) const {
    return offset_[weight] - chunk_first_[chunk_of_[weight]];
  }

  Machine& machine_;
  Rank rank_;
  const Job& job_;
  const std::vector<std::uint64_t>& share_bytes_;
  Group group_;
  std::uint64_t ways_;
  ChunkLayout layout_;
  std::vector<std::uint32_t> chunk_of_;     ///< by weight
  std::vector<std::uint32_t> place_in_;     ///< by weight: its place among those of its chunk
  std::vector<std::uint64_t> offset_;       ///< by weight, in the host buffer
  std::vector<std::uint64_t> chunk_first_;  ///< by chunk: its offset there
  std::vector<std::uint64_t> chunk_bytes_;  ///< by chunk: of this rank, as far as it is filled
  std::unique_ptr<HostShares> host_;        ///< all chunks, those of equal size whole
  ChunkMoves moves_;                        ///< by step: forward of all layers, then backward
  std::vector<OnGpu> on_gpu_;               ///< by chunk
  bool backward_ = false;
  Op last_copy_;
};

}  // namespace spillway::strategies
