#pragma once

#include "strategies/parts/update/gradients_to_host.hpp"

#include <deque>

namespace spillway::strategies {

/// Gradients that go on from host memory to storage, in fp32 or, for drives that update, in the
/// type in which they are computed: each to its sub-group's extent, through the optimizer's swap
/// buffers, which fill layer by layer. One I/O queue a process.
///   flush_tail  bytes that may still be on their way when backward ends
///   Source      DeepSpeed stage3.py, optimizer_swapper.swap_out_gradients; MemAscend, step 10
class GradientsToStorage final : public GradientsToHost {
 public:
  using GradientsToHost::GradientsToHost;

  Task<> settle(std::uint64_t bytes) override;

 private:
  Task<View> destination(std::uint32_t weight) override;
  void delivered(std::uint32_t weight, const View& place, const Op& placed,
                 std::vector<Op> copied) override;
  void layer_delivered() override { staging_.reset(); }

  Semaphore turn_{machine_.scheduler(), 1};
  Buffer staging_;  ///< swap buffer being filled
  std::uint64_t staged_ = 0;
  std::deque<Op> writes_;
  Op last_write_;
};

}  // namespace spillway::strategies
