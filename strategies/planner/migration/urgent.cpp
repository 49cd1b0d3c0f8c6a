#include "strategies/planner/migration/urgent.hpp"

#include "scenarios/description/units.hpp"
#include "strategies/planner/migration/pressure.hpp"

#include <algorithm>
#include <array>

namespace spillway::strategies::planner {

namespace {

constexpr std::uint32_t none = ~std::uint32_t{0};

/// An idle interval, and the move that uses it.
struct Idle {
  IdleInterval interval;
  std::uint32_t move = none;
};

class Urgent {
 public:
  Urgent(const Lifetimes& lifetimes, const PlanSettings& settings, Plan& plan)
      : lifetimes_(lifetimes),
        settings_(settings),
        plan_(plan),
        slots_(lifetimes.slots()),
        pressure_(excess()),
        host_(std::vector<std::int64_t>(
            slots_, -static_cast<std::int64_t>(settings.host_limit.value_or(0)))),
        in_file_(lifetimes.tensors.size(), false),
        file_room_(settings.file_limit.value_or(0)) {
    begins_.push_back(0);
    for (int round = 0; round < 2; ++round)
      for (const std::int64_t length : plan.ticks) begins_.push_back(begins_.back() + length);
    for (const Move& move : plan.moves) reserve(move);
    find_idle();
  }

  void run() {
    for (std::uint32_t slot = 0; slot < slots_ && !plan_.shortage; ++slot) {
      std::erase_if(open_, [&](const Position& at) { return at.end() <= at.slot(slot, slots_); });
      for (const std::uint32_t idle : begin_[slot]) open_.push_back({&idle_[idle], false});
      if (pressure_.at(slot) > 0) relieve(slot);
    }
    for (std::uint32_t slot = 0; slot < slots_; ++slot)
      plan_.pressure[slot] = static_cast<std::uint64_t>(
          pressure_.at(slot) + static_cast<std::int64_t>(settings_.capacity));
  }

 private:
  /// An interval that the sweep is in; `round`: behind the end of the step.
  struct Position {
    Idle* idle;
    bool round;
    std::uint32_t slot(std::uint32_t slot, std::uint32_t slots) const {
      return round ? slot + slots : slot;
    }
    std::uint32_t end() const { return idle->interval.end; }
  };

  std::vector<std::int64_t> excess() const {
    std::vector<std::int64_t> over;
    for (const std::uint64_t bytes : plan_.pressure)
      over.push_back(static_cast<std::int64_t>(bytes) -
                     static_cast<std::int64_t>(settings_.capacity));
    return over;
  }

  std::uint64_t bytes(const Idle& idle) const {
    return lifetimes_.tensors[idle.interval.tensor].bytes;
  }

  void reserve(const Move& move) {
    const std::uint64_t size = description::in_sectors(lifetimes_.tensors[move.tensor].bytes);
    if (move.destination == Destination::host)
      host_.add(move.first, host_end(move), static_cast<std::int64_t>(size));
    else if (!in_file_[move.tensor]) {
      in_file_[move.tensor] = true;
      file_room_ -= std::min(file_room_, size);
    }
  }

  void find_idle() {
    for (const IdleInterval& interval : idle_intervals(lifetimes_))
      if (lifetimes_.tensors[interval.tensor].bytes >= settings_.min_tensor)
        idle_.push_back({interval});
    const auto before = [](const Idle& one, const IdleInterval& other) {
      return std::pair(one.interval.tensor, one.interval.first) <
             std::pair(other.tensor, other.first);
    };
    std::sort(idle_.begin(), idle_.end(),
              [&](const Idle& one, const Idle& other) { return before(one, other.interval); });
    for (std::uint32_t i = 0; i < plan_.moves.size(); ++i) {
      const Move& move = plan_.moves[i];
      std::lower_bound(idle_.begin(), idle_.end(), IdleInterval{move.tensor, move.first, move.end},
                       before)
          ->move = i;
    }
    begin_.resize(slots_);
    for (std::uint32_t i = 0; i < idle_.size(); ++i) {
      begin_[idle_[i].interval.first].push_back(i);
      if (idle_[i].interval.end > slots_) open_.push_back({&idle_[i], true});
    }
  }

  void relieve(std::uint32_t slot) {
    std::vector<Position> leaving, staying, arriving;
    for (const Position& at : open_) {
      const std::uint32_t now = at.slot(slot, slots_);
      if (at.idle->move == none)
        staying.push_back(at);
      else if (now < plan_.moves[at.idle->move].away)
        leaving.push_back(at);
      else if (now >= plan_.moves[at.idle->move].back)
        arriving.push_back(at);
    }
    for (const Position& at : leaving) {
      if (pressure_.at(slot) <= 0) return;
      hurry(at, at.slot(slot, slots_));
    }
    const auto worth = [&](const Position& at) {
      const std::int64_t left = begins_[at.end()] - begins_[at.slot(slot, slots_)];
      return static_cast<double>(bytes(*at.idle)) * static_cast<double>(left);
    };
    std::stable_sort(staying.begin(), staying.end(), [&](const Position& one, const Position& two) {
      return worth(one) > worth(two);
    });
    for (const Position& at : staying) {
      if (pressure_.at(slot) <= 0) return;
      send_away(at, at.slot(slot, slots_));
    }
    for (const Position& at : arriving) {
      if (pressure_.at(slot) <= 0) return;
      hold_back(at, at.slot(slot, slots_));
    }
    if (pressure_.at(slot) > 0) give_up(slot);
  }

  void hurry(const Position& at, std::uint32_t now) {
    Move& move = plan_.moves[at.idle->move];
    pressure_.add(now, move.away, -static_cast<std::int64_t>(bytes(*at.idle)));
    move.away = now;
    move.urgent = true;
  }

  void hold_back(const Position& at, std::uint32_t now) {
    Move& move = plan_.moves[at.idle->move];
    pressure_.add(move.back, now + 1, -static_cast<std::int64_t>(bytes(*at.idle)));
    move.back = now + 1;
    move.urgent = true;
  }

  bool allowed(Destination destination) const {
    const auto& all = settings_.destinations;
    return std::find(all.begin(), all.end(), destination) != all.end();
  }

  bool has_room(const Idle& idle, Destination at) const {
    const std::uint64_t size = description::in_sectors(bytes(idle));
    if (at == Destination::ssd)
      return !settings_.file_limit || in_file_[idle.interval.tensor] || file_room_ >= size;
    return !settings_.host_limit || host_.at_most(idle.interval.first, host_end(idle.interval.end),
                                                  -static_cast<std::int64_t>(size));
  }

  double now_s(std::uint32_t slot) const {
    return static_cast<double>(begins_[slot]) / ticks_per_second;
  }

  /// When the link out of the GPU has taken a tensor that leaves from slot `now` on.
  double off_link(const Idle& idle, std::uint32_t now) const {
    const auto& rate = settings_.channels.link_out;
    return rate ? std::max(now_s(now), link_until_) + static_cast<double>(bytes(idle)) / *rate : 0;
  }

  /// When it is away. Urgent tensors of a destination queue, and an array that brings back what
  /// left before cannot write meanwhile.
  double away_at(const Idle& idle, Destination at, std::uint32_t now) const {
    const double start = std::max(now_s(now), busy_until_[static_cast<std::size_t>(at)]);
    return settings_.channels.latency(at) +
           std::max(off_link(idle, now),
                    start + static_cast<double>(bytes(idle)) / settings_.channels.out(at));
  }

  void queue(const Idle& idle, Destination at, std::uint32_t now) {
    const double back =
        at == Destination::ssd ? static_cast<double>(bytes(idle)) / settings_.channels.in(at) : 0;
    busy_until_[static_cast<std::size_t>(at)] = away_at(idle, at, now) + back;
    link_until_ = off_link(idle, now);
  }

  /// Where it is away first.
  std::optional<Destination> destination(const Idle& idle, std::uint32_t now) {
    std::optional<Destination> best;
    for (const Destination at : {Destination::host, Destination::ssd}) {
      if (!allowed(at) || settings_.channels.out(at) <= 0 || settings_.channels.in(at) <= 0)
        continue;
      if (!has_room(idle, at)) {
        full_ = at == Destination::ssd ? Shortage::Tier::ssd : Shortage::Tier::host;
        continue;
      }
      if (!best || away_at(idle, at, now) < away_at(idle, *best, now)) best = at;
    }
    return best;
  }

  void send_away(const Position& at, std::uint32_t now) {
    const auto where = destination(*at.idle, now);
    if (!where) return;
    queue(*at.idle, *where, now);
    const std::uint64_t size = bytes(*at.idle);
    const auto way_back =
        static_cast<std::int64_t>((static_cast<double>(size) / settings_.channels.in(*where) +
                                   settings_.channels.latency(*where)) *
                                  ticks_per_second);
    const std::int64_t latest = begins_[at.end()] - way_back;
    const auto slot = std::upper_bound(begins_.begin(), begins_.begin() + at.end(), latest);
    Move move;
    move.tensor = at.idle->interval.tensor;
    move.first = at.idle->interval.first;
    move.end = at.end();
    move.destination = *where;
    move.away = now;
    move.back = std::max(now + 1, static_cast<std::uint32_t>(slot - begins_.begin()));
    if (move.back > now + 1) --move.back;  // the slot in which that instant lies
    move.urgent = true;
    pressure_.add(move.away, move.back, -static_cast<std::int64_t>(size));
    reserve(move);
    at.idle->move = static_cast<std::uint32_t>(plan_.moves.size());
    plan_.moves.push_back(std::move(move));
  }

  void give_up(std::uint32_t slot) {
    plan_.shortage = shortage_at(lifetimes_, slot, pressure_.at(slot));
    plan_.shortage->tier = full_.value_or(Shortage::Tier::gpu);
  }

  const Lifetimes& lifetimes_;
  const PlanSettings& settings_;
  Plan& plan_;
  std::uint32_t slots_;
  PressureTree pressure_, host_;
  std::vector<bool> in_file_;
  std::uint64_t file_room_;
  std::array<double, 2> busy_until_{};  ///< seconds of the plan, by destination
  double link_until_ = 0;               ///< likewise, out of the GPU
  std::vector<std::int64_t> begins_;
  std::vector<Idle> idle_;
  std::vector<std::vector<std::uint32_t>> begin_;  ///< by slot: index into idle_
  std::vector<Position> open_;
  std::optional<Shortage::Tier> full_;
};

}  // namespace

Shortage shortage_at(const Lifetimes& lifetimes, std::uint32_t slot, std::int64_t excess) {
  Shortage shortage;
  shortage.slot = slot;
  for (std::uint32_t i = 0; i < lifetimes.tensors.size(); ++i) {
    const LifetimeTensor& tensor = lifetimes.tensors[i];
    const bool used = std::any_of(
        tensor.active.begin(), tensor.active.end(),
        [&](const ActiveRange& range) { return range.first <= slot && slot <= range.last; });
    if (!used || tensor.bytes <= shortage.asked) continue;
    shortage.asked = tensor.bytes;
    shortage.tensor = i;
  }
  shortage.free = static_cast<std::uint64_t>(
      std::max<std::int64_t>(0, static_cast<std::int64_t>(shortage.asked) - excess));
  return shortage;
}

void make_room(const Lifetimes& lifetimes, const PlanSettings& settings, Plan& plan) {
  Urgent(lifetimes, settings, plan).run();
  std::stable_sort(plan.moves.begin(), plan.moves.end(),
                   [](const Move& one, const Move& other) { return one.first < other.first; });
}

}  // namespace spillway::strategies::planner
