#include "strategies/reserves.hpp"

namespace spillway::strategies {

namespace {

using description::Bytes;

bool follows(const description::MachineFile& machine, const char* reserve) {
  const auto source = machine.sources.find(reserve);
  return source != machine.sources.end() && source->second.starts_with("default: ");
}

/// The least memory that leaves `used` beside `reserve_of` it; what it leaves grows with it.
template <class ReserveOf>
Bytes least_memory(Bytes used, ReserveOf reserve_of) {
  std::uint64_t enough = 2 * used.value() + (8ull << 30), small = used.value();
  while (small < enough) {
    const std::uint64_t middle = small + (enough - small) / 2;
    if (middle - reserve_of(Bytes(middle)).value() >= used.value())
      enough = middle;
    else
      small = middle + 1;
  }
  return Bytes(enough);
}

}  // namespace

Bytes host_memory_with(Bytes used, const description::MachineFile& machine) {
  if (!follows(machine, "host.reserve")) return used + machine.host.reserve;
  return least_memory(used, description::default_host_reserve);
}

Bytes gpu_memory_with(Bytes used, const description::MachineFile& machine) {
  if (!follows(machine, "gpu.reserve")) return used + machine.gpu.reserve;
  return least_memory(used, [gpu = machine.gpu](Bytes memory) mutable {
    gpu.memory = memory;
    return description::default_gpu_reserve(gpu);
  });
}

}  // namespace spillway::strategies
