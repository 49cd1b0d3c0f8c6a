#include "gui/model/open_file.hpp"

#include "gui/model/trace_file.hpp"
#include "scenarios/document/document.hpp"
#include "scenarios/json/shipped.hpp"
#include "scenarios/reading/lifetimes_file.hpp"

#include <filesystem>
#include <fstream>

namespace spillway::gui {

using nlohmann::json;

namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& message,
                         const std::string& hint = "") {
  throw description::ScenarioError({{path, 0, 0, "", message, hint}});
}

constexpr std::size_t most_of_json = 64u << 20;

std::string first_bytes(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) refuse(path, "is not there");
  if (!std::filesystem::is_regular_file(path, ignored)) refuse(path, "is no file");
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(path, "cannot be read", "check its permissions");
  std::string bytes(4096, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  if (bytes.empty()) refuse(path, "is empty");
  return bytes;
}

bool is_trace(const std::string& start) {
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return false;
  if (start.find("\"traceEvents\"") != std::string::npos) return true;
  return start[first] == '[' && start.find("\"ph\"") != std::string::npos;
}

std::string stem(const std::string& path) { return std::filesystem::path(path).stem().string(); }

bool has_schema(const json& value, const std::string& start) {
  const auto found = value.find("schema");
  return found != value.end() && found->is_string() && found->get<std::string>().starts_with(start);
}

void add_result(const json& value, const std::string& path, Opened& opened) {
  try {
    opened.results.push_back(value.get<result::Result>());
  } catch (const std::exception& error) {
    refuse(path, std::string("is a result that cannot be read: ") + error.what());
  }
  if (opened.results.back().system.empty()) refuse(path, "is a result that says nothing");
}

/// Results in a list, or in the answer of `fit`.
Opened results_in(const json& value, const std::string& path, Opened opened) {
  opened.kind = Opened::Kind::results;
  if (value.is_array())
    for (const json& one : value)
      if (one.is_object() && has_schema(one, "spillway/result/")) add_result(one, path, opened);
  if (value.is_object())
    for (const char* key : {"result", "runnable", "best"})
      if (value.contains(key) && value[key].is_object()) add_result(value[key], path, opened);
  if (opened.results.empty()) refuse(path, "holds no result");
  return opened;
}

Opened of_object(const scenarios::LocatedJson& text, const std::string& path, Opened opened) {
  const json& value = text.value;
  const auto says = [&](const char* key) { return value.contains(key); };
  if (has_schema(value, "spillway/validation/")) {
    opened.kind = Opened::Kind::validation;
    opened.json = value;
  } else if (has_schema(value, "spillway/result/")) {
    opened.kind = Opened::Kind::results;
    add_result(value, path, opened);
  } else if (has_schema(value, "spillway/answer/")) {
    return results_in(value, path, std::move(opened));
  } else if (says("model_type") || says("architectures")) {
    opened.kind = Opened::Kind::model;
    opened.json = value;
  } else if (says("gpu") && says("host")) {
    opened.kind = Opened::Kind::machine;
    opened.json = value;
  } else if (says("model") || says("strategy") || (says("extends") && !says("gpu"))) {
    opened.kind = Opened::Kind::scenario;
    opened.json = scenarios::standing_alone(scenarios::assemble(text, {}));
  } else {
    refuse(path, "is JSON, but no scenario, machine, model, result, trace or validation");
  }
  return opened;
}

}  // namespace

Opened open_file(const std::string& word) {
  const std::string path = scenarios::named_file(word, "scenarios/examples", "file");
  Opened opened;
  opened.path = path;
  opened.label = stem(path);
  std::string start = first_bytes(path);
  if (start.starts_with("SQLite format 3")) {
    opened.kind = Opened::Kind::database;
    return opened;
  }
  const bool packed = start.starts_with("\x1f\x8b");
  std::string text = scenarios::read_packed(path);
  if (packed) start = text.substr(0, 4096);
  if (is_trace(start)) {
    opened.kind = Opened::Kind::trace;
    opened.trace = std::make_shared<const Trace>(read_trace(text, path));
    return opened;
  }
  const std::size_t first = start.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  const bool json_like = first != std::string::npos &&
                         (start[first] == '{' || start[first] == '[' || start[first] == '/');
  if (!json_like || text.size() > most_of_json)
    refuse(path,
           "is no scenario, machine, model, result, trace, validation or database of spillway");
  const scenarios::LocatedJson located = scenarios::parse_located(text, path);
  if (located.value.is_array()) return results_in(located.value, path, std::move(opened));
  if (!located.value.is_object()) refuse(path, "is JSON, but no object");
  return of_object(located, path, std::move(opened));
}

std::string one_sentence(const std::exception& error) {
  if (const auto* complaints = dynamic_cast<const description::ScenarioError*>(&error)) {
    if (complaints->complaints().empty()) return "cannot be read";
    std::string text = to_string(complaints->complaints().front());
    if (const std::size_t more = complaints->complaints().size() - 1; more > 0)
      text += " (and " + std::to_string(more) + " more)";
    return text;
  }
  return error.what();
}

}  // namespace spillway::gui
