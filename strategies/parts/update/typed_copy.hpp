#pragma once

#include "strategies/machine/cpu_kernels.hpp"

/// What a copy between GPU and host is that changes type and blocks.
///   Faults  are taken one after the other, as by one thread, also of a conversion that several
///           threads write: until 6.4 Linux has one lock for an address space
///   Source  PyTorch, aten/src/ATen/native/cuda/Copy.cu, copy_kernel_cuda: where it blocks, the CPU
///           converts, in a tensor that is made for it. DeepSpeed's stage3.py copies gradients so
///           until 0.15.3 (partition_grads), and new weights in all versions to 0.19
///           (_reassign_or_swap_out_partitioned_parameters)
namespace spillway::strategies {

/// What is larger malloc takes from the system and gives back at once, so that its pages are new
/// each time.
///   Source  glibc, malloc.c, DEFAULT_MMAP_THRESHOLD_MAX
inline constexpr std::uint64_t least_fresh_bytes = 32ull << 20;

/// Memory of the host that is made for one copy; empty where its pages are not new.
struct FreshMemory {
  Buffer buffer;
  Op touched;
};

/// Waits for no page: whoever uses it follows `touched`.
///   Throws  OutOfMemory
inline FreshMemory fresh_memory(Machine& machine, Rank rank, std::uint64_t bytes) {
  FreshMemory fresh;
  fresh.buffer = machine.allocate_now(TierId::pageable, rank, description::Bytes(bytes),
                                      Purpose::bounce_buffers);
  if (bytes >= least_fresh_bytes) fresh.touched = machine.run(rank, touched(fresh.buffer.view()));
  return fresh;
}

}  // namespace spillway::strategies
