#include <setjmp.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "tests/hw_backend/cuda/emulated/cuda_runtime.h"

thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace {

constexpr std::size_t stack_bytes = 64u << 10;

/// A thread of a block on a stack of its own, which serves one block after the other.
struct Fiber {
  jmp_buf place;
  ucontext_t begin{};
  std::unique_ptr<char[]> stack{new char[stack_bytes]};
  bool done = true;
};

/// The threads of one block at a time.
struct Block {
  jmp_buf scheduler;
  std::vector<std::unique_ptr<Fiber>> fibers;
  Fiber* running = nullptr;
  bool backwards = false;  ///< its threads and blocks come in this order: a GPU has none
  const std::function<void()>* thread = nullptr;
};
thread_local Block block;

/// Not swapcontext, which asks the kernel for the signal mask each time.
void jump(jmp_buf from, jmp_buf to) {
  if (_setjmp(from) == 0) _longjmp(to, 1);
}

void serve() {
  for (;;) {
    jump(block.running->place, block.scheduler);
    (*block.thread)();
    block.running->done = true;
  }
}

void begin(Fiber& fiber) {
  block.running = &fiber;
  if (_setjmp(block.scheduler) == 0) setcontext(&fiber.begin);
}

void add_fiber() {
  Fiber& fiber = *block.fibers.emplace_back(std::make_unique<Fiber>());
  getcontext(&fiber.begin);
  fiber.begin.uc_stack.ss_sp = fiber.stack.get();
  fiber.begin.uc_stack.ss_size = stack_bytes;
  fiber.begin.uc_link = nullptr;
  makecontext(&fiber.begin, serve, 0);
  begin(fiber);
}

/// Runs threads [first, threads) up to their next barrier.
///   Result  how many have ended
unsigned run_to_barrier(unsigned threads, unsigned first = 0) {
  unsigned done = 0;
  for (unsigned turn = first; turn < threads; ++turn) {
    const unsigned i = block.backwards ? threads - 1 - (turn - first) : turn;
    block.running = block.fibers[i].get();
    threadIdx = dim3(i);
    if (!block.running->done) jump(block.scheduler, block.running->place);
    done += block.fibers[i]->done ? 1u : 0u;
  }
  return done;
}

[[noreturn]] void split() {
  std::fputs("some threads of a block ended, others wait in __syncthreads\n", stderr);
  std::abort();
}

/// A block whose first thread ends without a barrier has none, and its other threads need no fiber.
void run_block(unsigned threads) {
  block.fibers[0]->done = false;
  if (run_to_barrier(1) == 1) {
    block.running = nullptr;
    for (unsigned turn = 1; turn < threads; ++turn) {
      threadIdx = dim3(block.backwards ? threads - turn : turn);
      (*block.thread)();
    }
    return;
  }
  for (unsigned i = 1; i < threads; ++i) block.fibers[i]->done = false;
  if (run_to_barrier(threads, 1) > 0) split();
  for (;;) {
    block.backwards = !block.backwards;
    const unsigned done = run_to_barrier(threads);
    if (done == threads) return;
    if (done > 0) split();
  }
}

}  // namespace

void __syncthreads() {
  if (!block.running) split();
  jump(block.running->place, block.scheduler);
}

cudaError_t launch_emulated(const cudaLaunchConfig_t& config, std::function<void()> thread) {
  if (config.blockDim.x == 0 || config.blockDim.x > 1024 || config.gridDim.x == 0)
    return cudaErrorInvalidValue;
  return enqueue_emulated(config.stream,
                          [config, thread = std::move(thread)] { run_emulated(config, thread); });
}

void run_emulated(const cudaLaunchConfig_t& config, const std::function<void()>& thread) {
  const unsigned threads = config.blockDim.x;
  while (block.fibers.size() < threads) add_fiber();
  block.thread = &thread;
  blockDim = config.blockDim;
  gridDim = config.gridDim;
  static thread_local unsigned launches = 0;
  const bool backwards = ++launches % 2 == 0;
  for (unsigned i = 0; i < gridDim.x; ++i) {
    blockIdx = dim3(backwards ? gridDim.x - 1 - i : i);
    block.backwards = blockIdx.x % 2 == 1;
    run_block(threads);
  }
}
