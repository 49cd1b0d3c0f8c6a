#include "hw_backend/cuda/cuda_device.hpp"

#include <algorithm>

#include "hw_backend/cuda/cuda_error.hpp"
#include "hw_backend/cuda/warm_up.hpp"
#include "hw_backend/device/hang.hpp"
#include "scenarios/description/errors.hpp"

namespace spillway::hw_backend {

namespace {

/// "13.0"
std::string version(cudaError_t (*query)(int*)) {
  int number = 0;
  check(query(&number), "the version of CUDA");
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

std::string name_of(int ordinal) {
  cudaDeviceProp properties = {};
  check(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
  return std::string(properties.name) + ", CUDA " + version(cudaRuntimeGetVersion) +
         ", driver for CUDA " + version(cudaDriverGetVersion);
}

/// Left alone for kernels that CUDA and cuBLASLt load with a first launch or a new shape's
/// algorithm: ours are some tens of KiB each; cuBLASLt's are not measured.
constexpr std::uint64_t for_later_kernels = 32u << 20;

/// Who pinned what, in the whole process.
struct Pins {
  std::mutex mutex;
  std::map<std::byte*, int> users;
};
Pins& pins() {
  static Pins all;
  return all;
}

}  // namespace

int count_cuda_devices() {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result == cudaErrorNoDevice) return 0;
  // CUDA says the same of a driver that is too old and of none at all
  int driver = 0;
  if (result == cudaErrorInsufficientDriver && cudaDriverGetVersion(&driver) == cudaSuccess)
    throw description::DeviceError(
        driver == 0 ? std::string("no NVIDIA driver is installed")
                    : "the driver is for CUDA " + version(cudaDriverGetVersion) +
                          ", the plugin for " + version(cudaRuntimeGetVersion) +
                          ": update the driver, or build with a toolkit of its version");
  check(result, "cudaGetDeviceCount");
  return count;
}

CudaDevice::CudaDevice(int ordinal) : ordinal_(ordinal), peers_(ordinal) {
  check(cudaSetDevice(ordinal), "cudaSetDevice");
  static_cast<void>(cublas_library());  // a machine without it learns that here, not in a step
  name_ = name_of(ordinal);
  fetches_ = std::make_unique<CudaStream>();
  float* word = nullptr;
  check(cudaHostAlloc(reinterpret_cast<void**>(&word), sizeof *word, cudaHostAllocPortable),
        "cudaHostAlloc");
  fetched_.reset(word);
  clock_ = std::make_unique<DeviceClock>();
  for (auto& lane : lanes_) lane = std::make_unique<Lane>(ordinal, *clock_);
  take_for_itself();
}

void CudaDevice::take_for_itself() {
  const cudaStream_t stream = lane(Stream::compute).stream();
  auto& primitives = primitives_[static_cast<std::size_t>(Stream::compute)];
  primitives = std::make_unique<CudaPrimitives>(stream);
  primitives->reserve();
  // kernels there need no scratch, but the library its handle
  primitives_[static_cast<std::size_t>(Stream::side)] =
      std::make_unique<CudaPrimitives>(lane(Stream::side).stream());
  const std::unique_ptr<std::byte, decltype(&free_device_memory)> memory(
      take_device_memory(warm_up_bytes, "memory"), &free_device_memory);
  warm_up(*primitives, memory.get());
  check(cudaStreamSynchronize(stream), "the first kernels");
}

CudaDevice::~CudaDevice() {
  if (const auto hung = CudaDevice::quiesce(rest_limit_s)) end_hung_process(*hung, rest_limit_s);
  cudaSetDevice(ordinal_);
  for (auto& primitives : primitives_) primitives.reset();
}

void CudaDevice::meet(const std::vector<std::unique_ptr<Device>>& all) {
  check(cudaSetDevice(ordinal_), "cudaSetDevice");
  std::set<int> others;
  for (const auto& one : all)
    if (one->ordinal() >= 0 && one->ordinal() != ordinal_) others.insert(one->ordinal());
  peers_.reserve(others, all.size());
}

void CudaDevice::reserve(const DeviceWork& work) {
  check(cudaSetDevice(ordinal_), "cudaSetDevice");
  primitives_[static_cast<std::size_t>(Stream::compute)]->reserve_for(work);
}

std::uint64_t CudaDevice::available() const {
  std::size_t unused = 0, all = 0;
  check(cudaSetDevice(ordinal_), "cudaSetDevice");
  check(cudaMemGetInfo(&unused, &all), "cudaMemGetInfo");
  return unused - std::min<std::uint64_t>(unused, for_later_kernels);
}

std::byte* CudaDevice::allocate(std::uint64_t bytes) {
  check(cudaSetDevice(ordinal_), "cudaSetDevice");
  return take_device_memory(bytes, "memory");
}

void CudaDevice::free(std::byte* memory, std::uint64_t /*bytes*/) noexcept {
  if (cudaSetDevice(ordinal_) == cudaSuccess) free_device_memory(memory);
}

void CudaDevice::pin(std::byte* memory, std::uint64_t bytes) {
  const std::lock_guard lock(pins().mutex);
  if (pins().users[memory]++ > 0) return;
  const cudaError_t result =
      cudaHostRegister(memory, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped);
  if (result == cudaSuccess) return;
  pins().users.erase(memory);
  static_cast<void>(cudaGetLastError());  // else the next launch reports it
  check(result, "cudaHostRegister of " + std::to_string(bytes) + " bytes");
}

void CudaDevice::unpin(std::byte* memory) noexcept {
  const std::lock_guard lock(pins().mutex);
  const auto found = pins().users.find(memory);
  if (found == pins().users.end()) return note("memory is unpinned that nobody has pinned");
  if (--found->second > 0) return;
  pins().users.erase(found);
  const cudaError_t result = cudaHostUnregister(memory);
  if (result == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // else the next launch reports it
  note("cudaHostUnregister: " + in_words(result));
}

void CudaDevice::note(const std::string& what) {
  if (std::find(notes_.begin(), notes_.end(), what) == notes_.end()) notes_.push_back(what);
}

void CudaDevice::wait_for(Stream stream, Stream other, std::uint64_t call) {
  waits_[static_cast<std::size_t>(stream)].push_back({other, call});
}

void CudaDevice::add(Stream stream, std::vector<Enqueue> parts, Done done) {
  std::vector<Wait> waits;
  waits.swap(waits_[static_cast<std::size_t>(stream)]);
  Lane& on = lane(stream);
  std::vector<Lane::Enqueue> enqueued;
  for (Enqueue& part : parts) enqueued.push_back([&on, part = std::move(part)] { part(on); });
  on.add(
      [this, &on, waits = std::move(waits)] {
        for (const Wait& wait : waits) lane(wait.other).wait_on_stream(on.stream(), wait.call);
      },
      std::move(enqueued), std::move(done));
}

void CudaDevice::add(Stream stream, Enqueue part, Done done) {
  std::vector<Enqueue> parts;
  parts.push_back(std::move(part));
  add(stream, std::move(parts), std::move(done));
}

void CudaDevice::run(Stream stream, double /*at_least_s*/, std::vector<DeviceWork> parts,
                     Done done) {
  auto& primitives = primitives_[static_cast<std::size_t>(stream)];
  std::vector<Enqueue> enqueued;
  for (DeviceWork& part : parts)
    enqueued.push_back([&primitives, part = std::move(part)](Lane& on) {
      if (!primitives) primitives = std::make_unique<CudaPrimitives>(on.stream());
      part(*primitives);
    });
  add(stream, std::move(enqueued), std::move(done));
}

void CudaDevice::copy(Stream stream, double /*at_least_s*/, std::byte* into, const std::byte* from,
                      std::uint64_t bytes, Done done) {
  add(
      stream,
      [=](Lane& on) {
        if (bytes > 0)
          check(cudaMemcpyAsync(into, from, bytes, cudaMemcpyDefault, on.stream()),
                "cudaMemcpyAsync of " + std::to_string(bytes) + " bytes");
      },
      std::move(done));
}

void CudaDevice::collective(double /*at_least_s*/, PeerCall call, Done done) {
  add(
      Stream::peers,
      [this, call = std::move(call)](Lane& on) { peers_.combine(on.stream(), call); },
      std::move(done));
}

float CudaDevice::fetch(const std::byte* from) {
  check(cudaSetDevice(ordinal_), "cudaSetDevice");
  check(cudaMemcpyAsync(fetched_.get(), from, sizeof(float), cudaMemcpyDefault, fetches_->get()),
        "cudaMemcpyAsync of a number");
  check(cudaStreamSynchronize(fetches_->get()), "cudaStreamSynchronize");
  return *fetched_;
}

std::optional<std::string> CudaDevice::quiesce(double limit_s) {
  for (auto& waits : waits_) waits.clear();
  for (std::size_t i = 0; i < lanes_.size(); ++i)
    if (!lanes_[i]->quiesce(limit_s))
      return name_ + ": its stream " + std::string(to_string(static_cast<Stream>(i)));
  return std::nullopt;
}

}  // namespace spillway::hw_backend
