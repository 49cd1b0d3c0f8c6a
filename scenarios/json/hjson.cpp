#include "scenarios/json/hjson.hpp"

#include <charconv>
#include <cmath>
#include <vector>

#include "scenarios/description/errors.hpp"
#include "scenarios/description/text.hpp"

namespace spillway::scenarios {

using description::Complaint;
using description::ScenarioError;
using nlohmann::json;

namespace {

constexpr std::size_t deepest_hjson = 64;
constexpr std::size_t longest_text = 4u << 20;

/// A number as JSON writes it, also with a sign or a point in front; else the word itself.
json number_or_word(const std::string& word) {
  if (word == "true") return true;
  if (word == "false") return false;
  if (word == "null") return nullptr;
  const char* first = word.data() + (word.starts_with('+') ? 1 : 0);
  const char* const last = word.data() + word.size();
  std::int64_t whole = 0;
  if (const auto [end, error] = std::from_chars(first, last, whole);
      error == std::errc() && end == last)
    return whole;
  double number = 0;
  const bool starts =
      first != last && std::string_view("+-.0123456789").find(*first) != std::string_view::npos;
  if (const auto [end, error] = std::from_chars(first, last, number);
      starts && error == std::errc() && end == last && std::isfinite(number))
    return number;
  return word;
}

void append_utf8(std::string& text, unsigned code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xC0 | (code >> 6));
    text += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    text += static_cast<char>(0xE0 | (code >> 12));
    text += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    text += static_cast<char>(0x80 | (code & 0x3F));
  }
}

/// Goes through the text once.
class HjsonReader {
 public:
  HjsonReader(std::string_view text, const std::string& file) : text_(text), file_(file) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = line_start_ = 3;
  }

  LocatedJson read() {
    skip_blank();
    result_.values[""] = here();
    if (current() == '{' || current() == '[') {
      result_.value = value("", 0);
    } else {
      if (at_end()) fail("the text ends before anything is said");
      result_.value = members("", 0, '\0');
    }
    skip_blank();
    if (!at_end()) fail("something follows the end");
    if (!twice_.empty()) throw ScenarioError(twice_);
    return std::move(result_);
  }

 private:
  bool at_end() const { return at_ >= text_.size(); }
  char current() const { return at_end() ? '\0' : text_[at_]; }
  bool starts(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  void advance(std::size_t count) {
    for (; count > 0 && !at_end(); --count)
      if (text_[at_++] == '\n') ++line_, line_start_ = at_;
  }
  Place here() const { return {file_, line_, static_cast<int>(at_ - line_start_) + 1}; }
  [[noreturn]] void fail(const std::string& what) const {
    const Place place = here();
    throw ScenarioError({{file_, place.line, place.column, "", "not JSON: " + what, ""}});
  }

  void skip_comment() {
    const bool block = starts("/*");
    const std::size_t end = text_.find(block ? "*/" : "\n", at_);
    advance(end == std::string_view::npos ? text_.size() - at_ : end + (block ? 2 : 1) - at_);
  }
  void skip_blank() {
    while (!at_end()) {
      if (std::string_view(" \t\r\n").find(current()) != std::string_view::npos)
        advance(1);
      else if (current() == '#' || starts("//") || starts("/*"))
        skip_comment();
      else
        return;
    }
  }
  void skip_commas() {
    for (skip_blank(); current() == ','; skip_blank()) advance(1);
  }

  json value(const std::string& pointer, std::size_t depth) {
    if (depth > deepest_hjson) fail("nested deeper than 64 levels");
    result_.values[pointer] = here();
    const char first = current();
    if (first == '{') {
      advance(1);
      return members(pointer, depth, '}');
    }
    if (first == '[') {
      advance(1);
      return elements(pointer, depth);
    }
    if (starts("'''")) return several_lines();
    if (first == '"' || first == '\'') return quoted();
    return number_or_word(word(",]}\n"));
  }

  json elements(const std::string& pointer, std::size_t depth) {
    json list = json::array();
    for (skip_commas(); current() != ']'; skip_commas()) {
      if (at_end()) fail("the text ends inside a list, expected ']'");
      if (current() == '}' || current() == ':') fail("expected a value or ']'");
      list.push_back(value(pointer_to(pointer, std::to_string(list.size())), depth + 1));
    }
    advance(1);
    return list;
  }

  /// `closes` 0: to the end of the text.
  json members(const std::string& pointer, std::size_t depth, char closes) {
    json object = json::object();
    for (skip_commas(); closes ? current() != closes : !at_end(); skip_commas()) {
      if (at_end()) fail("the text ends inside an object, expected '}'");
      const Place place = here();
      const std::string key = this->key();
      skip_blank();
      if (current() != ':') fail("expected ':' after the key \"" + key + "\"");
      advance(1);
      skip_blank();
      if (at_end() || std::string_view(",]}").find(current()) != std::string_view::npos)
        fail("expected a value for \"" + key + "\"");
      const std::string inside = pointer_to(pointer, key);
      if (object.contains(key))
        twice_.push_back(
            {file_, place.line, place.column, dotted(inside),
             "the key stands twice in this object, which DeepSpeed refuses",
             "keep one; the first is in line " + std::to_string(result_.keys[inside].line)});
      else
        result_.keys[inside] = place;
      object[key] = value(inside, depth + 1);
    }
    if (closes) advance(1);
    return object;
  }

  std::string key() {
    if (current() == '"' || current() == '\'') return quoted();
    std::string name = word(":,{}[]\n");
    if (name.empty()) fail("expected a key");
    return name;
  }

  /// To the first of `ends`, or to a comment, without blanks around it.
  std::string word(std::string_view ends) {
    const std::size_t start = at_;
    while (!at_end() && ends.find(current()) == std::string_view::npos) {
      const bool blank_before = at_ > start && (text_[at_ - 1] == ' ' || text_[at_ - 1] == '\t');
      if (blank_before && (current() == '#' || starts("//") || starts("/*"))) break;
      advance(1);
    }
    std::string text(text_.substr(start, at_ - start));
    while (!text.empty() && std::string_view(" \t\r").find(text.back()) != std::string_view::npos)
      text.pop_back();
    return text;
  }

  std::string several_lines() {
    advance(3);
    const std::size_t end = text_.find("'''", at_);
    if (end == std::string_view::npos) fail("the text ends inside ''' quotes");
    std::string text(text_.substr(at_, end - at_));
    advance(end + 3 - at_);
    return text;
  }

  std::string quoted() {
    const char quote = current();
    std::string text;
    for (advance(1); current() != quote; advance(1)) {
      if (at_end() || current() == '\n') fail("the line ends inside quotes");
      if (current() != '\\') {
        text += current();
        continue;
      }
      advance(1);
      if (at_end()) fail("the text ends inside quotes");
      escape(text);
    }
    advance(1);
    return description::as_utf8(text);  // half of a pair of \u alone is no character
  }
  void escape(std::string& text) {
    constexpr std::string_view names = "bfnrt", meant = "\b\f\n\r\t";
    if (const std::size_t known = names.find(current()); known != std::string_view::npos) {
      text += meant[known];
    } else if (current() == 'u') {
      const std::string_view digits = text_.substr(at_ + 1, 4);
      unsigned code = 0;
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
      if (digits.size() != 4 || error != std::errc() || end != digits.data() + 4)
        fail("expected four hexadecimal digits after \\u");
      append_utf8(text, code);
      advance(4);
    } else {
      text += current();
    }
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0, line_start_ = 0;
  int line_ = 1;
  LocatedJson result_;
  std::vector<Complaint> twice_;
};

void require_utf8(std::string_view text, const std::string& file) {
  int line = 1, column = 1;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = description::utf8_length(text, at);
    if (length == 0)
      throw ScenarioError({{file, line, column, "", "not JSON: the text is not UTF-8", ""}});
    column = text[at] == '\n' ? 1 : column + static_cast<int>(length);
    line += text[at] == '\n';
    at += length;
  }
}

}  // namespace

LocatedJson parse_hjson(std::string_view text, const std::string& file) {
  if (text.size() > longest_text)
    throw ScenarioError(
        {{file, 0, 0, "", "the text is longer than 4 MiB, which is the limit", ""}});
  require_utf8(text, file);
  return HjsonReader(text, file).read();
}

LocatedJson read_hjson(const std::string& path) { return parse_hjson(text_of_file(path), path); }

}  // namespace spillway::scenarios
