#pragma once

#include <sys/types.h>
#include <chrono>
#include <functional>
#include <string>

namespace spillway::explore {

/// A process of ours that works out texts and writes them into a pipe.
struct Child {
  pid_t pid = 0;  ///< 0: it could not be started, `text` says why
  int pipe = -1;  ///< its end for reading
  int more = -1;  ///< where it is told what else to work out; -1: it ends after the first
  std::string text;
  std::chrono::steady_clock::time_point started;
};

/// Exit code of a child for whose work there was no memory.
inline constexpr int no_memory_exit = 71;

double seconds_since(std::chrono::steady_clock::time_point start);

/// Starts `work` in a process that dies with this one. What waits in the buffers of standard output
/// is written first, or the child would write it again.
Child start_child(const std::function<std::string()>& work);

/// start_child() for several texts, or one that comes piece by piece.
///   work  writes into `pipe`, and reads in `more` what else is asked for until nobody asks; -1
///         where there is no more than what it was started for
Child start_staying_child(const std::function<void(int pipe, int more)>& work);

/// Adds what the pipe has to `text`; false at its end.
bool read_some(Child& child);

/// Waits for its end and closes what is open of it.
///   Result  as waitpid gives it
int reap(Child& child);

/// Kills it, and reaps it.
int end_child(Child& child);

/// Whether it may stay for more work: it holds at most 256 MiB more than this process, so that
/// those that wait for work take nothing from those that are at work.
bool is_small(const Child& child);

/// Writes all of `text`; false when nobody reads.
bool write_all(int file, std::string_view text);

}  // namespace spillway::explore
