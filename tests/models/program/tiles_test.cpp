#include "models/architecture/adapters.hpp"
#include "models/program/check.hpp"
#include "models/program/tile_arrays.hpp"
#include "tests/models/configs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>

/// Adapters inside feed-forwards that go through the tokens in tiles.
namespace spillway::models::tiles_test {
namespace {

using description::AdapterType;
using description::BaseType;
using description::Training;

// tiny_llama: h 64, f 96, two layers; 32 tokens in 4 tiles of 8, adapters of rank 4, 2 B a number.
constexpr std::uint64_t h = 64, f = 96, r = 4, tokens = 32, tiles = 4, rows = tokens / tiles;
constexpr std::uint64_t inner = rows * f * 2;
constexpr std::uint64_t narrow = rows * r * 2;
static_assert(narrow == 64 && inner % 64 == 0, "arrays are aligned to 64 B");

Training adapters(bool dora = false, BaseType base = BaseType::bf16,
                  AdapterType type = AdapterType::bf16) {
  Training training;
  training.method = description::Method::lora;
  training.lora.rank = r;
  training.lora.targets = {description::all_linear_targets};
  training.lora.dora = dora;
  training.lora.base = base;
  training.lora.adapters = type;
  return training;
}

Workload workload(const Training& training, std::uint64_t mlp_tiles = tiles) {
  Workload w;
  w.micro_batch = 2;
  w.sequence = tokens / 2;
  w.mlp_tiles = mlp_tiles;
  w.adapters = training.lora.adapters;
  w.base = training.lora.base;
  return w;
}

StepProgram program_of(const char* config, const Training& training, std::uint64_t in = tiles) {
  return build_step_program(as_trained(from_config(config), training), workload(training, in));
}

const Operator& first(const StepProgram& program, OperatorFunction function) {
  return *std::find_if(program.operators.begin(), program.operators.end(),
                       [&](const Operator& one) { return one.function == function; });
}
const Operator& forward_of(const StepProgram& program) {
  return first(program, OperatorFunction::tiled_feed_forward);
}
const Operator& backward_of(const StepProgram& program) {
  return first(program, OperatorFunction::tiled_feed_forward_backward);
}

// Forward, what an adapter adds to gate or up lies where their product will: three arrays, and the
// output of one A. Backward has four, of each of three adapters the output of A, and the gradient
// of one.
TEST(AdaptersInTiles, TakeWhatIsBetweenTheirMatrices) {
  const StepProgram program = program_of(tiny_llama, adapters());
  EXPECT_EQ(forward_of(program).workspace, Bytes(narrow + 3 * inner));
  EXPECT_EQ(backward_of(program).workspace, Bytes(4 * narrow + 4 * inner));
  EXPECT_EQ(forward_of(program).saved,
            std::vector<TensorId>{forward_of(program).operands.front().tensor});
}

// Of each module the norms of its rows, 4 B, its own product and what is added, and once more the
// largest gradient of these two. Scratch of the norms of gate, behind gate and up: the identity of
// the inputs and three matrices; of down, behind all four arrays, of 96 inputs.
TEST(AdaptersInTiles, WithMagnitudesKeepBothProductsForTheirBackward) {
  const StepProgram program = program_of(tiny_llama, adapters(true));
  const Operator& backward = backward_of(program);
  constexpr std::uint64_t norms = 4 * (2 * f + h), outputs = rows * 2 * (2 * f + h);
  constexpr std::uint64_t scratch = 2 * (f * f + 3 * f * h);
  static_assert(norms % 64 == 0 && 4 * f % 64 == 0 && 4 * h % 64 == 0);
  EXPECT_EQ(backward.workspace,
            Bytes(4 * narrow + norms + 2 * outputs + inner + 4 * inner + scratch));
}

// A copy of one matrix in 2 B lies behind gate and up while it is multiplied by.
TEST(AdaptersInTiles, BesidePackedMatricesWidenOneAtATime) {
  const Training training = adapters(false, BaseType::nf4);
  const StepProgram program = program_of(tiny_llama, training);
  constexpr std::uint64_t copy = 2 * f * h;
  EXPECT_EQ(forward_of(program).workspace, Bytes(narrow + 2 * inner + copy));
  EXPECT_EQ(backward_of(program).workspace, Bytes(4 * narrow + 4 * inner + copy));
  const Formats formats(training);
  const Model model = as_trained(from_config(tiny_llama), training);
  std::uint64_t packed = 0;
  for (const std::uint32_t weight : model.layers[1].weights)
    if (model.weights[weight].name.ends_with("mlp.gate_proj.weight"))
      packed = formats.numbers(model.weights[weight]).bytes(f * h);
  EXPECT_GT(packed, f * h / 2);
  // three matrices a tile; backward makes the tile again and goes back through it
  EXPECT_EQ(forward_of(program).widened, Bytes(tiles * 3 * (packed + copy)));
  EXPECT_EQ(backward_of(program).widened, Bytes(2 * tiles * 3 * (packed + copy)));
}

TEST(AdaptersInTiles, HaveTheProductsOfThoseThatAreNotAndOneForwardMore) {
  for (const char* config : {tiny_llama, tiny_gpt2})
    for (const bool dora : {false, true}) {
      const StepProgram whole = program_of(config, adapters(dora), 1);
      const StepProgram tiled = program_of(config, adapters(dora));
      // norms of whole matrices are taken anew by each tile
      const double norms = [&] {
        double flops = 0;
        for (const Operator& op : whole.operators)
          if (op.function == OperatorFunction::weight_norms &&
              op.name.find(".ffn.") != std::string::npos)
            flops += op.flops.value();
        return flops;
      }();
      EXPECT_EQ(norms > 0, dora);
      EXPECT_DOUBLE_EQ(tiled.forward_flops().value(),
                       whole.forward_flops().value() + (tiles - 1) * norms);
      EXPECT_DOUBLE_EQ(tiled.flops(tiled.backward).value(),
                       whole.flops(whole.backward).value() + 2 * forward_of(tiled).flops.value());
    }
}

// Of each token A reads what the module reads, and B writes what it writes, with 4 numbers between
// that are written and read; the sum reads two and writes one. Each tile reads all weights.
TEST(AdaptersInTiles, ReadAndWriteForEachTile) {
  const StepProgram program = program_of(tiny_llama, adapters());
  constexpr std::uint64_t matrices = 2 * 3 * f * h, small = 2 * 3 * r * (f + h);
  constexpr std::uint64_t wide = 3 * (f + h);  // inputs and outputs of three modules
  constexpr std::uint64_t moved = 2 * tokens * (wide + 3 * 2 * r) + tiles * small;
  EXPECT_EQ(forward_of(program).narrow.bytes, Bytes(moved));
  EXPECT_EQ(forward_of(program).narrow.flops.value(), 2.0 * tokens * r * wide);
  constexpr std::uint64_t ends = 2 * tokens * 2 * h;  // x and y
  constexpr std::uint64_t between = 2 * tokens * f * 2 * 3;
  constexpr std::uint64_t sums = 2 * tokens * 3 * (2 * f + h);
  EXPECT_EQ(forward_of(program).bytes, Bytes(ends + between + sums + tiles * matrices + moved));
  // again, and back: for B the gradient twice, for A the input, and the input's gradient, which
  // grows; the gradients of both are read and written
  constexpr std::uint64_t back =
      2 * tokens * (2 * (2 * f + h) + 3 * (2 * h + f) + 3 * 4 * r) + tiles * 3 * small;
  EXPECT_EQ(backward_of(program).narrow.bytes, Bytes(moved + back));
  EXPECT_EQ(backward_of(program).narrow.flops.value(), 3 * 2.0 * tokens * r * wide);
  constexpr std::uint64_t ends_back = 2 * tokens * 3 * h;  // g.y, x and g.x
  EXPECT_EQ(backward_of(program).bytes,
            Bytes(ends_back + 3 * between + sums + 2 * tiles * matrices + moved + back));
}

TEST(AdaptersInTiles, KeepThePromisesOfAStepProgram) {
  for (const char* config : {tiny_gpt2, tiny_llama, tiny_bert, tiny_t5, narrow_opt})
    for (const bool dora : {false, true})
      for (const BaseType base : {BaseType::bf16, BaseType::nf4})
        for (const AdapterType type : {AdapterType::bf16, AdapterType::fp32})
          EXPECT_NO_THROW(check(program_of(config, adapters(dora, base, type)))) << config;
}

// A residual passes its gradient to a feed-forward and to what that reads where no norm is between.
TEST(Tiles, BehindWhichANormComesKeepThePromisesOfAStepProgram) {
  for (const char* config : {tiny_bert, narrow_opt})
    EXPECT_NO_THROW(check(program_of(config, Training()))) << config;
}

TEST(FrozenInTiles, MatricesHaveNoGradientsBesideThoseThatTrain) {
  Training training;
  training.method = description::Method::frozen;
  training.frozen = {"gate_proj"};
  const StepProgram program = program_of(tiny_llama, training);
  EXPECT_NO_THROW(check(program));
  // again three products, back three, and the gradients of two
  EXPECT_EQ(backward_of(program).flops.value(), (3 + 3 + 2) * 2.0 * tokens * f * h);
}

// ---- Where arrays lie

struct Piece {
  std::uint64_t begin, bytes;
};

/// All at once.
void expect_apart(std::vector<Piece> pieces, std::uint64_t bytes) {
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& one, const Piece& other) { return one.begin < other.begin; });
  std::uint64_t end = 0;
  for (const Piece& piece : pieces) {
    if (piece.bytes == 0) continue;
    EXPECT_GE(piece.begin, end);
    end = piece.begin + piece.bytes;
  }
  EXPECT_LE(end, bytes);
}

/// Calls check(the feed-forward, its arrays of 5 rows) for forward or backward in many ways.
template <class Check>
void for_layouts(bool backward, const Check& check) {
  for (const char* config : {tiny_llama, tiny_gpt2})
    for (const bool dora : {false, true})
      for (const bool fused : {false, true})
        for (const BaseType base : {BaseType::bf16, BaseType::int8})
          for (const AdapterType type : {AdapterType::bf16, AdapterType::fp32}) {
            const Training training = adapters(dora, base, type);
            const Model model = as_trained(from_config(config), training);
            Workload w = workload(training);
            w.fused_kernels = fused;
            const StepProgram program = build_step_program(model, w);
            std::vector<std::uint32_t> matrices;
            for (const std::uint32_t weight : model.layers[1].weights)
              for (const WeightKind kind :
                   {WeightKind::ffn_gate, WeightKind::ffn_up, WeightKind::ffn_down})
                if (model.weights[weight].kind == kind) matrices.push_back(weight);
            const TiledFeedForward of = tiled_feed_forward(model, program.tensors, w, 2, matrices);
            check(of, tile_arrays(of, 5, backward));
          }
}

TEST(TileArrays, OfAModuleThatPassesLieApart) {
  for_layouts(false, [](const TiledFeedForward& of, const TileArrays& at) {
    const std::uint64_t tensor = 5 * of.inner * 2;
    for (std::size_t i = 0; i < of.modules.size(); ++i) {
      const TiledModule& module = of.modules[i];
      const TileArrays::OfModule& own = at.modules[i];
      const std::uint64_t outputs = 5 * module.columns() * 2;
      std::vector<Piece> live{{own.narrow, 5 * module.rank * 2}};
      if (module.is_last) {
        live.push_back({at.inner, tensor});
      } else {
        live.push_back({at.up, tensor});
        if (of.gated) live.push_back({at.gate, tensor});
      }
      if (module.magnitudes) {
        live.push_back({own.norms, 4 * module.columns()});
        live.push_back({own.product, outputs});
      }
      std::vector<Piece> widening = live, adding = live;
      widening.push_back({own.wide, module.wide});
      adding.push_back({own.added, outputs});
      adding.push_back({own.copy, module.copy});
      expect_apart(widening, at.bytes);
      expect_apart(adding, at.bytes);
    }
    std::vector<Piece> product{{at.up, tensor}, {at.inner, tensor}};
    if (of.gated) product.push_back({at.gate, tensor});
    expect_apart(product, at.bytes);
  });
}

TEST(TileArrays, ThatWaitForTheirBackwardLieApart) {
  for_layouts(true, [](const TiledFeedForward& of, const TileArrays& at) {
    const std::uint64_t tensor = 5 * of.inner * 2;
    std::uint64_t outputs_of_largest = 0;
    std::vector<Piece> kept;
    for (std::size_t i = 0; i < of.modules.size(); ++i) {
      const TiledModule& module = of.modules[i];
      const TileArrays::OfModule& own = at.modules[i];
      const std::uint64_t outputs = 5 * module.columns() * 2;
      kept.push_back({own.narrow, 5 * module.rank * 2});
      if (!module.magnitudes) continue;
      kept.push_back({own.norms, 4 * module.columns()});
      kept.push_back({own.product, outputs});
      kept.push_back({own.added, outputs});
      outputs_of_largest = std::max(outputs_of_largest, outputs);
    }
    kept.push_back({at.narrow_gradient, 5 * of.modules.front().rank * 2});
    kept.push_back({at.product_gradient, outputs_of_largest});
    kept.push_back({at.up, tensor});
    if (of.gated) kept.push_back({at.gate, tensor});
    for (std::size_t i = 0; i + 1 < of.modules.size(); ++i) {
      const TiledModule& module = of.modules[i];
      std::vector<Piece> widening = kept, adding = kept;
      widening.push_back({at.modules[i].wide, module.wide});
      if (!module.magnitudes) adding.push_back({at.modules[i].added, 5 * module.columns() * 2});
      adding.push_back({at.modules[i].copy, module.copy});
      expect_apart(widening, at.bytes);
      expect_apart(adding, at.bytes);
    }
    kept.push_back({at.inner, tensor});
    kept.push_back({at.activated_gradient, tensor});
    if (of.gated && !of.fused) kept.push_back({at.activated, tensor});
    const TiledModule& last = of.modules.back();
    for (const Piece& scratch :
         {Piece{at.modules.back().wide, last.wide}, Piece{at.modules.back().copy, last.copy}}) {
      std::vector<Piece> all = kept;
      all.push_back(scratch);
      expect_apart(all, at.bytes);
    }
  });
}

}  // namespace
}  // namespace spillway::models::tiles_test
