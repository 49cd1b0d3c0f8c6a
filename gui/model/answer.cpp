#include "gui/model/answer.hpp"

#include "reports/answer/bound.hpp"
#include "reports/plan/fit_report.hpp"
#include "reports/result/reading.hpp"
#include "reports/run/remedy_report.hpp"
#include "reports/run/simulate_report.hpp"
#include "reports/words/human.hpp"
#include "scenarios/description/complaint_json.hpp"

#include <nlohmann/json.hpp>

namespace spillway::gui {

using nlohmann::json;
using result::read;

namespace {

void fail(Answer& answer, std::string why) {
  answer.state = Answer::State::failed;
  answer.result.reset();
  answer.stale = false;
  answer.failure = std::move(why);
}

/// `take`, whose failure becomes the answer's.
template <class Take>
void take_or_fail(Answer& answer, const Take& take) {
  try {
    take();
  } catch (const std::exception& error) {  // ScenarioError, of an older or newer program's JSON
    fail(answer, std::string("the answer cannot be read: ") + error.what());
  }
}

void take_result(result::Result result, Answer& answer) {
  answer.result = std::move(result);
  answer.steps = answer::what_ifs_of(*answer.result);
  answer.state = Answer::State::exact;
  answer.stale = false;
  answer.way.clear();
  answer.way_before.clear();
  answer.failure.clear();
  answer.too_small.clear();
}

Change change_of(const answer::Remedy& remedy) {
  std::string sentence = view::words(reports::remedy_words(remedy.words, remedy.result));
  if (remedy.result.price_usd)
    sentence += "; the box for " + reports::human_price(*remedy.result.price_usd);
  return {remedy.words, std::move(sentence), remedy.overrides, remedy.result.step_time_s};
}

void take_remedies(const answer::Remedies& remedies, Answer& answer) {
  answer.changes.clear();
  for (const auto* one : {&remedies.memory, &remedies.change, &remedies.runnable})
    if (*one && !(*one)->words.empty()) answer.changes.push_back(change_of(**one));
}

void take_faster(const std::vector<answer::FasterSettings>& faster, Answer& answer) {
  constexpr std::size_t most_shown = 2;
  if (!faster.empty()) answer.changes.clear();
  for (const answer::FasterSettings& one : faster)
    if (answer.changes.size() < most_shown)
      answer.changes.push_back({one.words,
                                view::words(reports::faster_words(one, answer.result->step_time_s)),
                                one.overrides, one.step_time_s});
}

/// What one would buy and what costs nothing, the better one first.
std::vector<Change> changes_of(const answer::FitAnswer& fit) {
  std::vector<Change> changes;
  if (fit.change && !fit.change->words.empty())
    changes.push_back(
        {fit.change->words, view::words(reports::change_words(fit)), fit.change->set, {}});
  const auto add = [&](Change free, bool helps_most) {
    changes.insert(helps_most ? changes.begin() : changes.end(), std::move(free));
  };
  if (fit.runnable && fit.more_samples)
    add({"more samples a step",
         view::words(reports::samples_words(fit)),
         fit.more_samples->set,
         {}},
        reports::samples_help_most(fit));
  if (fit.fused_loss)  // of what nothing fits for, what makes it fit
    add({"settings that cost nothing",
         view::words(reports::fused_loss_words(fit)),
         fit.fused_loss->set,
         {}},
        !fit.runnable || reports::fused_loss_helps_most(fit));
  return changes;
}

void take_fit(const answer::FitAnswer& fit, Answer& answer) {
  answer.state = Answer::State::exact;
  if (const result::Result* shown = fit.answer()) take_result(*shown, answer);
  answer.way = fit.runnable ? fit.runnable_way : fit.best_way;
  if (fit.runnable && fit.best && json(*fit.runnable) != json(*fit.best)) answer.other = fit.best;
  answer.why_not = fit.why_not;
  if (!answer.result && answer.why_not.empty()) answer.why_not = "nothing fits";
  answer.changes = changes_of(fit);
  answer.notes = fit.notes;
}

}  // namespace

bool Answer::refuses() const {
  if (state == State::bound && !too_small.empty()) return true;
  return result ? state != State::bound && !result->feasible() : !why_not.empty();
}

bool Answer::refuses_another() const {
  return refuses() && (!way_before.empty() || (stale && state != State::bound));
}

void make_stale(Answer& answer) {
  answer.stale = answer.result.has_value();
  if (!answer.result) answer.state = Answer::State::asked;
  answer.failure.clear();
  answer.why_not = {};
  answer.too_small.clear();
  answer.way_before.clear();
  answer.changes.clear();
  answer.other.reset();
  answer.notes.clear();
}

std::string words_of_errors(const json& errors) {
  std::string text;
  try {
    for (const auto& one : errors.get<std::vector<description::Complaint>>())
      text += (text.empty() ? "" : "\n") + to_string(one);
  } catch (const json::exception&) {
    return errors.dump();
  }
  return text.empty() ? "no answer" : text;
}

void take_answer(const json& line, Answer& answer) {
  if (line.contains("errors")) return fail(answer, words_of_errors(line["errors"]));
  if (line.contains("failure")) {
    const json& why = line["failure"];
    return fail(answer, why.is_string() ? why.get<std::string>() : why.dump());
  }
  take_or_fail(answer, [&] {
    std::optional<result::Result> result;
    std::optional<answer::Remedies> remedies;
    read(line, "result", result);
    if (result) take_result(std::move(*result), answer);
    read(line, "settings", answer.settings);
    read(line, "what_if", answer.steps);
    read(line, "remedy", remedies);
    if (remedies) take_remedies(*remedies, answer);
    std::vector<answer::FasterSettings> faster;
    read(line, "faster", faster);
    if (answer.result) take_faster(faster, answer);
  });
}

Answer answer_of_fit(const json& fit) {
  Answer answer;
  take_or_fail(answer, [&] { take_fit(fit.get<answer::FitAnswer>(), answer); });
  return answer;
}

Answer answer_of_simulation(const json& given) {
  Answer answer;
  take_or_fail(answer, [&] {
    const auto simulation = given.get<answer::Simulation>();
    take_result(simulation.result, answer);
    answer.settings = simulation.settings;
    answer.steps = simulation.what_ifs;
    if (simulation.remedy) take_remedies(*simulation.remedy, answer);
    take_faster(simulation.faster, answer);
  });
  return answer;
}

bool take_bound(const json& line, Answer& answer) {
  if (!line.contains("bound") || !answer.result) return false;
  answer::Bound bound;
  try {
    bound = line["bound"].get<answer::Bound>();
  } catch (const std::exception&) {  // ScenarioError, of another version, and JSON's own
    return false;                    // the events, which come after it, are the answer
  }
  const bool says_time = bound.step_time_s > 0;
  if (!bound.known || (bound.too_small.empty() && !says_time)) return false;
  answer.too_small = bound.too_small;
  result::Result& result = *answer.result;
  if (says_time) {
    const double tokens = result.tokens_per_s * result.step_time_s;
    result.step_time_s = bound.step_time_s;
    result.tokens_per_s = bound.tokens_per_s.value_or(tokens / bound.step_time_s);
    if (result.run && result.tokens_per_s > 0)
      result.run->days = result.run->tokens / result.tokens_per_s / 86400;
  }
  if (bound.price_usd) result.price_usd = bound.price_usd;
  result.range.clear();
  answer.state = Answer::State::bound;
  answer.stale = true;
  return true;
}

}  // namespace spillway::gui
