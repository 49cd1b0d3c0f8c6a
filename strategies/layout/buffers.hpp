#pragma once

#include "strategies/layout/job.hpp"

namespace spillway::strategies {

/// The buffers of a rank that weights on storage pass, where all are of one size.
struct EqualBuffers {
  std::uint64_t count = 0;     ///< `weights.buffer_count`; auto: as `prefetch_blocks` needs
  std::uint64_t elements = 0;  ///< `weights.buffer_size`, of one; auto: the largest share
};
EqualBuffers equal_buffers(const Job& job);

}  // namespace spillway::strategies
