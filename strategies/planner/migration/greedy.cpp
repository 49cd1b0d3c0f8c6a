#include "scenarios/description/errors.hpp"
#include "scenarios/description/units.hpp"
#include "strategies/planner/migration/planner.hpp"
#include "strategies/planner/migration/pressure.hpp"
#include "strategies/planner/migration/relief.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace spillway::strategies::planner {

namespace {

/// What moves is whole sectors.
std::int64_t sectors(std::uint64_t bytes) {
  return static_cast<std::int64_t>(description::in_sectors(bytes));
}

std::vector<std::int64_t> excess_of(const std::vector<std::uint64_t>& alive, std::uint64_t limit) {
  std::vector<std::int64_t> excess(alive.size());
  for (std::size_t i = 0; i < alive.size(); ++i)
    excess[i] = static_cast<std::int64_t>(alive[i]) - static_cast<std::int64_t>(limit);
  return excess;
}

/// Slots in which a tensor's bytes are free if it moves.
struct Window {
  std::uint32_t away = 0, back = 0;
  bool inside(const Window& other) const {
    return away >= back || (other.away <= away && back <= other.back);
  }
};

struct Candidate {
  IdleInterval interval;
  std::uint64_t bytes, id;
  std::array<Window, 2> windows{};  ///< by destination, as last found: they only shrink
};

/// Before others of equal rank: more bytes, lower id, earlier.
bool comes_first(const Candidate& one, const Candidate& other) {
  if (one.bytes != other.bytes) return one.bytes > other.bytes;
  if (one.id != other.id) return one.id < other.id;
  return one.interval.first < other.interval.first;
}

/// A candidate in the queue: higher rank first, then the order of choice.
struct Queued {
  double rank;
  std::uint32_t candidate;  ///< index in that order
  bool operator<(const Queued& other) const {
    return rank != other.rank ? rank < other.rank : candidate > other.candidate;
  }
};

/// Gives the first of a heap a rank that is not higher than it was; one without a rank leaves.
///   Result  whether it is still the first
bool stays_first(std::vector<Queued>& heap, double rank) {
  heap.front().rank = rank;
  if (rank <= 0) {
    heap.front() = heap.back();
    heap.pop_back();
  }
  std::size_t at = 0;
  while (2 * at + 1 < heap.size()) {
    std::size_t next = 2 * at + 1;
    if (next + 1 < heap.size() && heap[next] < heap[next + 1]) ++next;
    if (!(heap[at] < heap[next])) break;
    std::swap(heap[at], heap[next]);
    at = next;
  }
  return at == 0 && rank > 0;
}

/// A rank down to four bits behind its first: steps of 3 to 6 %.
double in_steps(double rank) {
  constexpr int bits_left_out = std::numeric_limits<double>::digits - 1 - 4;
  const auto bits = std::bit_cast<std::uint64_t>(rank);
  return std::bit_cast<double>(bits >> bits_left_out << bits_left_out);
}

class Greedy {
 public:
  Greedy(const Lifetimes& lifetimes, const PlanSettings& settings,
         const std::vector<std::int64_t>& ticks)
      : lifetimes_(lifetimes),
        settings_(settings),
        ticks_(ticks),
        pressure_(excess_of(alive_bytes(lifetimes), settings.capacity)),
        relief_(excess_of(alive_bytes(lifetimes), settings.capacity), ticks),
        host_(excess_of(std::vector<std::uint64_t>(ticks.size()), settings.host_limit.value_or(0))),
        bandwidth_(settings.channels, ticks),
        idle_(settings.channels, ticks),
        in_file_(lifetimes.tensors.size(), false),
        file_room_(settings.file_limit.value_or(0)) {
    begins_.push_back(0);
    for (int round = 0; round < 2; ++round)
      for (const std::int64_t length : ticks) begins_.push_back(begins_.back() + length);
  }

  Plan run() {
    Plan plan;
    plan.ticks = ticks_;
    choose(plan);
    plan.greedy_moves = plan.moves.size();
    plan.fits = pressure_.max() <= 0;
    if (settings_.drop_clean) drop_clean(plan);
    if (settings_.eager_prefetch) prefetch_early(plan);
    std::stable_sort(plan.moves.begin(), plan.moves.end(),
                     [](const Move& one, const Move& other) { return one.first < other.first; });
    for (std::uint32_t slot = 0; slot < lifetimes_.slots(); ++slot)
      plan.pressure.push_back(static_cast<std::uint64_t>(
          pressure_.at(slot) + static_cast<std::int64_t>(settings_.capacity)));
    return plan;
  }

 private:
  std::vector<Candidate> candidates(Plan& plan) const {
    std::vector<Candidate> found;
    for (const IdleInterval& interval : idle_intervals(lifetimes_)) {
      const LifetimeTensor& tensor = lifetimes_.tensors[interval.tensor];
      ++plan.intervals;
      if (tensor.bytes < settings_.min_tensor || interval.end - interval.first < 2) continue;
      if (settings_.destinations.empty()) continue;
      if (settings_.must_hide && !hides(interval, tensor.bytes)) continue;
      Candidate candidate{interval, tensor.bytes, tensor.id};
      for (const Destination at : settings_.destinations)
        candidate.windows[static_cast<std::size_t>(at)] = {interval.first, interval.end};
      found.push_back(candidate);
    }
    std::sort(found.begin(), found.end(), comes_first);
    return found;
  }

  void choose(Plan& plan) {
    std::vector<Candidate> all = candidates(plan);
    if (settings_.saturation == Saturation::device_time && allows(Destination::ssd))
      short_gap_ = longest_short_gap(all);
    std::vector<Queued> queue;
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      ++plan.evaluations;
      if (const double first = rank(all[i]); first > 0) queue.push_back({first, i});
    }
    std::make_heap(queue.begin(), queue.end());
    while (pressure_.max() > 0 && !queue.empty()) {
      Candidate& candidate = all[queue.front().candidate];
      // what its old windows would gain now is a bound without a look at the ledgers
      if (!stays_first(queue, bound(candidate))) continue;
      ++plan.evaluations;
      if (!stays_first(queue, rank(candidate))) continue;
      accept(candidate, plan);
      stays_first(queue, 0);
    }
  }

  /// The interval is longer than its tensor's way to the destination and back.
  bool hides(const IdleInterval& interval, std::uint64_t bytes) const {
    const auto length = static_cast<double>(begins_[interval.end] - begins_[interval.first]);
    return std::any_of(settings_.destinations.begin(), settings_.destinations.end(),
                       [&](Destination at) {
                         return settings_.channels.seconds(bytes, at) * ticks_per_second <= length;
                       });
  }

  bool has_room(const Candidate& candidate, Destination at) const {
    if (at == Destination::host)
      return !settings_.host_limit ||
             host_.at_most(candidate.interval.first, host_end(candidate.interval.end),
                           -sectors(candidate.bytes));
    return !settings_.file_limit || in_file_[candidate.interval.tensor] ||
           file_room_ >= static_cast<std::uint64_t>(sectors(candidate.bytes));
  }

  std::optional<Window> window(const Candidate& candidate, Destination at) const {
    if (!has_room(candidate, at)) return {};
    const auto bytes = static_cast<std::int64_t>(candidate.bytes);
    const auto [tensor, first, end] = candidate.interval;
    const auto last_out = bandwidth_.earliest_end(at, first, end, bytes);
    if (!last_out) return {};
    const auto first_in = bandwidth_.latest_start(at, first, end, bytes);
    if (!first_in || *last_out >= *first_in) return {};
    return Window{*last_out + 1, *first_in};
  }

  ByteTime gain(const Candidate& candidate, const Window& window) const {
    return relief_.of(window.away, window.back, static_cast<std::int64_t>(candidate.bytes));
  }

  bool gains(const Candidate& candidate, Destination at) const {
    const auto found = window(candidate, at);
    return found && found->away < found->back && gain(candidate, *found) > 0;
  }

  static std::array<Destination, 2> widest_first(const Candidate& candidate) {
    if (candidate.windows[0].inside(candidate.windows[1]))
      return {Destination::host, Destination::ssd};
    return {Destination::ssd, Destination::host};
  }

  /// Its rank by the windows known, which is not lower than its rank now.
  double bound(const Candidate& candidate) const {
    Window widest;
    ByteTime most = 0;
    for (const Destination at : widest_first(candidate)) {
      const Window& known = candidate.windows[static_cast<std::size_t>(at)];
      if (known.inside(widest)) continue;
      most = std::max(most, gain(candidate, known));
      widest = known;
    }
    return per_cost(candidate, most);
  }

  /// Its rank now. A window that even as last found lies inside another one gains nothing more.
  double rank(Candidate& candidate) const {
    Window widest;
    ByteTime most = 0;
    for (const Destination at : widest_first(candidate)) {
      Window& known = candidate.windows[static_cast<std::size_t>(at)];
      if (known.inside(widest)) continue;
      const bool file_may_exist_later = at == Destination::ssd;
      if (file_may_exist_later && !has_room(candidate, at)) continue;
      known = window(candidate, at).value_or(Window{});
      if (known.inside(widest)) continue;
      most = std::max(most, gain(candidate, known));
      widest = known;
    }
    return per_cost(candidate, most);
  }

  double per_cost(const Candidate& candidate, ByteTime most) const {
    return in_steps(static_cast<double>(most) /
                    settings_.channels.seconds(candidate.bytes, settings_.destinations.front()));
  }

  bool saturated(const Candidate& candidate) const {
    if (settings_.saturation != Saturation::ideal_finish) return false;  // its benefit is 0
    const auto [tensor, first, end] = candidate.interval;
    const auto ideal = idle_.earliest_end(Destination::ssd, first, end,
                                          static_cast<std::int64_t>(candidate.bytes));
    return !ideal || bandwidth_.free(Destination::ssd, Way::out, first, *ideal + 1) == 0;
  }

  bool allows(Destination at) const {
    const auto& all = settings_.destinations;
    return std::find(all.begin(), all.end(), at) != all.end();
  }

  std::int64_t length(const IdleInterval& interval) const {
    return begins_[interval.end] - begins_[interval.first];
  }

  std::int64_t longest_short_gap(const std::vector<Candidate>& all) const {
    std::vector<std::pair<std::int64_t, std::uint64_t>> gaps;
    for (const Candidate& each : all) gaps.emplace_back(length(each.interval), each.bytes);
    return short_gap(std::move(gaps), settings_.channels, ticks_);
  }

  Destination destination(const Candidate& candidate) const {
    if (!allows(Destination::ssd)) return Destination::host;
    if (!allows(Destination::host)) return Destination::ssd;
    if (settings_.saturation == Saturation::device_time &&
        length(candidate.interval) <= short_gap_ && gains(candidate, Destination::host))
      return Destination::host;
    const bool ssd = gains(candidate, Destination::ssd);
    if (ssd && !saturated(candidate)) return Destination::ssd;
    return gains(candidate, Destination::host) ? Destination::host : Destination::ssd;
  }

  void accept(const Candidate& candidate, Plan& plan) {
    const Destination at = destination(candidate);
    const auto found = window(candidate, at);
    ENSURE(found && found->away < found->back, "a candidate with a rank has no window");
    const auto [tensor, first, end] = candidate.interval;
    const auto bytes = static_cast<std::int64_t>(candidate.bytes);
    Move move;
    move.tensor = tensor;
    move.first = first;
    move.end = end;
    move.destination = at;
    move.away = found->away;
    move.back = found->back;
    move.out = bandwidth_.book_out(at, first, bytes);
    move.in = bandwidth_.book_in(at, end, bytes);
    if (at == Destination::host && settings_.host_limit)
      host_.add(first, host_end(end), sectors(candidate.bytes));
    if (at == Destination::ssd && !in_file_[tensor]) {
      in_file_[tensor] = true;
      if (settings_.file_limit) file_room_ -= static_cast<std::uint64_t>(sectors(candidate.bytes));
    }
    pressure_.add(move.away, move.back, -bytes);
    relief_.take(move.away, move.back, bytes);
    plan.moves.push_back(std::move(move));
  }

  /// A later use since `from`'s return wrote the tensor.
  bool written_between(const Move& from, const Move& to) const {
    const std::uint32_t slots = lifetimes_.slots();
    const std::uint32_t begin = from.end % slots;
    std::uint32_t end = to.first % slots;
    if (end <= begin) end += slots;
    for (const ActiveRange& range : lifetimes_.tensors[from.tensor].active)
      for (const std::uint32_t round : {0u, slots})
        if (range.writes && range.first + round < end && begin <= range.last + round) return true;
    return false;
  }

  /// Offloads of what has not changed since the last one: nothing to write, and away at once. The
  /// host keeps it meanwhile, where it has room.
  void drop_clean(Plan& plan) {
    std::vector<Move*> order;
    for (Move& move : plan.moves) order.push_back(&move);
    std::sort(order.begin(), order.end(), [](const Move* one, const Move* other) {
      return std::pair(one->tensor, one->first) < std::pair(other->tensor, other->first);
    });
    for (std::size_t begin = 0, end; begin < order.size(); begin = end) {
      for (end = begin; end < order.size() && order[end]->tensor == order[begin]->tensor; ++end) {
      }
      const bool persistent = lifetimes_.tensors[order[begin]->tensor].persistent;
      for (std::size_t i = begin; i < end; ++i) {
        if (i == begin && !persistent) continue;
        Move& before = *order[i == begin ? end - 1 : i - 1];
        Move& move = *order[i];
        if (move.destination != before.destination || written_between(before, move)) continue;
        if (move.destination == Destination::host && !keeps(before, move)) continue;
        drop(move);
      }
    }
  }

  /// Host memory has room for `before`'s tensor until `move`, and gives it.
  bool keeps(Move& before, const Move& move) {
    const std::uint32_t slots = lifetimes_.slots();
    const std::uint32_t first = host_end(before.end) % slots;
    const std::uint32_t gap = (move.first + slots - first) % slots;
    const std::int64_t bytes = sectors(lifetimes_.tensors[move.tensor].bytes);
    if (settings_.host_limit && gap > 0) {
      if (!host_.at_most(first, first + gap, -bytes)) return false;
      host_.add(first, first + gap, bytes);
    }
    before.held = host_end(before.end) + gap;
    return true;
  }

  void drop(Move& move) {
    bandwidth_.release(move.destination, Way::out, move.out);
    move.out.clear();
    move.clean = true;
    const auto bytes = static_cast<std::int64_t>(lifetimes_.tensors[move.tensor].bytes);
    pressure_.add(move.first, move.away, -bytes);
    move.away = move.first;
  }

  void prefetch_early(Plan& plan) {
    std::vector<Move*> order;
    for (Move& move : plan.moves) order.push_back(&move);
    std::stable_sort(order.begin(), order.end(),
                     [](const Move* one, const Move* other) { return one->back < other->back; });
    for (Move* move : order) {
      const auto bytes = static_cast<std::int64_t>(lifetimes_.tensors[move->tensor].bytes);
      std::uint32_t first = move->back;
      while (first > move->away + 1 && pressure_.at(first - 1) + bytes <= 0) --first;
      if (first == move->back) continue;
      bandwidth_.release(move->destination, Way::in, move->in);
      move->in = bandwidth_.book_in_early(move->destination, first, move->end, bytes);
      while (first % lifetimes_.slots() != move->in.front().slot) ++first;
      if (first < move->back) pressure_.add(first, move->back, bytes);
      move->back = std::min(first, move->back);
    }
  }

  const Lifetimes& lifetimes_;
  const PlanSettings& settings_;
  const std::vector<std::int64_t>& ticks_;
  PressureTree pressure_;
  Relief relief_;
  PressureTree host_;
  Bandwidth bandwidth_, idle_;
  std::vector<std::int64_t> begins_;  ///< of the slots of two steps
  std::int64_t short_gap_ = 0;
  std::vector<bool> in_file_;
  std::uint64_t file_room_;
};

}  // namespace

std::vector<std::int64_t> slot_ticks(const Lifetimes& lifetimes) {
  std::vector<std::int64_t> ticks;
  const auto& kernels = lifetimes.kernels;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const bool last = i + 1 == kernels.size();
    const double length =
        last ? kernels[i].duration_s : kernels[i + 1].start_s - kernels[i].start_s;
    ticks.push_back(static_cast<std::int64_t>(std::llround(length * ticks_per_second)));
  }
  return ticks;
}

double seconds_of(const std::vector<std::int64_t>& ticks) {
  return static_cast<double>(std::accumulate(ticks.begin(), ticks.end(), std::int64_t{0})) /
         ticks_per_second;
}

std::uint64_t Plan::bytes_to(Destination destination, const Lifetimes& lifetimes) const {
  std::uint64_t sum = 0;
  for (const Move& move : moves)
    if (move.destination == destination && !move.clean) sum += lifetimes.tensors[move.tensor].bytes;
  return sum;
}

std::uint64_t Plan::urgent_moves() const {
  return static_cast<std::uint64_t>(
      std::count_if(moves.begin(), moves.end(), [](const Move& move) { return move.urgent; }));
}

std::int64_t short_gap(std::vector<std::pair<std::int64_t, std::uint64_t>> gaps,
                       const Channels& channels, const std::vector<std::int64_t>& ticks) {
  std::sort(gaps.begin(), gaps.end(), std::greater<>());
  double left = channels.mixed_efficiency * seconds_of(ticks);
  for (const auto& [length, bytes] : gaps) {
    left -= channels.seconds(bytes, Destination::ssd);
    if (left < 0) return length;
  }
  return 0;
}

Plan plan_greedily(const Lifetimes& lifetimes, const PlanSettings& settings,
                   const std::vector<std::int64_t>& ticks) {
  return Greedy(lifetimes, settings, ticks).run();
}

}  // namespace spillway::strategies::planner
