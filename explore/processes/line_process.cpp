#include "explore/processes/line_process.hpp"

#include "scenarios/description/errors.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace spillway::explore {

void take_lines(std::string& text, std::deque<std::string>& lines) {
  std::size_t start = 0;
  for (std::size_t end; (end = text.find('\n', start)) != std::string::npos; start = end + 1)
    lines.push_back(text.substr(start, end - start));
  text.erase(0, start);
}

bool read_into(std::string& text, int file) {
  char buffer[1 << 16];
  const ssize_t count = ::read(file, buffer, sizeof buffer);
  if (count > 0) text.append(buffer, static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && (errno == EINTR || errno == EAGAIN));
}

LineProcess::LineProcess(const Work& work) {
  start([&work](int requests, int replies) {
    std::signal(SIGINT, SIG_IGN);  // whoever started it decides
    try {
      work(requests, replies);
    } catch (const std::exception& error) {  // nothing of this process goes on but this
      std::fprintf(stderr, "%s\n", error.what());
      ::_exit(1);
    }
    ::_exit(0);
  });
}

LineProcess::LineProcess(const std::vector<std::string>& command) : program_(true) {
  start([&command](int requests, int replies) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::setpgid(0, 0);
    std::signal(SIGPIPE, SIG_DFL);
    ::dup2(requests, STDIN_FILENO);
    ::dup2(replies, STDOUT_FILENO);
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    ::execvp(words[0], words.data());
    std::fprintf(stderr, "%s: %s\n", words[0], std::strerror(errno));
    ::_exit(127);
  });
}

/// `in_child` does not return.
void LineProcess::start(const std::function<void(int requests, int replies)>& in_child) {
  int requests[2], replies[2];
  // a socket, as it can say without a signal that nobody reads any more
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, requests) != 0 ||
      ::pipe2(replies, O_CLOEXEC) != 0)
    throw description::DeviceError(std::string("pipe: ") + std::strerror(errno));
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    std::signal(SIGPIPE, SIG_IGN);
    ::close(requests[1]);
    ::close(replies[0]);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(0);  // it ended before the line above
    in_child(requests[0], replies[1]);
  }
  const int reason = errno;
  ::close(requests[0]);
  ::close(replies[1]);
  requests_ = requests[1];
  replies_ = replies[0];
  ::fcntl(requests_, F_SETFL, O_NONBLOCK);
  ::fcntl(replies_, F_SETFL, O_NONBLOCK);
  if (pid_ > 0) return;
  ::close(requests_);
  ::close(replies_);
  throw description::DeviceError(std::string("fork: ") + std::strerror(reason));
}

void LineProcess::end_requests() {
  if (requests_ >= 0) ::close(requests_);
  requests_ = -1;
}

bool LineProcess::gave_up() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  return WIFEXITED(status);
}

LineProcess::~LineProcess() {
  end_requests();
  ::close(replies_);
  if (pid_ == 0) return;
  for (int i = 0; program_ && i < 200; ++i) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) return;
    if (i == 100) ::kill(pid_, SIGTERM);  // it did not end with its input
    ::poll(nullptr, 0, 10);
  }
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void LineProcess::watch(std::vector<pollfd>& into) const {
  into.push_back({replies_, POLLIN, 0});
  if (!unsent_.empty()) into.push_back({requests_, POLLOUT, 0});
}

bool LineProcess::send(std::string_view text) {
  unsent_ += text;
  return write_some();
}

/// False when the process is gone.
bool LineProcess::write_some() {
  while (!unsent_.empty()) {
    const ssize_t count = ::send(requests_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    unsent_.erase(0, static_cast<std::size_t>(count));
  }
  return true;
}

bool LineProcess::collect(double wait_s, std::deque<std::string>& lines) {
  pollfd watched[2] = {{replies_, POLLIN, 0}, {requests_, POLLOUT, 0}};
  ::poll(watched, unsent_.empty() ? 1 : 2, static_cast<int>(wait_s * 1000));
  bool alive = write_some();
  if (watched[0].revents != 0) alive = read_into(unread_, replies_) && alive;
  take_lines(unread_, lines);
  return alive;
}

}  // namespace spillway::explore
