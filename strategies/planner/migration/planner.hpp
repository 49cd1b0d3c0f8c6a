#pragma once

#include "strategies/planner/migration/bandwidth.hpp"
#include "strategies/planner/migration/lifetimes.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace spillway::strategies::planner {

/// When the SSD counts as taken, so that a tensor goes to host memory instead.
enum class Saturation : std::uint8_t {
  ideal_finish,  ///< it has no time to write until an idle array would have finished the tensor
  no_window,     ///< the tensor cannot be out and back in time
  device_time,   ///< longer gaps can take all of its time: see short_gap
};

/// What a plan may use, and how it chooses.
struct PlanSettings {
  Channels channels;
  std::uint64_t capacity = 0;               ///< C: bytes of GPU memory for tensors
  std::vector<Destination> destinations;    ///< allowed; the first one's cost ranks
  std::optional<std::uint64_t> host_limit;  ///< bytes on the host at any moment
  std::optional<std::uint64_t> file_limit;  ///< bytes of the SSD file
  std::uint64_t min_tensor = std::uint64_t{1} << 20;
  Saturation saturation = Saturation::no_window;
  bool eager_prefetch = false;  ///< starts a prefetch as early as there is room for it
  bool drop_clean = false;      ///< no write of what the file, or the host, holds already
  bool must_hide = false;       ///< only intervals that are longer than their way there and back
  bool urgent = true;           ///< lets kernels wait for room where no plan fits
  std::uint32_t stall_rounds = 8;
};

/// One tensor's absence. Slots count on beyond the step where it goes round its end.
struct Move {
  std::uint32_t tensor = 0;          ///< index
  std::uint32_t first = 0, end = 0;  ///< idle in [first, end)
  Destination destination = Destination::ssd;
  std::uint32_t away = 0, back = 0;  ///< its GPU bytes are free in [away, back)
  bool urgent = false;               ///< kernels wait for it
  bool clean = false;                ///< dropped: its destination holds what it would write
  std::vector<Booking> out, in;      ///< empty where nothing was booked
  /// Host memory holds it until here, for the tensor's next move; 0: no longer than it is away.
  std::uint32_t held = 0;
  bool operator==(const Move&) const = default;
};

/// Host memory is held in slots [first, host_end(end)) of a move: in the one whose kernel waits for
/// the tensor others may leave before it is back. What is kept for the next move is held on.
inline std::uint32_t host_end(std::uint32_t end) { return end + 1; }
inline std::uint32_t host_end(const Move& move) { return std::max(move.held, host_end(move.end)); }

/// A kernel that cannot run at all.
struct Shortage {
  enum class Tier : std::uint8_t { gpu, host, ssd };
  Tier tier = Tier::gpu;
  std::uint32_t slot = 0;
  std::uint32_t tensor = 0;  ///< largest operand of that kernel
  std::uint64_t asked = 0, free = 0;
};

struct Plan {
  std::vector<Move> moves;              ///< in order of their offloads' slots, then of choice
  std::vector<std::uint64_t> pressure;  ///< by slot: bytes on the GPU, tensors leaving and arriving
                                        ///< included
  std::uint64_t intervals = 0;          ///< there were to choose from
  std::uint64_t greedy_moves = 0;
  std::uint64_t evaluations = 0;     ///< of ranks
  bool fits = true;                  ///< no slot exceeds the capacity without waits
  std::optional<Shortage> shortage;  ///< no waiting helps
  double ideal_s = 0;                ///< the step without waits
  double step_s = 0;                 ///< predicted
  std::vector<std::int64_t> ticks;   ///< of slots, waits included, picoseconds
  std::uint32_t rounds = 0;          ///< planned on stretched steps

  std::uint64_t bytes_to(Destination destination, const Lifetimes& lifetimes) const;
  std::uint64_t urgent_moves() const;
};

/// Lengths of the slots in picoseconds: from a kernel's start to the next one's, the last one's to
/// the end of the step.
std::vector<std::int64_t> slot_ticks(const Lifetimes& lifetimes);
double seconds_of(const std::vector<std::int64_t>& ticks);

/// The longest gap that the drives leave to the host. A byte that is away for a gap of t costs the
/// array 1/R + 1/W, wherever it is the host's would take room for t: (1/R + 1/W) / t is what the
/// drives pay for the room that they free. They take the cheapest, the longest gaps, until those of
/// all tensors that could move fill a step of theirs.
///   gaps    ticks and bytes of the intervals that may move, in any order
///   Result  ticks; 0: the drives can take all
std::int64_t short_gap(std::vector<std::pair<std::int64_t, std::uint64_t>> gaps,
                       const Channels& channels, const std::vector<std::int64_t>& ticks);

/// The plan of slots of `ticks` that nothing waits in: by benefit per cost, greedily; by lazy
/// evaluation, as ranks only fall. They do in steps of 3 to 6 %: of those on one step the larger
/// tensor goes first, then the lower id, then what is idle earlier.
///   Result  fits, or not: then some slots exceed the capacity
Plan plan_greedily(const Lifetimes& lifetimes, const PlanSettings& settings,
                   const std::vector<std::int64_t>& ticks);

/// The whole planner: greedy, then kernels that wait where that is not enough, then again on the
/// step that the waits have stretched.
///   Cost    100,000 intervals on 50,000 slots in less than 10 s (tests/bench)
///   Throws  InternalError for a profile with faults
Plan plan_migrations(const Lifetimes& lifetimes, const PlanSettings& settings);

}  // namespace spillway::strategies::planner
