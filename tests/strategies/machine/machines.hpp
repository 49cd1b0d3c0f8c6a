#pragma once

#include "scenarios/description/errors.hpp"
#include "scenarios/description/scenario.hpp"
#ifndef SPILLWAY_REAL_MACHINE
#include "sim/plugin.hpp"
#include "strategies/counting/counting_machine.hpp"
#else
#include "strategies/machine/machine.hpp"
#endif

#include <gtest/gtest.h>

#include <memory>
#include <vector>

/// The machines that the contract is tested on, and the small box they all describe.
namespace spillway::strategies {

using namespace description::literals;
using description::InternalError;
using models::Access;
using result::Phase;

// The same tests are compiled twice: for the machines that only say what would happen, and in
// tests/hw_backend for the one where it does.
#ifdef SPILLWAY_REAL_MACHINE
inline constexpr bool bytes_are_real = true;

struct Real {
  static std::shared_ptr<Machine> make(const description::Scenario& scenario);
};

using Machines = ::testing::Types<Real>;
#else
inline constexpr bool bytes_are_real = false;

struct Counting {
  static std::shared_ptr<Machine> make(const description::Scenario& scenario) {
    return std::make_unique<CountingMachine>(scenario);
  }
};

struct Simulated {
  static std::shared_ptr<Machine> make(const description::Scenario& scenario) {
    return sim::open_sim_machine(scenario, false);
  }
};

using Machines = ::testing::Types<Counting, Simulated>;
#endif

constexpr std::uint64_t mib = 1 << 20;

/// Two ranks; 64 MiB on each GPU, 256 MiB of host memory, an SSD of 1 GiB; exact allocators.
description::Scenario small_box();

/// One machine per test, made when it is first asked for: change `box` before.
template <class Kind>
class MachineContract : public ::testing::Test {
 protected:
  Machine& machine() {
    if (!machine_) machine_ = Kind::make(box);
    return *machine_;
  }
  /// Runs the tasks as ranks, in their order.
  template <class... More>
  void run(Task<> first, More... more) {
    std::vector<Task<>> ranks;
    ranks.push_back(std::move(first));
    (ranks.push_back(std::move(more)), ...);
    machine().run_ranks(std::move(ranks));
  }

  description::Scenario box = small_box();

 private:
  std::shared_ptr<Machine> machine_;
};

inline constexpr Rank rank0{0};
inline constexpr Rank rank1{1};
inline constexpr StorageId ssd{0};

/// Memory for tests, exact and at once.
Buffer gpu_buffer(Machine& machine, Rank rank, std::uint64_t bytes);
Buffer host_buffer(Machine& machine, std::uint64_t bytes);
/// One buffer, when it is its turn.
Task<Buffer> in_turn(Machine& machine, TierId tier, Rank rank, std::uint64_t bytes,
                     Purpose purpose);
Task<Stored> extent(Machine& machine, std::uint64_t bytes);
/// A kernel without operands.
GpuKernel kernel_of(double flops);
/// A kernel of no cost that works on `view`.
std::vector<GpuKernel> kernel_on(View view, Access access);

/// Awaits `op`, then notes `id`: the log shows in which order operations end.
Task<> note_end(Op op, std::vector<int>* log, int id);

/// Counts what is alive, to see that cancellation leaves nothing behind.
struct Live {
  static inline int count = 0;
  Live() { ++count; }
  Live(const Live&) { ++count; }
  Live& operator=(const Live&) = default;
  ~Live() { --count; }
};

/// What `run` throws: its message, or "" when it throws no Error.
template <class Error, class Run>
std::string message_of(Run run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace spillway::strategies
