#include "strategies/planner/saved/saved_items.hpp"

#include "scenarios/description/errors.hpp"
#include "strategies/planner/saved/swap_planner.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace spillway::strategies {

namespace {

using models::Access;
using models::TensorId;

constexpr double ticks_per_s = 1e12;              ///< whole numbers add up alike in any order
constexpr std::uint64_t operators_a_tick = 1024;  ///< one that takes no time still joins tensors

/// By tensor: when forward lets go of it, and when backward takes it up.
struct Uses {
  std::vector<double> last_forward_s, first_backward_s;
};

Uses uses_of(const models::StepProgram& program, std::span<const double> operator_s) {
  Uses uses{std::vector<double>(program.tensors.size(), 0),
            std::vector<double>(program.tensors.size(), -1)};
  double now = 0;
  for (std::uint32_t i = 0; i < program.backward.last; ++i) {
    for (const models::Operand& operand : program.operators[i].operands) {
      if (i < program.forward.last)
        uses.last_forward_s[operand.tensor] = now + operator_s[i];
      else if (uses.first_backward_s[operand.tensor] < 0)
        uses.first_backward_s[operand.tensor] = now;
    }
    now += operator_s[i];
  }
  return uses;
}

/// Which items a block's kernels make, and from which.
class BlockGraph {
 public:
  BlockGraph(const models::StepProgram& program, std::vector<SavedItem>& items, std::size_t first)
      : program_(program), items_(items), made_from_(program.tensors.size()) {
    for (std::size_t item = first; item < items.size(); ++item)
      for (const TensorId tensor : items[item].tensors)
        made_from_[tensor] = {static_cast<std::uint32_t>(item)};
    own_ = made_from_;
  }

  void connect(models::Span span) {
    for (std::uint32_t i = span.first; i < span.last; ++i) {
      const auto& operands = program_.operators[i].operands;
      std::set<std::uint32_t> from;
      for (const models::Operand& operand : operands)
        if (operand.access != Access::write)
          from.insert(made_from_[operand.tensor].begin(), made_from_[operand.tensor].end());
      for (const models::Operand& operand : operands) {
        if (operand.access == Access::read) continue;
        if (own_[operand.tensor].empty())
          made_from_[operand.tensor].insert(from.begin(), from.end());
        for (const std::uint32_t made : own_[operand.tensor]) add_sources(made, from);
      }
    }
  }

 private:
  void add_sources(std::uint32_t item, const std::set<std::uint32_t>& from) {
    std::vector<std::uint32_t>& sources = items_[item].sources;
    for (const std::uint32_t source : from)
      if (source != item && std::find(sources.begin(), sources.end(), source) == sources.end())
        sources.push_back(source);
  }

  const models::StepProgram& program_;
  std::vector<SavedItem>& items_;
  std::vector<std::set<std::uint32_t>> made_from_, own_;  ///< items, by tensor
};

/// Of a block's tensors the first kernel that writes one.
std::uint32_t first_written(const models::StepProgram& program, models::Span span,
                            const std::vector<TensorId>& tensors) {
  for (std::uint32_t i = span.first; i < span.last; ++i)
    for (const models::Operand& operand : program.operators[i].operands)
      if (operand.access != Access::read &&
          std::find(tensors.begin(), tensors.end(), operand.tensor) != tensors.end())
        return i;
  return span.last;
}

}  // namespace

std::vector<SavedItem> saved_items(const models::Model& model, const models::StepProgram& program,
                                   std::span<const double> operator_s,
                                   std::span<const TensorId> inputs) {
  const Uses uses = uses_of(program, operator_s);
  std::vector<std::uint64_t> ticks;
  for (const double seconds : operator_s)
    ticks.push_back(
        operators_a_tick * static_cast<std::uint64_t>(std::llround(seconds * ticks_per_s)) + 1);
  std::vector<SavedItem> items;
  for (std::uint32_t layer = 0; layer < model.layers.size(); ++layer) {
    if (!model.layers[layer].is_block) continue;
    const std::size_t first = items.size();
    const models::Span span = program.layers[layer].forward;
    const std::vector<TensorId> saved = program.saved_by(layer);
    for (const TensorId input : inputs)
      if (program.layers[layer].input == input &&
          std::find(saved.begin(), saved.end(), input) != saved.end())
        items.push_back({program.tensors[input].bytes.value(), 0, false, 0, 0, {}, layer, {input}});
    std::vector<SwapItem> own = items_of_block(program, layer, ticks);
    std::stable_sort(own.begin(), own.end(), [&](const SwapItem& one, const SwapItem& other) {
      return first_written(program, span, one.tensors) <
             first_written(program, span, other.tensors);
    });
    for (const SwapItem& item : own)
      items.push_back({item.bytes,
                       static_cast<double>(item.flops / operators_a_tick) / ticks_per_s,
                       true,
                       0,
                       0,
                       {},
                       layer,
                       item.tensors});
    for (std::size_t i = first; i < items.size(); ++i) {
      const auto later = [&](TensorId one, TensorId other) {
        return uses.last_forward_s[one] < uses.last_forward_s[other];
      };
      const auto sooner = [&](TensorId one, TensorId other) {
        return uses.first_backward_s[one] < uses.first_backward_s[other];
      };
      const auto& tensors = items[i].tensors;
      items[i].last_forward_s =
          uses.last_forward_s[*std::max_element(tensors.begin(), tensors.end(), later)];
      items[i].first_backward_s =
          uses.first_backward_s[*std::min_element(tensors.begin(), tensors.end(), sooner)];
    }
    BlockGraph(program, items, first).connect(span);
  }
  return items;
}

}  // namespace spillway::strategies
