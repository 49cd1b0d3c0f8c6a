#pragma once

#include "models/architecture/model.hpp"
#include "scenarios/description/training.hpp"

#include <vector>

namespace spillway::models {

using description::ElementType;

/// How the numbers of a tensor lie in memory.
struct NumberFormat {
  ElementType type;
  std::uint64_t block;  ///< numbers that share a scale; 0: there are no scales
  ElementType scale;    ///< of one scale
  /// Scales that share an fp32 scale themselves; 0: none do.
  std::uint64_t scale_block;
  /// Of a matrix: there are no numbers but two lists of scales, one for each `block` (a row) and
  /// one for each `scale_block` (a column).
  bool factored = false;

  constexpr NumberFormat(ElementType of = ElementType::fp32, std::uint64_t sharing_a_scale = 0,
                         ElementType scale_type = ElementType::fp32,
                         std::uint64_t scales_sharing_a_scale = 0)
      : type(of), block(sharing_a_scale), scale(scale_type), scale_block(scales_sharing_a_scale) {}

  /// An fp32 number for each row and one for each column of a matrix.
  static constexpr NumberFormat factors(std::uint64_t rows, std::uint64_t columns) {
    NumberFormat format(ElementType::fp32, columns, ElementType::fp32, rows);
    format.factored = true;
    return format;
  }

  /// Bytes of so many numbers with their scales. Each kind is rounded up to whole bytes, and a
  /// block that is not full has a scale like any other.
  constexpr std::uint64_t bytes(std::uint64_t elements) const {
    const std::uint64_t numbers = whole_bytes(elements, type);
    if (block == 0) return numbers;
    if (factored)
      return whole_bytes(
          description::divide_up(elements, block) + description::divide_up(elements, scale_block),
          scale);
    const std::uint64_t scales = description::divide_up(elements, block);
    const std::uint64_t with_scales = numbers + whole_bytes(scales, scale);
    if (scale_block == 0) return with_scales;
    return with_scales +
           whole_bytes(description::divide_up(scales, scale_block), ElementType::fp32);
  }
  /// Kernels do not compute with it: each use widens it first.
  constexpr bool is_packed() const { return block > 0 && !factored; }

  bool operator==(const NumberFormat&) const = default;

 private:
  /// Divides first: counts times bits may be more than 64 bits hold.
  static constexpr std::uint64_t whole_bytes(std::uint64_t count, ElementType of) {
    const std::uint64_t bits = description::bits_of(of);
    return count / 8 * bits + description::divide_up(count % 8 * bits, 8);
  }
};

/// fp32, in which updates are computed.
inline constexpr NumberFormat fp32_numbers{};

/// What an optimizer keeps of a weight from one update to the next.
enum class StateKind : std::uint8_t {
  master,  ///< the weight as the optimizer knows it, where that is not the one that kernels read
  momentum,
  variance
};

struct StateFormat {
  StateKind kind;
  NumberFormat format;
  bool operator==(const StateFormat&) const = default;
};

/// What a training's precision and optimizer stand for.
struct WeightFormats {
  NumberFormat weight;                   ///< as kernels read it
  std::optional<NumberFormat> gradient;  ///< as kernels compute it; none: it is frozen
  NumberFormat parameter;                ///< as a model is made and checkpoints have it
  /// In the order of StateKind. Without a master the weight itself is what the optimizer updates.
  std::vector<StateFormat> states;

  bool has_master() const { return !states.empty() && states.front().kind == StateKind::master; }
  /// Bytes of all states of so many elements.
  std::uint64_t state_bytes(std::uint64_t elements) const;
};

/// Mixed precision has fp32 masters, but with 16-bit states: there the 16-bit weight itself is the
/// master, as it is where nothing is mixed.
WeightFormats formats_of(description::Precision precision, description::OptimizerKind optimizer,
                         description::StateWidth states);

/// The formats of each weight of a training.
class Formats {
 public:
  Formats(description::Precision precision, description::OptimizerKind optimizer,
          description::StateWidth states, description::AdapterType adapters,
          description::BaseType base);
  explicit Formats(const description::Training& training);

  WeightFormats of(const WeightTensor& weight) const;
  /// As kernels read it, or widen it first.
  NumberFormat numbers(const WeightTensor& weight) const;
  /// Of what `model` trains: its adapters, or its other weights.
  const WeightFormats& trained(const Model& model) const;

 private:
  friend WeightFormats formats_of(const description::Training& training);
  WeightFormats with_states_of(const WeightTensor& weight, WeightFormats formats) const;
  WeightFormats weights_, adapters_;
  description::OptimizerKind optimizer_;
  description::BaseType base_;
};

/// Of what the training's method trains.
WeightFormats formats_of(const description::Training& training);

}  // namespace spillway::models
