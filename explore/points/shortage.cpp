#include "explore/points/shortage.hpp"

#include "explore/points/reasons.hpp"

#include <cstdint>

namespace spillway::explore {

text::Text Shortage::words() const {
  return text::filled(
      "needs at least {}, for what every step holds",
      {too_much(tier, static_cast<std::uint64_t>(needs), static_cast<std::uint64_t>(has))});
}

Shortage shortage_of(const strategies::Mandatory& mandatory, const std::string& tier,
                     const description::MachineFile& machine) {
  const strategies::MandatoryBytes bytes = mandatory.bytes(machine);
  const auto of = [&](double held, description::Bytes reserve, description::Bytes memory) {
    return Shortage{tier, held + static_cast<double>(reserve.value()),
                    static_cast<double>(memory.value())};
  };
  if (tier == "host") return of(bytes.host, machine.host.reserve, machine.host.memory);
  if (tier == "gpu") return of(bytes.gpu, machine.gpu.reserve, machine.gpu.memory);
  Shortage drives{tier, bytes.drives, 0};
  for (const description::StorageSpec& storage : machine.storage)
    if (storage.kind == description::StorageKind::ssd)
      drives.has += static_cast<double>(storage.total_room().value());
  return drives;
}

}  // namespace spillway::explore
