#include "gui/model/question.hpp"

#include "gui/model/setting_field.hpp"
#include "reports/run/remedy_report.hpp"
#include "scenarios/description/quantity.hpp"
#include "scenarios/document/document.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace spillway::gui {

using nlohmann::json;

namespace {

std::uint64_t count_in(const json& object, const char* key, std::uint64_t otherwise) {
  const auto found = object.find(key);
  if (found == object.end()) return otherwise;
  if (found->is_number_integer() && *found >= 0) return found->get<std::uint64_t>();
  if (!found->is_string()) return otherwise;
  const auto parsed = description::parse_count(found->get<std::string>());  // "4k"
  return parsed.problem.empty() ? static_cast<std::uint64_t>(parsed.value) : otherwise;
}

std::string word_in(const json& object, const char* key, const std::string& otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

/// Of a configuration that stands in the scenario: its own name, that of its repository, or the
/// name of such files.
std::string name_of(const json& config) {
  const auto hub = config.find("_hub");
  if (hub != config.end() && hub->is_array() && !hub->empty() && hub->front().is_string())
    return word_in(config, "name", hub->front().get<std::string>());
  return word_in(config, "name", word_in(config, "_name_or_path", "config.json"));
}

/// Takes the field out of `object`, so that what stays is what has no field.
template <class Read, class Value>
void take(json& object, const char* key, Value& value, const Read& read) {
  if (!object.is_object() || !object.contains(key)) return;
  const Value before = value;
  value = read(object, key, value);
  const bool was_read = value != before || json(value) == object[key];
  if (was_read) object.erase(key);
}

void put_box(Question& question, const json& machine) {
  question.machine.clear();
  question.machine_file = nullptr;
  if (machine.is_string())
    question.machine = machine.get<std::string>();
  else if (const auto box = box_in(machine))
    question.box = *box;
  else if (machine.is_object())
    question.machine_file = machine;
}

}  // namespace

json scenario_of(const Question& question, const std::string& system) {
  json scenario = question.further.is_object() ? question.further : json::object();
  scenario["model"] =
      question.model_config.is_null() ? json(question.model) : question.model_config;
  if (!question.machine_file.is_null())
    scenario["machine"] = question.machine_file;
  else if (!question.machine.empty())
    scenario["machine"] = question.machine;
  else
    scenario["machine"] = machine_of(question.box);
  json& training = scenario["training"];
  training["sequence"] = question.sequence;
  training["micro_batch"] = question.micro_batch;
  training["gradient_accumulation"] = question.gradient_accumulation;
  training["precision"] = question.precision;
  scenario["parallel"].update({{"data", question.data},
                               {"tensor", question.tensor},
                               {"pipeline", question.pipeline},
                               {"zero_stage", question.zero_stage}});
  scenario["strategy"]["system"] = question.searches() ? system : question.system;
  if (question.tokens > 0) scenario["run"]["tokens"] = question.tokens;
  return scenario;
}

Question question_of(const json& scenario) {
  Question question;
  if (!scenario.is_object()) return question;
  json rest = scenario;
  question.data = 1;
  question.tokens = 0;
  if (rest.contains("model") && rest["model"].is_string())
    question.model = rest["model"].get<std::string>();
  else if (rest.contains("model"))
    question.model_config = rest["model"];
  if (question.model_config.is_object()) question.model = name_of(question.model_config);
  if (rest.contains("machine")) put_box(question, rest["machine"]);
  rest.erase("model");
  rest.erase("machine");
  const auto counts = [](json& object, const char* key, std::uint64_t& value) {
    take(object, key, value, count_in);
  };
  if (rest.contains("training")) {
    counts(rest["training"], "sequence", question.sequence);
    counts(rest["training"], "micro_batch", question.micro_batch);
    counts(rest["training"], "gradient_accumulation", question.gradient_accumulation);
    take(rest["training"], "precision", question.precision, word_in);
  }
  if (rest.contains("parallel")) {
    counts(rest["parallel"], "data", question.data);
    counts(rest["parallel"], "tensor", question.tensor);
    counts(rest["parallel"], "pipeline", question.pipeline);
    counts(rest["parallel"], "zero_stage", question.zero_stage);
  }
  if (rest.contains("strategy")) take(rest["strategy"], "system", question.system, word_in);
  if (rest.contains("run") && rest["run"].is_object() && rest["run"].contains("tokens") &&
      rest["run"]["tokens"].is_number()) {
    question.tokens = rest["run"]["tokens"].get<double>();
    rest["run"].erase("tokens");
  }
  question.further = std::move(rest);
  return question;
}

Question with_overrides(const Question& question, const std::vector<std::string>& overrides) {
  const bool of_parts = question.machine.empty() && question.machine_file.is_null();
  Question changed = question;
  std::vector<std::string> others;
  for (const std::string& one : overrides) {
    const std::size_t equals = one.find('=');
    const std::string path = one.substr(0, equals);
    std::string value = equals == std::string::npos ? "" : one.substr(equals + 1);
    const json parsed = json::parse(value, nullptr, false);
    const json given = parsed.is_discarded() ? json(value) : parsed;
    const bool counted = given.is_number_unsigned();
    if (of_parts && path == "machine.host.memory" && gib_in(given))
      changed.box.memory_gib = *gib_in(given);
    else if (of_parts && path == "machine.gpu.count" && counted)
      changed.box.gpus = given.get<std::uint64_t>();
    else if (of_parts && path.starts_with("machine.storage.") && path.ends_with(".count") &&
             counted)
      (path == "machine.storage.nvme2.count" ? changed.box.further_drives : changed.box.drives) =
          given.get<std::uint64_t>();
    else
      others.push_back(one);
  }
  if (others.empty()) return changed;
  scenarios::Document document =
      scenarios::assemble(scenarios::located_at(scenario_of(changed), {}), others);
  if (!document.complaints.empty()) throw description::ScenarioError(document.complaints);
  json scenario = document.scenario.value;
  const bool machine_changes = std::any_of(
      others.begin(), others.end(), [](const auto& one) { return one.starts_with("machine"); });
  if (machine_changes && document.machine.present)
    scenario["machine"] = document.machine.json.value;
  if (document.model.present && !question.model_config.is_null())
    scenario["model"] = document.model.json.value;
  Question result = question_of(scenario);
  if (question.searches()) result.system.clear();
  return result;
}

json machine_file_of(const Question& question) {
  if (!question.machine_file.is_null()) return question.machine_file;
  const bool said = !question.machine.empty() || in_words(question.box);
  return said ? json() : machine_of(question.box);
}

std::vector<std::string> fit_arguments(const Question& question, const std::string& file) {
  std::vector<std::string> words = {"fit", question.model};
  const auto add = [&](const char* option, const std::string& value) {
    words.insert(words.end(), {option, value});
  };
  if (!machine_file_of(question).is_null()) {
    add("--machine", file);
  } else if (!question.machine.empty()) {
    add("--machine", question.machine);
  } else {
    const PartsBox& box = question.box;
    add("--gpu", fmt::format("{}x{}", box.gpu, box.gpus));
    add("--ram", fmt::format("{}G", box.memory_gib));
    if (box.drives > 0) add("--ssd", fmt::format("{}x{}", box.drive, box.drives));
    if (const scenarios::HostPart* board = board_of(box)) add("--board", board->name);
  }
  add("--context", std::to_string(question.sequence));
  if (question.tokens > 0) add("--tokens", fmt::format("{:.0f}", question.tokens));
  for (const std::string& said : said_beside_fields(question)) add("--set", said);
  return words;
}

std::string command_of(const Question& question) {
  const auto text = [](const json& input) { return " <<'END'\n" + input.dump(2) + "\nEND"; };
  if (!question.searches() || !question.model_config.is_null())
    return "spillway simulate /dev/stdin" + text(scenario_of(question));
  constexpr const char* file = "box.json";  // a search reads it more than once
  std::string command = "spillway";
  for (const std::string& word : fit_arguments(question, file))
    command += " " + reports::shell_word(word);
  const json machine = machine_file_of(question);
  if (machine.is_null()) return command;
  return std::string("cat > ") + file + text(machine) + "\n" + command;
}

}  // namespace spillway::gui
