#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace spillway::hw_backend {

/// Seconds in which what is under way has to end once nobody wants it any more. The longest honest
/// job is a large layer's backward pass by a few cores.
inline constexpr double rest_limit_s = 120;

/// Ends the process as a device's error does: memory that something may still write to can be
/// neither freed nor used again, and a thread that hangs cannot be ended. Inline, for plugins too.
///   what  "host device, 2 cores: its stream compute"
[[noreturn]] inline void end_hung_process(const std::string& what, double limit_s) {
  std::fflush(stdout);
  std::fprintf(stderr,
               "%s hangs: no end within %g s. spillway ends at once; "
               "the next run removes the files that this one leaves\n",
               what.c_str(), limit_s);
  std::_Exit(3);
}

}  // namespace spillway::hw_backend
