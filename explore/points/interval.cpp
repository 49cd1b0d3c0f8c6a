#include "explore/points/interval.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace spillway::explore {

namespace {

using Op = Expression::Op;

constexpr double unbounded = std::numeric_limits<double>::infinity();
constexpr Interval holds{1, 1}, fails{0, 0}, unknown{0, 1};

bool may_be_true(Interval a) { return a.least != 0 || a.most != 0; }
bool may_be_false(Interval a) { return a.least <= 0 && a.most >= 0; }

Interval truth(bool may_hold, bool may_fail) {
  if (may_hold && may_fail) return unknown;
  return may_hold ? holds : fails;
}

/// Of four ends; what has no value could be anything.
Interval hull(double a, double b, double c, double d) {
  for (const double end : {a, b, c, d})
    if (std::isnan(end)) return Interval::anything();
  return {std::min({a, b, c, d}), std::max({a, b, c, d})};
}

Interval product(Interval a, Interval b) {
  return hull(a.least * b.least, a.least * b.most, a.most * b.least, a.most * b.most);
}

Interval quotient(Interval a, Interval b) {
  if (b.least <= 0 && b.most >= 0) return Interval::anything();
  return hull(a.least / b.least, a.least / b.most, a.most / b.least, a.most / b.most);
}

Interval less(Interval a, Interval b) { return truth(a.least < b.most, a.most >= b.least); }
Interval at_most(Interval a, Interval b) { return truth(a.least <= b.most, a.most > b.least); }

Interval equal(Interval a, Interval b) {
  const bool meet = a.least <= b.most && b.least <= a.most;
  const bool points = a.least == a.most && b.least == b.most;
  return truth(meet, !(meet && points));
}

Interval opposite(Interval a) { return truth(may_be_false(a), may_be_true(a)); }

Interval apply(Op op, Interval a, Interval b) {
  switch (op) {
    case Op::add:
      return hull(a.least + b.least, a.most + b.most, a.least + b.least, a.most + b.most);
    case Op::subtract:
      return hull(a.least - b.most, a.most - b.least, a.least - b.most, a.most - b.least);
    case Op::multiply:
      return product(a, b);
    case Op::divide:
      return quotient(a, b);
    case Op::equal:
      return equal(a, b);
    case Op::unequal:
      return opposite(equal(a, b));
    case Op::less:
      return less(a, b);
    case Op::at_most:
      return at_most(a, b);
    case Op::more:
      return less(b, a);
    case Op::at_least:
      return at_most(b, a);
    case Op::both:
      return truth(may_be_true(a) && may_be_true(b), may_be_false(a) || may_be_false(b));
    case Op::either:
      return truth(may_be_true(a) || may_be_true(b), may_be_false(a) && may_be_false(b));
    case Op::number:
    case Op::name:
    case Op::negate:
    case Op::opposite:
      break;
  }
  ENSURE(false, "an operation of two operands has no rule");
  return {};
}

}  // namespace

Interval Interval::anything() { return {-unbounded, unbounded}; }

Interval range_of(const Expression& expression, std::span<const Interval> values) {
  std::vector<Interval> stack;
  stack.reserve(expression.steps().size());
  for (const Expression::Step& step : expression.steps()) {
    if (step.op == Op::number) {
      stack.push_back(Interval::exactly(step.number));
    } else if (step.op == Op::name) {
      stack.push_back(values[step.name]);
    } else if (step.op == Op::negate) {
      stack.back() = {-stack.back().most, -stack.back().least};
    } else if (step.op == Op::opposite) {
      stack.back() = opposite(stack.back());
    } else {
      const Interval right = stack.back();
      stack.pop_back();
      stack.back() = apply(step.op, stack.back(), right);
    }
  }
  return stack.back();
}

}  // namespace spillway::explore
