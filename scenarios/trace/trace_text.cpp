#include "scenarios/trace/trace_text.hpp"

#include "scenarios/description/errors.hpp"
#include "scenarios/description/text.hpp"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <string_view>

namespace spillway::scenarios {

using nlohmann::json;

namespace {

class Mender {
 public:
  explicit Mender(std::string_view text) : text_(text) { mended_.reserve(text.size()); }

  std::string run() {
    while (at_ < text_.size()) {
      if (text_[at_] == '"')
        string();
      else if (std::isalpha(static_cast<unsigned char>(text_[at_])) || text_[at_] == '-')
        word();
      else
        mended_ += text_[at_++];
    }
    return std::move(mended_);
  }

 private:
  void string() {
    mended_ += text_[at_++];
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\') {
        escape();
        continue;
      }
      const std::size_t length = description::utf8_length(text_, at_);
      if (static_cast<unsigned char>(text_[at_]) < 0x20)
        mended_ += ' ';
      else if (length == 0)
        mended_ += '?';
      else
        mended_ += text_.substr(at_, length);
      at_ += std::max<std::size_t>(1, length);
    }
    if (at_ < text_.size()) mended_ += text_[at_++];
  }

  void escape() {
    const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    const std::string_view digits = text_.substr(std::min(at_ + 2, text_.size()), 4);
    const bool unicode = next == 'u' && digits.size() == 4 &&
                         std::all_of(digits.begin(), digits.end(),
                                     [](unsigned char digit) { return std::isxdigit(digit) != 0; });
    if (unicode ||
        (next != '\0' && std::string_view("\"\\/bfnrt").find(next) != std::string_view::npos)) {
      mended_ += text_.substr(at_, 2);
      at_ += 2;
    } else {
      mended_ += '/';
      ++at_;
    }
  }

  /// true, false, null; or what C and Python print for numbers that are none.
  void word() {
    const std::size_t begin = at_;
    if (text_[at_] == '-') ++at_;
    const std::size_t letters = at_;
    while (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_]))) ++at_;
    std::string lower(text_.substr(letters, at_ - letters));
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    const bool no_number = lower == "nan" || lower == "inf" || lower == "infinity";
    mended_ += no_number ? "null" : text_.substr(begin, at_ - begin);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string mended_;
};

[[noreturn]] void refuse(const json::exception& error, std::size_t byte, const std::string& text,
                         const std::string& file) {
  const std::size_t at = std::min(byte > 0 ? byte - 1 : 0, text.size());
  const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  const std::size_t begin = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
  const auto column = at - (begin == std::string::npos ? 0 : begin + 1) + 1;
  const bool cut_off = at + 1 >= text.size();
  throw description::ScenarioError(
      {{file, static_cast<int>(line + 1), static_cast<int>(column), "",
        cut_off ? "the file ends in the middle of its JSON" : "no JSON here",
        error.id == 406 ? "a number is out of the range of doubles"
                        : "a trace that was cut off is of no use: export it again"}});
}

json parse(const std::string& text, const std::string& file, const json::parser_callback_t& each) {
  try {
    return json::parse(text, each);
  } catch (const json::parse_error& error) {
    refuse(error, error.byte, text, file);
  } catch (const json::out_of_range& error) {
    refuse(error, 0, text, file);
  }
}

}  // namespace

std::string mended(const std::string& text) { return Mender(text).run(); }

bool for_each_event(const std::string& text, const std::string& file,
                    const std::function<void(const json&, std::size_t)>& each) {
  bool list_alone = false, in_events = false, found = false;
  std::size_t index = 0;
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::array_start && depth == 0) list_alone = found = true;
    if (event == json::parse_event_t::array_start && depth == 1) found = found || in_events;
    if (event == json::parse_event_t::key && depth == 1) in_events = parsed == "traceEvents";
    const bool of_list = list_alone ? depth == 1 : in_events && depth == 2;
    if (event != json::parse_event_t::object_end || !of_list) return true;
    each(parsed, index++);
    return false;
  };
  parse(mended(text), file, watch);
  return found;
}

json parse_profile(const std::string& text, const std::string& file) {
  return parse(mended(text), file, nullptr);
}

}  // namespace spillway::scenarios
