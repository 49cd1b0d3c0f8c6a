#include "strategies/parts/update/overflow_check.hpp"

namespace spillway::strategies {

namespace {

using models::Access;

/// All ranks of all nodes skip the update when one of them found an overflow.
///   flag  on the GPU: an fp32 number, more than 0 where this rank found one
Task<bool> agree(Machine& machine, Rank rank, Buffer flag) {
  if (machine.topology().size(machine.topology().world()) > 1) {
    const Op agreed = machine.collective(rank, machine.topology().world(), Collective::all_reduce,
                                         flag.view(), flag.view());
    co_await agreed;
  }
  co_return machine.number(flag.view()) > 0;
}

Buffer new_flag(Machine& machine, Rank rank) {
  return machine.allocate_now(TierId::gpu, rank, Bytes(flag_bytes), Purpose::workspace);
}

GpuKernel flag_kernel(GpuWork work, const Buffer& flag) {
  GpuKernel kernel;
  kernel.name = "overflow flag";
  kernel.work = work;
  kernel.bytes = static_cast<double>(flag_bytes);
  kernel.operands.emplace_back(flag.view(), Access::write, Role::output, ElementType::fp32, 0);
  return kernel;
}

/// Where gradients stay on the GPU: one pass there.
Task<bool> check_on_gpu(Machine& machine, Rank rank, const ResidentGradients& gradients) {
  Buffer flag = new_flag(machine, rank);
  GpuKernel kernel = flag_kernel(GpuWork::check, flag);
  const View all = gradients.all();
  kernel.bytes += static_cast<double>(all.bytes);
  kernel.operands.emplace_back(all, Access::read, Role::input, gradients.type(), 0);
  const Op checked = machine.run(rank, std::span<const GpuKernel>(&kernel, 1));
  co_await checked;
  co_return co_await agree(machine, rank, std::move(flag));
}

/// Where they were checked one by one on their way to the CPU: what any of the flags says.
Task<bool> sum_flags(Machine& machine, Rank rank, const GradientsIntoStates& gradients) {
  Buffer flag = new_flag(machine, rank);
  GpuKernel kernel;
  kernel.name = "overflow flag";
  kernel.work = GpuWork::sum;
  kernel.bytes = static_cast<double>(flag_bytes * gradients.tensors());
  for (std::size_t i = 0; i < gradients.tensors(); ++i)
    kernel.operands.emplace_back(gradients.flags().view(flag_bytes * i, 4), Access::read,
                                 Role::input, ElementType::fp32, 0);
  kernel.operands.emplace_back(flag.view(0, 4), Access::write, Role::output, ElementType::fp32, 0);
  const Op summed = machine.run(rank, std::span<const GpuKernel>(&kernel, 1));
  co_await summed;
  co_return co_await agree(machine, rank, std::move(flag));
}

/// What the CPU of this rank found, told to the others by way of their GPUs.
Task<bool> tell(Machine& machine, Rank rank, bool found) {
  if (machine.topology().size(machine.topology().world()) == 1) co_return found;
  Buffer flag = new_flag(machine, rank);
  GpuKernel kernel = flag_kernel(GpuWork::set, flag);
  kernel.value = found ? 1.0F : 0.0F;
  const Op set = machine.run(rank, std::span<const GpuKernel>(&kernel, 1));
  co_await set;
  co_return co_await agree(machine, rank, std::move(flag));
}

/// Where an update that may be taken back looks through what it takes.
Task<bool> ask_update(Machine& machine, Rank rank, GradientsIntoUpdate& gradients) {
  const bool found = co_await gradients.overflows();
  co_return co_await tell(machine, rank, found);
}

/// Where they lie in one buffer in host memory.
Task<bool> check_on_cpu(Machine& machine, Rank rank, description::OverflowCheck how,
                        const GradientsToHost& gradients) {
  const View all = gradients.all();
  const std::uint64_t elements = 8 * all.bytes / description::bits_of(gradients.type());
  CpuKernel kernel;
  kernel.elements = elements;
  Buffer absolute, matches;
  kernel.operands.emplace_back(all, Access::read, Role::input, gradients.type(), 0);
  if (how == description::OverflowCheck::chained) {
    kernel.work = CpuWork::check_chained;
    kernel.traffic = 4 * (all.bytes + elements);
    absolute = machine.allocate_now(TierId::pageable, rank, Bytes(all.bytes),
                                    Purpose::overflow_check_temporaries);
    matches = machine.allocate_now(TierId::pageable, rank, Bytes(elements),
                                   Purpose::overflow_check_temporaries);
    kernel.operands.emplace_back(absolute.view(), Access::write);
    kernel.operands.emplace_back(matches.view(), Access::write);
  } else {
    kernel.work = CpuWork::check_fused;
    kernel.traffic = all.bytes;
  }
  const Op checked = machine.run(rank, std::move(kernel));
  co_await checked;
  absolute.reset();
  matches.reset();
  co_return co_await tell(machine, rank, checked.found());
}

}  // namespace

Task<bool> check_overflow(Machine& machine, Rank rank, const Job& job, const MadeGradients& made) {
  const description::OverflowCheck how = job.scenario.strategy.overflow_check;
  bool here = false, there = false;
  if (made.active && how != description::OverflowCheck::fused) co_await made.active->updated();
  if (made.resident) here = co_await check_on_gpu(machine, rank, *made.resident);
  if (made.states)
    there = co_await sum_flags(machine, rank, *made.states);
  else if (made.active && how == description::OverflowCheck::fused)
    there = co_await ask_update(machine, rank, *made.active);
  else if (made.host)
    there = co_await check_on_cpu(machine, rank, how, *made.host);
  co_return here || there;
}

}  // namespace spillway::strategies
