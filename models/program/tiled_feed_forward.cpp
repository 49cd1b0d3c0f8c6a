#include "models/program/operators.hpp"
#include "models/program/tile_arrays.hpp"

#include <algorithm>

namespace spillway::models {

namespace {

/// How the tokens of a feed-forward are divided.
struct Tiles {
  std::uint64_t rows = 0;   ///< tokens of all
  std::uint64_t count = 0;  ///< tiles
  std::uint64_t each = 0;   ///< tokens of one, but perhaps of the last
};

/// All weights in the order in which operands name them: of each module in turn.
std::vector<std::uint32_t> weights_of(const TiledFeedForward& all) {
  std::vector<std::uint32_t> weights;
  for (const TiledModule& module : all.modules) {
    weights.push_back(module.matrix);
    for (const auto& one : {module.bias, module.down, module.up, module.magnitudes})
      if (one) weights.push_back(*one);
  }
  return weights;
}

Flops product_flops(std::uint64_t rows, std::uint64_t columns, std::uint64_t inner) {
  return Flops(2 * static_cast<double>(rows) * static_cast<double>(inner) *
               static_cast<double>(columns));
}

/// What one pass takes beside what its operands say: each tile reads weights anew.
struct PassCost {
  Flops flops;
  Bytes bytes, widened;
  NarrowProducts narrow;
};

/// Copies that a tile makes of a weight which lies in another type than that of the kernels: they
/// are written and read, each time.
void add_tile_copies(const Tape& tape, PassCost& cost, std::uint32_t weight, std::uint64_t times) {
  const Bytes copy = tape.copy_of(weight);
  if (copy.value() == 0) return;
  cost.bytes += copy * (2 * times);
  cost.widened += (tape.bytes_of(weight) + copy) * times;
}

/// Bytes of a weight as a product reads it: its copy, where it has one.
Bytes read_by_product(const Tape& tape, std::uint32_t weight) {
  const Bytes copy = tape.copy_of(weight);
  return copy.value() > 0 ? copy : tape.bytes_of(weight);
}

/// The norms of the rows of W + scale B A, taken anew by each tile, as each calls the module.
///   Source  PEFT 0.14, tuners/lora/dora.py, DoraLinearLayer.forward
void add_norms(const Tape& tape, PassCost& cost, const TiledModule& module, std::uint64_t times) {
  const NormCost norms =
      norm_cost(tape.model(), tape.tensors(), tape.element(), module.matrix, *module.down);
  const Bytes moved = norms.moved + Bytes(4 * module.columns());
  cost.flops += norms.flops * static_cast<double>(times);
  cost.bytes += moved * times;
  cost.narrow.flops += norms.flops * static_cast<double>(times);
  cost.narrow.bytes += moved * times;
  for (const std::uint32_t weight : {module.matrix, *module.down, *module.up}) {
    add_tile_copies(tape, cost, weight, times);
    cost.bytes += tape.bytes_of(weight) * times;
    cost.narrow.bytes += read_by_product(tape, weight) * times;
  }
}

/// A module's forward over all tiles.
///   Adapter  x by A, that by B, and its sum with the output, each a kernel that reads and writes
///            its tensors
void add_forward(const Tape& tape, PassCost& cost, const TiledModule& module, const Tiles& tiles) {
  cost.flops += product_flops(tiles.rows, module.columns(), module.inputs);
  add_tile_copies(tape, cost, module.matrix, tiles.count);
  if (!module.down) return;
  const Flops flops = product_flops(tiles.rows, module.inputs + module.columns(), module.rank);
  const std::uint64_t numbers = module.inputs + module.columns() + 2 * module.rank;
  const Bytes moved(tiles.rows * numbers * tape.element());
  cost.flops += flops;
  cost.bytes += moved + Bytes(tiles.rows * 3 * module.columns() * tape.element());
  cost.narrow.flops += flops;
  cost.narrow.bytes += moved;
  for (const std::uint32_t weight : {*module.down, *module.up}) {
    add_tile_copies(tape, cost, weight, tiles.count);
    cost.narrow.bytes += read_by_product(tape, weight) * tiles.count;
  }
  cost.narrow.gemm = {tiles.each, module.rank, module.inputs, tiles.count};
  if (module.magnitudes) add_norms(tape, cost, module, tiles.count);
}

/// A module's backward over all tiles: the gradient of its input, and those of its weights that
/// train, to which each tile adds.
///   Adapter  two products each for A and B
///   DoRA     the gradient of the product and of what is added is made of that of the output
void add_backward(const Tape& tape, PassCost& cost, const TiledModule& module, const Tiles& tiles) {
  const Flops flops = product_flops(tiles.rows, module.columns(), module.inputs);
  cost.flops += flops * (tape.trains(module.matrix) ? 2.0 : 1.0);
  add_tile_copies(tape, cost, module.matrix, tiles.count);
  if (!module.down) return;
  const Flops of_adapter =
      2.0 * product_flops(tiles.rows, module.inputs + module.columns(), module.rank);
  const std::uint64_t numbers = 3 * module.inputs + 2 * module.columns() + 4 * module.rank;
  const Bytes moved(tiles.rows * numbers * tape.element());
  const std::uint64_t rescaled = module.magnitudes ? 4 * module.columns() : 0;
  cost.flops += of_adapter;
  cost.bytes += moved + Bytes(tiles.rows * rescaled * tape.element());
  cost.narrow.flops += of_adapter;
  cost.narrow.bytes += moved;
  for (const std::uint32_t weight : {*module.down, *module.up}) {
    add_tile_copies(tape, cost, weight, tiles.count);
    const Bytes gradient = tape.bytes_of(tape.weight_gradient(weight).tensor);
    cost.narrow.bytes += (read_by_product(tape, weight) + gradient * 2u) * tiles.count;
  }
}

/// What `op` costs beside what its operands say, in FLOPs and bytes.
void add(Operator& op, const PassCost& cost) {
  op.flops = cost.flops;
  op.bytes += cost.bytes;
  op.widened = cost.widened;
  op.narrow = cost.narrow;
}

/// What the products of all tiles read and write of the inner width, so many times each.
Bytes between(const TiledFeedForward& all, const Tiles& tiles, std::uint64_t times) {
  const std::uint64_t products = all.gated ? 3 : 2;
  return Bytes(tiles.each * all.inner * all.element) * (times * tiles.count * products);
}

void add_forward_operator(Tape& tape, const DenseFeedForward& of, const TiledFeedForward& all,
                          const Tiles& tiles, Value x, Value output) {
  std::vector<Operand> operands{{x.tensor, Access::read}};
  PassCost cost;
  for (const std::uint32_t weight : weights_of(all)) {
    operands.push_back({weight, Access::read});
    cost.bytes += tape.bytes_of(weight) * (tiles.count - 1);
  }
  operands.push_back({output.tensor, Access::write});
  cost.bytes += between(all, tiles, 2);
  for (const TiledModule& module : all.modules) add_forward(tape, cost, module, tiles);
  Operator& forward = tape.add(of.prefix + ".tiles", OperatorFunction::tiled_feed_forward,
                               std::move(operands), {x.tensor});
  add(forward, cost);
  const Bytes outputs(tape.elements(output) * tape.element());
  forward.workspace = std::max(Bytes(tile_arrays(all, tiles.each, false).bytes), outputs);
  forward.gemm = {tiles.each, all.inner, tape.architecture().hidden,
                  tiles.count * (all.gated ? 3 : 2)};
}

void add_backward_operator(Tape& tape, const DenseFeedForward& of, const TiledFeedForward& all,
                           const Tiles& tiles, Value x, Value output) {
  std::vector<Operand> back{tape.gradient(output), {x.tensor, Access::read}};
  std::vector<Operand> gradients;
  PassCost cost;
  for (const std::uint32_t weight : weights_of(all)) {
    back.push_back({weight, Access::read});
    cost.bytes += tape.bytes_of(weight) * (2 * tiles.count - 1);
    if (!tape.trains(weight)) continue;
    gradients.push_back(tape.weight_gradient(weight));
    cost.bytes += tape.bytes_of(gradients.back().tensor) * (2 * (tiles.count - 1));
  }
  back.insert(back.end(), gradients.begin(), gradients.end());
  // where no norm is between, a residual has passed the gradient that is read here to x as well
  const Value into = tape.shares_gradient(output, x) ? tape.value_of(x.tensor) : x;
  tape.accumulate(back, into);
  cost.bytes += between(all, tiles, 6);
  std::uint64_t products = 0;
  for (const TiledModule& module : all.modules) {
    add_forward(tape, cost, module, tiles);
    add_backward(tape, cost, module, tiles);
    products += module.outputs * (tape.trains(module.matrix) ? 3 : 2);
  }
  Operator& backward = tape.add(of.prefix + ".tiles.backward",
                                OperatorFunction::tiled_feed_forward_backward, std::move(back));
  add(backward, cost);
  backward.workspace = Bytes(tile_arrays(all, tiles.each, true).bytes);
  backward.gemm = {tiles.each, all.inner, tape.architecture().hidden, tiles.count * products};
  if (into.slot != x.slot) tape.pass_gradient(into, x);
}

}  // namespace

/// Nothing is kept but the input, and backward makes each part again before it goes back through
/// it.
///   Memory    forward: what one tile holds, or the outputs of all tiles before they are joined
///   Time      each tile reads the weights, and adds to the gradients of those that train
///   Adapters  are inside of the modules that a tile calls
///   Source    Bekman et al.: Arctic Long Sequence Training (2025), 3.1.1; DeepSpeed, TiledMLP;
///             Axolotl, monkeypatch/tiled_mlp, whose gradients are those of what trains
Value feed_forward_in_tiles(Tape& tape, const LayerWeights& weights, const DenseFeedForward& of,
                            Value x) {
  std::vector<std::uint32_t> matrices;
  for (const WeightKind kind : {of.gate, of.up, of.down})
    if (weights.has(kind)) matrices.push_back(weights.of(kind).front().matrices.front());
  const TiledFeedForward all =
      tiled_feed_forward(tape.model(), tape.tensors(), tape.workload(), tape.element(), matrices);
  Adapters adapters;
  for (const TiledModule& module : all.modules) {
    if (!module.down) continue;
    adapters.down.matrices.push_back(*module.down);
    adapters.up.matrices.push_back(*module.up);
  }
  mark_whole(tape, adapters);
  Tiles tiles;
  tiles.rows = of.rows;
  tiles.count = std::min(tape.workload().mlp_tiles, of.rows);
  tiles.each = description::divide_up(of.rows, tiles.count);
  const Value output = tape.value(of.prefix + ".down", of.rows * tape.architecture().hidden);
  add_forward_operator(tape, of, all, tiles, x, output);
  tape.on_backward([&tape, of, all, tiles, x, output] {
    add_backward_operator(tape, of, all, tiles, x, output);
  });
  return output;
}

}  // namespace spillway::models
