#include "answers/bound/bound.hpp"

#include "explore/outcome/most_tokens.hpp"
#include "explore/trials/machine_shape.hpp"

namespace spillway::answers {

namespace {

using description::Scenario;

std::map<std::string, double> by_name(const strategies::Bounds& bounds,
                                      const description::MachineFile& machine) {
  std::map<std::string, double> busy = {{"gpu", bounds.gpu}, {"h2d", bounds.h2d},
                                        {"d2h", bounds.d2h}, {"network", bounds.network},
                                        {"cpu", bounds.cpu}, {"host_memory", bounds.host_memory}};
  if (bounds.storages.size() == machine.storage.size())
    for (std::size_t i = 0; i < machine.storage.size(); ++i)
      busy[machine.storage[i].name] = bounds.storages[i];
  else if (!bounds.storages.empty())
    busy["drives"] = bounds.storages.front();  // which of them gets what is open
  return busy;
}

/// The scenario without what a count does not depend on.
std::string count_key(const Scenario& scenario) {
  nlohmann::json contents = scenario;
  contents.erase("name");
  contents["machine"] = explore::shape_of(scenario.machine);
  return contents.dump();
}

double room_on_drives(const description::MachineFile& machine) {
  double room = 0;
  for (const description::StorageSpec& storage : machine.storage) {
    if (storage.kind != description::StorageKind::ssd) continue;
    if (storage.capacity.value() == 0) return 0;  // without a limit
    room += static_cast<double>(storage.total_room().value());
  }
  return room;
}

}  // namespace

answer::Bound Bounding::of(const Scenario& scenario) {
  const description::MachineFile& machine = scenario.machine;
  answer::Bound bound;
  bound.price_usd = machine.price();
  if (std::string counted = count_key(scenario);
      counted != counted_ || (mandatory_ && !mandatory_->holds_for(scenario))) {
    mandatory_ = strategies::Mandatory::of(scenario);
    counted_ = std::move(counted);
  }
  if (!mandatory_) return bound;
  bound.known = true;
  if (const char* tier = mandatory_->too_small(machine)) bound.too_small = tier;
  bound.step_time_s = mandatory_->step_s(scenario);
  if (bound.step_time_s > 0)
    bound.tokens_per_s = explore::tokens_a_step(scenario) / bound.step_time_s;
  bound.busy_s = by_name(mandatory_->busy(scenario), machine);
  double longest = 0;
  for (const auto& [name, seconds] : bound.busy_s)
    if (seconds > longest) {
      longest = seconds;
      bound.limited_by = name;
    }
  const strategies::MandatoryBytes bytes = mandatory_->bytes(machine);
  bound.memory = {{"gpu", {bytes.gpu, static_cast<double>(machine.gpu.usable().value())}},
                  {"host", {bytes.host, static_cast<double>(machine.host.usable().value())}},
                  {"ssd", {bytes.drives, room_on_drives(machine)}}};
  bound.io_bytes_per_step = {{"h2d", bytes.h2d},
                             {"d2h", bytes.d2h},
                             {"ssd_read", bytes.drive_read},
                             {"ssd_write", bytes.drive_written}};
  return bound;
}

answer::Bound bound_of(const Scenario& scenario) { return Bounding().of(scenario); }

}  // namespace spillway::answers
