#include "tests/hw_backend/rig.hpp"

namespace spillway::hw_backend {

Rig::Rig(description::Scenario scenario, RigOptions options) : scenario_(std::move(scenario)) {
  RealOptions real;
  for (const description::StorageSpec& storage : scenario_.machine.storage) {
    RealStorage& directories = real.storages.emplace_back();
    for (std::uint64_t drive = 0; drive < storage.count; ++drive) {
      directories.directories.push_back(scratch_.path() / (storage.name + std::to_string(drive)));
      std::filesystem::create_directory(directories.directories.back());
    }
  }
  real.paced = real.synthetic = options.paced;
  real.trace = options.trace;
  real.answer_s = options.answer_s;
  real.rest_s = options.rest_s;
  engine_ = open_engine(options.engine);
  if (options.around_engine) engine_ = options.around_engine(std::move(engine_));
  for (std::uint32_t rank = 0; rank < scenario_.node_ranks(); ++rank)
    devices_.push_back(std::make_unique<FaultyDevice>(
        options.make_device ? options.make_device(rank)
                            : std::make_unique<HostDevice>(!options.paced, &memory_),
        options.device_faults));
  machine_ = std::make_unique<RealMachine>(scenario_, prepared_, real, *engine_, memory_, devices_);
  if (!options.paced) return;
  for (std::uint32_t rank = 0; rank < devices_.size(); ++rank)
    machine_->enter({rank}, result::Phase::forward);
}

std::vector<std::string> Rig::left_behind() {
  machine_.reset();
  std::vector<std::string> all;
  for (const auto& storage : std::filesystem::directory_iterator(scratch_.path()))
    for (const auto& entry : std::filesystem::directory_iterator(storage))
      all.push_back(entry.path().string());
  return all;
}

}  // namespace spillway::hw_backend

namespace spillway::strategies {

std::shared_ptr<Machine> Real::make(const description::Scenario& scenario) {
  const auto rig =
      std::make_shared<hw_backend::Rig>(scenario, hw_backend::RigOptions{.paced = true});
  return {rig, &rig->machine()};
}

}  // namespace spillway::strategies
