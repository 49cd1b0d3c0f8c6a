#include "cli/duration.hpp"

#include "cli/common.hpp"
#include "explore/trials/duration.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <chrono>

namespace spillway::cli {

void announce_duration(
    Monitor& monitor, const description::Scenario& scenario, double limit_s,
    const std::function<bool(const explore::Backend&, const description::Scenario&)>& answer) {
  if (limit_s > 0 && limit_s <= explore::long_s) return;  // it ends soon in any case
  if (!explore::may_take_long(scenario)) return;
  monitor.begin("finding out how long it will take",
                limit_s > 0 ? std::min(explore::most_spent_s, limit_s / 2) : explore::most_spent_s);
  const explore::Backend backend = monitor.backend().quiet();
  const auto ask = [&](const description::Scenario& part) -> std::optional<double> {
    const auto start = std::chrono::steady_clock::now();
    try {
      if (!answer(backend, part) || !backend.goes_on()) return std::nullopt;
    } catch (const std::exception&) {
      return std::nullopt;  // of a smaller model, on a smaller machine
    }
    return explore::seconds_since(start);
  };
  const std::optional<explore::Duration> duration = explore::duration_of(scenario, ask);
  monitor.clear();
  monitor.finish();
  if (!duration || duration->seconds < explore::long_s) return;
  std::string text = "this takes " + explore::duration_words(*duration);
  if (limit_s > 0 && duration->seconds > limit_s)
    text +=
        fmt::format("; each simulation ends at {:.0f} s, unless --limit says otherwise", limit_s);
  warn(text + "; Ctrl-C ends it");
}

}  // namespace spillway::cli
