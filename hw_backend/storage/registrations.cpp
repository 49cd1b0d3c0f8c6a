#include "hw_backend/storage/registrations.hpp"

#include "hw_backend/storage/io_error.hpp"

#include <algorithm>
#include <cerrno>

namespace spillway::hw_backend {
namespace {

constexpr unsigned buffer_slots = 4096;
constexpr unsigned file_slots = 1024;

}  // namespace

Registrations::Registrations(KernelRing& kernel, bool buffers, bool files)
    : kernel_(kernel), buffers_(buffers) {
  if (buffers) {
    free_buffers_ = reserved(kernel_.reserve_buffers(buffer_slots), buffer_slots, "buffers");
  }
  if (files) free_files_ = reserved(kernel_.reserve_files(file_slots), file_slots, "files");
}

void Registrations::add_memory(std::byte* base, std::uint64_t bytes) {
  ENSURE(!slots_.contains(base), "memory is registered once");
  for (std::uint64_t at = 0; buffers_ && at < bytes;) {
    const std::uint64_t part = std::min(bytes - at, RegisteredMemory::segment_bytes);
    const int slot = free_buffers_.empty() ? -1 : free_buffers_.back();
    const int code = slot < 0 ? -ENOSPC : kernel_.set_buffer(slot, base + at, part);
    if (code < 0) {
      return note(code, "buffers",
                  "the kernel pins them anew for each request; ulimit -l unlimited lifts the limit "
                  "of locked memory");
    }
    free_buffers_.pop_back();
    memory_.add(base + at, {part, slot});
    slots_[base].emplace_back(base + at, slot);
    at += part;
  }
}

void Registrations::remove_memory(std::byte* base) {
  const auto found = slots_.find(base);
  if (found == slots_.end()) return;
  for (const auto& [segment, slot] : found->second) {
    const int code = kernel_.set_buffer(slot, nullptr, 0);
    memory_.remove(segment);
    // A slot that the kernel keeps is not used again; its pages stay pinned, which harms nothing.
    if (code >= 0) free_buffers_.push_back(slot);
    if (code < 0) note(code, "freeing a buffer's slot");
  }
  slots_.erase(found);
}

void Registrations::attach(Target& target) {
  if (target.registered >= 0 || free_files_.empty()) return;
  const int slot = free_files_.back();
  const int code = kernel_.set_file(slot, target.fd());
  if (code < 0) return note(code, target.name());
  free_files_.pop_back();
  target.registered = slot;
}

void Registrations::detach(Target& target) {
  if (target.registered < 0) return;
  const int slot = std::exchange(target.registered, -1);
  const int code = kernel_.set_file(slot, -1);
  // Destructors come here: a slot that the kernel keeps is not used again, which harms nothing.
  if (code < 0) return note(code, target.name());
  free_files_.push_back(slot);
}

void Registrations::note(int code, const std::string& what, const char* remedy) {
  const std::string text = io_error("io_uring_register", -code, what, remedy).what();
  if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(text);
}

std::vector<int> Registrations::reserved(int code, unsigned count, const char* what) {
  std::vector<int> slots;
  if (code != 0) note(code, what);
  for (unsigned i = 0; code == 0 && i < count; ++i) {
    slots.push_back(static_cast<int>(count - 1 - i));
  }
  return slots;
}

}  // namespace spillway::hw_backend
