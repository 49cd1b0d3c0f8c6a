#include "strategies/counting/counting_machine.hpp"

#include "strategies/machine/setup.hpp"

namespace spillway::strategies {

Demand Demand::of_alike(std::uint64_t count) const {
  Demand all = *this;
  all.operations *= count;
  for (PhaseDemand& phase : all.phases) {
    phase.ranks.resize(count, phase.ranks.front());
    for (StorageDemand& storage : phase.storages)
      for (const auto member : StorageDemand::counts()) storage.*member *= count;
    for (std::uint64_t& elements : phase.cpu_elements) elements *= count;
    for (std::uint64_t& traffic : phase.cpu_traffic) traffic *= count;
    phase.host_copies *= count;
  }
  return all;
}

namespace {

template <class Number>
void add_difference(Number& sum, const Number& earlier, const Number& later, std::uint64_t times) {
  sum += (later - earlier) * static_cast<Number>(times);
}

void add_phase(PhaseDemand& sum, const PhaseDemand& earlier, const PhaseDemand& later,
               std::uint64_t times) {
  const auto add = [&](const auto& members, auto& into, const auto& from, const auto& to) {
    for (std::size_t i = 0; i < into.size(); ++i)
      for (const auto member : members)
        add_difference(into[i].*member, from[i].*member, to[i].*member, times);
  };
  add(RankDemand::amounts(), sum.ranks, earlier.ranks, later.ranks);
  add(RankDemand::counts(), sum.ranks, earlier.ranks, later.ranks);
  add(StorageDemand::counts(), sum.storages, earlier.storages, later.storages);
  for (std::size_t work = 0; work < cpu_work_count; ++work) {
    add_difference(sum.cpu_elements[work], earlier.cpu_elements[work], later.cpu_elements[work],
                   times);
    add_difference(sum.cpu_traffic[work], earlier.cpu_traffic[work], later.cpu_traffic[work],
                   times);
  }
  add_difference(sum.host_copies, earlier.host_copies, later.host_copies, times);
}

}  // namespace

void Demand::add(const Demand& earlier, const Demand& later, std::uint64_t times) {
  operations += (later.operations - earlier.operations) * times;
  for (std::size_t phase = 0; phase < phases.size(); ++phase)
    add_phase(phases[phase], earlier.phases[phase], later.phases[phase], times);
}

CountingMachine::CountingMachine(const description::Scenario& scenario)
    : CountingMachine(setup_for(scenario, false, false)) {}

CountingMachine::CountingMachine(MachineSetup setup) : Machine(std::move(setup)) {}

void CountingMachine::start(Operation& operation) {
  Demand& step = running_step();
  ++step.operations;
  count(operation, step.of(operation.phase));
  running_.push_back(&operation);
}

void CountingMachine::start(CollectiveRound& round) {
  Demand& step = running_step();
  for (const Operation* member : round.members) {
    ++step.operations;
    RankDemand& rank = step.of(member->phase).ranks[member->rank.index];
    rank.collectives += round.bytes;
    rank.to_peers += round.cost.to_peer;
    rank.to_nodes += round.cost.to_node;
  }
  // the round runs as one: its first member stands for it
  running_.push_back(round.members.front());
}

void CountingMachine::loop() {
  scheduler_.drain();
  while (!stopped() && (!running_.empty() || grow_for_waiting())) {
    if (running_.empty()) {  // room was given, and has been taken
      scheduler_.drain();
      continue;
    }
    Operation& next = *running_.front();
    running_.pop_front();
    if (next.round)
      finish(*next.round);
    else
      finish(next);
    scheduler_.drain();
  }
}

bool CountingMachine::leave_out(std::uint64_t micro_batches) {
  const bool equal = Machine::leave_out(micro_batches);
  if (equal)  // the last one's mark is behind these two
    demands_.at(recorder().steps().size() - 1)
        .add(marks_.at(marks_.size() - 3), marks_.at(marks_.size() - 2), micro_batches);
  marks_.clear();
  differ_ = differ_ || !equal;
  return equal;
}

Demand& CountingMachine::running_step() {
  const std::size_t step = recorder().steps().size();
  while (demands_.size() <= step) {
    Demand& demand = demands_.emplace_back();
    for (PhaseDemand& phase : demand.phases) {
      phase.ranks.resize(topology().ranks);
      phase.storages.resize(topology().storages.size());
    }
  }
  return demands_[step];
}

void CountingMachine::count(const Operation& operation, PhaseDemand& demand) {
  RankDemand& rank = demand.ranks[operation.rank.index];
  const std::uint64_t bytes = operation.bytes;
  switch (operation.kind) {
    case OperationKind::read:
      for (const StoragePiece& piece : operation.pieces) {
        ++demand.storages[piece.storage.index].reads;
        demand.storages[piece.storage.index].read += piece.bytes;
      }
      return;
    case OperationKind::write:
      for (const StoragePiece& piece : operation.pieces) {
        ++demand.storages[piece.storage.index].writes;
        demand.storages[piece.storage.index].written += piece.bytes;
      }
      return;
    case OperationKind::storage_kernel: {
      StorageDemand& storage = demand.storages[operation.storage.index];
      storage.inside_read += operation.near_storage.read;
      storage.inside_written += operation.near_storage.written;
      storage.elements += operation.near_storage.elements;
      return;
    }
    case OperationKind::copy_to_gpu:
      (operation.pageable ? rank.pageable_h2d : rank.h2d) += bytes;
      return;
    case OperationKind::copy_to_host:
      (operation.pageable ? rank.pageable_d2h : rank.d2h) += bytes;
      return;
    case OperationKind::copy_on_gpu:
      rank.gpu_copies += bytes;
      return;
    case OperationKind::copy_on_host:
      demand.host_copies += bytes;
      return;
    case OperationKind::gpu_kernels:
      if (operation.gpu_stream == GpuStream::side) {
        rank.side_kernels += operation.kernels.size();
        for (const LoggedKernel& kernel : operation.kernels) rank.side_bytes += kernel.bytes;
        return;
      }
      rank.kernels += operation.kernels.size();
      for (const LoggedKernel& kernel : operation.kernels) {
        rank.flops += kernel.flops;
        if (kernel.recompute) rank.recompute_flops += kernel.flops;
        rank.updated += kernel.updated;
        if (kernel.matrix) continue;  // as long as its products or its bytes, not both
        if (kernel.updated > 0)
          rank.update_bytes += kernel.bytes;
        else
          (kernel.in_pass ? rank.pass_bytes : rank.other_bytes) += kernel.bytes;
      }
      return;
    case OperationKind::cpu_kernel:
      demand.cpu_elements[static_cast<std::size_t>(operation.cpu.work)] += operation.cpu.elements;
      demand.cpu_traffic[static_cast<std::size_t>(operation.cpu.work)] += operation.cpu.traffic;
      return;
    case OperationKind::send:
      rank.sent += bytes;
      if (operation.to_other_node) rank.handed_to_nodes += bytes;
      return;
    case OperationKind::collective:
      return;  // counted when its round starts
  }
}

}  // namespace spillway::strategies
