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
constexpr std::uint64_t block = 4096;

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

/// Calls `look(offset, bytes)` for each sample, until it says false: the first and the last MiB,
/// and 256 blocks evenly between.
template <class Look>
void each_sample(std::uint64_t device_bytes, Look look) {
  const std::uint64_t last = device_bytes / block * block - mebibyte;
  if (!look(std::uint64_t{0}, mebibyte) || !look(last, mebibyte)) return;
  for (std::uint64_t i = 1; i <= 256; ++i)
    if (!look(last / 257 * i / block * block, block)) return;
}

/// FNV-1a of the samples, but for the mark.
std::uint64_t fingerprint(const BlockLayer& layer, int fd, std::uint64_t device_bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const std::uint64_t mark = usable_bytes(device_bytes);
  const auto memory = aligned(mebibyte);
  each_sample(device_bytes, [&](std::uint64_t offset, std::uint64_t bytes) {
    layer.read(fd, offset, {memory.get(), bytes});
    for (std::uint64_t i = 0; i < bytes; ++i) {
      if (offset + i >= mark && offset + i < mark + block) continue;
      hash = (hash ^ std::to_integer<std::uint64_t>(memory.get()[i])) * 0x100000001b3;
    }
    return true;
  });
  return hash;
}

std::string mark_text(const std::string& serial) {
  return fmt::format(
      "spillway raw device 1\nserial {}\nEverything on this disk belongs to spillway and may be "
      "overwritten.\n",
      serial);
}

std::string sealed_text(const std::string& serial, std::uint64_t fingerprint) {
  return mark_text(serial) +
         fmt::format("Unless it is no longer what was left there: {:016x}\n", fingerprint);
}

void put_mark(const BlockLayer& layer, int fd, std::uint64_t device_bytes,
              const std::string& text) {
  const auto memory = aligned(block);
  std::memcpy(memory.get(), text.data(), std::min<std::size_t>(text.size(), block));
  layer.write(fd, usable_bytes(device_bytes), {memory.get(), block});
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
  const auto holds = [&](const std::string& text) {
    const auto expected = aligned(block);
    std::memcpy(expected.get(), text.data(), std::min<std::size_t>(text.size(), block));
    return std::memcmp(memory.get(), expected.get(), block) == 0;
  };
  const std::string begun = mark_text(serial);
  if (std::memcmp(memory.get(), begun.data(), std::min<std::size_t>(begun.size(), block)) != 0)
    return false;
  return holds(begun) || holds(sealed_text(serial, fingerprint(layer, fd, device_bytes)));
}

void write_mark(const BlockLayer& layer, int fd, std::uint64_t device_bytes,
                const std::string& serial) {
  put_mark(layer, fd, device_bytes, mark_text(serial));
}

void seal_mark(const BlockLayer& layer, int fd, std::uint64_t device_bytes,
               const std::string& serial) {
  put_mark(layer, fd, device_bytes, sealed_text(serial, fingerprint(layer, fd, device_bytes)));
}

std::optional<std::uint64_t> some_data(const BlockLayer& layer, int fd,
                                       std::uint64_t device_bytes) {
  const auto memory = aligned(mebibyte);
  std::optional<std::uint64_t> found;
  each_sample(device_bytes, [&](std::uint64_t offset, std::uint64_t bytes) {
    layer.read(fd, offset, {memory.get(), bytes});
    if (std::any_of(memory.get(), memory.get() + bytes,
                    [](std::byte each) { return each != std::byte(0); }))
      found = offset;
    return !found;
  });
  return found;
}

}  // namespace spillway::hw_backend
