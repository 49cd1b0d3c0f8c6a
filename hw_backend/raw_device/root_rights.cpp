#include "hw_backend/raw_device/root_rights.hpp"

#include <fmt/format.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "scenarios/description/errors.hpp"

namespace spillway::hw_backend {

namespace {

[[noreturn]] void fail(const char* call, int code) {
  throw description::DeviceError(fmt::format("{}: {} ({}): root's rights cannot be given up", call,
                                             strerrorname_np(code), std::strerror(code)));
}

void require(const char* call, long result) {
  if (result != 0) fail(call, errno);
}

std::optional<std::uint32_t> number_in(const char* variable) {
  const char* const text = secure_getenv(variable);
  if (text == nullptr) return std::nullopt;
  std::uint32_t number = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, number);
  const bool whole = error == std::errc() && stop == end && stop != text;
  if (!whole || number == std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return number;
}

/// As many files as root may have open, so that whom it becomes may, too; not in a container that
/// keeps root from it.
void raise_files() {
  rlimit limit{};
  require("getrlimit", getrlimit(RLIMIT_NOFILE, &limit));
  limit.rlim_max = std::max(limit.rlim_max, rlim_t{1} << 20);  // fs.nr_open, if nobody changed it
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0 && errno != EPERM) fail("setrlimit", errno);
}

/// Keeps the one right to lock memory, where root has it.
void drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
  require("capget", syscall(SYS_capget, &header, sets));
  constexpr std::uint32_t kept = 1u << CAP_IPC_LOCK;
  sets[0].effective = sets[0].permitted &= kept;
  sets[1].effective = sets[1].permitted = sets[0].inheritable = sets[1].inheritable = 0;
  require("capset", syscall(SYS_capset, &header, sets));
}

void become(Person person) {
  const passwd* const entry = getpwuid(person.user);
  if (entry != nullptr)
    require("initgroups", initgroups(entry->pw_name, person.group));
  else
    require("setgroups", setgroups(1, &person.group));
  require("prctl", prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0));
  require("setresgid", setresgid(person.group, person.group, person.group));
  require("setresuid", setresuid(person.user, person.user, person.user));
  drop_capabilities();
  if (setresuid(0, 0, 0) == 0) throw description::DeviceError("setresuid: root can be had back");
  // else /proc/self would be root's, and a run reads there what it takes
  require("prctl", prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
}

}  // namespace

std::optional<Person> caller_of_sudo() {
  const auto user = number_in("SUDO_UID"), group = number_in("SUDO_GID");
  if (!user || !group || *user == 0) return std::nullopt;
  return Person{*user, *group};
}

std::string give_up_root(const std::optional<Person>& person) {
  if (geteuid() != 0) return "";
  raise_files();
  if (person) {
    become(*person);
    return fmt::format("the raw disks are held, and all the rest is done as user {}", person->user);
  }
  drop_capabilities();
  return "the raw disks are held, and all the rest is done as root without capabilities: by sudo "
         "it "
         "would be done as the user who calls it";
}

}  // namespace spillway::hw_backend
