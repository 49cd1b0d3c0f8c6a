#include "strategies/parts/overflow_check.hpp"

namespace spillway::strategies {

namespace {

using models::Access;

constexpr std::uint64_t line = 64;

/// What the ranks pass around: an fp32 number, more than 0 where somebody found an overflow.
struct Flag {
  Machine& machine;
  Rank rank;
  Buffer host;
  Flag(Machine& on, Rank of)
      : machine(on),
        rank(of),
        host(on.allocate_now(TierId::pageable, of, Bytes(line),
                             Purpose::overflow_check_temporaries)) {}

  BoundOperand operand() const {
    return BoundOperand(host.view(), Access::write, Role::output, ElementType::fp32, 0);
  }
};

/// All ranks of all nodes skip the update when one of them found an overflow.
///   found  on the GPU; empty: in the flag's host memory
Task<bool> agree(Flag flag, Buffer found) {
  Machine& machine = flag.machine;
  const Rank rank = flag.rank;
  const bool alone = machine.topology().size(machine.topology().world()) == 1;
  if (!alone && !found) {
    found = machine.allocate_now(TierId::gpu, rank, Bytes(line), Purpose::workspace);
    co_await machine.copy(rank, found.view(), flag.host.view());
  }
  if (!alone)
    co_await machine.collective(rank, machine.topology().world(), Collective::all_reduce,
                                found.view(), found.view());
  if (found) co_await machine.copy(rank, flag.host.view(), found.view());
  co_return machine.number(flag.host.view()) > 0;
}

/// Where gradients stay on the GPU: one pass there.
Task<bool> check_on_gpu(Machine& machine, Rank rank, const Gradients& gradients) {
  Flag flag(machine, rank);
  Buffer found = machine.allocate_now(TierId::gpu, rank, Bytes(line), Purpose::workspace);
  GpuKernel kernel;
  kernel.name = "overflow check";
  kernel.work = GpuWork::check;
  const View all = gradients.resident_view();
  kernel.bytes = static_cast<double>(all.bytes);
  kernel.operands.emplace_back(all, Access::read, Role::input, gradients.resident_type(), 0);
  kernel.operands.emplace_back(found.view(), Access::write, Role::output, ElementType::fp32, 0);
  const std::span<const GpuKernel> kernels(&kernel, 1);
  co_await machine.run(rank, kernels);
  co_return co_await agree(std::move(flag), std::move(found));
}

}  // namespace

Task<bool> check_overflow(Machine& machine, Rank rank, const Job& job, const Gradients& gradients) {
  const description::OverflowCheck how = job.scenario.strategy.overflow_check;
  if (job.scenario.strategy.optimizer.device == description::OptimizerDevice::gpu)
    co_return co_await check_on_gpu(machine, rank, gradients);
  const std::uint64_t width = gradients.flat_width();
  const std::uint64_t elements = gradients.flat_bytes().value() / width;
  Flag flag(machine, rank);
  CpuKernel kernel;
  kernel.elements = elements;
  Buffer absolute, matches;
  kernel.operands.emplace_back(gradients.flat_view(), Access::read, Role::input,
                               gradients.flat_type(), 0);
  kernel.operands.push_back(flag.operand());
  if (how == description::OverflowCheck::chained) {
    kernel.work = CpuWork::check_chained;
    kernel.traffic = elements * (4 * width + 4);
    absolute = machine.allocate_now(TierId::pageable, rank, Bytes(elements * width),
                                    Purpose::overflow_check_temporaries);
    matches = machine.allocate_now(TierId::pageable, rank, Bytes(elements),
                                   Purpose::overflow_check_temporaries);
    kernel.operands.emplace_back(absolute.view(), Access::write);
    kernel.operands.emplace_back(matches.view(), Access::write);
  } else {
    kernel.work = CpuWork::check_fused;
    kernel.traffic = elements * width;
  }
  const Op checked = machine.run(rank, std::move(kernel));
  co_await checked;
  absolute.reset();
  matches.reset();
  co_return co_await agree(std::move(flag), Buffer());
}

}  // namespace spillway::strategies
