#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "hw_backend/cpu/element.hpp"

namespace spillway::hw_backend {

/// n elements of `type` from `shift` elements behind a 64-byte boundary on, with guards around.
class TestArray {
 public:
  TestArray(Element type, std::size_t n, std::size_t shift = 0)
      : type_(type), n_(n), memory_((n + shift) * size_of(type) + 192, std::byte(0xA5)) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data()) + 64;
    first_ = 64 + (64 - address % 64) % 64 + shift * size_of(type);
  }
  TestArray(const TestArray& other) : TestArray(other.type_, other.n_, 0) {
    std::memcpy(array().data, other.array().data, n_ * size_of(type_));
  }
  TestArray& operator=(const TestArray&) = delete;

  Array array() { return {memory_.data() + first_, type_}; }
  ConstArray array() const { return {memory_.data() + first_, type_}; }
  std::size_t size() const { return n_; }

  std::uint32_t bits(std::size_t i) const {
    std::uint32_t value = 0;
    std::memcpy(&value, array().data + i * size_of(type_), size_of(type_));
    return value;
  }
  void set_bits(std::size_t i, std::uint32_t value) {
    std::memcpy(array().data + i * size_of(type_), &value, size_of(type_));
  }

  bool guards_whole() const {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      const bool inside = i >= first_ && i < first_ + n_ * size_of(type_);
      if (!inside && memory_[i] != std::byte(0xA5)) return false;
    }
    return true;
  }

  friend bool operator==(const TestArray& a, const TestArray& b) {
    return a.n_ == b.n_ &&
           std::memcmp(a.array().data, b.array().data, a.n_ * size_of(a.type_)) == 0;
  }

 private:
  Element type_;
  std::size_t n_;
  std::vector<std::byte> memory_;
  std::size_t first_ = 0;
};

/// Bits of any kind: numbers, subnormals, infinities, NaNs.
inline void fill_any(TestArray& array, std::uint32_t seed) {
  std::mt19937 random(seed);
  for (std::size_t i = 0; i < array.size(); ++i) {
    array.set_bits(i, static_cast<std::uint32_t>(random()));
  }
}

/// Normally distributed numbers of size `scale`.
inline void fill_normal(TestArray& array, float scale, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, scale);
  for (std::size_t i = 0; i < array.size(); ++i) store(array.array(), i, normal(random));
}

inline constexpr Element all_elements[] = {Element::fp32, Element::fp16, Element::bf16};

/// None, one, around a vector, around a block, around a part of a team's work.
inline constexpr std::size_t lengths[] = {0,  1,   7,   15,  16,   17,   31,   32,           33,
                                          63, 511, 512, 513, 1024, 4095, 4097, 3 * 65536 + 5};

}  // namespace spillway::hw_backend
