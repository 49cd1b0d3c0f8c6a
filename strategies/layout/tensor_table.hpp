#pragma once

#include "models/program/formats.hpp"
#include "scenarios/description/scenario.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace spillway::strategies {

using models::fp32_numbers;
using models::NumberFormat;
using models::StateFormat;
using models::StateKind;

// Storage transfers, and so the shares of tensors, are whole sectors.
using description::in_sectors;
using description::storage_sector;

/// Shares of a tensor begin and end at such bytes on the GPU.
inline constexpr std::uint64_t share_alignment = 64;
/// From one share to the next, of so many bytes.
constexpr std::uint64_t aligned_share(std::uint64_t bytes) {
  return description::divide_up(bytes, share_alignment) * share_alignment;
}
/// Bytes of a share below which it stays in memory: DeepSpeed swaps nothing smaller.
inline constexpr std::uint64_t smallest_swapped = 1u << 20;

/// Elements that one of `ways` ranks holds of a tensor of `elements`. Shares follow each other
/// without gaps, so that gathered they are the tensor; the last ones are short of it by what they
/// are padded with. A block of numbers with a common scale lies in one share, and so does a block
/// of scales.
std::uint64_t share_of(std::uint64_t elements, std::uint64_t ways, const NumberFormat& format);

/// Ranks over which a tensor may be spread.
enum class ShardGroup : std::uint8_t {
  none,        ///< each rank has all of it
  data,        ///< those that train on different samples
  expert_data  ///< those of them that hold the same experts
};

/// How ZeRO spreads a tensor, or all of a rank's tensors, over a group, which may span nodes.
struct Partition {
  ShardGroup group = ShardGroup::none;
  std::uint64_t ways = 1;  ///< members of the group, on all nodes
  bool weights = false;    ///< stage 3
  bool gradients = false;  ///< stage 2
  bool states = false;     ///< stage 1
  std::uint64_t weight_ways() const { return weights ? ways : 1; }
  std::uint64_t gradient_ways() const { return gradients ? ways : 1; }
  std::uint64_t state_ways() const { return states ? ways : 1; }
  bool operator==(const Partition&) const = default;
};
/// How the ranks of a scenario share weights, gradients and states.
Partition partition_of(const description::Scenario& scenario);
/// How those that hold the same routed experts share what belongs to them.
Partition expert_partition_of(const description::Scenario& scenario);

/// One weight with all that belongs to it: how its numbers lie, where, and who updates them.
struct TensorRow {
  /// Of one tensor-parallel rank; 0: another pipeline stage holds it, or another owner of rows.
  std::uint64_t elements = 0;
  NumberFormat weight{};  ///< as kernels read it
  /// As the model is made and checkpoints have it: in mixed precision wider than what kernels read,
  /// whether or not the optimizer keeps a master of that width.
  NumberFormat parameter{};
  std::optional<NumberFormat> gradient{};  ///< as kernels compute it; none: the weight is frozen
  std::vector<StateFormat> states{};       ///< in the order of StateKind
  /// Kernels read a copy of the master, narrower than it: each update writes the copy anew, and
  /// reads gradients that were widened to the master's type.
  bool has_copy = false;
  Partition shards{};
  description::Home home = description::Home::gpu;  ///< of what kernels read, between its uses
  bool whole = true;  ///< each member of the group has all of it there
  description::Home state_home = description::Home::gpu;  ///< between updates
  std::optional<std::uint32_t> subgroup{};                ///< of one rank; none: nobody updates it
  std::optional<description::OptimizerDevice> updater{};  ///< none: nobody

  /// Mixed precision: kernels read a cast of the parameter.
  bool is_cast() const { return parameter != weight; }
  bool trainable() const { return gradient.has_value(); }
  /// Of a weight that is trained.
  const NumberFormat& gradient_format() const;
  /// Null: it has no such state.
  const NumberFormat* state(StateKind kind) const;
  /// The optimizer updates a master besides the weight that kernels read.
  bool has_own_master() const { return state(StateKind::master) != nullptr; }
  /// Of what the optimizer updates: a master of its own, or the weight itself.
  const NumberFormat& master() const;
  /// Momentum and variance are fp32, and so is the master that goes with them.
  bool fp32_states() const;
  /// Of a gradient that is brought to where the states lie: fp32 beside states or masters of fp32.
  const NumberFormat& updating_gradient() const;
  /// Bytes of `elements` of all states; a master that is the weight itself is none of them.
  std::uint64_t state_bytes(std::uint64_t elements) const;
  /// Bytes of `elements` of what an update reads and writes: master(), momentum and variance.
  std::uint64_t updated_bytes(std::uint64_t elements) const;
  /// Elements that one of `ways` ranks holds (see share_of).
  std::uint64_t share(std::uint64_t ways) const { return share_of(elements, ways, weight); }
  /// Bytes of a share in `format`, which another one follows: whole alignments, which the scales of
  /// packed numbers are not.
  std::uint64_t share_bytes(const NumberFormat& format, std::uint64_t ways) const {
    return aligned_share(format.bytes(share(ways)));
  }

  bool operator==(const TensorRow&) const = default;
};

/// A row for each weight of a model, as one rank (of one pipeline stage) has them. Never changes;
/// copies share the rows.
class TensorTable {
 public:
  TensorTable() : TensorTable(std::vector<TensorRow>()) {}
  explicit TensorTable(std::vector<TensorRow> rows)
      : rows_(std::make_shared<const std::vector<TensorRow>>(std::move(rows))) {}

  std::uint32_t size() const { return static_cast<std::uint32_t>(rows_->size()); }
  const TensorRow& row(std::uint32_t weight) const { return (*rows_)[weight]; }
  const std::vector<TensorRow>& rows() const { return *rows_; }
  /// For who owns the rows of which `owns` is true: of the others nothing is held or updated.
  /// Sub-groups keep their order and are numbered anew.
  TensorTable owned(const std::function<bool(const TensorRow&)>& owns) const;

  /// The sum of what `amount` says of each row.
  template <class Amount>
  std::uint64_t sum(const Amount& amount) const {
    std::uint64_t total = 0;
    for (const TensorRow& row : *rows_) total += amount(row);
    return total;
  }
  /// The largest of them; 0 without rows.
  template <class Amount>
  std::uint64_t largest(const Amount& amount) const {
    std::uint64_t most = 0;
    for (const TensorRow& row : *rows_) most = std::max<std::uint64_t>(most, amount(row));
    return most;
  }

  bool operator==(const TensorTable& other) const { return *rows_ == *other.rows_; }

 private:
  std::shared_ptr<const std::vector<TensorRow>> rows_;
};

}  // namespace spillway::strategies
