#include "hw_backend/machine/other_work.hpp"

#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <fstream>

namespace spillway::hw_backend {

namespace {

constexpr double tolerated = 0.1;

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

ProcessorTimes processor_times(const std::filesystem::path& root) {
  std::ifstream file(root / "proc/stat");
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, softirq = 0, stolen = 0;
  file >> name >> user >> nice >> system >> idle >> waiting >> irq >> softirq >> stolen;
  ProcessorTimes times;
  if (!file || name != "cpu") return times;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  times.busy_s = (user + nice + system + irq + softirq + stolen) / ticks;
  times.all_s = times.busy_s + (idle + waiting) / ticks;
  rusage own{};
  if (getrusage(RUSAGE_SELF, &own) == 0)
    times.own_s = seconds(own.ru_utime) + seconds(own.ru_stime);
  return times;
}

double other_share(const ProcessorTimes& before, const ProcessorTimes& after) {
  const double all = after.all_s - before.all_s;
  if (all <= 0) return 0;
  const double others = after.busy_s - before.busy_s - (after.own_s - before.own_s);
  return std::clamp(others / all, 0.0, 1.0);
}

text::Text other_work(const ProcessorTimes& before, const ProcessorTimes& after,
                      const std::string& during) {
  const double share = other_share(before, after);
  if (share < tolerated) return {};
  return text::filled(
      "other processes took {} of the processors while {}: times of an idle machine differ",
      {text::number(share, text::Quantity::part), during});
}

}  // namespace spillway::hw_backend
