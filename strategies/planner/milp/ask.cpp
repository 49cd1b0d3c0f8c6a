#include "scenarios/description/data_files.hpp"
#include "scenarios/description/errors.hpp"
#include "strategies/planner/milp/messages.hpp"
#include "strategies/planner/milp/milp.hpp"

#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

/// The side of who asks: no CBC here.
namespace spillway::milp {

namespace {

/// Owns a file in memory. The solver's process reads and writes such, not pipes: neither side ever
/// waits for the other or writes to a reader that has gone.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("spillway_milp", MFD_CLOEXEC)) {
    if (descriptor_ < 0) fail("memfd_create", errno);
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return descriptor_; }

  void write(const Message& message) {
    std::size_t done = 0;
    while (done < message.size()) {
      const ssize_t written = ::pwrite(descriptor_, message.data() + done, message.size() - done,
                                       static_cast<off_t>(done));
      if (written < 0 && errno != EINTR) fail("pwrite", errno);
      done += static_cast<std::size_t>(std::max<ssize_t>(written, 0));
    }
  }

  Message read() const {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) fail("fstat", errno);
    Message message(static_cast<std::size_t>(status.st_size));
    std::size_t done = 0;
    while (done < message.size()) {
      const ssize_t got = ::pread(descriptor_, message.data() + done, message.size() - done,
                                  static_cast<off_t>(done));
      if (got == 0 || (got < 0 && errno != EINTR)) fail("pread", errno);
      done += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    }
    return message;
  }

  [[noreturn]] static void fail(const std::string& call, int reason) {
    throw description::DeviceError(call +
                                   ": the solver of integer programs: " + std::strerror(reason));
  }

 private:
  int descriptor_;
};

pid_t start(const std::string& program, const MemoryFile& question, const MemoryFile& answer) {
  // the solver ends itself when this process is gone
  const std::string asker = std::to_string(::getpid());
  const char* const words[] = {program.c_str(), asker.c_str(), nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, question.descriptor(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, answer.descriptor(), STDOUT_FILENO);
  pid_t solver = 0;
  const int failure = ::posix_spawn(&solver, program.c_str(), &actions, nullptr,
                                    const_cast<char* const*>(words), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failure != 0)
    throw description::DeviceError("posix_spawn: the solver cannot be started: " + program + ": " +
                                   std::strerror(failure));
  return solver;
}

/// Throws  DeviceError when it was killed or could not load its libraries; InternalError when the
///         solver gave up, or crashed
void wait_for(pid_t solver, const std::string& program) {
  int status = 0;
  while (::waitpid(solver, &status, 0) < 0)
    if (errno != EINTR) MemoryFile::fail("waitpid", errno);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  constexpr int no_libraries = 127;  // as the dynamic linker says it
  if (WIFEXITED(status) && WEXITSTATUS(status) == no_libraries)
    throw description::DeviceError("the solver cannot be started: " + program);
  if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGTERM))
    throw description::DeviceError("the solver of integer programs was ended by signal " +
                                   std::string(::strsignal(WTERMSIG(status))));
  throw description::InternalError("CBC gave up on a program");
}

}  // namespace

double Solution::gap() const {
  if (!found || cost <= bound) return 0;
  return std::min(1.0, (cost - bound) / std::max(std::abs(cost), 1e-30));
}

Solution solve(const Program& program, const Limits& limits) {
  const std::string file = description::helper_file("milp").string();
  MemoryFile question;
  const MemoryFile answer;
  question.write(message_of(program, limits));
  wait_for(start(file, question, answer), file);
  return answer_in(answer.read());
}

}  // namespace spillway::milp
