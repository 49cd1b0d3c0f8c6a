#include "hw_backend/arithmetic/weight_slice.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <numeric>

namespace spillway::hw_backend {

namespace {

using models::WeightKind;
using models::WeightTensor;

/// The outputs of a matrix by what is in them, each of which the ranks cut for itself.
std::vector<std::uint64_t> outputs_of(const models::Architecture& a, const WeightTensor& matrix) {
  const std::uint64_t all = matrix.outputs();
  const bool shared = matrix.kind == WeightKind::shared_up;
  const std::uint64_t width = shared ? a.shared_ffn : matrix.routed ? a.expert_ffn : a.ffn;
  const std::vector<std::uint64_t> both{width, width};
  const std::vector<std::uint64_t> heads{a.query_width(), a.kv_width(), a.value_width()};
  const auto is = [all](const std::vector<std::uint64_t>& parts) {
    return all == std::accumulate(parts.begin(), parts.end(), std::uint64_t{0});
  };
  if (matrix.kind == WeightKind::query && is(heads)) return heads;
  if (matrix.kind == WeightKind::key_value) return {a.heads * a.latent.unrotated, a.value_width()};
  const bool up = shared || matrix.kind == WeightKind::ffn_up;
  if (up && a.gated_ffn && is(both)) return both;
  return {all};
}

/// Of each part of `outputs` one rank's, each of so many elements one behind the other.
WeightSlice columns(const std::vector<std::uint64_t>& outputs, std::uint64_t each,
                    std::uint64_t ranks, std::uint64_t rank) {
  WeightSlice slice;
  std::size_t piece = 0;
  for (const std::uint64_t part : outputs) {
    const std::uint64_t own = part / ranks * each;
    slice.pieces[piece++] = {slice.whole_row + rank * own, own};
    slice.whole_row += part * each;
    slice.own_row += own;
  }
  return slice;
}

}  // namespace

WordShare words_of(std::uint64_t vocabulary, std::uint64_t ranks, std::uint64_t tensor) {
  WordShare share;
  share.rows = description::divide_up(vocabulary, ranks);
  share.first = std::min(tensor * share.rows, vocabulary);
  share.count = std::min(share.rows, vocabulary - share.first);
  return share;
}

WeightSlice slice_of(const models::Model& model, const models::Workload& workload,
                     std::uint32_t weight, std::uint64_t tensor, std::uint64_t expert) {
  const WeightTensor& of = model.weights.at(weight);
  const std::uint64_t all = of.parameters.value(), ranks = workload.tensor;
  WeightSlice slice;
  slice.elements = all;
  if (of.routed && workload.expert > 1) {
    slice.elements = slice.own_row = all / workload.expert;
    slice.whole_row = all;
    slice.pieces[0] = {expert * slice.own_row, slice.own_row};
  }
  if (ranks == 1) return slice;
  if (of.kind == WeightKind::embedding || of.kind == WeightKind::lm_head) {
    const WordShare words = words_of(of.shape[0], ranks, tensor);
    const std::uint64_t width = of.shape[1];
    slice = columns({words.rows * ranks}, width, ranks, tensor);
    slice.elements = words.count * width;
    return slice;
  }
  if (of.cut == models::Cut::none) return slice;
  if (of.kind == WeightKind::adapter_up) {
    slice = columns(outputs_of(model.architecture, model.weights[model.adapted(weight)]),
                    of.inputs(), ranks, tensor);
  } else if (of.kind == WeightKind::bias) {  // behind its matrix
    slice = columns(outputs_of(model.architecture, model.weights.at(weight - 1)), 1, ranks, tensor);
  } else if (of.cut == models::Cut::columns) {
    slice = columns(outputs_of(model.architecture, of), of.inputs_first ? 1 : of.inputs(), ranks,
                    tensor);
  } else {
    slice = columns({of.inputs()}, of.inputs_first ? of.outputs() : 1, ranks, tensor);
  }
  // of several experts in one tensor each is a row, or some: whose experts are ahead is behind
  const std::uint64_t sharers = of.routed ? workload.expert : 1;
  slice.elements = all / ranks / sharers;
  const std::uint64_t before = of.routed ? expert * (all / sharers) : 0;
  for (WeightSlice::Piece& piece : slice.pieces) piece.first += before;
  return slice;
}

}  // namespace spillway::hw_backend
