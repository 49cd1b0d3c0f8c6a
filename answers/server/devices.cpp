#include "answers/server/devices.hpp"

#include "hw_backend/cuda/gds_engine.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace spillway::answers {

using description::refuse;

namespace {

struct Obstacle {
  std::string what, remedy;
};

/// What keeps a run from CUDA devices; `count` receives how many there are.
std::optional<Obstacle> obstacle(const DeviceNeeds& needs, const CudaHere& here, int& count) {
  if (needs.paced)
    return Obstacle{"a paced run plays another machine's GPU on the host",
                    "leave out --pace or --device cuda"};
  if (needs.host_profile)
    return Obstacle{"the profile is of a server whose GPUs are its own memory",
                    "probe this one: spillway probe DIR --device cuda --out FILE"};
  const hw_backend::CudaDevices devices = here.devices();
  count = devices.count;
  if (count == 0)
    return Obstacle{devices.why_none,
                    "run it where `nvidia-smi` shows a GPU, with the plugin built, or with "
                    "--device host"};
  if (!needs.gds) return std::nullopt;
  if (const std::string missing = here.gds_missing(); !missing.empty())
    return Obstacle{"io_engine gds has no GPUDirect Storage: " + missing,
                    "install what is missing, choose another io_engine, or --device host"};
  if (needs.synthetic)
    return Obstacle{"GPUDirect Storage shows nobody the data that --synthetic checks",
                    "leave out --synthetic, choose another io_engine, or --device host"};
  return std::nullopt;
}

}  // namespace

CudaHere cuda_here() { return {hw_backend::cuda_devices, hw_backend::gds_missing}; }

DeviceChoice choose_device(const DeviceNeeds& needs, const CudaHere& here) {
  if (needs.wish == "host") return {0, "as --device asks for"};
  int count = 0;
  const std::optional<Obstacle> found = obstacle(needs, here, count);
  if (!found)
    return {count, needs.wish == "cuda" ? "as --device asks for"
                                        : fmt::format("the driver shows {}", count)};
  if (needs.wish == "cuda") refuse("--device", found->what, found->remedy);
  return {0, found->what};
}

hw_backend::MakeDevice make_device(const DeviceChoice& choice) {
  if (!choice.cuda()) return {};
  return
      [choice](std::uint32_t rank) { return hw_backend::open_cuda_device(choice.ordinal(rank)); };
}

DeviceMemory memory_of_devices(const DeviceChoice& choice, std::uint64_t ranks) {
  std::vector<std::unique_ptr<hw_backend::Device>> open;
  std::vector<std::uint64_t> users(static_cast<std::size_t>(choice.cuda_devices));
  std::vector<const hw_backend::Device*> devices(users.size());
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    open.push_back(hw_backend::open_cuda_device(choice.ordinal(rank)));
    const auto which = static_cast<std::size_t>(choice.ordinal(rank));
    devices[which] = open.back().get();
    ++users[which];
  }
  DeviceMemory least;
  for (std::size_t i = 0; i < users.size(); ++i) {
    if (users[i] == 0) continue;
    const std::uint64_t total = hw_backend::cuda_memory(static_cast<int>(i)).total;
    const std::uint64_t memory = total / users[i];
    const std::uint64_t context = (total - devices[i]->available() + users[i] - 1) / users[i];
    if (least.memory == 0 || memory - context < least.memory - least.context)
      least = {memory, context,
               users[i] == 1 ? std::string("measured: what the driver reports")
                             : fmt::format("measured: what the driver reports, over {} ranks of a "
                                           "device",
                                           users[i])};
  }
  return least;
}

description::MachineFile with_device_memory(description::MachineFile machine,
                                            const DeviceChoice& choice, std::uint64_t ranks) {
  if (!choice.cuda()) return machine;
  const DeviceMemory each = memory_of_devices(choice, ranks);
  machine.gpu.memory = description::Bytes(each.memory);
  machine.gpu.context = description::Bytes(each.context);
  machine.gpu.reserve = description::Bytes(0);
  machine.sources["gpu.reserve"] = "measured: what desktop and driver hold is in gpu.context";
  machine.sources["gpu.memory"] = machine.sources["gpu.context"] = each.source;
  return machine;
}

decltype(hw_backend::RealRunOptions::around_engine) around_engine(const DeviceChoice& choice,
                                                                  bool gds) {
  if (!choice.cuda() || !gds) return {};
  return [choice](std::unique_ptr<hw_backend::IoEngine> inner) {
    hw_backend::GdsEngine::Options options;
    options.use_device = [choice](int rank) {
      hw_backend::use_cuda_device(choice.ordinal(static_cast<std::size_t>(rank)));
    };
    return std::make_unique<hw_backend::GdsEngine>(std::move(inner), options);
  };
}

}  // namespace spillway::answers
