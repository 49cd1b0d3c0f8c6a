#include "explore/processes/child.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <new>
#include <utility>

namespace spillway::explore {

namespace {

/// 0 of a process that is not there.
std::uint64_t resident_bytes(const std::string& process) {
  std::uint64_t pages = 0, resident = 0;
  std::ifstream("/proc/" + process + "/statm") >> pages >> resident;
  return resident * static_cast<std::uint64_t>(::getpagesize());
}

void close_if_open(int file) {
  if (file >= 0) ::close(file);
}

/// `work` writes into `pipe`.
Child start(const std::function<void(int pipe)>& work) {
  Child child;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    child.text = std::string("pipe: ") + std::strerror(errno);
    return child;
  }
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  child.pid = ::fork();
  if (child.pid == 0) {
    ::close(ends[0]);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);     // whoever stops the program stops its simulations
    if (::getppid() != parent) ::_exit(0);  // it ended before the line above
    [&]() noexcept {                        // what it throws ends it, and nothing else
      try {
        work(ends[1]);
      } catch (const std::bad_alloc&) {
        ::_exit(no_memory_exit);
      }
    }();
    ::_exit(0);
  }
  ::close(ends[1]);
  if (child.pid < 0) {
    child.pid = 0;
    child.text = std::string("fork: ") + std::strerror(errno);
    ::close(ends[0]);
    return child;
  }
  child.pipe = ends[0];
  child.started = std::chrono::steady_clock::now();
  return child;
}

}  // namespace

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Child start_child(const std::function<std::string()>& work) {
  return start([&work](int pipe) { write_all(pipe, work()); });
}

Child start_staying_child(const std::function<void(int pipe, int more)>& work) {
  int more[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, more) != 0) more[0] = more[1] = -1;
  Child child = start([&](int pipe) {
    close_if_open(more[1]);  // or it would hear itself
    work(pipe, more[0]);
  });
  close_if_open(more[0]);
  if (child.pid == 0) close_if_open(std::exchange(more[1], -1));
  child.more = more[1];
  return child;
}

bool read_some(Child& child) {
  char buffer[1 << 16];
  const ssize_t count = ::read(child.pipe, buffer, sizeof buffer);
  if (count > 0) child.text.append(buffer, static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && errno == EINTR);
}

int reap(Child& child) {
  int status = 0;
  while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  ::close(child.pipe);
  close_if_open(std::exchange(child.more, -1));
  return status;
}

int end_child(Child& child) {
  ::kill(child.pid, SIGKILL);
  return reap(child);
}

bool is_small(const Child& child) {
  constexpr std::uint64_t most_more_bytes = 256u << 20;
  const std::uint64_t own = resident_bytes("self"), its = resident_bytes(std::to_string(child.pid));
  return its > 0 && its < own + most_more_bytes;
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace spillway::explore
