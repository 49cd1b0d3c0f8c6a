#include "tests/strategies/systems/contents.hpp"

#include <algorithm>

namespace spillway::strategies {

namespace {

constexpr std::size_t enough = 5;

/// The operand of a read or write that lies on storage.
const View* stored(const Operation& operation) {
  for (const BoundOperand& operand : operation.operands)
    if (operand.view.block.get()->tier == TierId::storage) return &operand.view;
  return nullptr;
}

bool lives_for_a_step(Purpose purpose) {
  return purpose == Purpose::gradients || purpose == Purpose::activations;
}

}  // namespace

Contents::Contents(Machine& machine) : machine_(machine) {}

std::size_t Contents::step() const { return machine_.recorder().steps().size(); }

void Contents::started(const Operation& operation) {
  if (operation.kind == OperationKind::storage_kernel && faults_.size() < enough)
    for (const BoundOperand& operand : operation.operands)
      if (operand.access != models::Access::write) check(operation, operand.view);
  if (operation.kind != OperationKind::read || faults_.size() >= enough) return;
  if (const View* view = stored(operation)) check(operation, *view);
}

void Contents::check(const Operation& operation, const View& view) {
  const Purpose purpose = view.block.get()->purpose;
  const auto fault = [&](const std::string& what) {
    faults_.push_back("step " + std::to_string(step()) + ", rank " +
                      std::to_string(operation.rank.index) + " reads " + what + " of " +
                      std::string(to_string(purpose)));
  };
  const Pieces& pieces = extents_[view.block.get()];
  const std::uint64_t end = view.offset + view.bytes;
  const std::size_t may_be = purpose == Purpose::gradients ? late_gradients_
                             : lives_for_a_step(purpose)   ? 0
                                                           : 1 + staleness_;
  const std::size_t oldest = step() - std::min(step(), may_be);
  const bool may_be_first = frozen_weights_ && purpose == Purpose::weights;
  auto piece = pieces.upper_bound(view.offset);
  if (piece != pieces.begin()) --piece;
  std::uint64_t covered = view.offset;
  for (; piece != pieces.end() && piece->first < end; ++piece) {
    if (piece->second.last <= view.offset) continue;
    if (piece->first > covered) break;
    const std::size_t written = piece->second.step;
    if (written < oldest && !(may_be_first && written == 0))
      return fault("bytes of step " + std::to_string(written));
    covered = piece->second.last;
  }
  if (covered < end)
    fault("bytes " + std::to_string(covered) + " to " + std::to_string(end) +
          ", which nobody wrote,");
}

void Contents::finished(const Operation& operation) {
  if (operation.kind == OperationKind::storage_kernel && !operation.error)
    for (const BoundOperand& operand : operation.operands)
      if (operand.access != models::Access::read)
        put(extents_[operand.view.block.get()], operand.view.offset,
            {operand.view.offset + operand.view.bytes, step()});
  if (operation.kind != OperationKind::write || operation.error) return;
  if (const View* view = stored(operation))
    put(extents_[view->block.get()], view->offset, {view->offset + view->bytes, step()});
}

void Contents::put(Pieces& pieces, std::uint64_t first, Piece piece) {
  auto at = pieces.upper_bound(first);
  if (at != pieces.begin() && std::prev(at)->second.last > first) {
    const Piece before = std::prev(at)->second;
    std::prev(at)->second.last = first;
    if (before.last > piece.last) pieces[piece.last] = before;
  }
  at = pieces.lower_bound(first);
  while (at != pieces.end() && at->first < piece.last) {
    if (at->second.last > piece.last) pieces[piece.last] = at->second;
    at = pieces.erase(at);
  }
  pieces[first] = piece;
}

}  // namespace spillway::strategies
