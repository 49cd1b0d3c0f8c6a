#pragma once

#include "reports/result/result.hpp"
#include "reports/view/text.hpp"
#include "reports/words/screen.hpp"

#include <optional>
#include <string>
#include <vector>

namespace spillway::reports {

/// A phase of the steady step. `busy`: nothing where the result says nothing of it; of the update
/// with its overflow check, as its time.
struct PhaseTime {
  std::string name;
  double seconds = 0;
  std::optional<result::PhaseBusy> busy{};
  bool part_of_update = false;
};

/// Forward, backward, update and, where there is one, the overflow check inside the update.
std::vector<PhaseTime> phases_of(const result::Result& result);

/// The resource that works longest in the phase, "ssd (96.2 %)", the first of equals; "" when
/// nothing is known.  Below half of the phase nothing is waited for alone: "latency (ssd 31.0 %)".
view::Text waits_for(const PhaseTime& phase);

/// "The GPU waits 3.2 s for the SSD and 1.1 s for the update."; empty when it does not.
view::Text stalls(const result::Result& result);
/// The same as text: "The GPU waits 3.2 s for the SSD and 1.1 s for the update.", or "" when it
/// does not.
std::string stalls_sentence(const result::Result& result, const Screen& screen);

}  // namespace spillway::reports
