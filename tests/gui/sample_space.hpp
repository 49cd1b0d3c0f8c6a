#pragma once

#include "explore/store/store.hpp"

#include <string>

namespace spillway::gui {

/// Writes a database with so many points of a space "sample": drives, and seconds against dollars.
/// Every tenth is on the front and has a result, whose scenario is `scenario`.
inline void write_space(const std::string& file, std::uint64_t points,
                        const nlohmann::json& scenario = nlohmann::json::object()) {
  explore::Store store(file, explore::Database::Access::write);
  explore::SpaceRow space;
  space.id = "sample";
  space.name = "sample";
  space.axes = {"machine.storage.nvme.count"};
  space.objectives = {{"step_time_s", true}, {"price_usd", true}};
  space.values = {{}};
  const std::int64_t number = store.begin_space(space);
  for (std::uint64_t i = 0; i < points; ++i) {
    const double x = static_cast<double>(i);
    explore::PointRow row{i,
                          "key" + std::to_string(i),
                          {{"machine.storage.nvme.count", i}},
                          "accepted",
                          i % 10 == 0 ? "" : "another is faster and cheaper",
                          {{"step_time_s", 1 + 100 / (1 + x)}, {"price_usd", 2000 + 10 * x}},
                          false};
    store.put(number, row);
    if (i % 10 != 0) continue;
    store.put_result(row.key, {{"scenario", scenario}});
    store.set_front(number, i, row.key, true);
  }
  explore::Counts counts;
  counts.points = counts.simulated = points;
  store.put_counts(number, counts, true);
  store.commit();
}

}  // namespace spillway::gui
