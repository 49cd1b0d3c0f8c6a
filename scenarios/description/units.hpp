#pragma once

#include <compare>
#include <cstdint>

namespace spillway::description {

/// A number with a unit; the tag keeps bytes from being added to seconds.
///   Result  plain arithmetic of one unit; `value()` gives the SI base unit (bytes, seconds, ...)
template <class Tag, class Rep>
class Quantity {
 public:
  using rep = Rep;
  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  constexpr explicit operator bool() const { return value_ != Rep{}; }
  constexpr auto operator<=>(const Quantity&) const = default;

  constexpr Quantity& operator+=(Quantity other) { return value_ += other.value_, *this; }
  constexpr Quantity& operator-=(Quantity other) { return value_ -= other.value_, *this; }
  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(a.value_ + b.value_);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity(a.value_ - b.value_);
  }
  friend constexpr Quantity operator*(Quantity a, Rep factor) {
    return Quantity(a.value_ * factor);
  }
  friend constexpr Quantity operator*(Rep factor, Quantity a) { return a * factor; }
  friend constexpr Quantity operator/(Quantity a, Rep divisor) {
    return Quantity(a.value_ / divisor);
  }
  friend constexpr double operator/(Quantity a, Quantity b) {
    return static_cast<double>(a.value_) / static_cast<double>(b.value_);
  }

 private:
  Rep value_{};
};

using Bytes = Quantity<struct BytesTag, std::uint64_t>;
using Params = Quantity<struct ParamsTag, std::uint64_t>;
using Seconds = Quantity<struct SecondsTag, double>;
using Flops = Quantity<struct FlopsTag, double>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag, double>;
using ParamsPerSecond = Quantity<struct ParamsPerSecondTag, double>;

constexpr Seconds operator/(Bytes amount, BytesPerSecond rate) {
  return Seconds(static_cast<double>(amount.value()) / rate.value());
}
constexpr Seconds operator/(Flops amount, FlopsPerSecond rate) {
  return Seconds(amount.value() / rate.value());
}
constexpr Seconds operator/(Params amount, ParamsPerSecond rate) {
  return Seconds(static_cast<double>(amount.value()) / rate.value());
}

/// Smallest unit that drives read, write and are divided into: bytes.
inline constexpr std::uint64_t storage_sector = 4096;

/// `a / b` rounded up; b > 0.
constexpr std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }
/// The smallest multiple of `unit` that is not below `bytes`.
constexpr Bytes round_up(Bytes bytes, Bytes unit) {
  return Bytes(divide_up(bytes.value(), unit.value()) * unit.value());
}
/// The bytes of the sectors that hold so many.
constexpr std::uint64_t in_sectors(std::uint64_t bytes) {
  return divide_up(bytes, storage_sector) * storage_sector;
}

inline namespace literals {
constexpr Bytes operator""_B(unsigned long long n) { return Bytes(n); }
constexpr Bytes operator""_KiB(unsigned long long n) { return Bytes(n << 10); }
constexpr Bytes operator""_MiB(unsigned long long n) { return Bytes(n << 20); }
constexpr Bytes operator""_GiB(unsigned long long n) { return Bytes(n << 30); }
constexpr Bytes operator""_GB(unsigned long long n) { return Bytes(n * 1'000'000'000ull); }
constexpr Seconds operator""_s(long double s) { return Seconds(static_cast<double>(s)); }
constexpr Seconds operator""_s(unsigned long long s) { return Seconds(static_cast<double>(s)); }
constexpr BytesPerSecond operator""_GBps(long double r) {
  return BytesPerSecond(static_cast<double>(r) * 1e9);
}
constexpr BytesPerSecond operator""_GBps(unsigned long long r) {
  return BytesPerSecond(static_cast<double>(r) * 1e9);
}
}  // namespace literals

}  // namespace spillway::description
