#include "strategies/schedules/migrations.hpp"

#include <algorithm>
#include <deque>

namespace spillway::strategies {

namespace {
/// Chunks of a queue: the next hides the latency of one. Each way through staging has as many:
/// while one is on the link another is on the array.
constexpr std::size_t in_flight = 2;
constexpr std::size_t out_way = 0, in_way = 1;
}  // namespace

Migrations::Migrations(Machine& machine, Rank rank, const PlannedStep& step,
                       const planner::Plan& plan, const Ways& ways)
    : machine_(machine),
      rank_(rank),
      step_(step),
      plan_(plan),
      slots_(step.kernels.size()),
      capacity_(ways.capacity),
      chunk_(std::max(description::storage_sector,
                      ways.chunk / description::storage_sector * description::storage_sector)),
      bounces_(ways.bounces),
      link_is_short_(ways.link_is_short),
      homes_(step.tensors.size()),
      first_move_(step.tensors.size(), none),
      progress_(plan.moves.size()),
      offloads_(slots_),
      prefetches_(slots_),
      arrivals_(slots_),
      changed_(machine.scheduler()) {
  for (std::uint32_t i = 0; i < plan.moves.size(); ++i) {
    const planner::Move& move = plan.moves[i];
    offloads_[move.first].push_back(i);
    prefetches_[move.back % slots_].push_back(i);
    arrivals_[move.end % slots_].push_back(i);
    if (move.back >= slots_) first_move_[move.tensor] = i;
  }
}

std::uint64_t Migrations::length(std::uint32_t tensor) const {
  return description::in_sectors(step_.tensors[tensor].bytes);
}

Task<> Migrations::init() {
  // where GPU and host are one memory, tensors may have what neither uses otherwise
  const std::uint64_t free = machine_.usage(TierId::gpu, rank_).free;
  if (free > capacity_ && !machine_.topology().one_memory)
    headroom_ = machine_.leave_free(TierId::gpu, rank_, Bytes(free - capacity_));
  bool uses_ssd = false;
  for (std::uint32_t i = 0; i < plan_.moves.size(); ++i) {
    if (!on_ssd(i)) continue;
    uses_ssd = true;
    Home& home = homes_[tensor(i)];
    if (!home.file)
      home.file =
          co_await machine_.store(machine_.topology().home(rank_), rank_, Bytes(length(tensor(i))),
                                  step_.tensors[tensor(i)].purpose);
  }
  if (uses_ssd && bounces_)
    for (auto& way : staging_)
      for (Buffer& buffer : way)
        buffer =
            machine_.allocate_now(TierId::pinned, rank_, Bytes(chunk_), Purpose::bounce_buffers);
  std::vector<Queue> queues{Queue::host_out, Queue::host_in};
  if (link_is_short_) queues.insert(queues.begin(), {Queue::array_out, Queue::array_in});
  if (!link_is_short_) queues.insert(queues.begin(), Queue::array);
  for (const Queue queue : queues) queues_.push_back(machine_.spawn(work(queue)));
}

Task<> Migrations::stop() {
  stopping_ = true;
  changed();
  for (Pending<>& queue : queues_) co_await queue;
  queues_.clear();
}

void Migrations::changed() { changed_.set(); }

Task<> Migrations::allocate(std::vector<std::uint32_t> tensors) {
  if (tensors.empty()) co_return;
  std::vector<Wanted> wanted;
  for (const std::uint32_t i : tensors)
    wanted.push_back({Bytes(length(i)), step_.tensors[i].purpose});
  std::vector<Buffer> given = co_await machine_.allocate(TierId::gpu, rank_, std::move(wanted));
  for (std::size_t i = 0; i < tensors.size(); ++i) homes_[tensors[i]].gpu = std::move(given[i]);
}

void Migrations::free(std::uint32_t tensor) {
  homes_[tensor].gpu.reset();
  changed();
}

Task<> Migrations::place(std::uint32_t tensor) {
  const std::uint32_t move = first_move_[tensor];
  if (move == none) co_return;
  if (!on_ssd(move))
    homes_[tensor].host =
        machine_.allocate_now(TierId::pinned, rank_, Bytes(length(tensor)), Purpose::host_pool);
  for (std::uint64_t offset = 0; offset < length(tensor); offset += chunk_) {
    const Op moved = transfer(move, true, offset, std::min(chunk_, length(tensor) - offset));
    co_await moved;
  }
  progress_[move].place = Residency::away;
  free(tensor);
}

void Migrations::begin(std::uint64_t position) {
  const std::uint64_t slot = position % slots_;
  for (const std::uint32_t move : offloads_[slot]) offload(move, position);
  for (const std::uint32_t move : prefetches_[slot]) prefetch(move, position);
}

void Migrations::offload(std::uint32_t index, std::uint64_t position) {
  const planner::Move& move = plan_.moves[index];
  Progress& progress = progress_[index];
  ENSURE(progress.place == Residency::resident, "a tensor leaves that is not on the GPU");
  if (move.clean) {
    progress.place = Residency::away;
    free(move.tensor);
    return;
  }
  progress.place = Residency::queued;
  progress.due = position + move.away - move.first;
  progress.issued = 0;
  outs(index).insert({progress.due, index});
  changed();
}

void Migrations::prefetch(std::uint32_t index, std::uint64_t position) {
  const planner::Move& move = plan_.moves[index];
  Progress& progress = progress_[index];
  if (progress.place == Residency::resident) return;  // the first step began with it
  if (progress.place == Residency::queued) {          // its way out has not begun: it stays
    outs(index).erase({progress.due, index});
    progress.place = Residency::resident;
    return;
  }
  progress.wanted = true;
  progress.wish = position + move.end - move.back;
  if (progress.place == Residency::away) ask_back(index);
}

void Migrations::ask_back(std::uint32_t index) {
  Progress& progress = progress_[index];
  progress.due = progress.wish;
  progress.issued = 0;
  ins(index).insert({progress.due, index});
  changed();
}

Task<> Migrations::arrivals(std::uint64_t position) {
  for (const std::uint32_t move : arrivals_[position % slots_])
    while (progress_[move].place != Residency::resident) {
      changed_.reset();
      co_await changed_;
    }
}

/// The tensor begins to come back, where there is room for it beside what kernels wait for.
bool Migrations::find_room(std::uint32_t move) {
  const std::uint32_t which = tensor(move);
  std::optional<Buffer> room =
      machine_.try_allocate(TierId::gpu, rank_, Bytes(length(which)), step_.tensors[which].purpose);
  if (!room) return false;
  homes_[which].gpu = std::move(*room);
  progress_[move].place = Residency::arriving;
  return true;
}

/// The request that is due first, if it has room or finds it; else one that has.
std::optional<std::uint32_t> Migrations::next_in(const Requests& requests) {
  if (requests.empty()) return {};
  const std::uint32_t first = requests.begin()->second;
  if (progress_[first].place == Residency::arriving || find_room(first)) return first;
  for (const auto& [due, other] : requests)
    if (progress_[other].place == Residency::arriving) return other;
  return {};
}

/// What the queue is to do next: in either direction what is due first, and of two the one that
/// leaves.
std::optional<std::uint32_t> Migrations::pick(Queue queue) {
  const bool host = queue == Queue::host_out || queue == Queue::host_in;
  const bool comes_only = queue == Queue::host_in || queue == Queue::array_in;
  const bool leaves_only = queue == Queue::host_out || queue == Queue::array_out;
  const Requests& out = host ? host_out_ : ssd_out_;
  const Requests& in = host ? host_in_ : ssd_in_;
  const std::optional<std::uint32_t> leaves =
      comes_only || out.empty() ? std::nullopt : std::optional(out.begin()->second);
  if (leaves_only || in.empty()) return leaves;
  // a tensor takes room only when it is its turn
  if (leaves && due(*leaves) <= in.begin()->first) return leaves;
  const std::optional<std::uint32_t> comes = next_in(in);
  if (!leaves || !comes) return leaves ? leaves : comes;
  return due(*leaves) <= due(*comes) ? leaves : comes;
}

Task<> Migrations::work(Queue queue) {
  std::deque<Flying> flying;
  const std::size_t most = bounces_ && queue == Queue::array ? 2 * in_flight : in_flight;
  for (;;) {
    const auto move = stopping_ || flying.size() == most ? std::nullopt : pick(queue);
    if (move) {
      flying.push_back(issue(*move));
      continue;
    }
    if (!flying.empty()) {
      const Flying first = flying.front();
      flying.pop_front();
      co_await first.op;
      if (first.last) land(first.move);
      continue;
    }
    if (stopping_) co_return;
    changed_.reset();
    co_await changed_;
  }
}

Migrations::Flying Migrations::issue(std::uint32_t index) {
  Progress& progress = progress_[index];
  const std::uint32_t which = tensor(index);
  if (progress.place == Residency::queued) {
    progress.place = Residency::leaving;
    if (!on_ssd(index))
      homes_[which].host =
          machine_.allocate_now(TierId::pinned, rank_, Bytes(length(which)), Purpose::host_pool);
  }
  const bool out = progress.place == Residency::leaving;
  const std::uint64_t offset = progress.issued;
  const std::uint64_t bytes = std::min(chunk_, length(which) - offset);
  progress.issued += bytes;
  Flying flying;
  flying.op = transfer(index, out, offset, bytes);
  flying.move = index;
  flying.last = progress.issued == length(which);
  if (flying.last) (out ? outs(index) : ins(index)).erase({progress.due, index});
  return flying;
}

Op Migrations::transfer(std::uint32_t move, bool out, std::uint64_t offset, std::uint64_t bytes) {
  const Home& home = homes_[tensor(move)];
  const View gpu = home.gpu.view(offset, bytes);
  if (!on_ssd(move)) {
    const View host = home.host.view(offset, bytes);
    return out ? machine_.copy(rank_, host, gpu) : machine_.copy(rank_, gpu, host);
  }
  if (bounces_) return bounce(tensor(move), out, offset, bytes);
  const Range range{offset, bytes};
  return out ? machine_.write(rank_, home.file, range, gpu)
             : machine_.read(rank_, home.file, range, gpu);
}

Op Migrations::bounce(std::uint32_t tensor, bool out, std::uint64_t offset, std::uint64_t bytes) {
  const Home& home = homes_[tensor];
  const std::size_t way = out ? out_way : in_way;
  const std::uint64_t place = turn_[way]++ % 2;
  const View staging = staging_[way][place].view(0, bytes);
  const View gpu = home.gpu.view(offset, bytes);
  const Range range{offset, bytes};
  Op& last = staged_[way][place];
  // one after the other into staging: side by side they would end together, and the array and the
  // link work by turns
  Op& into = into_staging_[way];
  if (out) {
    into = machine_.copy(rank_, staging, gpu, {last, into});
    last = machine_.write(rank_, home.file, range, staging, into);
  } else {
    into = machine_.read(rank_, home.file, range, staging, {last, into});
    last = machine_.copy(rank_, gpu, staging, into);
  }
  return last;
}

void Migrations::land(std::uint32_t index) {
  Progress& progress = progress_[index];
  if (progress.place == Residency::arriving) {
    progress.place = Residency::resident;
    progress.wanted = false;
    homes_[tensor(index)].host.reset();
    changed();
    return;
  }
  progress.place = Residency::away;
  free(tensor(index));
  if (progress.wanted) ask_back(index);
}

Task<Buffer> Migrations::fetch(std::uint32_t which) {
  // of the tensor's moves one at most is not resident
  std::uint32_t gone = none;
  for (std::uint32_t i = 0; i < plan_.moves.size(); ++i)
    if (tensor(i) == which &&
        (progress_[i].place == Residency::away || progress_[i].place == Residency::arriving))
      gone = i;
  if (gone != none && !on_ssd(gone)) co_return std::move(homes_[which].host);
  Buffer landing =
      machine_.allocate_now(TierId::pinned, rank_, Bytes(length(which)), Purpose::bounce_buffers);
  Op brought;
  if (gone == none)
    brought = machine_.copy(rank_, landing.view(), homes_[which].gpu.view());
  else
    brought = machine_.read(rank_, homes_[which].file, Range{0, length(which)}, landing.view());
  co_await brought;
  co_return std::move(landing);
}

}  // namespace spillway::strategies
