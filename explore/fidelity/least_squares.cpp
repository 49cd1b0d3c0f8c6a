#include "explore/fidelity/least_squares.hpp"

#include "scenarios/description/errors.hpp"

#include <Eigen/QR>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <tuple>

namespace spillway::explore {

namespace {

constexpr double smallest_move = 1e-4;  ///< of a parameter's start: less is no progress

double sum_of_squares(const Numbers& residuals) {
  return std::transform_reduce(residuals.begin(), residuals.end(), 0.0, std::plus<>(),
                               [](double one) { return one * one; });
}

/// The problem in units of the parameters' starts, linear around a point.
struct Linear {
  Eigen::MatrixXd slopes;     ///< [residual][parameter]
  Eigen::VectorXd residuals;  ///< at the point
  Eigen::VectorXd low, high;  ///< how far each parameter may move
};

Eigen::VectorXd scale_of(const LeastSquaresProblem& problem) {
  Eigen::VectorXd scale(static_cast<Eigen::Index>(problem.start.size()));
  for (Eigen::Index j = 0; j < scale.size(); ++j)
    scale[j] = std::max(std::abs(problem.start[static_cast<std::size_t>(j)]), 1e-300);
  return scale;
}

Linear linear_at(const LeastSquaresProblem& problem, const Numbers& point, const Numbers& residuals,
                 const ResidualsAt& residuals_at) {
  const std::vector<Numbers> slopes = jacobian(problem, point, residuals_at);
  const Eigen::VectorXd scale = scale_of(problem);
  Linear linear{{static_cast<Eigen::Index>(slopes.size()), scale.size()},
                Eigen::Map<const Eigen::VectorXd>(residuals.data(),
                                                  static_cast<Eigen::Index>(residuals.size())),
                scale,
                scale};
  for (Eigen::Index j = 0; j < scale.size(); ++j) {
    const auto parameter = static_cast<std::size_t>(j);
    linear.low[j] = (problem.low[parameter] - point[parameter]) / scale[j];
    linear.high[j] = (problem.high[parameter] - point[parameter]) / scale[j];
    for (std::size_t i = 0; i < slopes.size(); ++i)
      linear.slopes(static_cast<Eigen::Index>(i), j) = slopes[i][parameter] * scale[j];
  }
  return linear;
}

/// Parameters that may move and lower the sum of squares by it.
std::vector<Eigen::Index> free_parameters(const Linear& linear) {
  const Eigen::VectorXd downhill = -linear.slopes.transpose() * linear.residuals;
  std::vector<Eigen::Index> free;
  for (Eigen::Index j = 0; j < downhill.size(); ++j)
    if ((downhill[j] > 0 && linear.high[j] > 0) || (downhill[j] < 0 && linear.low[j] < 0))
      free.push_back(j);
  return free;
}

/// The step that makes |slopes step + residuals|^2 + damping |diagonal step|^2 least within
/// bounds. What would leave its bounds is put on the bound, and the rest is solved again.
Eigen::VectorXd damped_step(const Linear& linear, double damping) {
  std::vector<Eigen::Index> free = free_parameters(linear);
  Eigen::VectorXd step = Eigen::VectorXd::Zero(linear.slopes.cols());
  const Eigen::Index rows = linear.slopes.rows();
  while (!free.empty()) {
    const auto count = static_cast<Eigen::Index>(free.size());
    Eigen::MatrixXd stacked = Eigen::MatrixXd::Zero(rows + count, count);
    stacked.topRows(rows) = linear.slopes(Eigen::all, free);
    stacked.bottomRows(count).diagonal() =
        std::sqrt(damping) * stacked.topRows(rows).colwise().norm();
    Eigen::VectorXd wanted = Eigen::VectorXd::Zero(rows + count);
    wanted.head(rows) = -linear.residuals - linear.slopes * step;  // what lies on a bound already
    const Eigen::VectorXd found = stacked.completeOrthogonalDecomposition().solve(wanted);
    std::vector<Eigen::Index> inside;
    for (Eigen::Index k = 0; k < count; ++k) {
      const Eigen::Index j = free[static_cast<std::size_t>(k)];
      if (found[k] >= linear.low[j] && found[k] <= linear.high[j]) inside.push_back(j);
      if (found[k] < linear.low[j]) step[j] = linear.low[j];
      if (found[k] > linear.high[j]) step[j] = linear.high[j];
    }
    if (inside.size() == free.size()) {
      step(free) = found;
      return step;
    }
    free = std::move(inside);
  }
  return step;
}

Numbers moved(const LeastSquaresProblem& problem, const Numbers& from,
              const Eigen::VectorXd& step) {
  const Eigen::VectorXd distance = step.cwiseProduct(scale_of(problem));
  Numbers to = from;
  for (std::size_t j = 0; j < to.size(); ++j)
    to[j] =
        std::clamp(to[j] + distance[static_cast<Eigen::Index>(j)], problem.low[j], problem.high[j]);
  return to;
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
  Numbers best = problem.start;
  Numbers there = residuals({best}).front();
  ENSURE(std::isfinite(sum_of_squares(there)), "residuals are numbers where a fit starts");
  double damping = 1e-3;
  for (std::size_t iteration = 0; iteration < problem.iterations; ++iteration) {
    const Linear linear = linear_at(problem, best, there, residuals);
    for (bool lower = false; !lower; damping = lower ? damping / 10 : damping * 10) {
      const Eigen::VectorXd step = damped_step(linear, damping);
      if (step.size() == 0 || step.cwiseAbs().maxCoeff() < smallest_move) return best;
      const Numbers tried = moved(problem, best, step);
      const Numbers found = residuals({tried}).front();
      lower = sum_of_squares(found) < sum_of_squares(there);
      if (lower) std::tie(best, there) = std::pair(tried, found);
    }
  }
  return best;
}

}  // namespace spillway::explore
