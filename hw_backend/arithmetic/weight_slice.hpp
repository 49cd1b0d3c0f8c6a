#pragma once

#include "hw_backend/arithmetic/random.hpp"
#include "models/program/step_program.hpp"

namespace spillway::hw_backend {

/// Which elements of a whole weight a rank has, in the order in which they lie there: of each row
/// of the whole some pieces, one behind the other.
struct WeightSlice {
  struct Piece {
    std::uint64_t first = 0, count = 0;  ///< in a row of the whole
  };
  static constexpr unsigned most_pieces = 3;

  std::uint64_t elements = 0;   ///< of the rank; what pads them comes behind
  std::uint64_t whole_row = 0;  ///< elements of a row of the whole
  std::uint64_t own_row = 0;    ///< of it, those that the rank has; 0: it has the whole
  Piece pieces[most_pieces] = {};

  /// The number in the whole of the rank's `element`.
  SPILLWAY_ANYWHERE std::uint64_t in_whole(std::uint64_t element) const {
    if (own_row == 0) return element;
    std::uint64_t left = element % own_row;
    unsigned piece = 0;
    for (; piece + 1 < most_pieces && left >= pieces[piece].count; ++piece)
      left -= pieces[piece].count;
    return element / own_row * whole_row + pieces[piece].first + left;
  }
  /// Elements of [from, from + room) that are no padding.
  std::uint64_t count(std::uint64_t from, std::uint64_t room) const {
    const std::uint64_t behind = from >= elements ? 0 : elements - from;
    return room < behind ? room : behind;
  }
};

/// What a rank has of a weight: of what tensor ranks cut its heads, its columns or rows, its words;
/// of what expert-parallel ranks share its experts; of others all.
///   tensor  the rank's number among the tensor ranks
///   expert  and among those that share experts
WeightSlice slice_of(const models::Model& model, const models::Workload& workload,
                     std::uint32_t weight, std::uint64_t tensor, std::uint64_t expert);

/// The words of a vocabulary that a tensor rank has.
struct WordShare {
  std::uint64_t first = 0, count = 0;
  std::uint64_t rows = 0;  ///< of its table: as many for each rank, those behind `count` no words

  /// Without rows: of one who has all words.
  SPILLWAY_ANYWHERE bool has(std::uint64_t word) const { return rows == 0 || word - first < count; }
};
WordShare words_of(std::uint64_t vocabulary, std::uint64_t ranks, std::uint64_t tensor);

}  // namespace spillway::hw_backend
