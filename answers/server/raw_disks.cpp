#include "answers/server/raw_disks.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace spillway::answers {

using description::refuse;

Gates raw_gates(const hw_backend::BlockLayer& layer, const std::vector<StoragePath>& places,
                const std::vector<std::string>& serials) {
  const auto raw = static_cast<std::size_t>(std::count_if(
      places.begin(), places.end(), [](const StoragePath& place) { return place.raw; }));
  if (raw != serials.size())
    refuse("--allow-raw",
           fmt::format("{} serial numbers, and --on names {} raw devices", serials.size(), raw),
           "write --allow-raw SERIAL once for each, in their order");
  Gates gates;
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i].raw) gates.try_emplace(i, layer, places[i].path, serials[gates.size()]);
  return gates;
}

RawDisks open_raw_disks(Gates gates, const std::vector<hw_backend::ProjectedWear>& wear,
                        const Ask& ask) {
  RawDisks disks;
  for (auto& [place, gate] : gates) {
    const std::string typed = ask(gate.statement(wear.at(place)));
    disks.try_emplace(place, std::move(gate).open(typed));
  }
  return disks;
}

}  // namespace spillway::answers
