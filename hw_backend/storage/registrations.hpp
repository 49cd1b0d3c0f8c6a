#pragma once

#include "hw_backend/storage/kernel_ring.hpp"
#include "hw_backend/storage/pieces.hpp"

namespace spillway::hw_backend {

/// Memory and files that the kernel has looked up once, in the ring's slots. What it refuses goes
/// unregistered, and a note says so.
class Registrations {
 public:
  Registrations(KernelRing& kernel, bool buffers, bool files);

  void add_memory(std::byte* base, std::uint64_t bytes);
  void remove_memory(std::byte* base);
  void attach(Target& target);
  void detach(Target& target);

  const RegisteredMemory& memory() const { return memory_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void note(int code, const std::string& what, const char* remedy = "");
  std::vector<int> reserved(int code, unsigned count, const char* what);

  KernelRing& kernel_;
  bool buffers_;
  std::vector<std::string> notes_;
  std::vector<int> free_buffers_, free_files_;
  RegisteredMemory memory_;
  std::map<std::byte*, std::vector<std::pair<std::byte*, int>>> slots_;  ///< by registered base
};

}  // namespace spillway::hw_backend
