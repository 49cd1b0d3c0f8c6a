#pragma once

#include "scenarios/description/training.hpp"

#include <vector>

namespace spillway::models {

using description::ElementType;

/// How the numbers of a tensor lie in memory.
struct NumberFormat {
  ElementType type;
  std::uint64_t block;  ///< numbers that share a scale; 0: there are no scales
  ElementType scale;    ///< of one scale

  constexpr NumberFormat(ElementType of = ElementType::fp32, std::uint64_t sharing_a_scale = 0,
                         ElementType scale_type = ElementType::fp32)
      : type(of), block(sharing_a_scale), scale(scale_type) {}

  /// Bytes of so many numbers with their scales. Each of the two is rounded up to whole bytes, and
  /// a block that is not full has a scale like any other.
  constexpr std::uint64_t bytes(std::uint64_t elements) const {
    const std::uint64_t numbers = whole_bytes(elements, type);
    return block == 0 ? numbers
                      : numbers + whole_bytes(description::divide_up(elements, block), scale);
  }

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
  NumberFormat weight;     ///< as kernels read it
  NumberFormat gradient;   ///< as kernels compute it
  NumberFormat parameter;  ///< as a model is made and checkpoints have it
  /// In the order of StateKind. Without a master the weight itself is what the optimizer updates.
  std::vector<StateFormat> states;

  bool has_master() const { return !states.empty() && states.front().kind == StateKind::master; }
  /// Bytes of all states of so many elements.
  std::uint64_t state_bytes(std::uint64_t elements) const;
};

/// Mixed precision with fp32 states has fp32 masters. With 16-bit states the 16-bit weight itself
/// is the master, as it is where nothing is mixed.
WeightFormats formats_of(description::Precision precision, description::OptimizerKind optimizer,
                         description::StateWidth states);
WeightFormats formats_of(const description::Training& training);

}  // namespace spillway::models
