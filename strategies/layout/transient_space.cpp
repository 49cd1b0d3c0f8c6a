#include "strategies/layout/transient_space.hpp"

#include <algorithm>

namespace spillway::strategies {

using models::TensorId;

void TransientSpace::begin_layer() {
  logits_.clear();
  logits_bytes_ = 0;
}

void TransientSpace::place_logits(TensorId id) {
  const models::Tensor& tensor = program_.tensors[id];
  if (tensor.role != models::TensorRole::logits || logits_.contains(id)) return;
  logits_[id] = logits_bytes_;
  logits_bytes_ += placed_bytes(tensor.bytes.value());
}

void TransientSpace::place(const std::vector<Pass>& passes,
                           const std::function<bool(TensorId, bool recompute)>& is_transient) {
  struct Life {
    TensorId id;
    std::uint32_t from, to;
  };
  std::vector<Life> lives;
  std::vector<TensorId> passed_on;  // still, while the next kernel runs
  std::uint32_t now = 0;
  for (const Pass& pass : passes)
    for (const Turn& turn : pass) {
      for (const models::Operand& operand : program_.operators[turn.op].operands) {
        const TensorId id = operand.tensor;
        place_logits(id);
        if (!is_transient(id, turn.recompute)) continue;
        auto life = std::find_if(lives.begin(), lives.end(),
                                 [&](const Life& known) { return known.id == id; });
        if (life == lives.end())
          lives.push_back({id, now, now});
        else
          life->to = now;
        if (program_.operators[turn.op].beside) passed_on.push_back(id);
      }
      if (!program_.operators[turn.op].beside) {
        for (Life& life : lives)
          if (std::find(passed_on.begin(), passed_on.end(), life.id) != passed_on.end())
            life.to = now;
        passed_on.clear();
      }
      ++now;
    }
  FirstFit fit;
  transients_.clear();
  for (const Life& life : lives)
    transients_[life.id] =
        fit.place(placed_bytes(program_.tensors[life.id].bytes.value()), life.from, life.to);
  transient_bytes_ = fit.end();
  place_workspaces(passes, fit);
}

/// What finds no room among the transients has room of its own.
void TransientSpace::place_workspaces(const std::vector<Pass>& passes, const FirstFit& fit) {
  workspaces_.clear();
  std::uint32_t now = 0;
  for (const Pass& pass : passes)
    for (const Turn& turn : pass) {
      const std::uint64_t bytes = placed_bytes(program_.operators[turn.op].workspace.value());
      const std::uint64_t offset = bytes ? fit.find(bytes, now, now) : 0;
      if (bytes && offset + bytes <= transient_bytes_) workspaces_[turn.op] = offset;
      ++now;
    }
}

}  // namespace spillway::strategies
