#pragma once

#include <poll.h>
#include <sys/types.h>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::explore {

/// Owns a process of ours that reads lines and writes lines, and dies with this one.
class LineProcess {
 public:
  /// What the process does, from its ends of two pipes until it returns.
  using Work = std::function<void(int requests, int replies)>;

  /// Starts a process that does `work`; what that throws ends it, with a line on standard error.
  ///   Throws  DeviceError when the system refuses
  explicit LineProcess(const Work& work);
  /// Starts a program, with its arguments, that reads lines from its standard input and writes
  /// lines to its standard output. Ctrl-C in a terminal does not reach it.
  explicit LineProcess(const std::vector<std::string>& command);
  LineProcess(const LineProcess&) = delete;
  LineProcess& operator=(const LineProcess&) = delete;
  /// Ends it; a program gets a second to end with its input and one after SIGTERM, so that it can
  /// end what it started.
  ~LineProcess();

  /// Takes `text` and writes what fits into the pipe; false when the process is gone.
  bool send(std::string_view text);

  /// Tells it that no more lines come. Nothing may be sent or collected after that.
  void end_requests();

  /// Of a process that is gone: whether nobody ended it, but it ended of its own accord.
  bool gave_up();

  /// Adds what to poll for until there is something to collect.
  void watch(std::vector<pollfd>& into) const;

  /// Waits for lines and adds them to `lines`; false when the process is gone.
  bool collect(double wait_s, std::deque<std::string>& lines);

  pid_t pid() const { return pid_; }

 private:
  void start(const std::function<void(int requests, int replies)>& in_child);
  bool write_some();

  bool program_ = false;
  pid_t pid_ = 0;  ///< 0: it has ended
  int requests_ = -1, replies_ = -1;
  std::string unsent_, unread_;
};

/// Takes the lines that are complete out of `text`.
void take_lines(std::string& text, std::deque<std::string>& lines);

/// Adds what there is to read; false at the end of the file.
bool read_into(std::string& text, int file);

}  // namespace spillway::explore
