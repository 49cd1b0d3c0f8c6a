#include "gui/model/answer.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace spillway::gui {

using nlohmann::json;

namespace {

std::string text_in(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<double> number_in(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::vector<std::string> texts_in(const json& object, const char* key) {
  std::vector<std::string> all;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return all;
  for (const json& one : *found)
    if (one.is_string()) all.push_back(one.get<std::string>());
  return all;
}

void take_result(const json& given, Answer& answer) {
  try {
    answer.result = given.get<result::Result>();
    answer.state = Answer::State::exact;
    answer.stale = false;
    answer.failure.clear();
    answer.too_small.clear();
  } catch (const json::exception& error) {
    answer.state = Answer::State::failed;
    answer.failure = std::string("its result cannot be read: ") + error.what();
  } catch (const std::exception& error) {
    answer.state = Answer::State::failed;
    answer.failure = error.what();
  }
}

void sort(std::vector<Step>& steps) {
  std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
    if (!a.step_time_s || !b.step_time_s) return a.step_time_s.has_value() && !b.step_time_s;
    return *a.step_time_s < *b.step_time_s;
  });
}

void take_steps(const json& given, Answer& answer) {
  if (!given.is_array()) return;
  answer.steps.clear();
  for (const json& one : given)
    if (one.is_object())
      answer.steps.push_back({text_in(one, "name"), number_in(one, "step_time_s"),
                              number_in(one, "tokens_per_s"), text_in(one, "why")});
  sort(answer.steps);
}

void take_steps_of_result(Answer& answer) {
  if (!answer.result || answer.result->next.empty()) return;
  answer.steps.clear();
  for (const auto& [name, step] : answer.result->next)
    answer.steps.push_back({name, step.step_time_s, {}, step.why});
  sort(answer.steps);
}

void add_change(const json& given, Answer& answer) {
  if (!given.is_object()) return;
  Change change{text_in(given, "words"), texts_in(given, "set"), {}, {}, {}};
  change.tokens_per_s = number_in(given, "tokens_per_s");
  change.price_usd = number_in(given, "price_usd");
  if (const auto result = given.find("result"); result != given.end() && result->is_object()) {
    change.step_time_s = number_in(*result, "step_time_s");
    const auto throughput = result->find("throughput");
    if (throughput != result->end() && throughput->is_object())
      change.tokens_per_s = number_in(*throughput, "tokens_per_s");
  }
  if (!change.words.empty()) answer.changes.push_back(std::move(change));
}

void take_remedy(const json& given, Answer& answer) {
  if (!given.is_object()) return;
  answer.changes.clear();
  for (const char* key : {"memory", "change"})
    if (given.contains(key)) add_change(given[key], answer);
}

void take_settings(const json& given, Answer& answer) {
  if (!given.is_array()) return;
  answer.settings.clear();
  for (const json& one : given)
    if (one.is_object())
      answer.settings.push_back(
          {text_in(one, "path"), text_in(one, "value"), text_in(one, "source")});
}

std::string first_complaint(const json& errors) {
  if (!errors.is_array() || errors.empty() || !errors[0].is_object()) return "no answer";
  const json& one = errors[0];
  std::string text = text_in(one, "path");
  text += (text.empty() ? "" : ": ") + text_in(one, "message");
  if (const std::string hint = text_in(one, "hint"); !hint.empty()) text += "; " + hint;
  return text;
}

}  // namespace

void take_answer(const json& line, Answer& answer) {
  if (line.contains("errors")) {
    answer.state = Answer::State::failed;
    answer.result.reset();
    answer.failure = first_complaint(line["errors"]);
    return;
  }
  if (line.contains("failure")) {
    answer.state = Answer::State::failed;
    answer.result.reset();
    const json& why = line["failure"];
    answer.failure = why.is_string() ? why.get<std::string>() : why.dump();
    return;
  }
  if (line.contains("result")) {
    take_result(line["result"], answer);
    take_steps_of_result(answer);
  }
  if (line.contains("settings")) take_settings(line["settings"], answer);
  if (line.contains("what_if")) take_steps(line["what_if"], answer);
  if (line.contains("remedy")) take_remedy(line["remedy"], answer);
}

Answer answer_of_fit(const json& fit) {
  Answer answer;
  if (!fit.is_object()) {
    answer.state = Answer::State::failed;
    answer.failure = "spillway fit gave no JSON";
    return answer;
  }
  const auto result_at = [&](const char* key) -> const json* {
    const auto found = fit.find(key);
    return found != fit.end() && found->is_object() ? &*found : nullptr;
  };
  const json* runnable = result_at("runnable");
  const json* best = result_at("best");
  answer.state = Answer::State::exact;
  if (const json* shown = runnable ? runnable : best) take_result(*shown, answer);
  take_steps_of_result(answer);
  if (runnable && best && *runnable != *best) {
    Answer other;
    take_result(*best, other);
    answer.other = std::move(other.result);
  }
  answer.why_not = text_in(fit, "why_not");
  if (!answer.result && answer.why_not.empty()) answer.why_not = "nothing fits";
  if (const json* change = result_at("change")) add_change(*change, answer);
  answer.notes = texts_in(fit, "notes");
  return answer;
}

Answer answer_of_simulation(const json& result) {
  Answer answer;
  if (!result.is_object()) {
    answer.state = Answer::State::failed;
    answer.failure = "spillway simulate gave no JSON";
    return answer;
  }
  json line = {{"result", result}};
  for (const char* key : {"settings", "what_if", "remedy"})
    if (result.contains(key)) line[key] = result[key];
  take_answer(line, answer);
  return answer;
}

bool take_bound(const json& line, Answer& answer) {
  const auto bound = line.find("bound");
  if (bound == line.end() || !bound->is_object() || !answer.result) return false;
  const auto known = bound->find("known");
  if (known != bound->end() && known->is_boolean() && !known->get<bool>()) return false;
  answer.too_small = text_in(*bound, "too_small");
  const auto seconds = number_in(*bound, "step_time_s");
  if (answer.too_small.empty() && !(seconds && *seconds > 0)) return false;
  result::Result& result = *answer.result;
  if (seconds && *seconds > 0) {
    const double tokens = result.tokens_per_s * result.step_time_s;
    result.step_time_s = *seconds;
    result.tokens_per_s = number_in(*bound, "tokens_per_s").value_or(tokens / *seconds);
    if (result.run && result.tokens_per_s > 0)
      result.run->days = result.run->tokens / result.tokens_per_s / 86400;
  }
  if (const auto price = number_in(*bound, "price_usd")) result.price_usd = price;
  result.range.clear();
  answer.state = Answer::State::bound;
  answer.stale = true;
  return true;
}

}  // namespace spillway::gui
