#include "explore/search/filling.hpp"

#include "scenarios/description/errors.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <fstream>
#include <optional>
#include <sstream>

namespace spillway::explore {

namespace {

/// A process as /proc has it.
struct RunningProcess {
  char state = ' ';   ///< Z: it has ended, and has its number until somebody asks how
  double age_s = -1;  ///< since it began; negative: not known
};

double seconds_of(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Nothing where there is no process of that number, whosever.
std::optional<RunningProcess> process_of(std::int64_t number) {
  if (::kill(static_cast<pid_t>(number), 0) != 0 && errno != EPERM) return std::nullopt;
  std::ifstream file(fmt::format("/proc/{}/stat", number));
  std::string text;
  std::getline(file, text);
  RunningProcess process;
  const std::size_t name_end = text.rfind(") ");
  if (name_end == std::string::npos) return process;
  std::istringstream fields(text.substr(name_end + 2));
  fields >> process.state;
  std::string field;
  for (int at = 4; at <= 22; ++at)
    fields >> field;  // the 22nd: ticks from the start of the machine
  if (fields)
    process.age_s =
        seconds_of(CLOCK_BOOTTIME) - std::stod(field) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return process;
}

}  // namespace

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

bool is_gone(const RunRow& run) {
  if (run.host != host_name()) return false;
  const std::optional<RunningProcess> process = process_of(run.process);
  if (!process || process->state == 'Z') return true;
  constexpr double moved_s = 60;  // a clock that was set meanwhile
  const double run_age_s = seconds_of(CLOCK_REALTIME) - run.started_s;
  return process->age_s >= 0 && process->age_s + moved_s < run_age_s;
}

void refuse_while_filled(Store& store, const std::string& database) {
  for (const SpaceRow& space : store.spaces()) {
    const std::optional<RunRow> run = store.run(space.space);
    if (!run || run->ended || run->silent_s > silent_after_s) continue;
    const bool is_own = run->host == host_name() && run->process == ::getpid();
    if (is_own || is_gone(*run)) continue;
    throw description::ScenarioError(
        {{database, 0, 0, "",
          fmt::format("process {} of {} is filling it: {} of {} points of \"{}\" so far",
                      run->process, run->host, run->done, run->points, space.name),
          "wait for it, end it with Ctrl-C, or name another file"}});
  }
}

}  // namespace spillway::explore
