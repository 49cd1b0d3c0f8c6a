#include "explore/workers/request.hpp"

#include "scenarios/description/strict_json.hpp"
#include "scenarios/description/text.hpp"
#include "scenarios/document/offers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace spillway::explore {

using nlohmann::json;

namespace {

constexpr const char* form = R"(write one line {"id": ..., "scenario": {...}} or {"cancel": ID})";
const std::vector<std::string> keys = {"id",        "scenario", "want",  "limit_s",
                                       "when_full", "today",    "cancel"};

std::string nearest(const std::string& name, const std::vector<std::string>& known) {
  const std::string found = description::nearest_name(name, known);
  const std::string list = fmt::format("known: {}", fmt::join(known, ", "));
  return found.empty() ? list : "did you mean \"" + found + "\"? " + list;
}

/// Owns the request while its line is read.
class Reader {
 public:
  Request read(std::string_view line) {
    const auto [said, problem] = description::parse_strictly(line);
    if (!problem.empty())
      return wrong("", problem.starts_with("no JSON") ? "is no JSON" : problem, form);
    if (!said.is_object()) return wrong("", "is no request", form);
    request_.id = said.value("id", json());
    for (const auto& [key, value] : said.items())
      if (std::find(keys.begin(), keys.end(), key) == keys.end())
        wrong(key, "a request has no such key", nearest(key, keys));
    if (said.contains("cancel")) return cancel(said);
    if (!said.contains("scenario")) wrong("scenario", "missing", form);
    request_.scenario = said.value("scenario", json());
    if (said.contains("want")) want(said["want"]);
    if (said.contains("limit_s")) limit(said["limit_s"]);
    if (said.contains("when_full")) when_full(said["when_full"]);
    if (said.contains("today")) today(said["today"]);
    return request_;
  }

 private:
  Request wrong(std::string path, std::string message, std::string hint) {
    request_.complaints.push_back({"", 0, 0, std::move(path), std::move(message), std::move(hint)});
    return request_;
  }

  Request cancel(const json& said) {
    if (said.size() > 1) wrong("cancel", "stands alone", "write {\"cancel\": ID}");
    if (said["cancel"].is_null()) wrong("cancel", "names no request", "write {\"cancel\": ID}");
    request_.cancel = request_.complaints.empty();
    if (request_.cancel) request_.id = said["cancel"];
    return request_;
  }

  void want(const json& list) {
    static const std::vector<std::string> known(std::begin(want_names), std::end(want_names));
    if (!list.is_array() || list.empty()) {
      wrong("want", "is no list of what is wanted", "write [\"result\"]; " + nearest("", known));
      return;
    }
    request_.want.clear();
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string name = list[i].is_string() ? list[i].get<std::string>() : list[i].dump();
      const auto found = std::find(known.begin(), known.end(), name);
      if (found == known.end())
        wrong(fmt::format("want[{}]", i), "no worker knows \"" + name + "\"", nearest(name, known));
      else
        request_.want.push_back(static_cast<Want>(found - known.begin()));
    }
  }

  void limit(const json& number) {
    request_.limit_s = number.is_number() ? number.get<double>() : 0;
    if (request_.limit_s <= 0) wrong("limit_s", "is no time", "write seconds, such as 60");
  }

  void when_full(const json& word) {
    if (word == "stop")
      request_.when_full = WhenFull::stop;
    else if (word != "find_need")
      wrong("when_full", "is neither \"stop\" nor \"find_need\"",
            "\"stop\" ends a scenario that does not fit at its first request that fails");
  }

  void today(const json& date) {
    request_.today = date.is_string() ? date.get<std::string>() : "";
    if (!scenarios::day_number(request_.today))
      wrong("today", "is no date", "write for example \"2026-11-22\"");
  }

  Request request_;
};

}  // namespace

bool Request::wants(Want one) const {
  return std::find(want.begin(), want.end(), one) != want.end();
}

bool Request::quick() const {
  return std::all_of(want.begin(), want.end(),
                     [](Want one) { return one == Want::bound || one == Want::settings; });
}

std::string line_of(const Request& request) {
  json asked = {{"id", request.id}, {"scenario", request.scenario}};
  for (const Want one : request.want)
    asked["want"].push_back(want_names[static_cast<std::size_t>(one)]);
  if (request.limit_s > 0) asked["limit_s"] = request.limit_s;
  if (request.when_full == WhenFull::stop) asked["when_full"] = "stop";
  if (!request.today.empty()) asked["today"] = request.today;
  return description::json_text(asked) + "\n";
}

Request read_request(std::string_view line) { return Reader().read(line); }

}  // namespace spillway::explore
