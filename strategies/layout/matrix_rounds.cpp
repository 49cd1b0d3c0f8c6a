#include "strategies/layout/matrix_rounds.hpp"

#include <algorithm>

namespace spillway::strategies {

namespace {

/// Their shares are equal, are sent to the same ranks, and are matrices of one shape.
bool are_alike(const Job& job, std::uint32_t one, std::uint32_t other) {
  const models::WeightTensor &a = job.model.weights[one], &b = job.model.weights[other];
  return job.row(one).shards == job.row(other).shards && job.elements(one) == job.elements(other) &&
         a.inputs() == b.inputs() && a.outputs() == b.outputs();
}

}  // namespace

bool shares_a_matrix(const Job& job, std::uint32_t weight) {
  return job.scenario.training.optimizer == description::OptimizerKind::muon &&
         job.trains(weight) && job.model.weights[weight].multiplies_in_block() &&
         job.row(weight).shards.state_ways() > 1;
}

std::vector<MatrixRound> matrix_rounds(const Job& job) {
  std::vector<MatrixRound> shapes;
  for (std::uint32_t weight = 0; weight < job.tensors.size(); ++weight) {
    if (!shares_a_matrix(job, weight)) continue;
    const auto shape = std::find_if(shapes.begin(), shapes.end(), [&](const MatrixRound& known) {
      return are_alike(job, known.front(), weight);
    });
    if (shape == shapes.end())
      shapes.push_back({weight});
    else
      shape->push_back(weight);
  }
  std::vector<MatrixRound> rounds;
  for (const MatrixRound& shape : shapes) {
    const std::uint64_t ways = job.row(shape.front()).shards.state_ways();
    for (std::size_t first = 0; first < shape.size(); first += ways) {
      const std::size_t past = std::min<std::size_t>(shape.size(), first + ways);
      rounds.emplace_back(shape.begin() + static_cast<std::ptrdiff_t>(first),
                          shape.begin() + static_cast<std::ptrdiff_t>(past));
    }
  }
  return rounds;
}

}  // namespace spillway::strategies
