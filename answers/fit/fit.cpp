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
  std::vector<std::string> set;
};

/// What makes it fit, and what one would run with it.
struct Mended {
  FitChange change;
  std::optional<result::Result> fastest;
};

/// The fastest way that people can run after a first change; nothing where none fits.
std::optional<Mended> at_once(const FirstChange& first, const explore::Backend& backend,
                              const json& job, const FitQuestion& question, FitAnswer& answer) {
  try {
    const auto fastest =
        fastest_runnable(backend, candidates_with(job, question, first.set)({}), answer);
    if (!fastest) return std::nullopt;
    return Mended{{fmt::format("{}, with {}", first.words, way_and_batch(*fastest)), first.set,
                   fastest->tokens_per_s, fastest->price_usd},
                  fastest};
  } catch (const description::ScenarioError&) {
    return std::nullopt;  // it does not go with the job
  }
}

/// What to buy beside a first change with which nothing that people can run fits at once.
std::optional<Mended> with_more(const FirstChange& first, const explore::Backend& backend,
                                const json& job, const FitQuestion& question, FitAnswer& answer) {
  const CandidatesWith with_more = candidates_with(job, question, first.set);
  try {
    Needs needs = needs_of(backend, with_more({}), with_more, answer.simulated);
    answer.bounded += needs.bounded;
    if (!needs.change) return std::nullopt;
    FitChange more = std::move(*needs.change);
    more.words = fmt::format("{}, and {}", first.words, more.words);
    more.set.insert(more.set.begin(), first.set.begin(), first.set.end());
    return Mended{std::move(more), std::move(needs.fastest)};
  } catch (const description::ScenarioError&) {
    return std::nullopt;  // the board has no place for the drive, or the model has no logits
  }
}

/// Both changes; what names the same setting twice is none.
FirstChange both(const FirstChange& one, const FirstChange& other) {
  FirstChange all{one.words + " and " + other.words, one.set};
  all.set.insert(all.set.end(), other.set.begin(), other.set.end());
  return all;
}

bool names(const std::vector<std::string>& overrides, const std::string& path) {
  return std::any_of(overrides.begin(), overrides.end(), [&](const std::string& one) {
    return one.starts_with(path + "=") || one.starts_with("strategy=");
  });
}

/// A loss that never holds whole logits.
std::optional<FirstChange> fused_loss_first(const description::Scenario& now) {
  if (now.training.loss != description::LossKind::plain) return std::nullopt;
  return FirstChange{"training.loss fused, such as Liger Kernel's or cut cross-entropy",
                     {"training.loss=fused"}};
}

/// Settings that nobody asked for and that cost nothing: where long samples keep what backward
/// needs, and over how many GPUs one of them goes.
std::vector<FirstChange> settings_for_long_samples(const description::Scenario& now,
                                                   const FitQuestion& question) {
  std::vector<FirstChange> all;
  if (!names(question.overrides, "strategy.activations.policy"))
    all.push_back({"strategy.activations.policy checkpoint_host, such as Unsloth's or torchtune's",
                   {"strategy.activations.policy=checkpoint_host"}});
  const std::uint64_t gpus = now.machine.gpu.count;
  if (gpus > 1 && !names(question.overrides, "parallel.context") &&
      !names(question.overrides, "parallel.data"))
    all.push_back({fmt::format("parallel.context {}, such as Ulysses' or Megatron-LM's", gpus),
                   {fmt::format("parallel.context={}", gpus),
                    fmt::format("parallel.data={}", now.machine.nodes)}});
  return all;
}

/// Where settings alone make it fit: one of them, or one with a fused loss; of those the fastest.
std::optional<Mended> for_nothing(const explore::Backend& backend, const json& job,
                                  const FitQuestion& question, const description::Scenario& now,
                                  FitAnswer& answer) {
  const auto fused = fused_loss_first(now);
  const std::vector<FirstChange> others = settings_for_long_samples(now, question);
  std::vector<FirstChange> alone = others, beside_fused;
  if (fused) {
    alone.insert(alone.begin(), *fused);
    for (const FirstChange& other : others) beside_fused.push_back(both(*fused, other));
  }
  for (const std::vector<FirstChange>& changes : {alone, beside_fused}) {
    std::optional<Mended> best;
    for (const FirstChange& first : changes)
      if (auto mended = at_once(first, backend, job, question, answer);
          mended && (!best || mended->change.tokens_per_s.value_or(0) >
                                  best->change.tokens_per_s.value_or(0)))
        best = std::move(mended);
    if (best) return best;
  }
  return std::nullopt;
}

/// What goes before purchases: a fused loss; and a drive where the machine has none, as the systems
/// that need one are not among the candidates then.
std::vector<FirstChange> first_changes(const description::Scenario& now) {
  std::vector<FirstChange> all;
  if (const auto fused = fused_loss_first(now)) all.push_back(*fused);
  if (now.machine.storage.empty()) {
    const std::string& drive = scenarios::part_catalogue().drives.front().name;
    all.push_back(
        {"a " + drive, {fmt::format(R"(machine.storage=[{{"part": "{}", "count": 1}}])", drive)}});
  }
  return all;
}

/// What is to be bought where settings alone do not make it fit, in the cheaper way.
///   best  what the candidates as they are need; nothing: nothing on sale
std::optional<Mended> for_money(const explore::Backend& backend, const json& job,
                                const FitQuestion& question, const description::Scenario& now,
                                std::optional<Mended> best, FitAnswer& answer) {
  for (const FirstChange& first : first_changes(now)) {
    if (best && best->change.price_usd == answer.price_usd) break;  // nothing is bought
    auto mended = at_once(first, backend, job, question, answer);
    if (!mended) mended = with_more(first, backend, job, question, answer);
    if (mended && (!best || mended->change.price_usd < best->change.price_usd))
      best = std::move(mended);
  }
  return best;
}

/// What is needed where nothing that people can run fits, and the cheaper way to it.
void add_needs(const explore::Backend& backend, const json& job, const FitQuestion& question,
               const std::vector<Candidate>& candidates, FitAnswer& answer) {
  Needs needs = needs_of(backend, candidates, candidates_with(job, question), answer.simulated);
  answer.bounded += needs.bounded;
  answer.needs = std::move(needs.ways);
  const description::Scenario& now = candidates.front().scenario;
  std::optional<Mended> best = for_nothing(backend, job, question, now, answer);
  if (!best) {
    if (needs.change) best = Mended{std::move(*needs.change), std::move(needs.fastest)};
    best = for_money(backend, job, question, now, std::move(best), answer);
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
