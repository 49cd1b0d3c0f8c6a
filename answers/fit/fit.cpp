#include "answers/fit/fit.hpp"

#include "answers/fit/complete.hpp"
#include "answers/fit/need.hpp"
#include "answers/fit/search.hpp"
#include "scenarios/part_catalogue.hpp"
#include "scenarios/read_model.hpp"
#include "scenarios/trainer.hpp"
#include "strategies/systems/catalogue.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

namespace spillway::answers {

using nlohmann::json;

namespace {

constexpr std::uint64_t usual_context = 4096;

json job_of(const FitQuestion& question, std::vector<text::Text>& notes) {
  std::uint64_t context = question.context.value_or(usual_context);
  const std::uint64_t longest = scenarios::read_model(question.model).max_positions;
  if (!question.context && longest > 0 && longest < context) {
    context = longest;
    notes.push_back(text::filled("a sample has {} tokens, the most that the model takes",
                                 {text::plain(static_cast<double>(longest))}));
  }
  json job = {{"model", question.model},
              {"machine", question.machine},
              {"training", scenarios::plain_training("bf16_mixed", context)},
              {"run", {{"warmup_steps", 1}, {"steps", 1}}}};
  if (question.tokens) job["run"]["tokens"] = *question.tokens;
  return job;
}

std::map<std::string, std::uint64_t> peaks_of(const result::Result& result) {
  return {{"gpu", result.gpu.total}, {"host", result.host.total}, {"ssd", result.ssd.total}};
}

/// What the model's file leaves open.
void add_notes_of_model(const std::string& model, std::vector<text::Text>& notes) {
  for (const std::string& note : scenarios::read_model(model).notes)
    notes.emplace_back(note.ends_with('.') ? note.substr(0, note.size() - 1) : note);
}

/// What the question tries, with more overrides.
CandidatesWith candidates_with(const json& job, const FitQuestion& question,
                               std::vector<std::string> before = {}) {
  before.insert(before.begin(), question.overrides.begin(), question.overrides.end());
  return [job, before, systems = question.systems](const std::vector<std::string>& set) {
    std::vector<std::string> all = before;
    all.insert(all.end(), set.begin(), set.end());
    return candidates_of(job, all, systems);
  };
}

/// The fastest of the candidates that people can run; the answer's counts grow by what it took.
std::optional<result::Result> fastest_runnable(const explore::Backend& backend,
                                               const std::vector<Candidate>& candidates,
                                               FitAnswer& answer) {
  Found found = search(backend, candidates, true);
  answer.bounded += found.bounded;
  answer.simulated += found.simulated;
  return std::move(found.runnable);
}

/// A drive, where the machine has none: the systems that need one are not among the candidates.
/// With it, and with what they lack then.
std::optional<FitChange> with_a_drive(const explore::Backend& backend, const json& job,
                                      const FitQuestion& question, FitAnswer& answer) {
  const scenarios::DrivePart& drive = scenarios::part_catalogue().drives.front();
  const std::string set =
      fmt::format(R"(machine.storage=[{{"part": "{}", "count": 1}}])", drive.name);
  const CandidatesWith with_more = candidates_with(job, question, {set});
  try {
    const std::vector<Candidate> candidates = with_more({});
    const auto fastest = fastest_runnable(backend, candidates, answer);
    if (!fastest) {
      Needs needs = needs_of(backend, candidates, with_more, answer.simulated);
      answer.bounded += needs.bounded;
      std::optional<FitChange> more = std::move(needs.change);
      if (!more) return std::nullopt;
      more->words = fmt::format("a {}, and {}", drive.name, more->words);
      more->set.insert(more->set.begin(), set);
      return more;
    }
    return FitChange{fmt::format("a {}, with {}", drive.name, way_and_batch(*fastest)),
                     {set},
                     fastest->tokens_per_s,
                     fastest->price_usd};
  } catch (const description::ScenarioError&) {
    return std::nullopt;  // the board has no place for it
  }
}

/// A loss that never holds whole logits, where all of them are what finds no room: nothing is
/// bought.
std::optional<FitChange> with_a_fused_loss(const explore::Backend& backend, const json& job,
                                           const FitQuestion& question,
                                           const description::Scenario& now, FitAnswer& answer) {
  if (now.training.loss != description::LossKind::plain) return std::nullopt;
  const std::string set = "training.loss=fused";
  try {
    const auto fastest = fastest_runnable(backend, candidates_with(job, question)({set}), answer);
    if (!fastest) return std::nullopt;
    return FitChange{
        fmt::format("training.loss fused, such as Liger Kernel's or cut cross-entropy, "
                    "with {}",
                    way_and_batch(*fastest)),
        {set},
        fastest->tokens_per_s,
        fastest->price_usd};
  } catch (const description::ScenarioError&) {
    return std::nullopt;  // the model has no logits
  }
}

/// What is needed where nothing that people can run fits, and the cheaper way to it.
void add_needs(const explore::Backend& backend, const json& job, const FitQuestion& question,
               const std::vector<Candidate>& candidates, FitAnswer& answer) {
  Needs needs = needs_of(backend, candidates, candidates_with(job, question), answer.simulated);
  answer.bounded += needs.bounded;
  answer.needs = std::move(needs.ways);
  const description::Scenario& now = candidates.front().scenario;
  answer.change = with_a_fused_loss(backend, job, question, now, answer);
  if (!answer.change) {
    answer.change = std::move(needs.change);
    if (now.machine.storage.empty())
      if (const auto drive = with_a_drive(backend, job, question, answer);
          drive && (!answer.change || drive->price_usd < answer.change->price_usd))
        answer.change = drive;
  }
  if (answer.fits || answer.needs.empty()) return;
  answer.needed_bytes = answer.needs.front().needed_bytes;
  answer.why_not = text::Text(answer.needs.front().words + " ") + answer.needs.front().why_not;
}

}  // namespace

FitAnswer fit(const explore::Backend& asked, const FitQuestion& question) {
  FitAnswer answer;
  const explore::Backend backend = explore::counting(asked, answer.unanswered);
  const json job = job_of(question, answer.notes);
  const std::vector<Candidate> candidates =
      candidates_of(job, question.overrides, question.systems);
  answer.price_usd = candidates.front().scenario.machine.price();
  Completion completion(backend, question.systems);
  Found found = search(backend, candidates, question.runnable,
                       [&](const Found& so_far) { completion.begin(so_far); });
  answer.bounded = found.bounded;
  answer.simulated = found.simulated;
  for (const std::string& one : found.unanswered) answer.notes.emplace_back("no answer for " + one);
  std::sort(found.left_out.begin(), found.left_out.end());
  found.left_out.erase(std::unique(found.left_out.begin(), found.left_out.end()),
                       found.left_out.end());
  answer.untried = std::move(found.left_out);
  if (!answer.untried.empty())
    answer.notes.emplace_back(
        fmt::format("not tried, which takes longer, though they may be faster: {}; spillway plan "
                    "settings tries all systems",
                    fmt::join(answer.untried, ", ")));
  completion.finish(found, answer);
  answer.fits = answer.answer() != nullptr;
  if (!answer.fits) add_notes_of_model(question.model, answer.notes);  // what fits has them itself
  if (text::Text trainer = scenarios::assumed_of_trainer(candidates.front().scenario);
      !trainer.empty())
    answer.notes.push_back(std::move(trainer));
  if (!answer.runnable) add_needs(backend, job, question, candidates, answer);
  if (answer.runnable)
    for (text::Text& note :
         passed_over(backend, candidates, answer.runnable->system, answer.simulated))
      answer.notes.push_back(std::move(note));
  if (answer.fits) answer.needed_bytes = peaks_of(*answer.answer());
  answer.whole = backend.goes_on();
  return answer;
}

}  // namespace spillway::answers
