#include "hw_backend/arithmetic/host_primitives.hpp"

#include "hw_backend/cpu/conversion.hpp"
#include "hw_backend/cpu/overflow_check.hpp"

#include <cstring>

namespace spillway::hw_backend {

float* HostScratch::reserve(std::size_t total) {
  if (total > size_) {
    memory_.reset();
    memory_ = std::make_unique<float[]>(total + line);
    size_ = total;
  }
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
  return memory_.get() + (64 - address % 64) % 64 / sizeof(float);
}

HostPrimitives::HostPrimitives(Isa isa) : team_(1, isa), multiply_(multiply_kernel(isa)) {}

const float* HostPrimitives::widen(Input x, std::uint64_t first, std::size_t count, float* buffer) {
  if (!x.data) return nullptr;
  if (x.type == Element::fp32) return reinterpret_cast<const float*>(x.data) + first;
  widen_into(x, first, count, buffer);
  return buffer;
}

void HostPrimitives::widen_into(Input x, std::uint64_t first, std::size_t count, float* into) {
  const std::byte* from = x.data + first * size_of(x.type);
  hw_backend::convert(Array{reinterpret_cast<std::byte*>(into), Element::fp32},
                      ConstArray{from, x.type}, count, team_);
}

void HostPrimitives::narrow(float* values, Output y, std::uint64_t first, std::size_t count) {
  const Array into{y.data + first * size_of(y.type), y.type};
  const ConstArray from{reinterpret_cast<const std::byte*>(values), Element::fp32};
  if (y.add)
    hw_backend::add(into, into, from, count, team_);
  else
    hw_backend::convert(into, from, count, team_);
}

void HostPrimitives::adam(const AdamArrays& arrays, const AdamNumbers& numbers) {
  hw_backend::adam(arrays, numbers, team_);
}

void HostPrimitives::adam_part(AdamPart part, const AdamPartArrays& arrays,
                               const AdamNumbers& numbers) {
  hw_backend::adam_part(part, arrays, numbers, team_);
}

void HostPrimitives::sgd(const SgdArrays& arrays, const SgdNumbers& numbers) {
  hw_backend::sgd(arrays, numbers, team_);
}

void HostPrimitives::momentum_step(const MomentumArrays& arrays, const MomentumNumbers& numbers) {
  hw_backend::momentum_step(arrays, numbers, team_);
}

void HostPrimitives::zero(std::byte* data, std::uint64_t bytes) { std::memset(data, 0, bytes); }

void HostPrimitives::check(std::uint64_t count, Input values, float* found) {
  *found = check_fused(values, count, team_) ? 1.0F : 0.0F;
}

}  // namespace spillway::hw_backend
