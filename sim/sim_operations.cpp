#include "scenarios/description/errors.hpp"
#include "sim/sim_machine.hpp"
#include "strategies/setup.hpp"

#include <algorithm>

/// What each kind of operation costs.
namespace spillway::sim {

using strategies::Collective;
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

void SimMachine::start_storage(SimOperation& operation) {
  const description::StorageSpec& spec = scenario_.machine.storage[operation.storage.index];
  const bool reads = operation.kind == OperationKind::read;
  const StorageAccess& access = platform_.storage(operation.storage, operation.rank);
  const Path path = operation.gpu_direct ? (reads ? access.direct_read : access.direct_write)
                                         : (reads ? access.read : access.write);
  double seconds = spec.latency.value();
  if (!reads && scenario_.strategy.io_engine == description::IoEngine::file)
    seconds += spec.file_overhead.value();
  operation.access = &access;
  // stripes are sectors: a transfer of fewer sectors than drives keeps only so many drives busy
  const std::uint64_t sectors = description::divide_up(operation.bytes, 4096);
  const double drive = (reads ? spec.read : spec.write).value();
  const double bound = sectors < spec.count ? static_cast<double>(sectors) * drive : 0;
  operation.planned.push_back({path, static_cast<double>(operation.bytes), bound});
  transfer_after(operation, seconds);
}

void SimMachine::start_copy(SimOperation& operation) {
  const double bytes = static_cast<double>(operation.bytes);
  const description::MachineFile& machine = scenario_.machine;
  double seconds = machine.pcie.latency.value();
  Path path;
  switch (operation.kind) {
    case OperationKind::copy_on_gpu:
      return set_timer(operation,
                       seconds_of(2 * bytes, machine.gpu.memory_rate.value(), "gpu.memory_rate"));
    case OperationKind::copy_on_host:
      operation.planned.push_back({platform_.host_copy(), 2 * bytes});
      return transfer_after(operation, 0);
    case OperationKind::copy_to_gpu:
      path = platform_.to_gpu(operation.rank, operation.pageable);
      break;
    case OperationKind::copy_to_host:
      path = platform_.to_host(operation.rank, operation.pageable);
      break;
    default:
      if (operation.peer == operation.rank)
        return set_timer(operation,
                         seconds_of(2 * bytes, machine.gpu.memory_rate.value(), "gpu.memory_rate"));
      path = platform_.peer(operation.rank, operation.peer);
      seconds = machine.network.latency.value();
  }
  operation.planned.push_back({path, bytes});
  transfer_after(operation, seconds);
}

void SimMachine::start_cpu(SimOperation& operation) {
  const Platform::CpuPath cpu = platform_.cpu(operation.cpu, operation.rank);
  operation.planned.push_back({cpu.path, cpu.bytes});
  transfer_after(operation, 0);
}

/// Reads, writes and computes at once inside the drives, and keeps them busy for as long as the
/// slowest takes.
void SimMachine::start_near_storage(SimOperation& operation) {
  const std::uint32_t storage = operation.storage.index;
  const description::StorageSpec& spec = scenario_.machine.storage[storage];
  ENSURE(spec.near_storage.has_value(), "storage " + spec.name + " computes nothing");
  const double drives = static_cast<double>(spec.count);
  const description::NearStorageSpec& near = *spec.near_storage;
  const auto& work = operation.near_storage;
  const double seconds = std::max(
      {seconds_of(static_cast<double>(work.read), drives * near.read.value(), "near_storage.read"),
       seconds_of(static_cast<double>(work.written), drives * near.write.value(),
                  "near_storage.write"),
       seconds_of(static_cast<double>(work.elements), drives * near.adam.value(),
                  "near_storage.adam")});
  operation.planned.push_back({platform_.near_storage(operation.storage),
                               seconds * array_rates(scenario_.machine, storage).read});
  transfer_after(operation, spec.latency.value());
}

double SimMachine::kernel_seconds(const strategies::LoggedKernel& kernel) const {
  const description::GpuSpec& gpu = scenario_.machine.gpu;
  const bool included =
      !kernel.matrix && kernel.in_pass && gpu.elementwise == description::ElementwiseCost::included;
  double seconds = 0;
  if (!included) seconds = seconds_of(kernel.bytes, gpu.memory_rate.value(), "gpu.memory_rate");
  if (kernel.matrix && kernel.flops > 0)
    seconds = std::max(
        seconds, seconds_of(kernel.flops, strategies::compute_rate(scenario_), "gpu.compute"));
  return seconds + gpu.launch.value();
}

/// A kernel of the side stream takes its own time, and the passes beside it theirs. Side kernels
/// are bound by memory and leave the multipliers alone; a pass is mostly products, which leave most
/// of the memory rate unused. Where both streams are bound by memory they would share its rate:
/// then this is too fast, by at most the side kernels' time.
void SimMachine::start_kernels(SimOperation& operation) {
  double seconds = 0;
  for (strategies::LoggedKernel& kernel : operation.kernels) {
    kernel.seconds = kernel_seconds(kernel);
    seconds += kernel.seconds;
  }
  if (seconds == 0) return finish(operation);
  set_timer(operation, seconds);
}

/// A ring: every member passes on what it gets, so that each link carries the same.
///   all_gather, reduce_scatter   bytes (G-1)/G from each member to the next, in G-1 rounds
///   all_reduce                   the one after the other: twice that
///   broadcast                    all bytes along the ring, the last member sends nothing
void SimMachine::plan_ring(SimOperation& first, const CollectiveRound& round) {
  const std::size_t members = round.members.size();
  const double size = static_cast<double>(members);
  double bytes = static_cast<double>(round.bytes);
  if (round.what != Collective::broadcast) bytes *= (size - 1) / size;
  if (round.what == Collective::all_reduce) bytes *= 2;
  const std::size_t senders = round.what == Collective::broadcast ? members - 1 : members;
  for (std::size_t i = 0; i < senders; ++i)
    first.planned.push_back(
        {platform_.peer(round.members[i]->rank, round.members[(i + 1) % members]->rank), bytes});
}

/// The first member stands for all of them until the round is over.
void SimMachine::start(CollectiveRound& round) {
  const std::size_t members = round.members.size();
  if (members == 1 || round.bytes == 0) return finish(round);
  SimOperation& first = simulated(*round.members.front());
  plan_ring(first, round);
  const double steps =
      static_cast<double>(members - 1) * (round.what == Collective::all_reduce ? 2 : 1);
  transfer_after(first, steps * scenario_.machine.network.latency.value());
}

}  // namespace spillway::sim
