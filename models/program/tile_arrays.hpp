#pragma once

#include "models/program/step_program.hpp"

#include <optional>
#include <vector>

namespace spillway::models {

/// One matrix of a dense feed-forward with its bias and its adapter: one rank's part of a module.
struct TiledModule {
  std::uint32_t matrix = 0;  ///< index into Model::weights, as those below
  std::optional<std::uint32_t> bias{};
  std::optional<std::uint32_t> down{}, up{};  ///< A and B of its adapter
  std::optional<std::uint32_t> magnitudes{};  ///< of DoRA
  std::uint64_t inputs = 0;                   ///< columns of what it reads
  std::uint64_t width = 0;                    ///< columns of each of its outputs
  std::uint64_t outputs = 1;                  ///< of a matrix that makes gate and up: 2
  std::uint64_t rank = 0;                     ///< of its adapter
  std::uint64_t wide = 0;  ///< bytes of scratch: a copy of the matrix, or that of DoRA's norms
  std::uint64_t copy = 0;  ///< bytes of scratch: a copy of A or B for the kernels

  bool is_last = false;  ///< the matrix behind the activation

  std::uint64_t columns() const { return width * outputs; }
};

/// A dense feed-forward whose tokens go through it in tiles.
struct TiledFeedForward {
  std::vector<TiledModule> modules;  ///< gate and up, or both in one, or up alone; then down
  std::uint64_t inner = 0;           ///< columns between its matrices, one rank's
  std::uint64_t element = 0;         ///< bytes of an activation
  bool gated = false;
  bool fused = false;  ///< one kernel for the gated product

  /// Arrays of [rows of a tile, inner] that a tile has at once.
  ///   forward   gate, up and their product, or up and its activation
  ///   backward  these and the gradient of the last, whose input takes the place of gate and up
  ///             where their product is one kernel; else also silu(gate), and two gradients
  std::uint64_t arrays(bool backward) const;
};

/// What `matrices`, of one dense feed-forward in the order gate, up, down, make of it.
///   tensors  of the step program: tensor i is weight i
///   element  bytes of an activation
TiledFeedForward tiled_feed_forward(const Model& model, const std::vector<Tensor>& tensors,
                                    const Workload& workload, std::uint64_t element,
                                    const std::vector<std::uint32_t>& matrices);

/// Where the arrays of a tile lie in its operator's workspace, all in bytes from its beginning. One
/// that a tile does not have lies nowhere in particular. Whoever counts memory and whoever computes
/// takes them from here.
///   Forward   one module after the other: what a module needs besides its outputs is gone before
///             the next begins
///   Backward  what a module makes again stays until its own backward has read it: the output of A,
///             and with DoRA the norms, the product of the matrix and the output of B
struct TileArrays {
  struct OfModule {
    std::uint64_t narrow = 0;   ///< the output of A, [rows, rank]
    std::uint64_t norms = 0;    ///< DoRA: fp32, [columns]
    std::uint64_t product = 0;  ///< DoRA: of the matrix alone, as many as outputs
    std::uint64_t added = 0;    ///< the outputs of B, as many as the module's
    std::uint64_t wide = 0;     ///< TiledModule::wide
    std::uint64_t copy = 0;     ///< TiledModule::copy
  };
  std::vector<OfModule> modules;
  std::uint64_t narrow_gradient = 0, product_gradient = 0;
  std::uint64_t gate = 0, up = 0, activated = 0, inner = 0;
  std::uint64_t activated_gradient = 0;  ///< as large as inner
  std::uint64_t bytes = 0;
};

/// The arrays of a tile of `rows` tokens.
TileArrays tile_arrays(const TiledFeedForward& of, std::uint64_t rows, bool backward);

/// What taking the norms of the rows of W + scale B A of one matrix costs in PEFT: beside reading
/// the three and writing the norms.
struct NormCost {
  Bytes scratch;  ///< the identity, B A, its scaled copy and the sum, in the type of the kernels;
                  ///< beside wider adapters the identity, a copy of W and the sum in theirs
  Bytes moved;    ///< each of these is written and read
  Flops flops;    ///< the identity by A and by B, as a module that is sharded asks for
};
///   down    A of the adapter of `matrix`
///   Source  PEFT 0.14, tuners/lora/dora.py, DoraLinearLayer; Liu et al.: DoRA (2024), 4.3
NormCost norm_cost(const Model& model, const std::vector<Tensor>& tensors, std::uint64_t element,
                   std::uint32_t matrix, std::uint32_t down);

/// Bytes of the copy that kernels make of a weight which lies in another type than theirs; else 0.
std::uint64_t kernel_copy(const Tensor& weight, std::uint64_t element);

}  // namespace spillway::models
