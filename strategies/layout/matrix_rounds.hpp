#pragma once

#include "strategies/layout/job.hpp"

#include <vector>

namespace spillway::strategies {

/// Ranks have a share each of the weight, and its update needs it whole.
bool shares_a_matrix(const Job& job, std::uint32_t weight);

/// Weights that the ranks of a group make orthogonal at once, the member at place i the i-th of
/// them: of one shape and one group, as many as it has members, the last ones of a shape perhaps
/// fewer. In the order in which a shape's first weight is updated.
///   Source  Dion, muon.py and opt_utils.py, create_param_batches: batches of the world's size;
///           since 2026 batches of all of a shape at once, which take more memory
using MatrixRound = std::vector<std::uint32_t>;
std::vector<MatrixRound> matrix_rounds(const Job& job);

}  // namespace spillway::strategies
