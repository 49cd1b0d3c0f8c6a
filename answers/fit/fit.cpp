#include "answers/fit/fit.hpp"

#include "answers/fit/change.hpp"
#include "answers/fit/complete.hpp"
#include "answers/fit/first_change.hpp"
#include "answers/fit/need.hpp"
#include "answers/fit/outlay.hpp"
#include "answers/fit/search.hpp"
#include "explore/outcome/runs_with.hpp"
#include "explore/trials/trials.hpp"
#include "models/architecture/architecture.hpp"
#include "models/architecture/model.hpp"
#include "scenarios/deepspeed/trainer.hpp"
#include "scenarios/reading/plausible.hpp"
#include "scenarios/reading/read_model.hpp"
#include "strategies/machine/setup.hpp"
#include "strategies/run/packed_base.hpp"
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

Wishes wishes_of(const FitQuestion& question) { return {question.systems, question.overrides}; }

std::map<std::string, std::uint64_t> peaks_of(const result::Result& result) {
  return {{"gpu", result.gpu.total}, {"host", result.host.total}, {"ssd", result.ssd.total}};
}

/// What the model's file leaves open.
void add_notes_of_model(const std::string& model, std::vector<text::Text>& notes) {
  for (const std::string& note : scenarios::read_model(model).notes)
    notes.emplace_back(note.ends_with('.') ? note.substr(0, note.size() - 1) : note);
}

/// Why experts take as much as they do.
void add_note_of_experts(const description::Scenario& scenario, std::vector<text::Text>& notes) {
  const models::Model model = models::build_model(models::architecture_of(scenario));
  if (std::string words = strategies::stacked_experts_words(scenario, model); !words.empty())
    notes.emplace_back(std::move(words));
}

/// Why the CPU does not multiply by experts, which nothing but a missing number keeps it from.
void add_note_of_cpu(const description::Scenario& scenario, std::vector<text::Text>& notes) {
  if (!description::has_adapters(scenario.training.method) ||
      models::architecture_of(scenario).experts == 0 || strategies::cpu_compute_rate(scenario) > 0)
    return;
  const auto type = strategies::compute_type(scenario.training.precision);
  notes.emplace_back(
      fmt::format("experts were not tried on the CPU: {} has no host.compute.{}, the rate of its "
                  "products; --set 'machine.host.compute={{\"{}\": \"20 TFLOPS\"}}' states one",
                  scenario.machine.name, type, type));
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

/// What makes it fit, and what one would run with it.
struct Mended {
  FitChange change;
  std::optional<result::Result> fastest;
  std::string way{};  ///< of it, as Found has it
};

/// What has to be paid for it.
void add_outlay(const description::MachineFile& now, Mended& mended) {
  if (!mended.fastest) return;
  mended.change.outlay_usd = outlay_usd(now, explore::scenario_of(*mended.fastest).machine);
}

/// The fastest way that people can run after a first change; nothing where none fits. The answer's
/// counts grow by what it took.
std::optional<Mended> at_once(const FirstChange& first, const explore::Backend& backend,
                              const json& job, const FitQuestion& question, FitAnswer& answer) {
  try {
    const Found found = search(backend, candidates_with(job, question, first.set)({}), true);
    answer.bounded += found.bounded;
    answer.simulated += found.simulated;
    const auto& fastest = found.runnable;
    if (!fastest) return std::nullopt;
    return Mended{
        {fmt::format("{}, with {}", first.words, way_and_batch(*fastest, found.runnable_way)),
         first.set, fastest->tokens_per_s, fastest->price_usd},
        fastest,
        found.runnable_way};
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

/// Where settings alone make it fit: the fastest of the first round in which one does.
std::optional<Mended> for_nothing(const explore::Backend& backend, const json& job,
                                  const FitQuestion& question,
                                  const std::vector<std::vector<FirstChange>>& rounds,
                                  FitAnswer& answer) {
  for (const std::vector<FirstChange>& round : rounds) {
    std::optional<Mended> best;
    for (const FirstChange& first : round)
      if (auto mended = at_once(first, backend, job, question, answer);
          mended && (!best || mended->fastest->tokens_per_s > best->fastest->tokens_per_s))
        best = std::move(mended);
    if (best) return best;
  }
  return std::nullopt;
}

/// What is to be bought where settings alone do not make it fit, in the cheaper way.
///   best  what the candidates as they are need; nothing: nothing on sale
std::optional<Mended> for_money(const explore::Backend& backend, const json& job,
                                const FitQuestion& question, const description::Scenario& now,
                                std::optional<Mended> best, FitAnswer& answer) {
  const auto buys = [&] { return !best || best->change.outlay_usd.value_or(1) > 0; };
  const auto take = [&](std::optional<Mended> mended) {
    if (mended) add_outlay(now.machine, *mended);
    if (mended && (!best || mended->change.outlay_usd < best->change.outlay_usd))
      best = std::move(mended);
  };
  // what costs nothing may be all it takes beside a purchase that is smaller
  for (const std::vector<FirstChange>& round : free_changes(now, question.overrides))
    for (const FirstChange& first : round)
      if (buys()) take(with_more(first, backend, job, question, answer));
  if (const auto drive = first_drive(now); drive && buys()) {
    auto mended = at_once(*drive, backend, job, question, answer);
    take(mended ? std::move(mended) : with_more(*drive, backend, job, question, answer));
  }
  return best;
}

/// What more samples a step bring where it fits then.
void add_more_samples(const explore::Backend& backend, const FitQuestion& question, Mended& mended,
                      FitAnswer& answer) {
  const auto& fastest = mended.fastest;
  if (fastest && explore::runs_with(explore::scenario_of(*fastest)).runnable)
    mended.change.more_samples =
        more_samples(backend, *fastest, wishes_of(question), answer.simulated);
}

/// Where a base of fewer bits has no room and one of 16 bits has, which costs nothing: it may wait
/// in host memory or on drives.
void add_plain_base(const explore::Backend& backend, const json& job, const FitQuestion& question,
                    const description::Scenario& now, FitAnswer& answer) {
  auto plain =
      for_nothing(backend, job, question, plain_base_changes(now, question.overrides), answer);
  if (!plain) return;
  add_outlay(now.machine, *plain);
  add_more_samples(backend, question, *plain, answer);
  answer.fused_loss = std::move(plain->change);
}

/// What is needed where nothing that people can run fits, and the cheaper way to it.
void add_needs(const explore::Backend& backend, const json& job, const FitQuestion& question,
               const std::vector<Candidate>& candidates, FitAnswer& answer) {
  const description::Scenario& now = candidates.front().scenario;
  std::optional<Mended> best =
      for_nothing(backend, job, question, free_changes(now, question.overrides), answer);
  if (!best) add_plain_base(backend, job, question, now, answer);
  const CandidatesWith buys = best ? CandidatesWith() : candidates_with(job, question);
  Needs needs = needs_of(backend, candidates, buys, answer.simulated);
  answer.bounded += needs.bounded;
  answer.needs = std::move(needs.ways);
  if (!best) {
    if (needs.change) best = Mended{std::move(*needs.change), std::move(needs.fastest)};
    best = for_money(backend, job, question, now, std::move(best), answer);
  }
  if (best) {
    add_outlay(now.machine, *best);
    add_more_samples(backend, question, *best, answer);
    answer.change = std::move(best->change);
  }
  if (answer.fits || answer.needs.empty()) return;
  answer.needed_bytes = answer.needs.front().needed_bytes;
  answer.why_not = text::Text(answer.needs.front().words + " ") + answer.needs.front().why_not;
}

/// What costs nothing is to make it so many times as fast to be said.
constexpr double worth_setting = 1.1;
/// A setting beside another has to make it so many times as fast.
constexpr double worth_one_more = 1.02;

/// What a scenario that is run has of its own.
void add_setting_of(const result::Result& run, FitChange& change) {
  const description::Scenario scenario = explore::scenario_of(run);
  change.set.push_back(fmt::format("training.micro_batch={}", scenario.training.micro_batch));
  for (const char* part : {"strategy", "parallel"})
    change.set.push_back(fmt::format("{}={}", part, run.scenario.at(part).dump()));
}

/// The fastest way that people can run with a fused loss and kernels, and what more samples a step
/// bring there; nothing where neither makes it a tenth faster than the same without.
std::optional<FitChange> fused_loss(const explore::Backend& backend, const json& job,
                                    const FitQuestion& question, FitAnswer& answer) {
  const FirstChange* fused = nullptr;
  std::optional<Mended> mended;
  const std::vector<FirstChange> changes =
      fused_changes_of(explore::scenario_of(*answer.runnable), question.overrides);
  for (const FirstChange& change : changes) {
    std::optional<Mended> next = at_once(change, backend, job, question, answer);
    // what asks for more has to bring more
    if (!next ||
        (mended && next->fastest->tokens_per_s < worth_one_more * mended->fastest->tokens_per_s))
      continue;
    fused = &change;
    mended = std::move(next);
  }
  if (!mended) return std::nullopt;
  const result::Result* fastest = &*mended->fastest;
  FitChange change{fmt::format("{}, with {}", fused->words, way_and_batch(*fastest, mended->way)),
                   fused->set, fastest->tokens_per_s, fastest->price_usd,
                   more_samples(backend, *fastest, wishes_of(question), answer.simulated)};
  add_setting_of(*fastest, change);
  const auto best = [](double rate, const std::optional<MoreSamples>& more) {
    return more ? std::max(rate, more->tokens_per_s) : rate;
  };
  const double now = answer.runnable->tokens_per_s;
  if (fastest->tokens_per_s < worth_setting * now &&
      best(fastest->tokens_per_s, change.more_samples) <
          worth_setting * best(now, answer.more_samples))
    return std::nullopt;
  return change;
}

/// What nobody tried, and may be faster.
void add_left_out(const Found& found, FitAnswer& answer) {
  answer.untried.assign(found.left_out.begin(), found.left_out.end());
  std::vector<std::string> parts;
  if (!answer.untried.empty()) parts.push_back(fmt::format("{}", fmt::join(answer.untried, ", ")));
  if (!found.partly_left_out.empty())
    parts.push_back(fmt::format("with other splits of the cards or other parts {}",
                                fmt::join(found.partly_left_out, ", ")));
  if (parts.empty()) return;
  answer.notes.emplace_back(
      fmt::format("not tried, which takes longer, though they may be faster: {}; spillway plan "
                  "settings tries all systems",
                  fmt::join(parts, "; ")));
}

}  // namespace

FitAnswer fit(const explore::Backend& asked, const FitQuestion& question) {
  FitAnswer answer;
  const explore::Backend backend = explore::counting(asked, answer.unanswered);
  const json job = job_of(question, answer.notes);
  std::vector<text::Text> refused;
  const std::vector<Candidate> candidates =
      candidates_of(job, question.overrides, question.systems, &refused);
  answer.price_usd = candidates.front().scenario.machine.price();
  Completion completion(backend, wishes_of(question));
  Found found = search(backend, candidates, question.runnable,
                       [&](const Found& so_far) { completion.begin(so_far); });
  answer.bounded = found.bounded;
  answer.simulated = found.simulated;
  for (const std::string& one : found.unanswered) answer.notes.emplace_back("no answer for " + one);
  add_left_out(found, answer);
  completion.finish(found, answer);
  if (answer.runnable) answer.fused_loss = fused_loss(backend, job, question, answer);
  answer.fits = answer.answer() != nullptr;
  if (!answer.fits) {  // what fits has them itself
    add_notes_of_model(question.model, answer.notes);
    add_note_of_experts(candidates.front().scenario, answer.notes);
  }
  add_note_of_cpu(candidates.front().scenario, answer.notes);
  for (const std::string& note : scenarios::doubts_of_price(candidates.front().scenario.machine))
    answer.notes.emplace_back(note);
  if (text::Text trainer = scenarios::assumed_of_trainer(candidates.front().scenario);
      !trainer.empty())
    answer.notes.push_back(std::move(trainer));
  if (!answer.runnable) {
    answer.notes.insert(answer.notes.begin(), refused.begin(), refused.end());
    add_needs(backend, job, question, candidates, answer);
  }
  if (answer.runnable)
    for (text::Text& note :
         passed_over(backend, candidates, answer.runnable->system, answer.simulated))
      answer.notes.push_back(std::move(note));
  if (answer.fits) answer.needed_bytes = peaks_of(*answer.answer());
  answer.whole = backend.goes_on();
  return answer;
}

}  // namespace spillway::answers
