#pragma once

#include "strategies/layout/planned_step.hpp"
#include "strategies/machine/machine.hpp"
#include "strategies/planner/migration/planner.hpp"

#include <array>
#include <set>

namespace spillway::strategies {

/// One rank's tensors, each in a GPU buffer of its own or away, and the queues that carry out what
/// the plan says of them: the array's, by due time in both directions, and one for each way to the
/// host. Where a way over the GPU's link is slower than the array each way to the array has a queue
/// too: one way alone would leave the array idle. Requests go in chunks, so one that is due earlier
/// waits for two of them at most.
///   Room   kernels wait for theirs first come, first served (Machine::allocate); what comes back
///          tries in due order, and never takes what a kernel waits for. Both leave free what the
///          plan did not count on
///   Bounce without GPUDirect an array's bytes pass two pinned buffers of a chunk for each way
class Migrations {
 public:
  /// What tensors pass on their way.
  struct Ways {
    std::uint64_t capacity = 0;  ///< of the GPU, as the plan counts it
    std::uint64_t chunk = 0;     ///< bytes of a request
    bool bounces = false;
    bool link_is_short = false;  ///< a way over the GPU's link is slower than the array
  };

  Migrations(Machine& machine, Rank rank, const PlannedStep& step, const planner::Plan& plan,
             const Ways& ways);

  /// Extents and staging; then the queues run until `stop`.
  Task<> init();
  Task<> stop();

  /// Buffers of tensors that a kernel is the first to use. Waits until there is room for all.
  Task<> allocate(std::vector<std::uint32_t> tensors);
  void free(std::uint32_t tensor);
  const Buffer& gpu(std::uint32_t tensor) const { return homes_[tensor].gpu; }
  /// Takes a tensor that was just made where the plan has it when a step begins.
  Task<> place(std::uint32_t tensor);
  bool begins_away(std::uint32_t tensor) const { return first_move_[tensor] != none; }

  /// Kernel `position`, counted from the first step's, is about to begin: what leaves after the one
  /// before it leaves, what comes back from here on is asked back.
  void begin(std::uint64_t position);
  /// Waits until all operands of the kernel are back.
  Task<> arrivals(std::uint64_t position);

  /// For the end of a run, after `stop`: the tensor's bytes in host memory.
  Task<Buffer> fetch(std::uint32_t tensor);

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  enum class Residency : std::uint8_t { resident, queued, leaving, away, arriving };
  enum class Queue : std::uint8_t { array, array_out, array_in, host_out, host_in };
  /// Requests by due time, then in the plan's order.
  using Requests = std::set<std::pair<std::uint64_t, std::uint32_t>>;

  struct Home {
    Buffer gpu, host;
    Stored file;
  };
  struct Progress {
    Residency place = Residency::resident;
    bool wanted = false;
    std::uint64_t due = 0, wish = 0;
    std::uint64_t issued = 0;  ///< bytes of the transfer
  };
  struct Flying {
    Op op;
    std::uint32_t move = none;
    bool last = false;
  };

  std::uint32_t tensor(std::uint32_t move) const { return plan_.moves[move].tensor; }
  std::uint64_t length(std::uint32_t tensor) const;
  bool on_ssd(std::uint32_t move) const {
    return plan_.moves[move].destination == planner::Destination::ssd;
  }
  Requests& outs(std::uint32_t move) { return on_ssd(move) ? ssd_out_ : host_out_; }
  Requests& ins(std::uint32_t move) { return on_ssd(move) ? ssd_in_ : host_in_; }

  void offload(std::uint32_t move, std::uint64_t position);
  void prefetch(std::uint32_t move, std::uint64_t position);
  void ask_back(std::uint32_t move);
  std::uint64_t due(std::uint32_t move) const { return progress_[move].due; }
  bool find_room(std::uint32_t move);
  std::optional<std::uint32_t> next_in(const Requests& requests);
  std::optional<std::uint32_t> pick(Queue queue);
  Task<> work(Queue queue);
  Flying issue(std::uint32_t move);
  Op transfer(std::uint32_t move, bool out, std::uint64_t offset, std::uint64_t bytes);
  Op bounce(std::uint32_t tensor, bool out, std::uint64_t offset, std::uint64_t bytes);
  void land(std::uint32_t move);
  void changed();

  Machine& machine_;
  Rank rank_;
  const PlannedStep& step_;
  const planner::Plan& plan_;
  std::uint64_t slots_, capacity_, chunk_;
  bool bounces_, link_is_short_;
  Semaphore::Lock headroom_;               ///< GPU memory beyond the plan's capacity
  std::vector<Home> homes_;                ///< by tensor
  std::vector<std::uint32_t> first_move_;  ///< by tensor: that has it away when a step begins
  std::vector<Progress> progress_;         ///< by move
  std::vector<std::vector<std::uint32_t>> offloads_, prefetches_, arrivals_;  ///< moves, by slot
  Requests ssd_out_, ssd_in_, host_out_, host_in_;
  std::array<std::array<Buffer, 2>, 2> staging_;  ///< by way
  std::array<std::array<Op, 2>, 2> staged_;       ///< what uses them last
  std::array<Op, 2> into_staging_;                ///< what filled one last, by way
  std::array<std::uint64_t, 2> turn_{};
  Event changed_;
  bool stopping_ = false;
  std::vector<Pending<>> queues_;
};

}  // namespace spillway::strategies
