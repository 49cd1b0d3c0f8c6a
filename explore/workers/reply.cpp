#include "explore/workers/reply.hpp"

#include "explore/processes/child.hpp"
#include "scenarios/description/text.hpp"

#include <algorithm>

namespace spillway::explore {

using description::json_text;
using nlohmann::json;

namespace {

std::string head_of(const json& id) {
  return id.is_null() ? "{" : "{\"id\":" + json_text(id) + ",";
}

/// `,"name":value` for each of an object's values.
std::string members(const json& object) {
  std::string text;
  for (const auto& [name, value] : object.items()) text += ",\"" + name + "\":" + json_text(value);
  return text;
}

}  // namespace

Reply::Reply(const json& id, int pipe) : head_(head_of(id)), pipe_(pipe) {}

double Reply::seconds() const { return seconds_since(start_); }

void Reply::part(const std::string& name, std::string text, Told told) {
  std::replace(text.begin(), text.end(), '\n', ' ');  // between values only: a text has it escaped
  const bool named = head_.size() > 1;
  if (named && told != Told::at_the_end)
    write_all(pipe_, head_ + "\"progress\":{\"seconds\":" + json(seconds()).dump() + ",\"" + name +
                         "\":" + text + "}}\n");
  if (named && told == Told::now) return;
  const auto known = std::find_if(parts_.begin(), parts_.end(),
                                  [&](const auto& part) { return part.first == name; });
  if (known != parts_.end())
    known->second = std::move(text);
  else
    parts_.emplace_back(name, std::move(text));
}

bool Reply::end(const json& end) {
  std::string line = head_ + "\"seconds\":" + json(seconds()).dump() + members(end);
  for (const auto& [name, text] : parts_) line += ",\"" + name + "\":" + text;
  return write_all(pipe_, line + "}\n");
}

std::string progress_line(const json& id, double seconds) {
  return head_of(id) + "\"progress\":{\"seconds\":" + json(seconds).dump() + "}}\n";
}

bool is_progress(const json& id, std::string_view line) {
  return !id.is_null() && line.starts_with(head_of(id) + "\"progress\":");
}

std::string end_line(const json& id, double seconds, const json& end) {
  return head_of(id) + "\"seconds\":" + json(seconds).dump() + members(end) + "}\n";
}

}  // namespace spillway::explore
