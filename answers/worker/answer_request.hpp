#pragma once

#include "explore/workers/fork_server.hpp"

namespace spillway::answers {

/// Writes a trace as a program that shows traces reads it: JSON.
using WriteTrace = std::function<std::string(const result::Trace& trace)>;

/// Seconds that a worker looks for what makes a scenario fit.
inline constexpr double worker_remedy_s = 5;

/// Answers what a worker is asked: "settings" and "bound" first, which need no simulation, then
/// "result" and "trace", then "what_if", which adds what it found to the result, "faster", and
/// "remedy", null where the scenario fits. Beside settings stand "warnings" and "old_prices", as in
/// answer::flat; a trace is told once, before the end where something follows it. "unanswered" has
/// why some of what follows the result could not be simulated, and so may miss something.
explore::AnswerRequest answer_request(const explore::Backend& backend, WriteTrace write_trace);

}  // namespace spillway::answers
