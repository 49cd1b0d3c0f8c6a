#include "scenarios/json/located_json.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace spillway::scenarios {

using description::Complaint;
using description::ScenarioError;
using nlohmann::json;

namespace {

constexpr std::size_t deepest = 64;
/// What a text may have: each value and key keeps its place under all keys above it.
constexpr std::size_t most_values = 1'000'000, most_bytes_of_keys = 256u << 20;

/// Owns the place in the text; follows the parser from token to token to tell where each began.
class TokenCursor {
 public:
  TokenCursor(std::string_view text, const std::string& file) : text_(text), file_(file) {
    if (text_.substr(0, 3) == "\xEF\xBB\xBF") at_ = line_start_ = 3;
  }

  /// Moves to the next token that starts a key or value, or closes a list or object, and over it.
  Place next() {
    const Place place = peek();
    skip_token();
    return place;
  }
  /// Where the next such token starts.
  Place peek() {
    skip_until_token();
    return {file_, line_, static_cast<int>(at_ - line_start_) + 1};
  }
  /// The same, but a comma or colon counts as a token.
  Place peek_punctuation() {
    skip_blank();
    return {file_, line_, static_cast<int>(at_ - line_start_) + 1};
  }
  bool at_end() const { return at_ >= text_.size(); }
  char current() const { return at_end() ? '\0' : text_[at_]; }
  void step() { advance(1); }

 private:
  void advance(std::size_t count) {
    for (; count > 0 && !at_end(); --count)
      if (text_[at_++] == '\n') ++line_, line_start_ = at_;
  }
  bool starts(std::string_view what) const { return text_.substr(at_, what.size()) == what; }
  void skip_comment() {
    const bool line = starts("//");
    const std::size_t end = text_.find(line ? "\n" : "*/", at_ + 2);
    advance(end == std::string_view::npos ? text_.size() - at_ : end + (line ? 1 : 2) - at_);
  }
  void skip_blank() {
    while (!at_end()) {
      if (std::string_view(" \t\r\n").find(current()) != std::string_view::npos)
        advance(1);
      else if (starts("//") || starts("/*"))
        skip_comment();
      else
        return;
    }
  }
  void skip_until_token() {
    for (skip_blank(); current() == ',' || current() == ':'; skip_blank()) advance(1);
  }
  void skip_token() {
    if (current() == '"') {
      advance(1);
      while (!at_end() && current() != '"') advance(current() == '\\' ? 2 : 1);
      advance(1);
    } else if (std::string_view("{}[]").find(current()) != std::string_view::npos) {
      advance(1);
    } else {
      const std::size_t end = text_.find_first_of(" \t\r\n,:]}/", at_);
      advance(std::max<std::size_t>(1, std::min(end, text_.size()) - at_));
    }
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
};

std::string cut_between(const std::string& text, const std::string& after,
                        const std::string& before) {
  const std::size_t start = text.find(after);
  if (start == std::string::npos) return text;
  const std::string rest = text.substr(start + after.size());
  return rest.substr(0, rest.find(before));
}

/// What the library says, without its code names and byte counts.
std::string readable(const std::string& what) {
  std::string text = what.substr(std::min(what.size(), what.find("] ") + 2));
  if (text.find("number overflow") != std::string::npos) return "the number is too large";
  text = cut_between(text, " - ", "; last read");
  const auto replace = [&text](const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at))
      text.replace(at, from.size(), to), at += to.size();
  };
  replace("unexpected end of input", "the text ends too early");
  replace("string literal", "a \"key\"");
  replace("; expected", ", expected");
  replace("'[', '{', or a literal", "a value");
  return text;
}

/// Builds the value from the parser's events, with places, and collects keys that come twice.
class Builder : public nlohmann::json_sax<json> {
 public:
  Builder(std::string_view text, const std::string& file) : cursor_(text, file), file_(file) {}

  bool null() override { return scalar(nullptr); }
  bool boolean(bool value) override { return scalar(value); }
  bool number_integer(std::int64_t value) override { return scalar(value); }
  bool number_unsigned(std::uint64_t value) override { return scalar(value); }
  /// 1e3 and 4.0 are whole numbers, as a schema's "integer" means them.
  bool number_float(double value, const std::string&) override {
    constexpr double most = 1ull << 53;  // above, a double is not exact
    if (value == std::floor(value) && value >= 0 && value <= most)
      return scalar(static_cast<std::uint64_t>(value));
    if (value == std::floor(value) && value < 0 && value >= -most)
      return scalar(static_cast<std::int64_t>(value));
    return scalar(value);
  }
  bool string(std::string& value) override { return scalar(std::move(value)); }
  bool binary(json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    const Place place = cursor_.next();
    Level& level = levels_.back();
    level.key = name;
    const std::string pointer = pointer_to(level.pointer, name);
    if (level.value->contains(name))
      complaints_.push_back(
          {file_, place.line, place.column, dotted(pointer), "the key stands twice in this object",
           "keep one; the first is in line " + std::to_string(result_.keys[pointer].line)});
    else
      result_.keys[pointer] = place;
    return may_keep(pointer, place);
  }

  bool parse_error(std::size_t, const std::string&, const json::exception& error) override {
    // The token that the parser stumbled over is the first that gave no event.
    Place place = cursor_.peek_punctuation();
    if (just_after_value_ && (cursor_.current() == ',' || cursor_.current() == ':')) {
      cursor_.step();
      const Place behind = cursor_.peek_punctuation();
      if (!cursor_.at_end()) place = behind;
    }
    complaints_.assign(
        {{file_, place.line, place.column, "", "not JSON: " + readable(error.what()), ""}});
    return false;
  }

  LocatedJson finish() {
    if (!complaints_.empty()) throw ScenarioError(complaints_);
    return std::move(result_);
  }

 private:
  struct Level {
    json* value;
    std::string pointer;
    std::string key;
  };

  json* add(json value, std::string& pointer) {
    just_after_value_ = true;
    if (levels_.empty()) {
      result_.value = std::move(value);
      return &result_.value;
    }
    Level& level = levels_.back();
    if (level.value->is_array()) {
      pointer = pointer_to(level.pointer, std::to_string(level.value->size()));
      level.value->push_back(std::move(value));
      return &level.value->back();
    }
    pointer = pointer_to(level.pointer, level.key);
    return &((*level.value)[level.key] = std::move(value));
  }
  /// Counts what was just kept; false when that is too much, which is a complaint.
  bool may_keep(const std::string& pointer, const Place& place) {
    ++kept_;
    kept_bytes_ += pointer.size();
    const auto refuse = [&](const char* message, const char* hint) {
      complaints_.assign({{file_, place.line, place.column, "", message, hint}});
      return false;
    };
    if (kept_ > most_values)
      return refuse("the file has more than 1,000,000 keys and values, which is the limit",
                    "is it what you meant to name?");
    if (kept_bytes_ > most_bytes_of_keys)
      return refuse("the keys above its values have more than 256 MiB, which is the limit",
                    "shorten the keys of what holds most values");
    return true;
  }

  bool scalar(json value) {
    std::string pointer;
    const Place place = cursor_.next();
    add(std::move(value), pointer);
    result_.values[pointer] = place;
    return may_keep(pointer, place);
  }
  bool open(json value) {
    std::string pointer;
    const Place place = cursor_.next();
    if (levels_.size() == deepest) {
      complaints_.push_back({file_, place.line, place.column, "",
                             "nested deeper than " + std::to_string(deepest) + " levels", ""});
      return false;
    }
    json* added = add(std::move(value), pointer);
    result_.values[pointer] = place;
    levels_.push_back({added, pointer, ""});
    return may_keep(pointer, place);
  }
  bool close() {
    cursor_.next();
    levels_.pop_back();
    return true;
  }

  TokenCursor cursor_;
  const std::string& file_;
  LocatedJson result_;
  std::vector<Level> levels_;
  std::vector<Complaint> complaints_;
  std::size_t kept_ = 0, kept_bytes_ = 0;
  bool just_after_value_ = false;
};

bool below(const std::string& pointer, const std::string& root) {
  return pointer.compare(0, root.size(), root) == 0 &&
         (pointer.size() == root.size() || pointer[root.size()] == '/');
}

void forget_in(std::map<std::string, Place>& places, const std::string& pointer) {
  for (auto at = places.lower_bound(pointer); at != places.end();) {
    if (at->first.compare(0, pointer.size(), pointer) != 0) break;
    at = below(at->first, pointer) ? places.erase(at) : std::next(at);
  }
}

}  // namespace

std::string pointer_to(const std::string& parent, std::string_view key) {
  std::string pointer = parent + "/";
  for (const char c : key) {
    if (c == '~')
      pointer += "~0";
    else if (c == '/')
      pointer += "~1";
    else
      pointer += c;
  }
  return pointer;
}

std::string parent_of(const std::string& pointer) {
  return pointer.substr(0, pointer.empty() ? 0 : pointer.rfind('/'));
}

std::string dotted(const std::string& pointer) {
  std::string path;
  for (std::size_t at = 0; at < pointer.size();) {
    const std::size_t end = std::min(pointer.find('/', at + 1), pointer.size());
    std::string key = pointer.substr(at + 1, end - at - 1);
    at = end;
    const bool index = !key.empty() && key.find_first_not_of("0123456789") == std::string::npos;
    for (const auto& [from, to] : {std::pair{"~1", "/"}, std::pair{"~0", "~"}})
      for (std::size_t i = key.find(from); i != std::string::npos; i = key.find(from, i + 1))
        key.replace(i, 2, to);
    path += index ? "[" + key + "]" : (path.empty() ? "" : ".") + key;
  }
  return path;
}

std::string pointer_of(std::string path) {
  std::replace(path.begin(), path.end(), '.', '/');
  return "/" + path;
}

Place LocatedJson::place(const std::string& pointer) const {
  for (std::string at = pointer;; at = parent_of(at)) {
    if (const auto found = values.find(at); found != values.end()) return found->second;
    if (at.empty()) return {};
  }
}

Place LocatedJson::key_place(const std::string& pointer) const {
  const auto found = keys.find(pointer);
  return found != keys.end() ? found->second : place(parent_of(pointer));
}

const json* LocatedJson::find(const std::string& pointer) const {
  const json::json_pointer where(pointer);
  const json* at = &value;
  std::vector<std::string> steps;
  for (json::json_pointer p = where; !p.empty(); p.pop_back()) steps.push_back(p.back());
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (at->is_array()) {
      const bool digits = !step->empty() && step->size() < 7 &&
                          step->find_first_not_of("0123456789") == std::string::npos;
      const std::size_t index = digits ? std::stoul(*step) : at->size();
      if (index >= at->size()) return nullptr;
      at = &(*at)[index];
    } else if (at->is_object() && at->contains(*step)) {
      at = &(*at)[*step];
    } else {
      return nullptr;
    }
  }
  return at;
}

void LocatedJson::forget(const std::string& pointer) {
  forget_in(values, pointer);
  forget_in(keys, pointer);
}

void LocatedJson::put(const std::string& pointer, const LocatedJson& other) {
  forget(pointer);
  value[json::json_pointer(pointer)] = other.value;
  for (const auto& [below_it, place] : other.values) values[pointer + below_it] = place;
  for (const auto& [below_it, place] : other.keys) keys[pointer + below_it] = place;
}

const json* value_at(const json& document, std::string_view path) {
  const json* at = &document;
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t dot = std::min(path.find('.', from), path.size());
    const std::string step(path.substr(from, dot - from));
    if (at->is_object()) {
      const auto found = at->find(step);
      if (found == at->end()) return nullptr;
      at = &*found;
    } else if (at->is_array()) {
      const auto found = std::find_if(at->begin(), at->end(), [&](const json& item) {
        return item.is_object() && item.value("name", "") == step;
      });
      if (found == at->end()) return nullptr;
      at = &*found;
    } else {
      return nullptr;
    }
    from = dot + 1;
  }
  return at;
}

json* value_at(json& document, std::string_view path) {
  return const_cast<json*>(value_at(std::as_const(document), path));
}

description::Complaint placed_in(const LocatedJson& written, description::Complaint complaint) {
  const Place place = written.place(pointer_of(complaint.path));
  complaint.file = place.file;
  complaint.line = place.line;
  complaint.column = place.column;
  return complaint;
}

LocatedJson located_at(const json& value, const Place& place) {
  LocatedJson located;
  located.value = value;
  located.values[""] = place;
  return located;
}

LocatedJson parse_located(std::string_view text, const std::string& file) {
  Builder builder(text, file);
  json::sax_parse(text.begin(), text.end(), &builder, json::input_format_t::json, true, true);
  return builder.finish();
}

LocatedJson read_located(const std::string& path, const std::string& shown) {
  return parse_located(text_of_file(path, shown), shown.empty() ? path : shown);
}

}  // namespace spillway::scenarios
