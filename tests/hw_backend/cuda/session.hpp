#pragma once

#include "hw_backend/arithmetic/host_primitives.hpp"
#include "tests/hw_backend/cuda/checks.hpp"

#include <functional>
#include <vector>

namespace spillway::hw_backend {

/// Who computes, in which memory.
enum class Side { host, device };

/// Memory of a device, for as long as it lives.
class DeviceBytes {
 public:
  DeviceBytes(Device& device, std::uint64_t bytes)
      : device_(device), bytes_(bytes), data_(device.allocate(bytes)) {}
  ~DeviceBytes() { device_.free(data_, bytes_); }
  DeviceBytes(const DeviceBytes&) = delete;
  std::byte* data() const { return data_; }
  std::uint64_t size() const { return bytes_; }

 private:
  Device& device_;
  std::uint64_t bytes_;
  std::byte* data_;
};

/// Calls start(done) and waits until it is done; rethrows its error.
void wait_for(const std::function<void(Done)>& start);
void run_on(Device& device, std::function<void(Primitives&)> work);
void copy_now(Device& device, std::byte* into, const std::byte* from, std::uint64_t bytes);

/// A tensor in the host's and in the device's memory, with the same values at first.
class Operand {
 public:
  /// Nearly normal values of deviation `deviation` around 0.
  Operand(Device& device, std::uint64_t elements, Element type, std::uint32_t seed,
          float deviation = 1, std::uint64_t shift = 0);

  Array array(Side side) { return {data(side), type_}; }
  Input in(Side side) { return array(side); }
  Output out(Side side, bool add = false) { return {data(side), type_, add}; }
  template <class Value>
  Value* as(Side side) {
    return reinterpret_cast<Value*>(data(side));
  }
  std::byte* data(Side side);
  std::uint64_t elements() const { return elements_; }
  Element type() const { return type_; }
  std::uint64_t bytes() const { return elements_ * size_of(type_); }
  /// Writes the host's values to the device.
  void upload();
  /// What the device's memory holds.
  std::vector<std::byte> download();

 private:
  Device& device_;
  std::uint64_t elements_;
  Element type_;
  std::uint64_t shift_;
  std::vector<std::byte> host_;
  DeviceBytes memory_;
};

/// One device and what it is compared with.
class Session {
 public:
  Session(Device& with, Report& report) : device(with), report_(report) {}

  /// work(primitives, side) on the processor and on the device.
  void both(const std::function<void(Primitives&, Side)>& work);
  /// Elements of both sides differ by at most `tolerance` times the largest of them, or `least`.
  void near(const std::string& what, Operand& operand, double tolerance, double least = 1e-30);
  void equal(const std::string& what, Operand& operand);
  /// Twice from the same memory: the same bits. `operands`: all that is read or written.
  void repeats(const std::string& what, const std::vector<Operand*>& operands,
               const std::function<void(Primitives&, Side)>& work);

  Device& device;

 private:
  Report& report_;
  HostPrimitives host_;
};

inline constexpr Element all_types[] = {Element::fp32, Element::fp16, Element::bf16};
/// Some units in the last place of the element type.
inline double precision_of(Element type) {
  return type == Element::fp32 ? 1e-5 : type == Element::fp16 ? 2e-3 : 1.6e-2;
}

}  // namespace spillway::hw_backend
