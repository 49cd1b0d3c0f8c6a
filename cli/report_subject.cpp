#include "cli/report_subject.hpp"

#include "cli/common.hpp"
#include "cli/from_database.hpp"
#include "explore/store/store.hpp"
#include "scenarios/description/strict_json.hpp"
#include "scenarios/json/input_file.hpp"

#include <fmt/format.h>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace spillway::cli {

namespace {

using nlohmann::json;

std::string start_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::string start(16, '\0');
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  return start;
}

bool is_database(const std::string& file) {
  std::error_code error;  // what cannot be looked at is no database
  return std::filesystem::is_regular_file(file, error) &&
         start_of(file).starts_with("SQLite format 3");
}

/// "sweep.db:17" in two; nothing of anything else.
std::optional<std::pair<std::string, std::uint64_t>> point_in(const std::string& word) {
  const std::size_t colon = word.rfind(':');
  if (colon == std::string::npos || word.size() - colon > 19) return std::nullopt;
  const std::string number = word.substr(colon + 1);
  if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  if (!is_database(word.substr(0, colon))) return std::nullopt;
  return std::pair(word.substr(0, colon), std::stoull(number));
}

std::string front_words(explore::Store& store, std::int64_t space) {
  std::string numbers;
  for (const explore::PointRow& point : store.points(space, "front"))
    numbers += (numbers.empty() ? "" : ", ") + std::to_string(point.number);
  return numbers.empty() ? "no point is on the front" : "points of the front: " + numbers;
}

Subject subject_of_point(const std::string& word, const std::string& file, std::uint64_t number) {
  explore::Store store(file, explore::Database::Access::read);
  const auto spaces = store.spaces();
  if (spaces.empty()) refuse(word, "the database holds no exploration", "");
  const std::int64_t space = spaces.back().space;
  const auto point = store.point(space, number);
  const json stored = point ? store.result(point->key) : json();
  if (!stored.is_object() || !stored.contains("scenario") || stored.contains("failure"))
    refuse(word,
           point ? fmt::format("point {} is {}: only points of the front have whole results",
                               number, point->verdict)
                 : fmt::format("the database does not know point {}", number),
           front_words(store, space));
  Subject subject{word, fmt::format("{} point {}", spaces.back().name, number)};
  subject.result = stored.get<result::Result>();
  return subject;
}

/// What `--json` writes of a command that was refused.
void refuse_errors(const json& file) {
  if (!file.is_object() || !file.contains("errors") || !file["errors"].is_array()) return;
  const json said = file.value(json::json_pointer("/errors/0/message"), json());
  refuse("",
         "holds the errors of a command, and no answer" +
             (said.is_string() ? ": " + said.get<std::string>() : ""),
         "run the command again");
}

/// Files of ours that no page is made of; a scenario has no schema.
void refuse_other_schema(const std::string& schema) {
  if (schema.starts_with("\"spillway/"))
    refuse("", "is of schema " + schema + ", of which no page is made",
           "name a scenario, a result, a validation, or a point of a database");
}

/// Results in the answer of a search: of the way that people can run, and of the fastest.
std::vector<Subject> results_of_answer(const std::string& word, const std::string& stem,
                                       const json& answer) {
  std::vector<Subject> subjects;
  for (const char* key : {"result", "runnable", "best"}) {
    const auto found = answer.find(key);
    if (found == answer.end() || !found->is_object() || !found->contains("scenario")) continue;
    Subject subject{word, stem};
    subject.result = found->get<result::Result>();
    if (!subjects.empty() && subjects.back().result->scenario == subject.result->scenario) continue;
    subject.label += " " + subject.result->system;
    subjects.push_back(std::move(subject));
  }
  if (subjects.empty())
    refuse("", "an answer without a result that a page could be made of",
           "name a scenario, a result, a validation, or a point of a database");
  return subjects;
}

/// Results and validations in the file; none where it is something else, or no JSON.
std::vector<Subject> stored_in(const std::string& word) {
  const auto [all, problem] = description::parse_strictly(scenarios::text_of_file(word));
  if (!problem.empty()) return {};  // it may be a scenario, whose reader says what is wrong
  refuse_errors(all);
  std::vector<Subject> subjects;
  const std::string stem = std::filesystem::path(word).stem().string();
  for (const json& one : all.is_array() ? all : json::array({all})) {
    const std::string schema = one.is_object() ? one.value("schema", json("")).dump() : "";
    if (schema.starts_with("\"spillway/answer/")) return results_of_answer(word, stem, one);
    Subject subject{word, stem};
    if (schema.starts_with("\"spillway/validation/")) {
      subject.validation = one.get<result::Validation>();
      subject.result = subject.validation->predicted;
    } else if (schema.starts_with("\"spillway/result/")) {
      subject.result = one.get<result::Result>();
      if (all.is_array()) subject.label += " " + subject.result->system;
    } else {
      refuse_other_schema(schema);
      return {};
    }
    if (!subject.result->scenario.is_object())
      refuse("", "a result without the scenario that it is of", "make it again with --json");
    subjects.push_back(std::move(subject));
  }
  return subjects;
}

/// The same; what is no result of this version is the file's fault.
std::vector<Subject> stored_subjects(const std::string& word) {
  try {
    return stored_in(word);
  } catch (const json::exception& error) {
    refuse("", std::string("a result that cannot be read: ") + error.what(),
           "make it again with --json");
  }
}

}  // namespace

std::vector<Subject> subjects_of(const std::string& word) {
  if (const auto point = point_in(word))
    return from_database(point->first, [&] {
      return std::vector{subject_of_point(word, point->first, point->second)};
    });
  if (is_database(word))
    from_database(word, [&] {
      explore::Store store(word, explore::Database::Access::read);
      const auto spaces = store.spaces();
      refuse(word, "a database has many points: name one, as in " + word + ":17",
             spaces.empty() ? "it holds no exploration" : front_words(store, spaces.back().space));
    });
  try {
    std::error_code unknown;  // whoever reads it says what is wrong
    if (std::filesystem::is_regular_file(word, unknown))
      if (auto stored = stored_subjects(word); !stored.empty()) return stored;
  } catch (const description::ScenarioError& error) {
    std::vector<description::Complaint> complaints = error.complaints();
    for (description::Complaint& one : complaints) one.file = word;
    throw description::ScenarioError(std::move(complaints));
  }
  return {{word, std::filesystem::path(word).stem().string()}};
}

scenarios::Resolved read_subject(const Subject& subject,
                                 const std::vector<std::string>& overrides) {
  if (!subject.result)
    return scenarios::read_scenario(std::filesystem::path(subject.word), overrides,
                                    explore::known_systems(), scenarios::Refuse::what_cannot_run);
  return scenarios::read_scenario(subject.result->scenario, overrides, explore::known_systems(),
                                  scenarios::Refuse::what_cannot_run);
}

}  // namespace spillway::cli
