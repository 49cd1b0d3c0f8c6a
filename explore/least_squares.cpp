#include "explore/least_squares.hpp"

#include "scenarios/description/errors.hpp"

#include <libalglib/optimization.h>
#include <algorithm>
#include <cmath>

namespace spillway::explore {

namespace {

/// What the callbacks of the library need.
struct Call {
  const LeastSquaresProblem& problem;
  const ResidualsAt& residuals;
};

Numbers numbers_of(const alglib::real_1d_array& array) {
  return {array.getcontent(), array.getcontent() + array.length()};
}

alglib::real_1d_array array_of(const Numbers& numbers) {
  alglib::real_1d_array array;
  array.setcontent(static_cast<alglib::ae_int_t>(numbers.size()), numbers.data());
  return array;
}

void put(const Numbers& residuals, alglib::real_1d_array& into) {
  for (std::size_t i = 0; i < residuals.size(); ++i)
    into[static_cast<alglib::ae_int_t>(i)] = residuals[i];
}

void value_at(const alglib::real_1d_array& point, alglib::real_1d_array& into, void* call) {
  put(static_cast<Call*>(call)->residuals({numbers_of(point)}).front(), into);
}

void slope_at(const alglib::real_1d_array& point, alglib::real_1d_array& into,
              alglib::real_2d_array& slopes, void* call) {
  const Call& c = *static_cast<Call*>(call);
  value_at(point, into, call);
  const std::vector<Numbers> found = jacobian(c.problem, numbers_of(point), c.residuals);
  for (std::size_t i = 0; i < found.size(); ++i)
    for (std::size_t j = 0; j < found[i].size(); ++j)
      slopes(static_cast<alglib::ae_int_t>(i), static_cast<alglib::ae_int_t>(j)) = found[i][j];
}

}  // namespace

std::vector<Numbers> jacobian(const LeastSquaresProblem& problem, const Numbers& point,
                              const ResidualsAt& residuals) {
  std::vector<Numbers> points;
  for (std::size_t j = 0; j < point.size(); ++j)
    for (const double sign : {1.0, -1.0}) {
      points.push_back(point);
      double& moved = points.back()[j];
      moved += sign * problem.step * std::abs(point[j]);
      moved = std::clamp(moved, problem.low[j], problem.high[j]);
    }
  const std::vector<Numbers> there = residuals(points);
  std::vector<Numbers> slopes(there.front().size(), Numbers(point.size()));
  for (std::size_t j = 0; j < point.size(); ++j) {
    const double distance = points[2 * j][j] - points[2 * j + 1][j];
    for (std::size_t i = 0; i < slopes.size() && distance > 0; ++i)
      slopes[i][j] = (there[2 * j][i] - there[2 * j + 1][i]) / distance;
  }
  return slopes;
}

Numbers least_squares(const LeastSquaresProblem& problem, const ResidualsAt& residuals) {
  const std::size_t count = residuals({problem.start}).front().size();
  Call call{problem, residuals};
  alglib::minlmstate state;
  alglib::minlmcreatevj(static_cast<alglib::ae_int_t>(count), array_of(problem.start), state);
  alglib::minlmsetbc(state, array_of(problem.low), array_of(problem.high));
  Numbers scale = problem.start;
  for (double& one : scale) one = std::max(std::abs(one), 1e-300);
  alglib::minlmsetscale(state, array_of(scale));
  alglib::minlmsetcond(state, 1e-4, static_cast<alglib::ae_int_t>(problem.iterations));
  alglib::minlmoptimize(state, value_at, slope_at, nullptr, &call);
  alglib::real_1d_array found;
  alglib::minlmreport report;
  alglib::minlmresults(state, found, report);
  ENSURE(report.terminationtype > 0, "the least squares fit gave up");
  return numbers_of(found);
}

}  // namespace spillway::explore
