#include "hw_backend/cpu/conversion.hpp"
#include "hw_backend/machine/real_machine.hpp"
#include "hw_backend/machine/real_operation.hpp"
#include "strategies/machine/kernel_time.hpp"

#include <algorithm>
#include <numeric>

/// How operations begin on devices and cores.
namespace spillway::hw_backend {

using strategies::CollectiveRound;
using strategies::GpuStream;
using strategies::Operation;
using strategies::OperationKind;

namespace {

RealOperation& real(Operation& operation) { return static_cast<RealOperation&>(operation); }

Stream stream_of(const RealOperation& operation) {
  return operation.gpu_stream == GpuStream::side ? Stream::side : Stream::compute;
}

/// Seconds of a ring or tree among this node's GPUs.
double peer_seconds(const strategies::CollectiveCost& cost, const strategies::Topology& topology) {
  const double rate = topology.peer_rate.value();
  const double transfer = cost.to_peer && rate > 0 ? static_cast<double>(cost.to_peer) / rate : 0;
  return transfer + static_cast<double>(cost.hops) * topology.network_latency.value();
}

/// Bytes of what each member of an all_to_all of unequal parts sends to each, or gets from it.
///   sent, received  by a member
std::vector<std::uint64_t> bytes_of_parts(const CollectiveRound& round, std::uint64_t sent,
                                          std::uint64_t received) {
  const std::span<const std::uint64_t> shares = round.pieces.shares;
  const std::uint64_t all = std::accumulate(shares.begin(), shares.end(), std::uint64_t{0});
  const std::uint64_t busiest = *std::max_element(shares.begin(), shares.end());
  const std::uint64_t whole = round.pieces.returns ? received : sent, unit = whole / all;
  ENSURE(shares.size() == round.members.size() && whole % all == 0 &&
             busiest * shares.size() * unit <= round.bytes,
         "members of an all_to_all have no room for its unequal parts");
  std::vector<std::uint64_t> parts;
  for (const std::uint64_t share : shares) parts.push_back(share * unit);
  return parts;
}

}  // namespace

void RealMachine::accept(Operation& operation, std::span<const strategies::GpuKernel> kernels) {
  auto& mine = real(operation).gpu_kernels;
  mine.clear();
  for (const strategies::GpuKernel& kernel : kernels) mine.emplace_back(kernel);
}

void RealMachine::accept(Operation& operation, const strategies::CpuKernel& kernel) {
  real(operation).cpu_kernel = RawCpuKernel(kernel);
}

void RealMachine::accept(Operation& operation, const strategies::StorageKernel& kernel) {
  InsideWork& work = real(operation).inside;
  work.stage = InsideWork::Stage::reads;
  work.kernel = RawCpuKernel(kernel);
  work.parts.clear();
  for (const strategies::BoundOperand& operand : kernel.operands)
    work.parts.push_back({operand.view.block.get(), operand.view.offset,
                          operand.access != models::Access::write,
                          operand.access != models::Access::read, nullptr});
}

/// Kernels whose dependencies are all on their own device follow them there. Copies wait in the
/// loop: no order is promised among them, and one that waited on its stream would hold up the next.
bool RealMachine::prepare(Operation& base) {
  RealOperation& operation = real(base);
  if (operation.kind != OperationKind::gpu_kernels) return false;
  for (Operation* on : operation.dependencies)
    if (on->rank != operation.rank || real(*on).call == 0) return false;
  Device& device = *devices_[operation.rank.index];
  const Stream stream = stream_of(operation);
  for (Operation* on : operation.dependencies)
    if (real(*on).queue != stream) device.wait_for(stream, real(*on).queue, real(*on).call);
  start_kernels(operation);
  return true;
}

void RealMachine::start(Operation& base) {
  RealOperation& operation = real(base);
  if (operation.prepared) {
    if (const std::optional<JobEnd> end = std::exchange(operation.ended, std::nullopt))
      settle(operation, *end);
    return;
  }
  switch (operation.kind) {
    case OperationKind::read:
    case OperationKind::write:
      return start_transfer(operation);
    case OperationKind::copy_to_gpu:
    case OperationKind::copy_to_host:
    case OperationKind::copy_on_gpu:
    case OperationKind::copy_on_host:
    case OperationKind::send:
      return start_copy(operation);
    case OperationKind::gpu_kernels:
      return start_kernels(operation);
    case OperationKind::cpu_kernel:
      return start_cpu(operation);
    case OperationKind::storage_kernel:
      return start_inside(operation);
    case OperationKind::collective:
      break;
  }
  ENSURE(false, "a collective starts with its round");
}

/// The set-up is not held to the machine file's rates: it is not measured, and the first values are
/// made by the CPU, which takes longer than any rate would.
bool RealMachine::paces(const RealOperation& operation) const {
  return options_.paced && operation.phase != result::Phase::init;
}

void RealMachine::start_copy(RealOperation& operation) {
  std::byte* into = operation.operands[0].view.data();
  const std::byte* from = operation.operands[1].view.data();
  const std::uint64_t bytes = operation.bytes;
  const bool to_gpu = operation.kind == OperationKind::copy_to_gpu;
  if (operation.kind == OperationKind::copy_on_host)
    return cores_.add(
        0, [this, into, from, bytes] { hw_backend::copy(into, from, bytes, team_); },
        done(operation));
  double at_least_s = 0;
  Stream stream = Stream::side;
  if (to_gpu || operation.kind == OperationKind::copy_to_host) {
    stream = to_gpu ? Stream::to_device : Stream::to_host;
    if (paces(operation))
      at_least_s = strategies::copy_seconds(bytes, to_gpu, operation.pageable, scenario_.machine);
  } else if (operation.kind == OperationKind::send) {
    stream = Stream::peers;
    if (paces(operation)) at_least_s = static_cast<double>(bytes) / topology().peer_rate.value();
  }
  Device& device = *devices_[operation.rank.index];
  device.copy(stream, at_least_s, into, from, bytes, done(operation));
  operation.queue = stream;
  operation.call = device.last_call(stream);
}

/// One part, or, where a trace shows each kernel, one for each.
std::vector<DeviceWork> RealMachine::parts_of(RealOperation& operation, const WorkContext& context,
                                              double* loss) const {
  const std::size_t all = operation.gpu_kernels.size();
  const std::size_t each = options_.trace && all > 0 ? 1 : std::max<std::size_t>(1, all);
  std::vector<DeviceWork> parts;
  for (std::size_t first = 0; first < std::max<std::size_t>(1, all); first += each)
    parts.push_back([&operation, context, loss, first, last = std::min(all, first + each),
                     computes = !options_.synthetic](Primitives& primitives) {
      for (std::size_t i = first; computes && i < last; ++i)
        run_kernel(primitives, context, operation.gpu_kernels[i], loss);
    });
  return parts;
}

void RealMachine::start_kernels(RealOperation& operation) {
  double at_least_s = 0;
  for (strategies::LoggedKernel& kernel : operation.kernels) {
    if (paces(operation)) kernel.seconds = strategies::kernel_seconds(kernel, scenario_);
    at_least_s += kernel.seconds;
  }
  const WorkContext context = context_of(operation.rank);
  double* loss = operation.gpu_kernels.empty()
                     ? nullptr  // tensor ranks may have nothing of their own between collectives
                     : loss_of(operation.rank, operation.gpu_kernels.front().numbers);
  Device& device = *devices_[operation.rank.index];
  operation.queue = stream_of(operation);
  device.run(operation.queue, at_least_s, parts_of(operation, context, loss), done(operation));
  operation.call = device.last_call(operation.queue);
}

void RealMachine::start_cpu(RealOperation& operation) {
  const WorkContext context = context_of(operation.rank);
  cores_.add(
      0,
      [this, &operation, context] {
        operation.found = run_work(context, operation.cpu_kernel, team_, trained_.masters);
      },
      done(operation));
}

void RealMachine::start_inside(RealOperation& operation) {
  InsideWork& work = operation.inside;
  operation.parts_left = 0;
  operation.failure = nullptr;
  under_way_.insert(&operation);
  std::vector<std::size_t> reads;
  for (std::size_t i = 0; i < work.parts.size(); ++i) {
    RawOperand& operand = work.kernel.operands[i];
    const std::uint64_t sector = topology().storage_alignment;
    const std::uint64_t room = description::divide_up(operand.bytes, sector) * sector;
    operand.data = static_cast<std::byte*>(std::aligned_alloc(sector, std::max(room, sector)));
    if (!operand.data) throw description::DeviceError("no memory for work inside a storage");
    work.parts[i].memory.reset(operand.data);
    if (work.parts[i].reads) reads.push_back(i);
  }
  for (const std::size_t i : reads)
    operation.parts_left += transfer(operation, false, *work.parts[i].extent,
                                     {work.parts[i].offset, work.kernel.operands[i].bytes},
                                     work.kernel.operands[i].data, -1);
  if (operation.parts_left == 0) go_on_inside(operation);
}

/// Result  false: that was its last stage
bool RealMachine::go_on_inside(RealOperation& operation) {
  InsideWork& work = operation.inside;
  using Stage = InsideWork::Stage;
  if (work.stage == Stage::writes) return false;
  if (work.stage == Stage::reads) {
    work.stage = Stage::computes;
    const WorkContext context = context_of(operation.rank);
    InsideProcessor& processor = inside_[operation.storage.index];
    processor.worker.add(
        0,
        [this, &operation, &processor, context] {
          if (operation.inside.kernel.group)
            run_work(context, operation.inside.kernel, processor.team, trained_.masters);
        },
        done(operation));
    return true;
  }
  work.stage = Stage::writes;
  operation.parts_left = 0;
  for (std::size_t i = 0; i < work.parts.size(); ++i)
    if (work.parts[i].writes)
      operation.parts_left += transfer(operation, true, *work.parts[i].extent,
                                       {work.parts[i].offset, work.kernel.operands[i].bytes},
                                       work.kernel.operands[i].data, -1);
  return operation.parts_left > 0;
}

void RealMachine::start(CollectiveRound& round) {
  PeerCall call;
  call.what = round.what;
  // packed numbers are gathered alone, which is to move bytes
  call.type = is_element(round.type) ? element(round.type) : Element::fp32;
  call.bytes = round.bytes;
  call.pieces = round.pieces;
  for (const Operation* member : round.members) {
    strategies::View in, out;
    for (const strategies::BoundOperand& operand : member->operands)
      (operand.access == models::Access::write ? out : in) = operand.view;
    call.in.push_back((in ? in : out).data());
    call.out.push_back(out.data());
    if (round.what != strategies::Collective::all_to_all) continue;
    if (!round.pieces.shares.empty())
      call.parts = bytes_of_parts(round, in.bytes, out.bytes);
    else
      ENSURE(in.bytes == out.bytes && in.bytes % round.members.size() == 0,
             "members of an all_to_all do not send alike");
  }
  RealOperation& first = real(*round.members.front());
  const double at_least_s = paces(first) ? peer_seconds(round.cost, topology()) : 0;
  devices_[first.rank.index]->collective(at_least_s, std::move(call), done(first));
}

}  // namespace spillway::hw_backend
