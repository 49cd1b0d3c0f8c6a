#include "scenarios/description/errors.hpp"
#include "sim/sim_machine.hpp"
#include "strategies/machine/kernel_time.hpp"

#include <algorithm>

/// What each kind of operation costs.
namespace spillway::sim {

using strategies::CollectiveRound;
using strategies::Operation;
using strategies::OperationKind;

namespace {

SimOperation& simulated(Operation& operation) { return static_cast<SimOperation&>(operation); }

/// `amount / rate`; nothing takes no time, whatever the rate.
double seconds_of(double amount, double rate, const char* what) {
  if (amount == 0) return 0;
  ENSURE(rate > 0, std::string("the machine has no rate for ") + what);
  return amount / rate;
}

bool nothing_to_do(const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::gpu_kernels:
      return false;  // a launch takes time too
    case OperationKind::cpu_kernel:
      return operation.cpu.work == strategies::CpuWork::adam ? operation.cpu.elements == 0
                                                             : operation.cpu.traffic == 0;
    case OperationKind::storage_kernel:
      return operation.bytes == 0 && operation.near_storage.elements == 0;
    default:
      return operation.bytes == 0;
  }
}

}  // namespace

void SimMachine::start(Operation& base) {
  if (nothing_to_do(base)) return finish(base);
  SimOperation& operation = simulated(base);
  operation.stretch = stretch_of(operation);
  switch (operation.kind) {
    case OperationKind::read:
    case OperationKind::write:
      return start_storage(operation);
    case OperationKind::copy_to_gpu:
    case OperationKind::copy_to_host:
    case OperationKind::copy_on_host:
    case OperationKind::copy_on_gpu:
    case OperationKind::send:
      return start_copy(operation);
    case OperationKind::gpu_kernels:
      return start_kernels(operation);
    case OperationKind::cpu_kernel:
      return start_cpu(operation);
    case OperationKind::storage_kernel:
      return start_near_storage(operation);
    case OperationKind::collective:
      break;
  }
  ENSURE(false, "a collective starts with its round");
}

/// What drives moved while states were made, or in the first step, which has nothing before it, no
/// later step finds: one that uses it up little by little would look steady.
void SimMachine::fill_caches() {
  const auto& steps = recorder().steps();  // the set-up first
  if (steps.size() == steps_seen_) return;
  steps_seen_ = steps.size();
  if (steps_seen_ <= 2) platform_.fill_caches(steps.back().end_s);
}

/// A transfer a storage: parts are equal and on all its drives, so that one flow over the array
/// takes as long as one flow a drive, unless sectors are too few to keep all drives as busy, or all
/// lies on one drive.
void SimMachine::start_storage(SimOperation& operation) {
  fill_caches();
  if (!pages_.empty()) return start_buffered(operation);
  double seconds = 0;
  for (const strategies::StoragePiece& piece : operation.pieces)
    seconds = std::max(seconds, plan_piece(operation, piece));
  transfer_after(operation, seconds);
}

///   Result  latency
double SimMachine::plan_piece(SimOperation& operation, const strategies::StoragePiece& piece) {
  const bool reads = operation.kind == OperationKind::read;
  const description::StorageSpec& spec = spec_of(piece.storage);
  const StorageAccess& access = platform_.storage(piece.storage, operation.rank);
  const Path path = operation.gpu_direct ? (reads ? access.direct_read : access.direct_write)
                                         : (reads ? access.read : access.write);
  double latency = spec.latency.value();
  if (!reads && scenario_.strategy.io_engine == description::IoEngine::file)
    latency += spec.file_overhead.value();
  const double bytes = static_cast<double>(piece.bytes);
  const double busiest = static_cast<double>(
      piece.drive ? piece.bytes : strategies::busiest_drive(piece.bytes, spec.count));
  const double drive = (reads ? spec.read : spec.write).value();
  const bool even = busiest * static_cast<double>(spec.count) <= bytes;
  PlannedTransfer planned{path, bytes, even ? 0 : drive * bytes / busiest, &access, {}, 0};
  if (access.cache) {
    access.cache->started(now_s_);
    operation.caches.push_back(access.cache);
  }
  if (!reads && access.cache) {
    planned.slow = operation.gpu_direct ? access.slow_direct_write : access.slow_write;
    const double folded = std::min(drive, spec.slc_cache->folded_write.value());
    if (!even) planned.slow_bound_bytes_per_s = folded * bytes / busiest;
  }
  operation.planned.push_back(planned);
  return latency;
}

void SimMachine::start_copy(SimOperation& operation) {
  const double bytes = static_cast<double>(operation.bytes);
  const description::MachineFile& machine = scenario_.machine;
  double seconds = machine.pcie.latency.value();
  Path path;
  switch (operation.kind) {
    case OperationKind::copy_on_gpu:
      return copy_on_gpu(operation);
    case OperationKind::copy_on_host:
      operation.planned.push_back({platform_.host_copy(operation.rank), 2 * bytes});
      return transfer_after(operation, 0);
    case OperationKind::copy_to_gpu:
      path = platform_.to_gpu(operation.rank, operation.pageable);
      break;
    case OperationKind::copy_to_host:
      path = platform_.to_host(operation.rank, operation.pageable);
      break;
    default:
      if (operation.peer == operation.rank) return copy_on_gpu(operation);
      path = platform_.peer(operation.rank, operation.peer);
      seconds = machine.network.latency.value();
      if (platform_.shares_host()) hold_thread(operation, bytes / peer_rate(), 2 * bytes);
  }
  operation.planned.push_back({path, bytes});
  transfer_after(operation, seconds);
}

void SimMachine::copy_on_gpu(SimOperation& operation) {
  const double traffic = 2 * static_cast<double>(operation.bytes);
  const double seconds =
      seconds_of(traffic, scenario_.machine.gpu.memory_rate.value(), "gpu.memory_rate");
  if (!platform_.shares_host()) return set_timer(operation, operation.stretch * seconds);
  hold_thread(operation, seconds, traffic);
  transfer_after(operation, 0);
}

double SimMachine::peer_rate() const { return topology().peer_rate.value(); }

/// Of a GPU that shares the host: a thread is busy for so long when it has a core to itself, and
/// `traffic` bytes cross the DRAM meanwhile. It ends when both have; a thread that waits for DRAM
/// leaves its core to others, which is too kind to them where both are short.
void SimMachine::hold_thread(SimOperation& operation, double seconds, double traffic) {
  if (seconds <= 0) return;
  const double rate = platform_.thread_rate();
  operation.planned.push_back({platform_.thread(operation.rank), seconds * rate, rate});
  if (traffic > 0)
    operation.planned.push_back({platform_.traffic(operation.rank), traffic, traffic / seconds});
}

void SimMachine::start_cpu(SimOperation& operation) {
  const Platform::CpuPath cpu = platform_.cpu(operation.cpu, operation.rank);
  operation.team = operation.cpu.work != strategies::CpuWork::check_chained;  // one thread
  if (operation.team) platform_.count_team(operation.rank, 1);
  operation.planned.push_back({cpu.path, cpu.bytes});
  transfer_after(operation, 0);
}

/// A drive reads, computes and writes one after the other, and is busy until all is done; of an
/// array whose other drives do something else it is one part, and no faster when those are idle.
void SimMachine::start_near_storage(SimOperation& operation) {
  const description::StorageSpec& spec = spec_of(operation.storage);
  ENSURE(spec.near_storage.has_value(), "storage " + spec.name + " computes nothing");
  const description::NearStorageSpec& near = *spec.near_storage;
  const auto& work = operation.near_storage;
  const double all = static_cast<double>(spec.count);
  const double drives = work.drive ? 1 : all;
  const double seconds =
      seconds_of(static_cast<double>(work.read), drives * near.read.value(), "near_storage.read") +
      seconds_of(static_cast<double>(work.elements), drives * near.adam.value(),
                 "near_storage.adam") +
      seconds_of(static_cast<double>(work.written), drives * near.write.value(),
                 "near_storage.write");
  const double rate =
      array_rates(scenario_.machine, entry_of(operation.storage)).read * drives / all;
  operation.planned.push_back(
      {platform_.near_storage(operation.storage), seconds * rate, drives < all ? rate : 0});
  transfer_after(operation, spec.latency.value() + near.start.value());
}

/// What both streams of a GPU have to do takes as long as one after the other: kernels of either
/// fill it (share_gpu).
void SimMachine::start_kernels(SimOperation& operation) {
  const double memory_rate = scenario_.machine.gpu.memory_rate.value();
  double seconds = 0, traffic = 0;
  for (strategies::LoggedKernel& kernel : operation.kernels) {
    kernel.seconds = strategies::kernel_seconds(kernel, scenario_);
    seconds += kernel.seconds;
    traffic += std::min(kernel.bytes, kernel.seconds * memory_rate);
    if (!platform_.shares_host()) kernel.seconds *= operation.stretch;
  }
  if (operation.gpu_stream == strategies::GpuStream::compute)
    seconds = launched(operation, seconds);
  if (seconds == 0) return finish(operation);
  if (!platform_.shares_host()) {
    share_gpu(operation, operation.stretch * seconds);
    return set_timer(operation, operation.stretch * seconds);
  }
  hold_thread(operation, seconds, traffic);
  transfer_after(operation, 0);
}

/// Kernels of the side stream come between those of the compute stream, whose operation is many of
/// them and takes so much longer, but for what it waits for launches.
void SimMachine::share_gpu(SimOperation& operation, double seconds) {
  Gpu& gpu = gpus_[operation.rank.index];
  if (operation.gpu_stream == strategies::GpuStream::side) {
    gpu.side_until_s = now_s_ + seconds;
    if (gpu.computes) gpu.computes->behind_s += seconds;
    return;
  }
  gpu.computes = &operation;
  operation.behind_s = std::max(0.0, gpu.side_until_s - now_s_) - operation.launches_s;
}

/// Whether an operation whose time is over has kernels left, as others came between them.
bool SimMachine::goes_on(SimOperation& operation) {
  Gpu& gpu = gpus_[operation.rank.index];
  if (gpu.computes != &operation) return false;
  const double seconds = std::exchange(operation.behind_s, 0);
  if (seconds > 0)
    add_timer(operation, seconds);
  else
    gpu.computes = nullptr;
  return seconds > 0;
}

/// A thread of the host launches the kernels of a rank one after the other, from when they were
/// asked for: where it takes longer than they do, the GPU waits for it.
///   Result  `seconds`, or until the last of them is launched
double SimMachine::launched(SimOperation& operation, double seconds) {
  double host = 0;
  for (const strategies::LoggedKernel& kernel : operation.kernels)
    host += strategies::launching_seconds(kernel, scenario_);
  if (host == 0) return seconds;
  double& until = launched_s_[operation.rank.index];
  until = std::max(until, operation.asked_s) + host;
  operation.launches_s = std::max(0.0, until - now_s_ - seconds);
  return seconds + operation.launches_s;
}

/// Every member sends to the next GPU of its node and to the next node at once: the chunks of a
/// ring or tree follow each other. In an all-to-all it sends each other GPU its part, for which the
/// next one's link stands where all links are alike. The first member stands for all of them until
/// the round is over.
void SimMachine::start(CollectiveRound& round) {
  const strategies::CollectiveCost& cost = round.cost;
  const std::size_t members = round.members.size();
  SimOperation& first = simulated(*round.members.front());
  first.stretch = stretch_of(first);
  const bool to_all =
      round.what == strategies::Collective::all_to_all && platform_.has_socket_links();
  double to_peers = 0;
  for (std::size_t i = 0; i < members; ++i) {
    const strategies::Rank rank = round.members[i]->rank;
    if (cost.to_peer > 0) {
      const std::size_t others = to_all ? members - 1 : 1;
      for (std::size_t step = 1; step <= others; ++step)
        first.planned.push_back({platform_.peer(rank, round.members[(i + step) % members]->rank),
                                 static_cast<double>(cost.to_peer) / static_cast<double>(others)});
      to_peers += static_cast<double>(cost.to_peer);
    }
    if (cost.to_node > 0)
      first.planned.push_back({platform_.other_node(rank), static_cast<double>(cost.to_node)});
  }
  if (first.planned.empty()) return finish(round);
  // GPUs that share the host: one thread does it for all
  if (platform_.shares_host() && to_peers > 0)
    hold_thread(first, to_peers / peer_rate(), 2 * to_peers);
  transfer_after(first, static_cast<double>(cost.hops) * scenario_.machine.network.latency.value());
}

}  // namespace spillway::sim
