#include "gui/model/question.hpp"

#include "reports/remedy_report.hpp"
#include "scenarios/description/quantity.hpp"
#include "scenarios/document.hpp"
#include "scenarios/part_catalogue.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <optional>

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

/// Takes the field out of `object`, so that what stays is what has no field.
template <class Read, class Value>
void take(json& object, const char* key, Value& value, const Read& read) {
  if (!object.is_object() || !object.contains(key)) return;
  const Value before = value;
  value = read(object, key, value);
  const bool was_read = value != before || json(value) == object[key];
  if (was_read) object.erase(key);
}

/// Whole GiB in "64 GiB"; nothing for another size.
std::optional<std::uint64_t> gib_in(const json& size) {
  if (!size.is_string()) return std::nullopt;
  const auto parsed =
      description::parse_quantity(description::Dimension::bytes, size.get<std::string>());
  const auto bytes = static_cast<std::uint64_t>(parsed.value);
  if (!parsed.problem.empty() || bytes == 0 || bytes % (1ull << 30) != 0) return std::nullopt;
  return bytes >> 30;
}

bool has_only(const json& object, std::initializer_list<const char*> keys) {
  if (!object.is_object()) return false;
  for (const auto& [key, value] : object.items())
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) return false;
  return true;
}

/// The box that a machine of parts alone describes.
std::optional<PartsBox> box_in(const json& machine) {
  if (!has_only(machine, {"name", "gpu", "host", "storage"})) return std::nullopt;
  const json gpu = machine.value("gpu", json()), host = machine.value("host", json());
  const json storage = machine.value("storage", json::array());
  const bool of_parts = has_only(gpu, {"part", "count"}) && has_only(host, {"part", "memory"}) &&
                        gpu.contains("part") && host.contains("part") && storage.is_array() &&
                        storage.size() <= 1;
  if (!of_parts) return std::nullopt;
  const auto memory = gib_in(host.value("memory", json()));
  if (!memory) return std::nullopt;
  PartsBox box{word_in(gpu, "part", ""),  count_in(gpu, "count", 1),
               word_in(host, "part", ""), *memory,
               PartsBox().drive,          0};
  if (!storage.empty()) {
    if (!has_only(storage[0], {"part", "count", "name"})) return std::nullopt;
    box.drive = word_in(storage[0], "part", "");
    box.drives = count_in(storage[0], "count", 1);
  }
  return box;
}

json machine_json(const PartsBox& box) {
  const scenarios::HostPart* board = board_of(box);
  json machine = {{"name", words_of(box)},
                  {"gpu", {{"part", box.gpu}, {"count", box.gpus}}},
                  {"host",
                   {{"part", board               ? board->name
                             : box.board.empty() ? "server"
                                                 : box.board},
                    {"memory", fmt::format("{} GiB", box.memory_gib)}}}};
  if (box.drives > 0)
    machine["storage"] = json::array({{{"part", box.drive}, {"count", box.drives}}});
  return machine;
}

const scenarios::Part* named(const auto& parts, const std::string& name) {
  for (const auto& part : parts)
    if (part.name == name) return &part;
  return nullptr;
}

bool takes(const scenarios::HostPart& board, const PartsBox& box) {
  const auto& list = scenarios::part_catalogue();
  const scenarios::Part* gpu = named(list.gpus, box.gpu);
  const scenarios::Part* drive = named(list.drives, box.drive);
  if (!gpu || board.card != gpu->form || board.gpus.empty() || board.gpus.back() < box.gpus ||
      board.memory.empty() || board.memory.back().value() >> 30 < box.memory_gib)
    return false;
  std::uint64_t lanes = box.gpus * gpu->lanes;
  if (box.drives > 0) {
    const auto slots = drive ? board.slots.find(drive->form) : board.slots.end();
    if (slots == board.slots.end() || slots->second < box.drives) return false;
    lanes += box.drives * drive->lanes;
  }
  return board.lanes == 0 || lanes <= board.lanes;
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

const scenarios::HostPart* board_of(const PartsBox& box) {
  const scenarios::HostPart* best = nullptr;
  for (const scenarios::HostPart& board : scenarios::part_catalogue().hosts) {
    if (!box.board.empty()) {
      if (board.name == box.board) return &board;
      continue;
    }
    const auto price = [&](const scenarios::HostPart& one) {
      return one.price_usd + one.dram_usd_per_gib * static_cast<double>(box.memory_gib);
    };
    if (takes(board, box) && (!best || price(board) < price(*best))) best = &board;
  }
  return best;
}

std::string words_of(const PartsBox& box) {
  const scenarios::HostPart* board = board_of(box);
  std::string words = fmt::format("{} x {}, {}{} GiB", box.gpus, box.gpu,
                                  board ? board->name + ", " : "", box.memory_gib);
  if (box.drives > 0) words += fmt::format(", {} x {}", box.drives, box.drive);
  return words;
}

json scenario_of(const Question& question, const std::string& system) {
  json scenario = question.further.is_object() ? question.further : json::object();
  scenario["model"] =
      question.model_config.is_null() ? json(question.model) : question.model_config;
  if (!question.machine_file.is_null())
    scenario["machine"] = question.machine_file;
  else if (!question.machine.empty())
    scenario["machine"] = question.machine;
  else
    scenario["machine"] = machine_json(question.box);
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
  if (question.model_config.is_object())
    question.model = word_in(question.model_config, "name", "config.json");
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
      changed.box.drives = given.get<std::uint64_t>();
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

std::vector<std::string> fit_arguments(const Question& question) {
  std::vector<std::string> words = {"fit", question.model};
  const auto add = [&](const char* option, const std::string& value) {
    words.insert(words.end(), {option, value});
  };
  if (!question.machine.empty()) {
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
  return words;
}

std::string command_of(const Question& question) {
  const bool in_words = question.model_config.is_null() && question.machine_file.is_null();
  std::string command = "spillway";
  if (question.searches() && in_words) {
    for (const std::string& word : fit_arguments(question))
      command += " " + reports::shell_word(word);
    return command;
  }
  return command + " simulate /dev/stdin <<'END'\n" + scenario_of(question).dump(2) + "\nEND";
}

}  // namespace spillway::gui
