#include "explore/evolution/evolution.hpp"

#include <pagmo/algorithm.hpp>
#include <pagmo/algorithms/nsga2.hpp>
#include <pagmo/batch_evaluators/member_bfe.hpp>
#include <pagmo/bfe.hpp>
#include <pagmo/population.hpp>
#include <pagmo/problem.hpp>
#include <pagmo/types.hpp>

#include <cmath>

namespace spillway::explore {

namespace {

/// The space as pagmo wants a problem: whole numbers within bounds, at least two objectives.
/// Violations of constraints are not told to it, they are costs that everything dominates.
class GridProblem {
 public:
  GridProblem() = default;
  GridProblem(const EvolutionTask& task, const EvaluatePoints& evaluate)
      : task_(&task), evaluate_(&evaluate) {}

  pagmo::vector_double fitness(const pagmo::vector_double& point) const {
    return batch_fitness(point);
  }

  pagmo::vector_double batch_fitness(const pagmo::vector_double& points) const {
    const std::size_t axes = task_->sizes.size();
    std::vector<EvolvedPoint> grid(points.size() / axes, EvolvedPoint(axes));
    for (std::size_t i = 0; i < grid.size(); ++i)
      for (std::size_t a = 0; a < axes; ++a)
        grid[i][a] = static_cast<std::uint32_t>(std::lround(points[i * axes + a]));
    pagmo::vector_double all;
    for (const std::vector<double>& costs : (*evaluate_)(grid)) {
      all.insert(all.end(), costs.begin(), costs.end());
      if (costs.size() == 1) all.push_back(costs.front());  // twice the same ranks alike
    }
    return all;
  }

  std::pair<pagmo::vector_double, pagmo::vector_double> get_bounds() const {
    pagmo::vector_double most;
    for (const std::uint32_t size : task_->sizes) most.push_back(size - 1.0);
    return {pagmo::vector_double(most.size(), 0.0), most};
  }
  pagmo::vector_double::size_type get_nobj() const {
    return std::max<std::size_t>(2, task_->objectives);
  }
  pagmo::vector_double::size_type get_nix() const { return task_->sizes.size(); }

 private:
  const EvolutionTask* task_ = nullptr;
  const EvaluatePoints* evaluate_ = nullptr;
};

}  // namespace

}  // namespace spillway::explore

void spillway_evolve(const spillway::explore::EvolutionTask& task,
                     const spillway::explore::EvaluatePoints& evaluate) {
  const pagmo::problem problem{spillway::explore::GridProblem(task, evaluate)};
  const pagmo::bfe at_once{pagmo::member_bfe{}};
  const auto seed = static_cast<unsigned>(task.seed);
  pagmo::population population{problem, at_once, task.population, seed};
  pagmo::nsga2 genetic(static_cast<unsigned>(task.generations), 0.95, 10., 0.1, 50., seed);
  genetic.set_bfe(at_once);
  genetic.evolve(std::move(population));
}
