#include "strategies/planner/migration/walk.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <queue>
#include <set>

namespace spillway::strategies::planner {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr std::uint64_t walked_steps = 3;  ///< the first begins with nothing in flight

enum class Residency : std::uint8_t { resident, queued, leaving, away, arriving };

/// What a move is doing now.
struct Progress {
  Residency place = Residency::resident;
  bool wanted = false;    ///< its prefetch has begun to wait
  bool started = false;   ///< its prefetch holds room
  std::uint64_t due = 0;  ///< kernels from the start of the walk: of its transfer
  double left = 0;        ///< bytes of it
};

/// Requests in order of due time, then of the plan.
using Queue = std::set<std::pair<std::uint64_t, std::uint32_t>>;

struct Landing {
  double at;
  std::uint32_t move;
  bool operator>(const Landing& other) const {
    return std::pair(at, move) > std::pair(other.at, other.move);
  }
};

class Walker {
 public:
  Walker(const Lifetimes& lifetimes, const PlanSettings& settings, const Plan& plan)
      : lifetimes_(lifetimes),
        settings_(settings),
        plan_(plan),
        slots_(lifetimes.slots()),
        ticks_(slot_ticks(lifetimes)),
        births_(slots_),
        deaths_(slots_),
        offloads_(slots_),
        prefetches_(slots_),
        arrivals_(slots_),
        progress_(plan.moves.size()),
        free_(static_cast<double>(settings.capacity)) {
    place_tensors();
    place_moves();
  }

  Walk run() {
    Walk walk;
    walk.waits_s.assign(slots_, 0);
    for (position_ = 0; position_ < walked_steps * slots_; ++position_) {
      const auto slot = static_cast<std::uint32_t>(position_ % slots_);
      for (const std::uint32_t move : offloads_[slot]) offload(move);
      for (const std::uint32_t move : prefetches_[slot]) prefetch(move);
      const double idle = now_;
      while (!can_start(slot)) {
        const double next = next_event();
        ENSURE(next < never, "a plan that fits left kernel " + std::to_string(slot) + " waiting");
        advance(next);
      }
      free_ -= births_[slot];
      walk.waits_s[slot] = now_ - idle;
      run_kernel(now_ + static_cast<double>(ticks_[slot]) / ticks_per_second);
      free_ += deaths_[slot];
    }
    walk.step_s = seconds_of(ticks_);
    for (const double wait : walk.waits_s) walk.step_s += wait;
    return walk;
  }

 private:
  void place_tensors() {
    for (const LifetimeTensor& tensor : lifetimes_.tensors) {
      const auto bytes = static_cast<double>(tensor.bytes);
      if (tensor.persistent) {
        free_ -= bytes;
        continue;
      }
      births_[tensor.active.front().first] += bytes;
      deaths_[tensor.active.back().last] += bytes;
    }
  }

  void place_moves() {
    for (std::uint32_t i = 0; i < plan_.moves.size(); ++i) {
      const Move& move = plan_.moves[i];
      offloads_[move.first].push_back(i);
      prefetches_[move.back % slots_].push_back(i);
      arrivals_[move.end % slots_].push_back(i);
      if (move.back < slots_) continue;  // else away when the step begins
      progress_[i].place = Residency::away;
      free_ += bytes(i);
    }
  }

  double bytes(std::uint32_t move) const {
    return static_cast<double>(lifetimes_.tensors[plan_.moves[move].tensor].bytes);
  }
  bool on_ssd(std::uint32_t move) const {
    return plan_.moves[move].destination == Destination::ssd;
  }
  Queue& outs(std::uint32_t move) { return on_ssd(move) ? ssd_out_ : host_out_; }
  Queue& ins(std::uint32_t move) { return on_ssd(move) ? ssd_in_ : host_in_; }

  void offload(std::uint32_t index) {
    const Move& move = plan_.moves[index];
    Progress& progress = progress_[index];
    ENSURE(progress.place == Residency::resident, "a tensor leaves that is not there");
    if (move.clean) {
      progress.place = Residency::away;
      free_ += bytes(index);
      return;
    }
    progress.place = Residency::queued;
    progress.due = position_ + move.away - move.first;
    progress.left = bytes(index);
    outs(index).insert({progress.due, index});
  }

  void prefetch(std::uint32_t index) {
    const Move& move = plan_.moves[index];
    Progress& progress = progress_[index];
    if (progress.place == Residency::resident) return;  // of the step before the first
    if (progress.place == Residency::queued) {          // its offload has not begun: it stays
      outs(index).erase({progress.due, index});
      progress.place = Residency::resident;
      return;
    }
    progress.wanted = true;
    progress.started = false;
    wish_[index] = position_ + move.end - move.back;
    if (progress.place == Residency::away) ask_back(index);
  }

  void ask_back(std::uint32_t index) {
    Progress& progress = progress_[index];
    progress.due = wish_[index];
    progress.left = bytes(index);
    ins(index).insert({progress.due, index});
  }

  bool can_start(std::uint32_t slot) const {
    if (births_[slot] > free_ + 0.5) return false;
    return std::all_of(arrivals_[slot].begin(), arrivals_[slot].end(), [&](std::uint32_t move) {
      return progress_[move].place == Residency::resident;
    });
  }

  /// The prefetch that goes first, if there is room for it: it takes it.
  std::optional<std::uint32_t> first_in(const Queue& queue) {
    if (queue.empty()) return {};
    const std::uint32_t move = queue.begin()->second;
    Progress& progress = progress_[move];
    if (progress.started) return move;
    if (bytes(move) > free_ + 0.5) {
      // it lies behind those that have room already
      for (const auto& [due, other] : queue)
        if (progress_[other].started) return other;
      return {};
    }
    return move;
  }

  static std::optional<std::uint32_t> first_out(const Queue& queue) {
    if (queue.empty()) return {};
    return queue.begin()->second;
  }

  /// What each channel carries now: array, host out, host in.
  void pick() {
    const auto out = first_out(ssd_out_);
    const auto in = first_in(ssd_in_);
    carried_[0] = out && (!in || progress_[*out].due <= progress_[*in].due) ? out : in;
    carried_[1] = first_out(host_out_);
    carried_[2] = first_in(host_in_);
    for (const auto& move : carried_) {
      if (!move) continue;
      Progress& progress = progress_[*move];
      if (progress.place == Residency::queued) progress.place = Residency::leaving;
      if (progress.place == Residency::away) {
        progress.place = Residency::arriving;
        progress.started = true;
        free_ -= bytes(*move);
      }
    }
    share_link();
  }

  void share_link() {
    const Channels& channels = settings_.channels;
    const bool ssd_leaves = carried_[0] && progress_[*carried_[0]].place == Residency::leaving;
    rates_[0] = !carried_[0] ? 0 : ssd_leaves ? channels.ssd_write : channels.ssd_read;
    rates_[1] = carried_[1] ? channels.host_out : 0;
    rates_[2] = carried_[2] ? channels.host_in : 0;
    double& host = rates_[ssd_leaves ? 1 : 2];
    const auto& link = ssd_leaves ? channels.link_out : channels.link_in;
    if (!link || rates_[0] + host <= *link) return;
    const double fair = *link / 2;
    if (rates_[0] < fair)
      host = *link - rates_[0];
    else if (host < fair)
      rates_[0] = *link - host;
    else
      rates_[0] = host = fair;
  }

  double next_event() {
    pick();
    double next = landings_.empty() ? never : landings_.top().at;
    for (std::size_t i = 0; i < carried_.size(); ++i)
      if (carried_[i] && rates_[i] > 0)
        next = std::min(next, now_ + progress_[*carried_[i]].left / rates_[i]);
    return next;
  }

  void advance(double to) {
    for (std::size_t i = 0; i < carried_.size(); ++i) {
      if (!carried_[i]) continue;
      Progress& progress = progress_[*carried_[i]];
      const bool done = now_ + progress.left / rates_[i] <= to;  // before time rounds it away
      progress.left -= rates_[i] * (to - now_);
      if (!done && progress.left > 0.5) continue;
      (progress.place == Residency::leaving ? outs(*carried_[i]) : ins(*carried_[i]))
          .erase({progress.due, *carried_[i]});
      const double latency = settings_.channels.latency(plan_.moves[*carried_[i]].destination);
      landings_.push({to + latency, *carried_[i]});
    }
    now_ = to;
    while (!landings_.empty() && landings_.top().at <= now_) {
      const std::uint32_t move = landings_.top().move;
      landings_.pop();
      land(move);
    }
  }

  void land(std::uint32_t index) {
    Progress& progress = progress_[index];
    if (progress.place == Residency::arriving) {
      progress.place = Residency::resident;
      progress.wanted = false;
      return;
    }
    progress.place = Residency::away;
    free_ += bytes(index);
    if (progress.wanted) ask_back(index);
  }

  void run_kernel(double end) {
    for (double next = next_event(); next < end; next = next_event()) advance(next);
    advance(end);
  }

  const Lifetimes& lifetimes_;
  const PlanSettings& settings_;
  const Plan& plan_;
  std::uint32_t slots_;
  std::vector<std::int64_t> ticks_;
  std::vector<double> births_, deaths_;                                       ///< bytes, by slot
  std::vector<std::vector<std::uint32_t>> offloads_, prefetches_, arrivals_;  ///< moves, by slot
  std::vector<Progress> progress_;
  std::vector<std::uint64_t> wish_ = std::vector<std::uint64_t>(progress_.size());
  double free_;
  double now_ = 0;
  std::uint64_t position_ = 0;
  Queue ssd_out_, ssd_in_, host_out_, host_in_;
  std::array<std::optional<std::uint32_t>, 3> carried_;
  std::array<double, 3> rates_{};
  std::priority_queue<Landing, std::vector<Landing>, std::greater<>> landings_;
};

}  // namespace

Walk walk_plan(const Lifetimes& lifetimes, const PlanSettings& settings, const Plan& plan) {
  return Walker(lifetimes, settings, plan).run();
}

}  // namespace spillway::strategies::planner
