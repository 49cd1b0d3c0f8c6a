#include "explore/expressions/expression.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <utility>

namespace spillway::explore {

namespace {

constexpr int deepest = 64;

bool begins_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool continues_name(char c) {
  return begins_word(c) || is_digit(c) || c == '.' || c == '[' || c == ']';
}

}  // namespace

/// Reads an expression by recursive descent, one function for each level of binding.
class ExpressionParser {
 public:
  using Op = Expression::Op;

  ExpressionParser(std::string_view text, Expression& into) : text_(text), into_(into) {}

  void run() {
    either();
    skip_space();
    if (at_ < text_.size()) fail("an operator should stand here");
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw ExpressionError(at_ + 1, what); }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  bool take(std::string_view symbol) {
    skip_space();
    if (text_.substr(at_, symbol.size()) != symbol) return false;
    const bool word = begins_word(symbol.front());
    const std::size_t end = at_ + symbol.size();
    if (word && end < text_.size() && continues_name(text_[end])) return false;
    at_ = end;
    return true;
  }

  void emit(Op op) { into_.steps_.push_back({op, 0, 0}); }

  using Level = void (ExpressionParser::*)();

  /// Operands of `next`, joined from the left by any of `operators`.
  void chain(Level next, std::initializer_list<std::pair<std::string_view, Op>> operators) {
    (this->*next)();
    for (;;) {
      const auto taken = std::find_if(operators.begin(), operators.end(),
                                      [this](const auto& one) { return take(one.first); });
      if (taken == operators.end()) return;
      (this->*next)();
      emit(taken->second);
    }
  }

  void either() {
    if (++depth_ > deepest) fail("nested deeper than 64 levels");
    chain(&ExpressionParser::both, {{"or", Op::either}, {"||", Op::either}});
    --depth_;
  }
  void both() { chain(&ExpressionParser::opposite, {{"and", Op::both}, {"&&", Op::both}}); }

  void opposite() {
    int times = 0;
    while (take("not")) ++times;
    comparison();
    while (times-- > 0) emit(Op::opposite);
  }

  void comparison() {
    constexpr std::pair<std::string_view, Op> symbols[] = {
        {"==", Op::equal},    {"!=", Op::unequal}, {"<=", Op::at_most},
        {">=", Op::at_least}, {"<", Op::less},     {">", Op::more}};
    sum();
    for (const auto& [symbol, op] : symbols) {
      if (!take(symbol)) continue;
      sum();
      return emit(op);
    }
  }

  void sum() { chain(&ExpressionParser::product, {{"+", Op::add}, {"-", Op::subtract}}); }
  void product() { chain(&ExpressionParser::factor, {{"*", Op::multiply}, {"/", Op::divide}}); }

  void factor() {
    int signs = 0;
    while (take("-")) ++signs;
    atom();
    if (signs % 2 == 1) emit(Op::negate);
  }

  void atom() {
    skip_space();
    if (at_ == text_.size()) fail("a number, a name or a bracket is missing");
    const char c = text_[at_];
    if (take("(")) {
      either();
      if (!take(")")) fail("a closing bracket is missing");
    } else if (is_digit(c)) {
      number();
    } else if (begins_word(c)) {
      name();
    } else {
      fail("a number, a name or a bracket should stand here");
    }
  }

  void number() {
    double value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc{}) fail("this number is too large or too small");
    at_ = static_cast<std::size_t>(end - text_.data());
    into_.steps_.push_back({Op::number, value, 0});
  }

  void name() {
    const std::size_t start = at_;
    while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
    const std::string found(text_.substr(start, at_ - start));
    if (found.back() == '.' || found.find("..") != std::string::npos)
      fail("after a dot a word should follow");
    auto& names = into_.names_;
    const auto known = std::find(names.begin(), names.end(), found);
    into_.steps_.push_back({Op::name, 0, static_cast<std::size_t>(known - names.begin())});
    if (known == names.end()) names.push_back(found);
  }

  std::string_view text_;
  Expression& into_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

Expression::Expression(std::string_view text) { ExpressionParser(text, *this).run(); }

double Expression::apply(Op op, double left, double right) {
  switch (op) {
    case Op::add:
      return left + right;
    case Op::subtract:
      return left - right;
    case Op::multiply:
      return left * right;
    case Op::divide:
      return left / right;
    case Op::equal:
      return left == right;
    case Op::unequal:
      return left != right;
    case Op::less:
      return left < right;
    case Op::at_most:
      return left <= right;
    case Op::more:
      return left > right;
    case Op::at_least:
      return left >= right;
    case Op::both:
      return left != 0 && right != 0;
    case Op::either:
      return left != 0 || right != 0;
    case Op::number:
    case Op::name:
    case Op::negate:
    case Op::opposite:
      break;
  }
  ENSURE(false, "an operation of two operands has no rule");
  return 0;
}

double Expression::operator()(const std::function<double(const std::string&)>& value_of) const {
  std::vector<double> values;
  for (const std::string& name : names_) values.push_back(value_of(name));
  return (*this)(values);
}

double Expression::operator()(std::span<const double> values) const {
  std::vector<double> stack;
  stack.reserve(steps_.size());
  for (const Step& step : steps_) {
    if (step.op == Op::number) {
      stack.push_back(step.number);
    } else if (step.op == Op::name) {
      stack.push_back(values[step.name]);
    } else if (step.op == Op::negate) {
      stack.back() = -stack.back();
    } else if (step.op == Op::opposite) {
      stack.back() = stack.back() == 0;
    } else {
      const double right = stack.back();
      stack.pop_back();
      stack.back() = apply(step.op, stack.back(), right);
    }
  }
  ENSURE(stack.size() == 1, "an expression leaves one value");
  return stack.back();
}

}  // namespace spillway::explore
