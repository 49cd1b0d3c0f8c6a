#include "hw_backend/raw_device/contents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace spillway::hw_backend {

namespace {

constexpr std::uint64_t mebibyte = 1 << 20;
constexpr std::size_t block = 4096;

struct Freed {
  void operator()(std::byte* memory) const { std::free(memory); }
};

/// Aligned as direct transfers want it.
std::unique_ptr<std::byte, Freed> aligned(std::size_t bytes) {
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(block, bytes));
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0, bytes);
  return std::unique_ptr<std::byte, Freed>(memory);
}

std::string mark_text(const std::string& serial) {
  return fmt::format(
      "spillway raw device 1\nserial {}\nEverything on this disk belongs to spillway and may be "
      "overwritten.\n",
      serial);
}

}  // namespace

std::uint64_t usable_bytes(std::uint64_t device_bytes) {
  const std::uint64_t whole = device_bytes / mebibyte;
  return whole == 0 ? 0 : (whole - 1) * mebibyte;
}

bool has_mark(const BlockLayer& layer, int fd, std::uint64_t device_bytes,
              const std::string& serial) {
  const auto memory = aligned(block);
  layer.read(fd, usable_bytes(device_bytes), {memory.get(), block});
  const auto expected = aligned(block);
  const std::string text = mark_text(serial);
  std::memcpy(expected.get(), text.data(), std::min(text.size(), block));
  return std::memcmp(memory.get(), expected.get(), block) == 0;
}

void write_mark(const BlockLayer& layer, int fd, std::uint64_t device_bytes,
                const std::string& serial) {
  const auto memory = aligned(block);
  const std::string text = mark_text(serial);
  std::memcpy(memory.get(), text.data(), std::min(text.size(), block));
  layer.write(fd, usable_bytes(device_bytes), {memory.get(), block});
}

std::optional<std::uint64_t> some_data(const BlockLayer& layer, int fd,
                                       std::uint64_t device_bytes) {
  const auto memory = aligned(mebibyte);
  const auto filled = [&](std::uint64_t offset, std::size_t bytes) {
    layer.read(fd, offset, {memory.get(), bytes});
    return std::any_of(memory.get(), memory.get() + bytes,
                       [](std::byte each) { return each != std::byte(0); });
  };
  const std::uint64_t last = device_bytes / block * block - mebibyte;
  if (filled(0, mebibyte)) return 0;
  if (filled(last, mebibyte)) return last;
  for (std::uint64_t i = 1; i <= 256; ++i) {
    const std::uint64_t offset = last / 257 * i / block * block;
    if (filled(offset, block)) return offset;
  }
  return std::nullopt;
}

}  // namespace spillway::hw_backend
