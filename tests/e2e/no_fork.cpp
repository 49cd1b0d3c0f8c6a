#include <sys/types.h>
#include <cerrno>

/// Stands before the C library's: the system has no more processes, as in a container at its limit.
extern "C" pid_t fork() noexcept {
  errno = EAGAIN;
  return -1;
}
