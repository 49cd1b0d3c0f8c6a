#include "reports/result/reading.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace spillway::result {

namespace {

[[noreturn]] void refuse(const std::string& path, std::string message, std::string hint) {
  throw description::ScenarioError({{"", 0, 0, path, std::move(message), std::move(hint)}});
}

/// "answer simulate version 2" of "spillway/answer/simulate/2".
std::string words_of(const std::string& schema) {
  constexpr std::string_view ours = "spillway/";
  const std::size_t last = schema.find_last_of('/');
  if (!schema.starts_with(ours) || last < ours.size()) return "\"" + schema + "\"";
  std::string name = schema.substr(ours.size(), last - ours.size());
  std::replace(name.begin(), name.end(), '/', ' ');
  return name + " version " + schema.substr(last + 1);
}

}  // namespace

void require_schema(const nlohmann::json& in, std::string_view name, int version) {
  const std::string wanted = fmt::format("spillway/{}/{}", name, version);
  const auto found = in.is_object() ? in.find("schema") : in.end();
  if (found == in.end() || !found->is_string())
    refuse("schema", "is missing, so nothing says what this is",
           fmt::format("an answer of this kind says \"schema\": \"{}\"", wanted));
  const auto said = found->get<std::string>();
  if (said == wanted) return;
  const bool same_kind = said.starts_with(wanted.substr(0, wanted.find_last_of('/') + 1));
  refuse("schema",
         fmt::format("this is {}; this program reads {}", words_of(said),
                     same_kind ? std::to_string(version) : words_of(wanted)),
         same_kind ? "ask again with this program, or read it with the one that wrote it"
                   : "name a file of that kind");
}

void complain_below(const std::string& key, const description::ScenarioError& error) {
  std::vector<description::Complaint> all = error.complaints();
  for (description::Complaint& one : all) one.path = key + (one.path.empty() ? "" : "." + one.path);
  throw description::ScenarioError(std::move(all));
}

void complain_of_type(const std::string& key, const nlohmann::json& value) {
  refuse(key, fmt::format("a value of type {} stands where another is read", value.type_name()),
         "a program of another version wrote this, or it was edited");
}

namespace {

/// The member, by `take`, where it is one.
template <class T, class F>
void read_by(const nlohmann::json& in, const std::string& key, T& member, F take) {
  const auto found = in.is_object() ? in.find(key) : in.end();
  if (found == in.end() || found->is_null()) return;
  try {
    member = take(in, key);
  } catch (const nlohmann::json::exception&) {
    complain_of_type(key, *found);
  }
}

}  // namespace

void read(const nlohmann::json& in, const std::string& key, text::Text& member) {
  read_by(in, key, member, text::take);
}

void read(const nlohmann::json& in, const std::string& key, std::vector<text::Text>& member) {
  read_by(in, key, member, text::take_all);
}

}  // namespace spillway::result
