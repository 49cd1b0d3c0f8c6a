#include "reports/words/pinning_note.hpp"

#include <fmt/format.h>

namespace spillway::reports {

view::Text pinning_text(const answer::ImportedScenario& imported) {
  if (!imported.pinning) return {};
  const answer::PinningDefault& pinning = *imported.pinning;
  view::Text text =
      fmt::format("zero_optimization.offload_optimizer.pin_memory: not set; DeepSpeed {} {}, {} {}",
                  imported.version,
                  pinning.pins ? "pins host memory (since 0.19.5)" : "does not pin host memory",
                  pinning.other_version, pinning.pins ? "does not" : "does (since 0.19.5)");
  if (const auto& cost = pinning.cost)
    text +=
        view::filled(": host peak {} here and {} there, step {} and {}",
                     {view::memory(cost->host_bytes), view::memory(cost->other_host_bytes),
                      view::seconds(cost->step_time_s), view::seconds(cost->other_step_time_s)});
  return text;
}

std::string pinning_note(const answer::ImportedScenario& imported) {
  return words(pinning_text(imported));
}

}  // namespace spillway::reports
