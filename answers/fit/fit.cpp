#include "answers/fit/fit.hpp"

#include "answers/fit/change.hpp"
#include "answers/fit/complete.hpp"
#include "answers/fit/need.hpp"
#include "answers/fit/search.hpp"
#include "explore/runs_with.hpp"
#include "scenarios/part_catalogue.hpp"
#include "scenarios/plausible.hpp"
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

/// What makes it fit, and what one would run with it.
struct Mended {
  FitChange change;
  std::optional<result::Result> fastest;
};

/// The job after a first change: the fastest way that people can run, or what it lacks then.
std::optional<Mended> after(const FirstChange& first, const explore::Backend& backend,
                            const json& job, const FitQuestion& question, FitAnswer& answer) {
  const CandidatesWith with_more = candidates_with(job, question, {first.set});
  try {
    const std::vector<Candidate> candidates = with_more({});
    if (const auto fastest = fastest_runnable(backend, candidates, answer))
      return Mended{{fmt::format("{}, with {}", first.words, way_and_batch(*fastest)),
                     {first.set},
                     fastest->tokens_per_s,
                     fastest->price_usd},
                    fastest};
    Needs needs = needs_of(backend, candidates, with_more, answer.simulated);
    answer.bounded += needs.bounded;
    if (!needs.change) return std::nullopt;
    FitChange more = std::move(*needs.change);
    more.words = fmt::format("{}, and {}", first.words, more.words);
    more.set.insert(more.set.begin(), first.set);
    return Mended{std::move(more), std::move(needs.fastest)};
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
  std::optional<Mended> best;
  if (needs.change) best = Mended{std::move(*needs.change), std::move(needs.fastest)};
  for (const FirstChange& first : first_changes(candidates.front().scenario)) {
    if (best && best->change.price_usd == answer.price_usd) break;  // nothing is bought
    if (auto mended = after(first, backend, job, question, answer);
        mended && (!best || mended->change.price_usd < best->change.price_usd))
      best = std::move(mended);
  }
  if (best) {
    if (const auto& fastest = best->fastest;
        fastest && explore::runs_with(explore::scenario_of(*fastest)).runnable)
      best->change.more_samples =
          more_samples(backend, *fastest, question.systems, answer.simulated);
    answer.change = std::move(best->change);
  }
  if (answer.fits || answer.needs.empty()) return;
  answer.needed_bytes = answer.needs.front().needed_bytes;
  answer.why_not = text::Text(answer.needs.front().words + " ") + answer.needs.front().why_not;
}

/// The fastest way that people can run with a loss that never holds whole logits, and what more
/// samples a step bring there; nothing where neither makes it a tenth faster than what is known.
std::optional<FitChange> fused_loss(const explore::Backend& backend, const json& job,
                                    const FitQuestion& question, FitAnswer& answer) {
  const description::Scenario now = explore::scenario_of(*answer.runnable);
  if (now.training.loss != description::LossKind::plain) return std::nullopt;
  const std::string fused = "training.loss=fused";
  std::optional<result::Result> fastest;
  try {
    fastest = fastest_runnable(backend, candidates_with(job, question, {fused})({}), answer);
  } catch (const description::ScenarioError&) {
    return std::nullopt;  // the model has no logits
  }
  if (!fastest) return std::nullopt;
  const description::Scenario then = explore::scenario_of(*fastest);
  FitChange change{
      "a fused loss, such as Liger Kernel's or cut cross-entropy (training.loss), "
      "with " +
          way_and_batch(*fastest),
      {fused, fmt::format("training.micro_batch={}", then.training.micro_batch)},
      fastest->tokens_per_s,
      fastest->price_usd,
      more_samples(backend, *fastest, question.systems, answer.simulated)};
  for (const char* part : {"strategy", "parallel"})
    change.set.push_back(fmt::format("{}={}", part, fastest->scenario.at(part).dump()));
  constexpr double worth_saying = 1.1;
  const auto best = [](double rate, const std::optional<MoreSamples>& more) {
    return more ? std::max(rate, more->tokens_per_s) : rate;
  };
  if (best(fastest->tokens_per_s, change.more_samples) <
      worth_saying * best(answer.runnable->tokens_per_s, answer.more_samples))
    return std::nullopt;
  return change;
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
  if (answer.runnable) answer.fused_loss = fused_loss(backend, job, question, answer);
  answer.fits = answer.answer() != nullptr;
  if (!answer.fits) add_notes_of_model(question.model, answer.notes);  // what fits has them itself
  for (const std::string& note :
       scenarios::priced_as_smaller_parts(candidates.front().scenario.machine))
    answer.notes.emplace_back(note);
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
