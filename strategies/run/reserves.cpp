#include "strategies/run/reserves.hpp"

#include <algorithm>

namespace spillway::strategies {

namespace {

using description::Bytes;

bool follows(const description::MachineFile& machine, const char* reserve) {
  const auto source = machine.sources.find(reserve);
  return source != machine.sources.end() && source->second.starts_with("default: ");
}

/// The least memory that leaves `used` beside `reserve_of` it, and beside `floor`: half of a small
/// memory is no reserve that a larger machine would be content with.
template <class ReserveOf>
Bytes least_memory(Bytes used, Bytes floor, ReserveOf reserve_of) {
  const auto leaves = [&](std::uint64_t memory) {
    const std::uint64_t reserve = std::max(floor, reserve_of(Bytes(memory))).value();
    return memory - std::min(memory, reserve) >= used.value();
  };
  std::uint64_t enough = 2 * used.value() + (8ull << 30), small = used.value();
  while (small < enough) {
    const std::uint64_t middle = small + (enough - small) / 2;
    if (leaves(middle))
      enough = middle;
    else
      small = middle + 1;
  }
  return Bytes(enough);
}

}  // namespace

Bytes host_memory_with(Bytes used, const description::MachineFile& machine) {
  const Bytes reserve = machine.host.reserve;
  if (!follows(machine, "host.reserve")) return used + reserve;
  return least_memory(used, std::min(reserve, Bytes(4ull << 30)),
                      description::default_host_reserve);
}

Bytes gpu_memory_with(Bytes used, const description::MachineFile& machine) {
  const Bytes reserve = machine.gpu.reserve;
  if (!follows(machine, "gpu.reserve")) return used + reserve;
  return least_memory(used, reserve, [gpu = machine.gpu](Bytes memory) mutable {
    gpu.memory = memory;
    return description::default_gpu_reserve(gpu);
  });
}

}  // namespace spillway::strategies
