#include "cli/monitor.hpp"

#include "cli/common.hpp"
#include "reports/words/human.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>

namespace spillway::cli {

namespace {

/// Nobody needs to be told about a shorter wait.
constexpr double first_line_s = 2;
constexpr double next_line_s = 0.2;
/// Into a pipe or a file each line stays: the first later, the next after as long again, up to one
/// a minute.
constexpr double first_kept_line_s = 5, most_between_s = 60;

}  // namespace

Monitor::Monitor(std::string what, double limit_s)
    : what_(std::move(what)),
      limit_s_(limit_s),
      terminal_(isatty(STDERR_FILENO)),
      next_s_(first_wait()) {}

double Monitor::first_wait() const { return terminal_ ? first_line_s : first_kept_line_s; }

void Monitor::clear() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
  drawn_ = false;
}

explore::Backend Monitor::backend() {
  explore::Backend watched = simulator();
  watched.watch = [this](std::size_t simulated) { return look(simulated); };
  return watched;
}

void Monitor::begin(std::string what, double limit_s) {
  what_ = std::move(what);
  limit_s_ = limit_s;
  start_ = std::chrono::steady_clock::now();
  done_ = of_ = 0;
  next_s_ = drawn_ ? 0 : first_wait();
  late_ = false;
}

double Monitor::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

bool Monitor::goes_on() { return look(0); }

bool Monitor::look(std::size_t simulated) {
  done_ += simulated;
  if (ended()) return false;
  try {
    hw_backend::stop_if_interrupted();
  } catch (const hw_backend::Interrupted& interrupted) {
    signal_ = interrupted.signal();
  }
  const double now = ended_s_ = seconds();
  late_ = limit_s_ > 0 && now > limit_s_;
  if (now >= next_s_) {
    next_s_ = now + (terminal_ ? next_line_s : std::min(now, most_between_s));
    draw();
  }
  return !ended();
}

void Monitor::draw() {
  std::string text = what_;
  if (of_ >= done_ && of_ > 0)  // an answer may take several for each that was announced
    text += fmt::format(": {} of {}", reports::human_count(done_), reports::human_count(of_));
  else if (done_ > 0)
    text += fmt::format(": {} scenarios", reports::human_count(done_));
  text += fmt::format(", {:.0f} s", seconds());
  if (limit_s_ > 0) text += fmt::format(" of {:.0f}", limit_s_);
  if (!terminal_) {
    std::fputs((text + "\n").c_str(), stderr);
    return;
  }
  std::fputs(("\r" + text + "; Ctrl-C ends it\x1b[K").c_str(), stderr);
  drawn_ = true;
}

std::string Monitor::why() const {
  if (signal_ != 0) return fmt::format("Interrupted after {}", reports::human_time(ended_s_));
  return late_ ? fmt::format("The limit of {} was reached", reports::human_time(limit_s_)) : "";
}

void Monitor::finish() const {
  if (signal_ != 0) throw CLI::RuntimeError(128 + signal_);  // as a shell says it
}

void add_limit(CLI::App& verb, double& limit_s, const std::string& help) {
  verb.add_option("--limit", limit_s, help)
      ->transform(seconds_with_unit())
      ->check(positive_number())
      ->type_name("SECONDS|TIME");
}

}  // namespace spillway::cli
