#include "tests/house/cpp_text.hpp"

#include <algorithm>
#include <cctype>
#include <regex>
#include <utility>

namespace spillway::house {
namespace {

bool in_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

/// Blanks comments and literals of one text, from left to right.
class Blanker {
 public:
  explicit Blanker(std::string_view text) : text_(text), code_(text) {}

  std::string run() {
    while (at_ < text_.size()) step();
    return std::move(code_);
  }

 private:
  void step() {
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("//")) {
      blank_until(text_.find('\n', at_));
    } else if (rest.starts_with("/*")) {
      blank_past("*/", at_ + 2);
    } else if (rest.front() == '"') {
      raw() ? blank_raw() : blank_quoted('"');
    } else if (rest.front() == '\'' && !digit_separator()) {
      blank_quoted('\'');
    } else {
      ++at_;
    }
  }

  std::size_t word_start() const {
    std::size_t start = at_;
    while (start > 0 && in_word(text_[start - 1])) --start;
    return start;
  }

  bool raw() const {
    const auto prefix = text_.substr(word_start(), at_ - word_start());
    return prefix == "R" || prefix == "u8R" || prefix == "uR" || prefix == "UR" || prefix == "LR";
  }

  /// 1'000: the word before the quote is a number.
  bool digit_separator() const {
    const std::size_t start = word_start();
    return start < at_ && std::isdigit(static_cast<unsigned char>(text_[start])) != 0;
  }

  void blank_until(std::size_t end) {
    end = std::min(end, text_.size());
    for (; at_ < end; ++at_) {
      if (text_[at_] != '\n') code_[at_] = ' ';
    }
  }

  void blank_past(std::string_view closing, std::size_t from) {
    const std::size_t found = text_.find(closing, from);
    blank_until(found == std::string_view::npos ? found : found + closing.size());
  }

  void blank_raw() {
    const std::size_t open = text_.find('(', at_);
    if (open == std::string_view::npos) return blank_until(open);
    const std::string delimiter(text_.substr(at_ + 1, open - at_ - 1));
    blank_past(")" + delimiter + "\"", open);
  }

  void blank_quoted(char quote) {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n') {
      end += text_[end] == '\\' ? 2 : 1;
    }
    blank_until(end + 1);
  }

  std::string_view text_;
  std::string code_;
  std::size_t at_ = 0;
};

/// Preprocessor lines, with their continuations, become empty.
std::string without_directives(std::string code) {
  bool continued = false;
  std::size_t start = 0;
  while (start < code.size()) {
    std::size_t end = std::min(code.find('\n', start), code.size());
    const std::size_t first = code.find_first_not_of(" \t", start);
    const bool directive = continued || (first < end && code[first] == '#');
    continued = directive && end > start && code[end - 1] == '\\';
    if (directive) code.replace(start, end - start, end - start, ' ');
    start = end + 1;
  }
  return code;
}

/// What stands before a brace, without template parameters, arguments and operator names.
std::string bare_head(std::string_view head) {
  static const std::regex operators(R"(operator\s*[^\s\w(]+)");
  std::string text = std::regex_replace(std::string(head), operators, "operator_name");
  std::string bare;
  int parentheses = 0;
  int angles = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char letter = text[at];
    if (letter == '(') ++parentheses;
    if (letter == '<' && parentheses == 0) ++angles;
    if (parentheses == 0 && angles == 0) bare += letter;
    if (letter == ')') --parentheses;
    if (letter == '>' && parentheses == 0 && angles > 0 && text[at - 1] != '-') --angles;
  }
  return bare;
}

enum class Brace { scope, function, data };

Brace kind_of(std::string_view head) {
  static const std::regex lambda(R"(=\s*\[)");
  static const std::regex data(R"(^\s*enum\b|=)");
  static const std::regex scope(
      R"(^\s*extern\s*$|)"
      R"(^\s*((template|export|inline|static|const|constexpr|typedef)\s+)*(requires\s.*)?)"
      R"(\b(namespace|class|struct|union)\b)");
  const std::string bare = bare_head(head);
  if (std::regex_search(bare, lambda)) return Brace::function;
  if (std::regex_search(bare, data)) return Brace::data;
  return std::regex_search(bare, scope) ? Brace::scope : Brace::function;
}

/// Follows braces through one text and notes the functions.
class FunctionFinder {
 public:
  explicit FunctionFinder(std::string code) : code_(std::move(code)) {}

  std::vector<FunctionSpan> run() {
    for (at_ = 0; at_ < code_.size(); ++at_) step(code_[at_]);
    return std::move(found_);
  }

 private:
  bool in_scope() const { return (open_.empty() || open_.back() == Brace::scope); }

  void step(char letter) {
    if (letter == '\n') ++line_;
    if (!in_scope()) return inside(letter);
    if (letter == '(') ++parentheses_;
    if (letter == ')') --parentheses_;
    if (letter == '{') return enter();
    if (letter == '}' && !open_.empty()) open_.pop_back();
    const bool label = letter == ':' && access_label();
    if (parentheses_ == 0 && (letter == ';' || letter == '}' || label)) return start_head();
    if (first_line_ == 0 && std::isspace(static_cast<unsigned char>(letter)) == 0) {
      first_line_ = line_;
    }
  }

  bool access_label() const {
    static const std::regex label(R"(^\s*(public|private|protected)\s*$)");
    return std::regex_match(code_.substr(head_, at_ - head_), label);
  }

  void enter() {
    const std::string_view head = std::string_view(code_).substr(head_, at_ - head_);
    open_.push_back(parentheses_ > 0 ? Brace::data : kind_of(head));
    if (first_line_ == 0) first_line_ = line_;
    if (open_.back() == Brace::scope) start_head();
  }

  void inside(char letter) {
    if (letter == '{') open_.push_back(Brace::data);
    if (letter != '}') return;
    const Brace closed = open_.back();
    open_.pop_back();
    if (!in_scope() || parentheses_ > 0) return;  // a default argument's braces end no head
    if (closed == Brace::function) found_.push_back({first_line_, line_});
    if (!more_of_constructor()) start_head();
  }

  /// After `: a_{a}` come `, b_{b} {` or ` {`: the signature goes on.
  bool more_of_constructor() const {
    const std::size_t next = code_.find_first_not_of(" \t\n", at_ + 1);
    return next != std::string::npos && (code_[next] == '{' || code_[next] == ',');
  }

  void start_head() {
    head_ = at_ + 1;
    first_line_ = 0;
  }

  std::string code_;
  std::vector<FunctionSpan> found_;
  std::vector<Brace> open_;
  std::size_t at_ = 0;
  std::size_t head_ = 0;
  int line_ = 1;
  int first_line_ = 0;
  int parentheses_ = 0;
};

}  // namespace

std::string code_only(std::string_view text) { return Blanker(text).run(); }

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::vector<FunctionSpan> functions_of(std::string_view text) {
  return FunctionFinder(without_directives(code_only(text))).run();
}

}  // namespace spillway::house
