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

/// What people do first, before anything else is looked for.
struct FirstChange {
  std::string words;
  std::string set;
};

/// The job after a first change: the fastest way that people can run, or what it lacks then.
std::optional<FitChange> after(const FirstChange& first, const explore::Backend& backend,
                               const json& job, const FitQuestion& question, FitAnswer& answer) {
  const CandidatesWith with_more = candidates_with(job, question, {first.set});
  try {
    const std::vector<Candidate> candidates = with_more({});
    if (const auto fastest = fastest_runnable(backend, candidates, answer))
      return FitChange{fmt::format("{}, with {}", first.words, way_and_batch(*fastest)),
                       {first.set},
                       fastest->tokens_per_s,
                       fastest->price_usd};
    Needs needs = needs_of(backend, candidates, with_more, answer.simulated);
    answer.bounded += needs.bounded;
    std::optional<FitChange> more = std::move(needs.change);
    if (!more) return std::nullopt;
    more->words = fmt::format("{}, and {}", first.words, more->words);
    more->set.insert(more->set.begin(), first.set);
    return more;
  } catch (const description::ScenarioError&) {
    return std::nullopt;  // the board has no place for the drive, or the model has no logits
  }
}

/// A loss that never holds whole logits, which costs nothing; and a drive where the machine has
/// none, as the systems that need one are not among the candidates then.
std::vector<FirstChange> first_changes(const description::Scenario& now) {
  std::vector<FirstChange> all;
  if (now.training.loss == description::LossKind::plain)
    all.push_back({"training.loss fused, such as Liger Kernel's or cut cross-entropy",
                   "training.loss=fused"});
  if (now.machine.storage.empty()) {
    const std::string& drive = scenarios::part_catalogue().drives.front().name;
    all.push_back(
        {"a " + drive, fmt::format(R"(machine.storage=[{{"part": "{}", "count": 1}}])", drive)});
  }
  return all;
}

/// What is needed where nothing that people can run fits, and the cheaper way to it.
void add_needs(const explore::Backend& backend, const json& job, const FitQuestion& question,
               const std::vector<Candidate>& candidates, FitAnswer& answer) {
  Needs needs = needs_of(backend, candidates, candidates_with(job, question), answer.simulated);
  answer.bounded += needs.bounded;
  answer.needs = std::move(needs.ways);
  answer.change = std::move(needs.change);
  for (const FirstChange& first : first_changes(candidates.front().scenario)) {
    if (answer.change && answer.change->price_usd == answer.price_usd) break;  // nothing is bought
    if (auto change = after(first, backend, job, question, answer);
        change && (!answer.change || change->price_usd < answer.change->price_usd))
      answer.change = std::move(change);
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
