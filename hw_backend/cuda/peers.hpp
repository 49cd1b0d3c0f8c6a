#pragma once

#include <cuda_runtime.h>

#include <set>

#include "hw_backend/cuda/scratch.hpp"
#include "hw_backend/device/device.hpp"

namespace spillway::hw_backend {

/// Collectives of devices of this process, enqueued on a stream of one of them. Members may be on
/// this device, on peers that it reaches, or on others, whose data it copies to itself first.
class Peers {
 public:
  explicit Peers(int device) : device_(device) {}

  /// Takes now what collectives of up to `members` need, some of them on `others`.
  ///   Throws  DeviceError
  void reserve(const std::set<int>& others, std::size_t members);
  /// Reductions add in fp32, in rank order, and round once; an output may be its member's input.
  void combine(cudaStream_t stream, const PeerCall& call);

 private:
  void reduce(cudaStream_t stream, const PeerCall& call, std::uint64_t first, std::uint64_t count,
              const std::vector<std::byte*>& out);
  bool reaches(const void* memory);
  bool reaches_device(int other);

  int device_;
  std::set<int> reached_, unreached_;
  Scratch staging_;
};

}  // namespace spillway::hw_backend
