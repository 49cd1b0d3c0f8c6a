#include "sim/sim_machine.hpp"

#include "strategies/machine/setup.hpp"

#include <algorithm>

namespace spillway::sim {

using strategies::Operation;

namespace {

void take_off_mixes(SimOperation& operation) {
  for (int* in_flight : operation.counted) --*in_flight;
  operation.counted.clear();
}

/// Puts what is planned on the mixes in place of what was in flight.
void put_on_mixes(SimOperation& operation) {
  take_off_mixes(operation);
  for (const PlannedTransfer& planned : operation.planned) {
    if (!planned.access) continue;
    for (Mix* mix : {planned.access->storage, planned.access->process})
      if (mix) operation.counted.push_back(&mix->in_flight[planned.path.level]);
  }
  for (int* in_flight : operation.counted) ++*in_flight;
}

/// With the nodes that the run uses: they alone share the machine's file systems.
description::Scenario in_use(description::Scenario scenario) {
  scenario.machine.nodes = scenario.nodes_in_use();
  return scenario;
}

/// Copies of one way of a GPU follow one another, as on a device's own stream for them.
strategies::MachineSetup with_copy_streams(strategies::MachineSetup setup) {
  setup.in_turn.copies = true;
  return setup;
}

}  // namespace

SimMachine::SimMachine(const description::Scenario& scenario, bool trace, strategies::Fold fold)
    : Machine(with_copy_streams(strategies::setup_for(scenario, true, trace, fold))),
      scenario_(in_use(scenario)),
      engine_(static_cast<Listener&>(*this)),
      platform_(scenario_, topology().ranks, topology().alike),
      launched_s_(topology().ranks),
      gpus_(topology().ranks) {
  if (scenario_.strategy.io_engine != description::IoEngine::buffered) return;
  const description::HostSpec& host = scenario_.machine.host;
  pages_.assign(topology().simulated_nodes(), PageCache(host.dirty_background, host.dirty_limit));
  flushes_.resize(pages_.size());
  for (auto& of_node : flushes_) of_node.resize(scenario_.machine.storage.size());
}

SimMachine::~SimMachine() { cancel_all(); }

std::unique_ptr<Operation> SimMachine::make_operation() const {
  return std::make_unique<SimOperation>();
}

// ---- Time passes

void SimMachine::loop() {
  engine_.run();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

double SimMachine::before_jump(double now_s) noexcept {
  now_s_ = now_s;
  try {
    for (;;) {
      if (takes_too_long()) is_too_long();
      if (stopped()) {
        engine_.stop();
        return 0;
      }
      fire_timers();
      if (ended_.empty() && scheduler_.idle() &&
          !(in_flight_.empty() && timers_.empty() && grow_for_waiting()))
        break;
      if (ended_.size() > 1)
        std::sort(ended_.begin(), ended_.end(),
                  [](const auto* a, const auto* b) { return a->number < b->number; });
      std::vector<SimOperation*> now;
      now.swap(ended_);
      for (SimOperation* operation : now) settle(*operation);
      now.clear();
      if (ended_.empty()) ended_.swap(now);  // keeps its capacity
      scheduler_.drain();
    }
  } catch (...) {
    // through SimGrid's frames it would end the process later on
    failure_ = std::current_exception();
    engine_.stop();
    return 0;
  }
  return timers_.empty() ? -1.0 : std::max(0.0, timers_.front().at_s - now_s);
}

void SimMachine::fire_timers() {
  while (!timers_.empty() && timers_.front().at_s <= now_s_) {
    std::pop_heap(timers_.begin(), timers_.end());
    SimOperation& operation = *timers_.back().operation;
    timers_.pop_back();
    if (goes_on(operation)) continue;
    if (operation.planned.empty())
      ended_.push_back(&operation);
    else
      start_transfers(operation);
  }
}

void SimMachine::completed(void* tag) noexcept {
  auto& operation = *static_cast<SimOperation*>(tag);
  if (--operation.transfers_left == 0) ended_.push_back(&operation);
}

/// The operation, or the round that it stands for, is over: releases what it used of the model.
void SimMachine::settle(SimOperation& operation) {
  if (!operation.later.empty()) {
    operation.planned.swap(operation.later);
    return transfer(operation);
  }
  if (operation.flush) return written_back(operation);
  if (must_wait(operation)) return;
  take_off(operation);
  if (platform_.shares_host()) stretch_kernels(operation);
  if (operation.round)
    finish(*operation.round);
  else
    finish(operation);
}

/// Kernels that had to share took longer, each by as much.
void SimMachine::stretch_kernels(SimOperation& operation) const {
  double alone = 0;
  for (const strategies::LoggedKernel& kernel : operation.kernels) alone += kernel.seconds;
  if (alone == 0) return;
  const double factor = (now_s_ - operation.timing.started_s) / alone;
  for (strategies::LoggedKernel& kernel : operation.kernels) kernel.seconds *= factor;
}

void SimMachine::take_off(SimOperation& operation) {
  take_off_mixes(operation);
  if (std::exchange(operation.team, false)) platform_.count_team(operation.rank, -1);
  for (SlcCache* cache : operation.caches) cache->ended(now_s_);
  operation.caches.clear();
  operation.transfers.clear();
  operation.planned.clear();
  operation.later.clear();
  SimOperation* last = in_flight_.back();
  last->slot = operation.slot;
  in_flight_[operation.slot] = last;
  in_flight_.pop_back();
}

void SimMachine::cancel_all() {
  timers_.clear();
  for (Gpu& gpu : gpus_) gpu.computes = nullptr;
  ended_.clear();
  held_up_.clear();
  while (!in_flight_.empty()) {
    SimOperation& operation = *in_flight_.back();
    for (auto& transfer : operation.transfers) {
      transfer->set_data(nullptr);
      if (transfer->get_state() == simgrid::s4u::Activity::State::STARTED) transfer->cancel();
      cancelled_.push_back(std::move(transfer));
    }
    operation.transfers_left = 0;
    take_off(operation);
  }
}

// ---- Timers and transfers

/// Evenly within run.jitter of 1, by the seed and the operation's number (splitmix64): latencies
/// stay as they are.
double SimMachine::stretch_of(const SimOperation& operation) const {
  const description::RunLength& run = scenario_.run;
  if (run.jitter == 0) return 1;
  std::uint64_t bits = (run.seed << 32 ^ operation.number) + 0x9e3779b97f4a7c15;
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
  bits ^= bits >> 31;
  return 1 + run.jitter * (static_cast<double>(bits >> 11) * 0x1p-52 - 1);
}

void SimMachine::put_on(SimOperation& operation) {
  operation.slot = in_flight_.size();
  in_flight_.push_back(&operation);
}

/// Ends in `seconds`, or starts then what is planned.
void SimMachine::set_timer(SimOperation& operation, double seconds) {
  put_on(operation);
  add_timer(operation, seconds);
}

void SimMachine::add_timer(SimOperation& operation, double seconds) {
  timers_.push_back({now_s_ + seconds, operation.number, &operation});
  std::push_heap(timers_.begin(), timers_.end());
}

/// Starts what is planned, `seconds` from now.
void SimMachine::transfer_after(SimOperation& operation, double seconds) {
  if (seconds > 0) return set_timer(operation, seconds);
  put_on(operation);
  start_transfers(operation);
}

void SimMachine::start_transfers(SimOperation& operation) {
  if (operation.kind == strategies::OperationKind::write) take_from_cache(operation);
  transfer(operation);
}

/// What finds no room in an SLC cache is written after the rest, and slowly.
void SimMachine::take_from_cache(SimOperation& operation) {
  for (PlannedTransfer& planned : operation.planned) {
    if (!planned.access || !planned.access->cache) continue;
    const double fast = planned.access->cache->admit(planned.bytes);
    if (fast == planned.bytes) continue;
    meets_full_cache();
    PlannedTransfer slow = planned;
    slow.path = planned.slow;
    slow.bound_bytes_per_s = planned.slow_bound_bytes_per_s;
    slow.bytes = planned.bytes - fast;
    planned.bytes = fast;
    operation.later.push_back(slow);
  }
  std::erase_if(operation.planned, [](const PlannedTransfer& each) { return each.bytes == 0; });
  if (operation.planned.empty()) operation.planned.swap(operation.later);
}

void SimMachine::transfer(SimOperation& operation) {
  operation.transfers.clear();
  operation.transfers_left = operation.planned.size();
  put_on_mixes(operation);  // first: a mix counts when its transfers' rates are shared out
  for (const PlannedTransfer& planned : operation.planned)
    operation.transfers.push_back(engine_.transfer(
        planned.path.from, planned.path.to, operation.stretch * planned.bytes,
        planned.bound_bytes_per_s, planned.path.weight, static_cast<void*>(&operation)));
  operation.planned.clear();
}

}  // namespace spillway::sim
