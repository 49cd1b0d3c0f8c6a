#include "strategies/parts/activations/saved_in_cache.hpp"

namespace spillway::strategies {

void SavedInCache::begin_micro_batch(bool backward_follows) {
  before_ = Op();  // what is there from the stage before has nothing to wait for
  cache_.begin_micro_batch(backward_follows);
}

bool SavedInCache::holds(std::uint32_t hidden) const {
  for (std::uint32_t i = 0; i < job_.plans.moved.size(); ++i)
    if (moved(i).hidden && moved(i).index == hidden && cache_.stores(i)) return true;
  return false;
}

/// The last module of a forward, or the first layer of a backward, begins.
void SavedInCache::expect_at(std::uint32_t module, bool backward) {
  const models::Span scopes = cache_.scopes(*piece_);
  if (!expected_ || scopes.first == scopes.last) return;
  const auto& modules = job_.plans.modules;
  const auto module_at = [&](std::uint32_t scope) { return job_.plans.scopes[scope].module; };
  const bool ends = backward ? modules[module].layer <= modules[module_at(scopes.first)].layer
                             : module >= module_at(scopes.last - 1);
  if (!ends) return;
  cache_.prefetch_last(*expected_);
  expected_.reset();
}

// ---- Forward

Task<IssuedPass> SavedInCache::forward(PassTurn turn) {
  const PassPlan& pass = plan(turn.layer).forward;
  PassIssuer segments = turn.passes->begin(pass, turn.at, {});
  Op before = turn.before;
  for (std::uint32_t i = 0; i < pass.segments.size(); ++i) {
    enter_forward(turn.layer, pass.segments[i]);
    const Op issued = segments.next();
    leave_forward(turn.layer, i, issued);
    co_await before;
    before = issued;
  }
  co_return segments.finish();
}

/// Buffers for what the part makes.
void SavedInCache::enter_forward(std::uint32_t layer, const PassPlan::Segment& segment) {
  expect_at(segment.module, false);
  for (const std::uint32_t i : segment.makes)
    memory_.now().saved[layer][i] = memory_.allocate(plan(layer).saved[i].bytes);
}

/// It was issued as number `index`: what it completed goes to the cache.
void SavedInCache::leave_forward(std::uint32_t layer, std::uint32_t index, const Op& issued) {
  for (const std::uint32_t i : plan(layer).leaves) {
    if (moved(i).hidden) {  // made by a layer before, and saved by this one's first operators
      if (index == 0 && job_.plans.hidden[moved(i).index].first_layer != layer)
        cache_.pack(i, memory_.of(moved(i)), before_);
    } else if (moved(i).made_in == index) {
      cache_.pack(i, memory_.of(moved(i)), issued);
    }
  }
  for (const std::uint32_t i : plan(layer).forward.segments[index].releases)
    if (cache_.stores(i)) memory_.of(moved(i)).reset();
}

/// Tells the cache when each module ran.
void SavedInCache::note_modules(const PassPlan& pass, const IssuedPass& issued) {
  Op first = issued.first;
  for (std::size_t i = 0; i < pass.segments.size(); ++i) {
    const std::uint32_t module = pass.segments[i].module;
    if (i + 1 < pass.segments.size() && pass.segments[i + 1].module == module) continue;
    cache_.forward_ran(module, first, issued.segments[i]);
    first = issued.segments[i];
  }
}

/// Packs hidden states that the layer made and saved itself; drops those that are stored, when no
/// forward reads them any more.
void SavedInCache::after_forward(std::uint32_t layer, const IssuedPass& issued) {
  note_modules(plan(layer).forward, issued);
  const auto& hidden = job_.plans.hidden;
  for (const std::uint32_t i : plan(layer).leaves)
    if (moved(i).hidden && hidden[moved(i).index].first_layer == layer)
      cache_.pack(i, memory_.of(moved(i)), issued.last);
  for (std::uint32_t i = 0; i < job_.plans.moved.size(); ++i)
    if (moved(i).hidden && hidden[moved(i).index].last_forward_layer == layer &&
        !hidden[moved(i).index].sent && cache_.stores(i))
      memory_.of(moved(i)).reset();
  before_ = issued.last;
}

// ---- Backward

Task<IssuedPass> SavedInCache::backward(BackwardTurn turn, std::vector<Op> after) {
  const PassPlan& pass = plan(turn.layer).backward;
  PassIssuer segments = turn.passes->begin(pass, turn.at, std::move(after));
  Op before = turn.before;
  for (const PassPlan::Segment& segment : pass.segments) {
    co_await enter_backward(turn.layer, segment);
    const Op issued = segments.next();
    leave_backward(turn.layer, segment);
    co_await before;
    before = issued;
  }
  IssuedPass issued;
  issued.last = segments.finish().last;
  co_return issued;
}

/// Brings what the part needs, and asks for what lies ahead.
Task<> SavedInCache::enter_backward(std::uint32_t layer, const PassPlan::Segment& segment) {
  cache_.prefetch(segment.module);
  expect_at(segment.module, true);
  for (const std::uint32_t i : segment.needs) {
    Buffer& buffer = memory_.of(moved(i));
    if (!buffer) buffer = co_await cache_.unpack(i);
    ENSURE(buffer, "a tensor of layer " + std::to_string(layer) + " is not in the cache");
  }
}

/// It was issued: gives up what nobody needs again.
void SavedInCache::leave_backward(std::uint32_t layer, const PassPlan::Segment& segment) {
  for (const std::uint32_t i : segment.releases) {
    ENSURE(moved(i).layer == layer, "released by a layer that others follow");
    memory_.of(moved(i)).reset();
    cache_.release(i);
  }
}

}  // namespace spillway::strategies
