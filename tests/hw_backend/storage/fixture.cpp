#include "tests/hw_backend/storage/fixture.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>

namespace spillway::hw_backend {

ScratchDirectory::ScratchDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "spillway_storage_XXXXXX").string();
  if (!mkdtemp(name.data())) throw std::runtime_error("mkdtemp: " + name);
  path_ = name;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Pages::Pages(std::uint64_t bytes)
    : bytes_(bytes),
      memory_(static_cast<std::byte*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096)),
              std::free) {
  std::fill(begin(), end(), std::byte{0});
}

void Pages::fill(std::uint64_t seed) const {
  // Knuth's 64-bit linear congruential generator; its high bits are the good ones.
  std::uint64_t state = seed;
  for (std::byte& value : std::span(data(), bytes_)) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<std::byte>(state >> 56);
  }
}

std::vector<std::string> finish(IoEngine& engine) {
  std::vector<std::string> out;
  while (engine.in_flight() > 0) {
    for (const Completion& completion : engine.wait({})) {
      std::string text;
      try {
        if (completion.error) std::rethrow_exception(completion.error);
      } catch (const std::exception& error) {
        text = error.what();
      }
      if (!text.empty()) out.push_back(text);
    }
  }
  return out;
}

std::string move(IoEngine& engine, const Transfer& transfer) {
  engine.submit(transfer);
  const std::vector<std::string> errors = finish(engine);
  return errors.empty() ? "" : errors.front();
}

std::vector<std::byte> contents(const std::filesystem::path& path) {
  std::vector<std::byte> out(std::filesystem::file_size(path));
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()));
  return out;
}

void overwrite(const std::filesystem::path& path, std::uint64_t offset,
               std::span<const std::byte> bytes) {
  const Descriptor file(open(path.c_str(), O_WRONLY));
  const auto written = pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
  ASSERT_EQ(written, static_cast<ssize_t>(bytes.size()));
}

std::string in_child(const std::function<std::string()>& work) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    std::string said;
    try {
      said = work();
    } catch (const std::exception& error) {
      said = error.what();
    }
    const auto written = write(ends[1], said.data(), said.size());
    _exit(written == static_cast<ssize_t>(said.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string out;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = read(ends[0], buffer.data(), buffer.size())) > 0;) {
    out.append(buffer.data(), static_cast<std::size_t>(got));
  }
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return out;
}

namespace {

void map_to_root(const char* file, unsigned id) {
  std::ofstream(std::string("/proc/self/") + file) << "0 " << id << " 1";
}

/// A mount namespace; without root in a user namespace of its own, as its root.
bool may_mount() {
  const uid_t user = getuid();
  const gid_t group = getgid();
  if (unshare(CLONE_NEWNS) == 0) return true;
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  std::ofstream("/proc/self/setgroups") << "deny";
  map_to_root("uid_map", user);
  map_to_root("gid_map", group);
  return true;
}

}  // namespace

bool mount_tmpfs(const std::filesystem::path& where, std::uint64_t bytes, bool read_only) {
  if (!may_mount()) return false;
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  const std::string size = fmt::format("size={},mode=1777", bytes);
  return mount("tmpfs", where.c_str(), "tmpfs", read_only ? MS_RDONLY : 0, size.c_str()) == 0;
}

}  // namespace spillway::hw_backend
