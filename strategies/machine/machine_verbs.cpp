#include "strategies/machine/kernel_time.hpp"
#include "strategies/machine/machine.hpp"

#include <algorithm>

/// What strategies call: each checks its operands, then issues one operation.
namespace spillway::strategies {

/// What each storage of the extent transfers of the operation.
void Machine::cut(Operation& operation, const Block& extent) {
  setup_.topology.each_piece(extent.storage, operation.bytes, [&](const StoragePiece& piece) {
    operation.pieces.push_back(piece);
    operation.pieces.back().drive = extent.drive;
  });
}

Op Machine::read(Rank rank, const Stored& from, Range range, View into, const After& after) {
  check_range(from, range, into, rank);
  Operation& operation = issue(OperationKind::read, rank, range.bytes);
  cut(operation, *from.block().get());
  operation.gpu_direct = into.block->tier == TierId::gpu;
  operation.operands.emplace_back(std::move(into), models::Access::write);
  operation.operands.emplace_back(View(from.block(), range.offset, range.bytes),
                                  models::Access::read);
  return launch(operation, after);
}

Op Machine::write(Rank rank, const Stored& into, Range range, View from, const After& after) {
  check_range(into, range, from, rank);
  Operation& operation = issue(OperationKind::write, rank, range.bytes);
  cut(operation, *into.block().get());
  operation.gpu_direct = from.block->tier == TierId::gpu;
  operation.operands.emplace_back(std::move(from), models::Access::read);
  operation.operands.emplace_back(View(into.block(), range.offset, range.bytes),
                                  models::Access::write);
  return launch(operation, after);
}

Op Machine::copy(Rank rank, View into, View from, const After& after) {
  ENSURE(into && from, "copy without a buffer");
  ENSURE(into.bytes == from.bytes, "copy between views of different length");
  const TierId to_tier = into.block->tier;
  const TierId from_tier = from.block->tier;
  const bool to_gpu = to_tier == TierId::gpu;
  const bool from_gpu = from_tier == TierId::gpu;
  const OperationKind kind =
      to_gpu ? (from_gpu ? OperationKind::copy_on_gpu : OperationKind::copy_to_gpu)
             : (from_gpu ? OperationKind::copy_to_host : OperationKind::copy_on_host);
  check_operand(into, to_gpu, rank);
  check_operand(from, from_gpu, rank);
  Operation& operation = issue(kind, rank, into.bytes);
  operation.pageable = to_tier == TierId::pageable || from_tier == TierId::pageable;
  operation.operands.emplace_back(std::move(into), models::Access::write);
  operation.operands.emplace_back(std::move(from), models::Access::read);
  return launch(operation, after);
}

Op Machine::send(Rank rank, Rank peer, View from, View into, const After& after) {
  ENSURE(into.bytes == from.bytes, "send between views of different length");
  check_operand(into, true, peer);
  check_operand(from, true, rank);
  Operation& operation = issue(OperationKind::send, rank, from.bytes);
  operation.peer = peer;
  operation.to_other_node = setup_.topology.node_of(rank) != setup_.topology.node_of(peer);
  operation.operands.emplace_back(std::move(into), models::Access::write);
  operation.operands.emplace_back(std::move(from), models::Access::read);
  return launch(operation, after);
}

Op Machine::run(Rank rank, std::span<const GpuKernel> kernels, const After& after,
                GpuStream stream) {
  for (const GpuKernel& kernel : kernels)
    for (const BoundOperand& operand : kernel.operands) check_operand(operand.view, true, rank);
  Operation& operation = issue(OperationKind::gpu_kernels, rank, 0);
  for (const GpuKernel& kernel : kernels) {
    LoggedKernel logged{kernel.name,   kernel.flops,   kernel.bytes,     kernel.updated,
                        kernel.matrix, kernel.in_pass, kernel.recompute, 0};
    if (kernel.operation) add_shape(logged, *kernel.operation);
    operation.kernels.push_back(logged);
    operation.operands.insert(operation.operands.end(), kernel.operands.begin(),
                              kernel.operands.end());
  }
  accept(operation, kernels);
  operation.gpu_stream = stream;
  join_stream(operation, static_cast<std::uint64_t>(stream) * setup_.topology.ranks + rank.index);
  return launch(operation, after);
}

Op Machine::run(Rank rank, CpuKernel kernel, const After& after) {
  for (const BoundOperand& operand : kernel.operands) check_operand(operand.view, false, rank);
  Operation& operation = issue(OperationKind::cpu_kernel, rank, kernel.traffic);
  accept(operation, kernel);
  // one by one: the pooled operation keeps its room
  for (BoundOperand& operand : kernel.operands) operation.operands.push_back(std::move(operand));
  operation.cpu.work = kernel.work;
  operation.cpu.elements = kernel.elements;
  operation.cpu.traffic = kernel.traffic;
  operation.cpu.flops = kernel.flops;
  return launch(operation, after);
}

Op Machine::run(Rank rank, StorageId storage, StorageKernel kernel, const After& after) {
  ENSURE(storage.index < setup_.topology.storages.size(), "no such storage");
  for (const BoundOperand& operand : kernel.operands) {
    check_extent(operand.view, storage);
    ENSURE(!kernel.drive || operand.view.block->drive == kernel.drive ||
               setup_.topology.storages[storage.index].drives == 1,
           "a drive works on what lies on others");
  }
  Operation& operation = issue(OperationKind::storage_kernel, rank, kernel.read + kernel.written);
  accept(operation, kernel);
  for (BoundOperand& operand : kernel.operands) operation.operands.push_back(std::move(operand));
  operation.storage = storage;
  operation.near_storage.elements = kernel.elements;
  operation.near_storage.read = kernel.read;
  operation.near_storage.written = kernel.written;
  operation.near_storage.drive = kernel.drive;
  return launch(operation, after);
}

Op Machine::collective(Rank rank, Group group, Collective what, View in, View out,
                       const After& after, ElementType type, PartPieces pieces, bool beside) {
  ENSURE(group.index < setup_.topology.groups.size(), "no such group");
  const auto& members = setup_.topology.groups[group.index];
  const auto self = std::find(members.begin(), members.end(), rank);
  ENSURE(self != members.end(), "a rank calls a collective of a group it is not in");
  const auto position = static_cast<std::size_t>(self - members.begin());
  ENSURE(in && out, std::string(to_string(what)) + " without a buffer");
  const std::uint64_t bytes = what == Collective::all_gather   ? out.bytes
                              : what == Collective::all_to_all ? std::max(in.bytes, out.bytes)
                                                               : in.bytes;
  check_operand(in, true, rank);
  check_operand(out, true, rank);
  check_shards(what, in, out, setup_.topology.size(group));
  if (members.size() == setup_.topology.size(group)) check_place(what, in, out, position);
  CollectiveRound& round = join_round(group, position, what, bytes, type, pieces);
  Operation& operation = issue(OperationKind::collective, rank, bytes);
  const bool in_place = in.block.get() == out.block.get() && in.offset == out.offset;
  operation.operands.emplace_back(std::move(out), models::Access::write);
  if (!in_place) operation.operands.emplace_back(std::move(in), models::Access::read);
  round.members[position] = &operation;
  ++round.joined;
  operation.round = &round;
  const std::uint64_t stream = group.index + (beside ? setup_.topology.groups.size() : 0);
  join_stream(operation, (2 + stream) * setup_.topology.ranks + rank.index);
  return launch(operation, after);
}

float Machine::number(const View& view) {
  ENSURE(view && view.bytes >= sizeof(float), "a number without a buffer");
  return view.data() ? fetch(view) : 0;
}

/// The oldest round of `group` that this member has not joined yet, else a new one.
CollectiveRound& Machine::join_round(Group group, std::size_t position, Collective what,
                                     std::uint64_t bytes, ElementType type,
                                     const PartPieces& pieces) {
  auto& rounds = rounds_[group.index];
  const auto open = std::find_if(rounds.begin(), rounds.end(), [&](const auto& round) {
    return round->members[position] == nullptr;
  });
  if (open == rounds.end()) {
    auto& round = rounds.emplace_back(std::make_unique<CollectiveRound>());
    *round = {group,  what,  type,
              pieces, bytes, std::vector<Operation*>(setup_.topology.groups[group.index].size()),
              0,      0,     collective_cost(what, bytes, group, setup_.topology)};
    return *round;
  }
  CollectiveRound& round = **open;
  ENSURE(round.what == what && round.bytes == bytes && round.pieces == pieces,
         "members of a group call different collectives: " + std::string(to_string(round.what)) +
             " of " + std::to_string(round.bytes) + " B and " + std::string(to_string(what)) +
             " of " + std::to_string(bytes) + " B");
  return round;
}

}  // namespace spillway::strategies
