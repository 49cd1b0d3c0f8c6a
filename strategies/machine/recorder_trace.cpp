#include "strategies/machine/recorder.hpp"

namespace spillway::strategies {

std::uint64_t Recorder::writer_of(const Operation& operation) const {
  const bool loads =
      operation.kind == OperationKind::read || operation.kind == OperationKind::write ||
      operation.kind == OperationKind::copy_to_gpu || operation.kind == OperationKind::copy_to_host;
  if (!loads) return 0;
  for (const BoundOperand& operand : operation.operands) {
    if (operand.access != models::Access::read) continue;
    const auto writer = writers_.find(operand.view.block.get());
    if (writer != writers_.end()) return writer->second;
  }
  return 0;
}

void Recorder::note_writes(const Operation& operation) {
  for (const BoundOperand& operand : operation.operands)
    if (operand.view && operand.access != models::Access::read)
      writers_[operand.view.block.get()] = operation.number;
}

namespace {

std::string_view name_of(OperationKind kind) {
  switch (kind) {
    case OperationKind::read:
      return "read";
    case OperationKind::write:
      return "write";
    case OperationKind::copy_to_gpu:
      return "h2d";
    case OperationKind::copy_to_host:
      return "d2h";
    case OperationKind::copy_on_gpu:
      return "copy";
    case OperationKind::copy_on_host:
      return "memcpy";
    case OperationKind::gpu_kernels:
      return "kernels";
    case OperationKind::cpu_kernel:
      return "cpu";
    case OperationKind::storage_kernel:
      return "near storage";
    case OperationKind::collective:
      return "collective";
    case OperationKind::send:
      return "send";
  }
  return "?";
}

std::string_view name_of(CpuWork work) {
  switch (work) {
    case CpuWork::adam:
      return "adam";
    case CpuWork::convert:
      return "convert";
    case CpuWork::add:
      return "add";
    case CpuWork::scale:
      return "scale";
    case CpuWork::check_chained:
      return "overflow check (chained)";
    case CpuWork::check_fused:
      return "overflow check (fused)";
    case CpuWork::initialize:
      return "initialize";
    case CpuWork::checkpoint:
      return "checkpoint";
    case CpuWork::touch:
      return "first touch";
    case CpuWork::products:
      return "products";
  }
  return "?";
}

/// "copy optimizer_states": what the memory is for that an operation reads or fills.
std::string with_purpose(std::string name, const Operation& operation) {
  if (!operation.operands.empty() && operation.operands.back().view)
    name += " " + std::string(result::to_string(operation.operands.back().view.block->purpose));
  return name;
}

}  // namespace

std::string Recorder::cpu_track(std::uint32_t rank) const {
  return nodes_.size() == 1 ? "cpu" : "node " + std::to_string(rank / ranks_per_node_) + " cpu";
}

void Recorder::add_spans(const Operation& operation) {
  const std::string rank = "rank " + std::to_string(operation.rank.index) + " ";
  const std::string phase(result::to_string(operation.phase));
  const double start = operation.timing.started_s;
  const double end = operation.timing.finished_s;
  const auto add = [&](std::string track, std::string_view name) {
    trace_.spans.push_back(
        {std::move(track), std::string(name), phase, start, end, operation.bytes});
  };
  switch (operation.kind) {
    case OperationKind::gpu_kernels: {
      const char* stream = operation.gpu_stream == GpuStream::side ? "side" : "compute";
      double at = start;
      for (const LoggedKernel& kernel : operation.kernels) {
        trace_.spans.push_back(
            {rank + stream, std::string(kernel.name), phase, at, at + kernel.seconds, 0});
        at += kernel.seconds;
      }
      return;
    }
    case OperationKind::read:
    case OperationKind::write: {
      const std::string name =
          std::string(name_of(operation.kind)) + " " +
          std::string(result::to_string(operation.operands.back().view.block->purpose));
      for (const StoragePiece& piece : operation.pieces)
        trace_.spans.push_back(
            {storage_names_[piece.storage.index], name, phase, start, end, piece.bytes});
      return;
    }
    case OperationKind::storage_kernel:
      return add(storage_names_[operation.storage.index],
                 std::string(name_of(operation.kind)) + " " +
                     std::string(result::to_string(Purpose::optimizer_states)));
    case OperationKind::copy_to_gpu:
    case OperationKind::copy_to_host:
      return add(rank + std::string(name_of(operation.kind)),
                 with_purpose(operation.pageable ? "pageable copy" : "copy", operation));
    case OperationKind::cpu_kernel:
      return add(cpu_track(operation.rank.index), name_of(operation.cpu.work));
    case OperationKind::copy_on_host:
      return add(cpu_track(operation.rank.index), "memcpy");
    case OperationKind::collective:
      return add(rank + "collectives",
                 with_purpose(std::string(to_string(operation.round->what)), operation));
    case OperationKind::copy_on_gpu:
    case OperationKind::send:
      return add(rank + "copies", name_of(operation.kind));
  }
}

}  // namespace spillway::strategies
