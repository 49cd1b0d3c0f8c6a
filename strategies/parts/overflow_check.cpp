#include "strategies/parts/overflow_check.hpp"

namespace spillway::strategies {

namespace {

/// All ranks of all nodes skip the update when one of them found an overflow.
Task<> agree(Machine& machine, Rank rank) {
  if (machine.topology().size(machine.topology().world()) == 1) co_return;
  const Buffer flag = machine.allocate_now(TierId::gpu, rank, Bytes(64), Purpose::workspace);
  co_await machine.collective(rank, machine.topology().world(), Collective::all_reduce, flag.view(),
                              flag.view());
}

}  // namespace

Task<> check_overflow(Machine& machine, Rank rank, const Job& job, const Gradients& gradients) {
  const description::OverflowCheck how = job.scenario.strategy.overflow_check;
  if (how == description::OverflowCheck::none) co_return;
  const std::uint64_t width = gradients.flat_width();
  const std::uint64_t elements = gradients.flat_bytes().value() / width;
  CpuKernel kernel;
  kernel.elements = elements;
  Buffer absolute, matches;
  if (how == description::OverflowCheck::chained) {
    kernel.work = CpuWork::check_chained;
    kernel.traffic = elements * (4 * width + 4);
    absolute = machine.allocate_now(TierId::pageable, rank, Bytes(elements * width),
                                    Purpose::overflow_check_temporaries);
    matches = machine.allocate_now(TierId::pageable, rank, Bytes(elements),
                                   Purpose::overflow_check_temporaries);
    kernel.operands.emplace_back(absolute.view(), models::Access::write);
    kernel.operands.emplace_back(matches.view(), models::Access::write);
  } else {
    kernel.work = CpuWork::check_fused;
    kernel.traffic = elements * width;
  }
  kernel.operands.emplace_back(gradients.flat_view(), models::Access::read);
  const Op checked = machine.run(rank, std::move(kernel));
  co_await checked;
  absolute.reset();
  matches.reset();
  co_await agree(machine, rank);
}

}  // namespace spillway::strategies
