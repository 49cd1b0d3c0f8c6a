#pragma once

#include "hw_backend/storage/io_engine.hpp"
#include "hw_backend/storage/store_directory.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string>

namespace spillway::hw_backend {

/// A directory of its own, removed with all in it.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Memory at a page's beginning, filled with zeros.
class Pages {
 public:
  explicit Pages(std::uint64_t bytes);
  std::byte* data() const { return memory_.get(); }
  std::uint64_t size() const { return bytes_; }
  std::byte* begin() const { return data(); }
  std::byte* end() const { return data() + bytes_; }
  /// Bytes that depend on the seed and on where they are.
  void fill(std::uint64_t seed) const;

 private:
  std::uint64_t bytes_;
  std::unique_ptr<std::byte, void (*)(void*)> memory_;
};

/// Waits until all of the engine's transfers have ended; the errors' texts, in the order they came.
std::vector<std::string> finish(IoEngine& engine);

/// One transfer, to its end; the error's text, empty when there is none.
std::string move(IoEngine& engine, const Transfer& transfer);

/// What a file holds, by the page cache.
std::vector<std::byte> contents(const std::filesystem::path& path);
/// Overwrites part of a file behind the engine's back.
void overwrite(const std::filesystem::path& path, std::uint64_t offset,
               std::span<const std::byte> bytes);

/// What `work` says in a process of its own, which ends without unwinding.
std::string in_child(const std::function<std::string()>& work);

/// An empty tmpfs of that many bytes, with these further options, in a mount namespace of its own;
/// nothing else of the process changes.  False: the system does not allow it.
///   Call it in a child process
bool mount_tmpfs(const std::filesystem::path& where, std::uint64_t bytes, bool read_only = false);

}  // namespace spillway::hw_backend
