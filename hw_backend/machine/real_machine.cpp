#include "hw_backend/machine/real_machine.hpp"

#include "hw_backend/device/interrupt.hpp"
#include "hw_backend/machine/real_operation.hpp"
#include "strategies/machine/kernel_time.hpp"
#include "strategies/machine/setup.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace spillway::hw_backend {

using strategies::Operation;
using strategies::Rank;

namespace {

strategies::MachineSetup real_setup(const description::Scenario& scenario, bool trace) {
  strategies::MachineSetup setup = strategies::setup_for(scenario, true, trace);
  setup.exact_time = false;
  return setup;
}

/// Steps a run may have: those it asks for, and as many again while it looks for a steady state.
std::size_t most_steps(const description::Scenario& scenario) {
  return scenario.run.warmup_steps + scenario.run.steps + 32;
}

std::string what_it_is(const Operation& operation) {
  using strategies::OperationKind;
  switch (operation.kind) {
    case OperationKind::read:
      return "a read from storage";
    case OperationKind::write:
      return "a write to storage";
    case OperationKind::copy_to_gpu:
      return "a copy to the GPU";
    case OperationKind::copy_to_host:
      return "a copy from the GPU";
    case OperationKind::copy_on_gpu:
      return "a copy on the GPU";
    case OperationKind::copy_on_host:
      return "a copy in host memory";
    case OperationKind::send:
      return "a hand-over to another GPU";
    case OperationKind::gpu_kernels:
      return operation.kernels.empty() ? "kernels"
                                       : "kernel \"" + std::string(operation.kernels[0].name) + '"';
    case OperationKind::cpu_kernel:
      return "work of the CPU";
    case OperationKind::storage_kernel:
      return "work inside a storage";
    case OperationKind::collective:
      return std::string(to_string(operation.round->what));
  }
  return "an operation";
}

bool is_on_device(strategies::OperationKind kind) {
  using strategies::OperationKind;
  switch (kind) {
    case OperationKind::read:
    case OperationKind::write:
    case OperationKind::copy_on_host:
    case OperationKind::cpu_kernel:
    case OperationKind::storage_kernel:
      return false;
    case OperationKind::copy_to_gpu:
    case OperationKind::copy_to_host:
    case OperationKind::copy_on_gpu:
    case OperationKind::gpu_kernels:
    case OperationKind::collective:
    case OperationKind::send:
      return true;
  }
  return true;
}

/// Cores that play paced GPUs too give way to them: a copy that a core holds up for a moment is
/// late by more than its slack, while whole updates hardly notice.
int after_devices(const RealOptions& options) { return options.paced ? 10 : 0; }

}  // namespace

RealMachine::RealMachine(const description::Scenario& scenario,
                         const strategies::Prepared& prepared, RealOptions options,
                         IoEngine& engine, MemoryBudget& memory,
                         const std::vector<std::unique_ptr<Device>>& devices)
    : Machine(real_setup(scenario, options.trace)),
      scenario_(scenario),
      prepared_(prepared),
      options_(std::move(options)),
      engine_(engine),
      devices_(devices),
      lowering_{&prepared.model, &prepared.program, scenario.run.seed},
      pinned_(memory, true,
              {[this](std::byte* at, std::uint64_t bytes) {
                 count_pin();
                 for (const auto& device : devices_) device->pin(at, bytes);
               },
               [this](std::byte* at) {
                 count_pin();
                 for (const auto& device : devices_) device->unpin(at);
               }}),
      pageable_(memory, false),
      memory_(memory),
      team_(usable_cores(), best_isa(), after_devices(options_)),
      cores_(after_devices(options_)) {
  ENSURE(devices_.size() == topology().ranks, "a device a rank");
  lowering_.shared = shared_matrices(lowering_, scenario);
  for (const models::WeightTensor& weight : prepared_.model.weights)
    trained_.masters.emplace_back(scenario_.run.checkpoint ? weight.parameters.value() : 0);
  const std::size_t losses =
      most_steps(scenario) * topology().ranks * scenario.training.gradient_accumulation;
  losses_ = {reinterpret_cast<double*>(pinned_.take(losses * sizeof(double))), losses};
  std::fill(losses_.begin(), losses_.end(), 0.0);
  open_storages();
  open_arenas();
}

RealMachine::~RealMachine() {
  cancel_all();
  if (!memory_lost_)
    pinned_.give_back(reinterpret_cast<std::byte*>(losses_.data()), losses_.size_bytes());
  for (std::unique_ptr<DeviceArena>& arena : arenas_) {
    if (!arena) continue;
    engine_.unregister_device_memory(arena->base());
    if (memory_lost_) static_cast<void>(arena.release());
  }
  for (Storage& storage : storages_)
    for (Target* drive : storage.drives) engine_.detach(*drive);
}

std::unique_ptr<Operation> RealMachine::make_operation() const {
  return std::make_unique<RealOperation>();
}

double RealMachine::now_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

WorkContext RealMachine::context_of(Rank rank) const {
  const description::Parallel& parallel = scenario_.parallel;
  const std::uint64_t replica = rank.index / parallel.tensor % parallel.replicas();
  return {&lowering_, &scenario_, static_cast<std::uint32_t>(replica / parallel.context),
          static_cast<std::uint32_t>(replica % parallel.context),
          static_cast<std::uint32_t>(rank.index % parallel.tensor)};
}

// ---- The loop

void RealMachine::loop() {
  scheduler_.drain();
  double last_news_s = now_s();
  while (!stopped()) {
    if (under_way_.empty()) return;  // nothing can happen any more
    const std::vector<Completion> completions = engine_.wait(std::min(1.0, options_.answer_s));
    stop_if_interrupted();
    for (const Completion& completion : completions) {
      auto& operation = *static_cast<RealOperation*>(completion.tag);
      if (completion.error && !operation.failure) operation.failure = completion.error;
      if (--operation.parts_left == 0) settling_.push_back({&operation, {operation.failure}});
    }
    take_ended();
    const bool news = !settling_.empty() || !completions.empty();
    if (!news && now_s() - last_news_s >= options_.answer_s) no_answer();
    std::vector<Ended> settled;
    settled.swap(settling_);
    for (const Ended& each : settled) settle(*each.operation, each.end);
    scheduler_.drain();
    watch_memory();
    if (news) last_news_s = now_s();  // what the loop itself took is no silence of a device
  }
}

/// "a copy to the GPU of rank 1": the oldest, of those on that rank's device or of all.
std::string RealMachine::first_under_way(std::optional<Rank> on_device_of) const {
  const Operation* oldest = nullptr;
  for (const RealOperation* each : under_way_)
    if ((!on_device_of || (each->rank == *on_device_of && is_on_device(each->kind))) &&
        (!oldest || each->number < oldest->number))
      oldest = each;
  if (!oldest) return "no operation";
  return fmt::format("{} of rank {}", what_it_is(*oldest), oldest->rank.index);
}

void RealMachine::no_answer() const {
  throw description::DeviceError(fmt::format(
      "nothing ended for {:g} s while {} operations are under way, {} the first: a device or "
      "worker stopped answering",
      options_.answer_s, under_way_.size(), first_under_way({})));
}

/// What workers and devices have ended since the last time, in that order.
void RealMachine::take_ended() {
  const std::lock_guard lock(ended_mutex_);
  settling_.insert(settling_.end(), ended_.begin(), ended_.end());
  ended_.clear();
}

void RealMachine::settle(RealOperation& operation, const JobEnd& end) {
  if (operation.state == Operation::State::waiting) {  // `start` is still to come
    operation.ended = end;
    return;
  }
  if (operation.kind == strategies::OperationKind::storage_kernel && !end.error &&
      go_on_inside(operation))
    return;
  under_way_.erase(&operation);
  operation.call = 0;
  operation.inside.parts.clear();
  if (operation.kind == strategies::OperationKind::gpu_kernels && !paces(operation) && !end.error)
    divide_time(operation, end);
  const std::optional<strategies::Ran> ran = when(operation, end);
  if (operation.round)
    finish(*operation.round, end.error, ran);
  else
    finish(operation, end.error, ran);
}

/// By the clock of who did it; none: what the loop saw, as of transfers and work in several stages.
/// Another clock's error may not make an operation begin before what it waited for, or end later
/// than now.
std::optional<strategies::Ran> RealMachine::when(const RealOperation& operation,
                                                 const JobEnd& end) const {
  if (end.finished_s == 0 || operation.kind == strategies::OperationKind::storage_kernel)
    return std::nullopt;
  const double begin_s = std::chrono::duration<double>(start_.time_since_epoch()).count();
  double earliest = 0;
  for (const Operation* on : operation.dependencies)
    earliest = std::max(earliest, on->timing.finished_s);
  const double now = std::max(now_s(), earliest);
  const double started = std::clamp(end.started_s - begin_s, earliest, now);
  return strategies::Ran{started, std::clamp(end.finished_s - begin_s, started, now)};
}

/// Kernels that a device timed each have their own times; what others took together is theirs as
/// the machine file divides it.
void RealMachine::divide_time(RealOperation& operation, const JobEnd& end) const {
  if (operation.kernels.size() == end.parts_s.size()) {
    double last_s = end.started_s;
    for (std::size_t i = 0; i < end.parts_s.size(); ++i) {
      operation.kernels[i].seconds = end.parts_s[i] - last_s;
      last_s = end.parts_s[i];
    }
    return;
  }
  const double took = end.finished_s - end.started_s;
  double sum = 0;
  for (strategies::LoggedKernel& kernel : operation.kernels)
    sum += kernel.seconds = strategies::kernel_seconds(kernel, scenario_);
  for (strategies::LoggedKernel& kernel : operation.kernels)
    kernel.seconds = sum > 0 ? kernel.seconds / sum * took : 0;
}

/// For a thread to call when the operation has ended.
Done RealMachine::done(RealOperation& operation) {
  under_way_.insert(&operation);
  return [this, &operation](const JobEnd& end) {
    {
      const std::lock_guard lock(ended_mutex_);
      ended_.push_back({&operation, end});
    }
    engine_.wake();
  };
}

void RealMachine::cancel_all() {
  if (!engine_.cancel_all()) memory_lost_ = true;
  const auto end = [&](const std::string& what, std::optional<Rank> rank) {
    end_hung_process(fmt::format("{} ({} is the first under way)", what, first_under_way(rank)),
                     options_.rest_s);
  };
  for (std::uint32_t i = 0; i < devices_.size(); ++i)
    if (const auto hung = devices_[i]->quiesce(options_.rest_s)) end(*hung, Rank{i});
  if (!cores_.quiesce(options_.rest_s)) end("work of the processor", {});
  for (auto& [storage, processor] : inside_)
    if (!processor.worker.quiesce(options_.rest_s)) end("work inside a storage", {});
  const std::lock_guard lock(ended_mutex_);
  ended_.clear();
  settling_.clear();
  for (RealOperation* operation : under_way_) {
    operation->call = 0;
    operation->ended.reset();
    for (InsideWork::Part& part : operation->inside.parts)
      if (memory_lost_) static_cast<void>(part.memory.release());
    operation->inside.parts.clear();
  }
  under_way_.clear();
}

// ---- What the kernel says of memory

void RealMachine::count_pin() { pins_in_steps_ += recorder().steps().size() > 1; }

void RealMachine::watch_memory() {
  if (!set_up_ && !recorder().steps().empty()) {
    set_up_ = true;
    const strategies::Usage host = usage(strategies::TierId::pinned, Rank{0});
    if (!devices_.front()->shares_host()) memory_.allow(host.used + host.free);
    forget_most();
    after_set_up_ = process_memory();
    locked_after_set_up_ = locked_bytes_;
    ledger_after_set_up_ = ledger_most_ = real_bytes_;
  }
}

result::MemoryBooks RealMachine::memory_books() const {
  const std::uint64_t most = most_resident();
  return {ledger_most_ - ledger_after_set_up_, most - std::min(most, after_set_up_.resident),
          locked_after_set_up_, after_set_up_.locked};
}

// ---- Losses

double* RealMachine::loss_of(Rank rank, const strategies::StepNumbers& numbers) {
  const std::uint64_t micro_batches = scenario_.training.gradient_accumulation;
  const std::uint64_t index =
      (numbers.step * topology().ranks + rank.index) * micro_batches + numbers.micro_batch;
  ENSURE(index < losses_.size(), "more steps than losses were kept for");
  return &losses_[index];
}

Trained RealMachine::take_trained() {
  Trained all = std::move(trained_);
  const std::size_t each = topology().ranks * scenario_.training.gradient_accumulation;
  const std::size_t steps =
      std::max<std::size_t>(1, recorder().steps().size()) - 1;  // the set-up first
  for (std::size_t step = 0; step < steps; ++step) {
    double sum = 0;
    for (std::size_t i = 0; i < each; ++i) sum += losses_[step * each + i];
    // of a pipeline the last stage alone has one
    all.losses.push_back(sum * static_cast<double>(scenario_.parallel.pipeline) /
                         static_cast<double>(each));
  }
  return all;
}

}  // namespace spillway::hw_backend
