#pragma once

#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::explore {

/// A text that is no expression.
class ExpressionError : public std::invalid_argument {
 public:
  ExpressionError(std::size_t column, const std::string& what)
      : std::invalid_argument(what), column_(column) {}
  std::size_t column() const { return column_; }  ///< 1-based, of the text

 private:
  std::size_t column_;
};

/// Arithmetic, comparison and logic over named numbers, read once and evaluated often:
/// `100 * (1 - b.peak_bytes.host.total / a.peak_bytes.host.total)`, `micro_batch * data <= 16`.
///   Weakest first   or; and; not; == != < <= > >= (one per side); + -; * /; unary -
///   Truth           0 is false, all else true; what is true is 1
///   Names           dotted words, list items as in storage[0]
class Expression {
 public:
  /// Throws ExpressionError; 64 levels of brackets are the most.
  explicit Expression(std::string_view text);

  /// All names in it, each once, in the order in which they stand.
  const std::vector<std::string>& names() const { return names_; }

  /// Its value, asking for each name once; division by zero gives an infinity or a NaN.
  double operator()(const std::function<double(const std::string&)>& value_of) const;
  /// The same, with the names' values in the order of names().
  double operator()(std::span<const double> values) const;

  /// In reverse Polish order, for other kinds of numbers than these.
  enum class Op : unsigned char {
    number,
    name,
    negate,
    add,
    subtract,
    multiply,
    divide,
    equal,
    unequal,
    less,
    at_most,
    more,
    at_least,
    both,
    either,
    opposite
  };
  struct Step {
    Op op = Op::number;
    double number = 0;     ///< of Op::number
    std::size_t name = 0;  ///< of Op::name, in names_
  };
  const std::vector<Step>& steps() const { return steps_; }

 private:
  friend class ExpressionParser;
  static double apply(Op op, double left, double right);

  std::vector<Step> steps_;
  std::vector<std::string> names_;
};

}  // namespace spillway::explore
