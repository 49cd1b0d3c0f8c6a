#pragma once

#include <sys/types.h>
#include <optional>
#include <string>

namespace spillway::hw_backend {

/// A user that a process can become.
struct Person {
  uid_t user = 0;
  gid_t group = 0;
};

/// Who called sudo, by SUDO_UID and SUDO_GID; none where nobody did, or root itself.
std::optional<Person> caller_of_sudo();

/// Once raw disks are held, nothing else is done with root's rights: the process becomes `person`,
/// else stays root without capabilities, so that it may change its own files only. What a run still
/// needs it keeps: the right to lock memory, as many open files as root could have, /proc/self.
///   Result  what was done, in words; "" when the process is not root
///   Throws  DeviceError: a call fails, or root could be had back
///   Call it while there is one thread
std::string give_up_root(const std::optional<Person>& person = caller_of_sudo());

}  // namespace spillway::hw_backend
