#include "models/program/tile_arrays.hpp"

#include <algorithm>

namespace spillway::models {

namespace {

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + 63) / 64 * 64; }

/// Behind the matrix and its bias: A, B and with DoRA the magnitudes.
void add_adapter(TiledModule& module, const Model& model, const std::vector<Tensor>& tensors,
                 std::uint64_t element) {
  const std::optional<std::uint32_t> first = model.weights[module.matrix].adapter;
  if (!first) return;
  module.down = *first;
  module.up = *first + 1;
  const std::size_t third = *first + 2;
  if (third < model.weights.size() && model.weights[third].kind == WeightKind::adapter_magnitude)
    module.magnitudes = *first + 2;
  module.rank = model.weights[*first].outputs();
  const std::uint64_t down = kernel_copy(tensors[*module.down], element);
  const std::uint64_t up = kernel_copy(tensors[*module.up], element);
  module.copy = std::max(down, up);
  if (!module.magnitudes) return;
  const NormCost norms = norm_cost(model, tensors, element, module.matrix, *module.down);
  module.wide = norms.scratch.value() + module.wide + down + up;
}

/// Appends the arrays of each part, in the order in which they lie.
class TileLayout {
 public:
  TileLayout(const TiledFeedForward& of, std::uint64_t rows)
      : of_(of), rows_(rows), tensor_(rows * of.inner * of.element) {
    arrays_.modules.resize(of.modules.size());
  }

  TileArrays forward() {
    std::uint64_t narrow = 0, norms = 0;
    for (const TiledModule& module : of_.modules) {
      narrow = std::max(narrow, narrow_bytes(module));
      norms = std::max(norms, norm_bytes(module));
    }
    const std::uint64_t narrow_at = apart(narrow), norms_at = apart(norms);
    for (TileArrays::OfModule& one : arrays_.modules) {
      one.narrow = narrow_at;
      one.norms = norms_at;
    }
    const std::uint64_t begin = end_, behind = gate_and_up();
    std::uint64_t last = behind;  // gate and up are gone when the last module begins
    for (std::size_t i = 0; i < of_.modules.size(); ++i) {
      if (of_.modules[i].is_last)
        last = std::max(last, passing(i, begin));
      else
        grow(passing(i, behind));
    }
    arrays_.inner = last;
    grow(last + tensor_);
    return finished();
  }

  TileArrays backward() {
    std::uint64_t narrow = 0, product = 0;
    for (std::size_t i = 0; i < of_.modules.size(); ++i) {
      const TiledModule& module = of_.modules[i];
      TileArrays::OfModule& one = arrays_.modules[i];
      one.narrow = apart(narrow_bytes(module));
      narrow = std::max(narrow, narrow_bytes(module));
      if (!module.magnitudes) continue;
      one.norms = apart(norm_bytes(module));
      one.product = apart(output_bytes(module));
      one.added = apart(output_bytes(module));
      product = std::max(product, output_bytes(module));
    }
    arrays_.narrow_gradient = apart(narrow);
    arrays_.product_gradient = apart(product);
    const std::uint64_t begin = end_, behind = gate_and_up();
    arrays_.activated = behind;
    arrays_.inner = behind + (of_.gated && !of_.fused ? tensor_ : 0);
    arrays_.activated_gradient = arrays_.inner + tensor_;
    const std::uint64_t all = begin + of_.arrays(true) * tensor_;
    grow(all);
    for (std::size_t i = 0; i < of_.modules.size(); ++i)
      grow(kept(i, of_.modules[i].is_last ? all : behind));
    return finished();
  }

 private:
  std::uint64_t narrow_bytes(const TiledModule& module) const {
    return rows_ * module.rank * of_.element;
  }
  static std::uint64_t norm_bytes(const TiledModule& module) {
    return module.magnitudes ? 4 * module.columns() : 0;
  }
  std::uint64_t output_bytes(const TiledModule& module) const {
    return module.down ? rows_ * module.columns() * of_.element : 0;
  }

  /// An array for itself.
  std::uint64_t apart(std::uint64_t bytes) {
    const std::uint64_t at = end_;
    end_ += aligned(bytes);
    return at;
  }
  /// Both behind what lies apart; where they end.
  std::uint64_t gate_and_up() {
    arrays_.gate = end_;
    arrays_.up = end_ + (of_.gated ? tensor_ : 0);
    return arrays_.up + tensor_;
  }
  void grow(std::uint64_t end) { size_ = std::max(size_, end); }

  /// Scratch from `at` on; where it ends.
  static std::uint64_t scratch(std::uint64_t& place, std::uint64_t at, std::uint64_t bytes) {
    place = aligned(at);
    return bytes > 0 ? place + bytes : at;
  }

  /// What a module needs from `at` on while it passes, and then no more; where that ends.
  std::uint64_t passing(std::size_t i, std::uint64_t at) {
    const TiledModule& module = of_.modules[i];
    TileArrays::OfModule& one = arrays_.modules[i];
    const std::uint64_t outputs = output_bytes(module);
    one.product = at;
    one.added = at + (module.magnitudes ? outputs : 0);
    const std::uint64_t wide = scratch(one.wide, one.added, module.wide);
    return std::max(wide, scratch(one.copy, one.added + outputs, module.copy));
  }

  /// The same of a module whose backward is to come: where there are no magnitudes what its adapter
  /// adds is not kept, and of the last module not asked for.
  std::uint64_t kept(std::size_t i, std::uint64_t at) {
    const TiledModule& module = of_.modules[i];
    TileArrays::OfModule& one = arrays_.modules[i];
    const std::uint64_t wide = scratch(one.wide, at, module.wide);
    std::uint64_t behind = at;
    if (!module.magnitudes) {
      one.added = at;
      if (!module.is_last) behind += output_bytes(module);
    }
    return std::max({wide, behind, scratch(one.copy, behind, module.copy)});
  }

  TileArrays finished() {
    arrays_.bytes = size_;
    return arrays_;
  }

  const TiledFeedForward& of_;
  std::uint64_t rows_;
  std::uint64_t tensor_;  ///< bytes of [rows, inner]
  std::uint64_t end_ = 0, size_ = 0;
  TileArrays arrays_;
};

}  // namespace

std::uint64_t kernel_copy(const Tensor& weight, std::uint64_t element) {
  const std::uint64_t read = weight.elements * element;
  return weight.bytes == Bytes(read) ? 0 : read;
}

NormCost norm_cost(const Model& model, const std::vector<Tensor>& tensors, std::uint64_t element,
                   std::uint32_t matrix, std::uint32_t down) {
  const std::uint64_t in = model.weights[matrix].inputs(), out = model.weights[matrix].outputs();
  const double rank = static_cast<double>(model.weights[down].outputs());
  const std::uint64_t elements = std::max<std::uint64_t>(1, tensors[down].elements);
  const std::uint64_t adapter = std::max(element, tensors[down].bytes.value() / elements);
  const std::uint64_t copy = adapter > element ? adapter : 0;
  NormCost cost;
  cost.scratch = Bytes(adapter * in * in + (2 * element + copy + adapter) * in * out);
  cost.moved = cost.scratch * 2u;
  cost.flops = Flops(2 * rank * static_cast<double>(in) * static_cast<double>(in + out));
  return cost;
}

std::uint64_t TiledFeedForward::arrays(bool backward) const {
  if (!gated) return backward ? 3 : 2;
  if (!backward) return 3;
  return fused ? 4 : 6;
}

TiledFeedForward tiled_feed_forward(const Model& model, const std::vector<Tensor>& tensors,
                                    const Workload& workload, std::uint64_t element,
                                    const std::vector<std::uint32_t>& matrices) {
  const auto own = [&](std::uint64_t width, bool cut) {
    return cut ? description::divide_up(width, workload.tensor) : width;
  };
  TiledFeedForward all;
  all.element = element;
  all.gated = model.architecture.gated_ffn;
  all.fused = workload.fused_kernels;
  for (const std::uint32_t matrix : matrices) {
    const WeightTensor& weight = model.weights[matrix];
    TiledModule module;
    module.matrix = matrix;
    if (matrix + 1 < model.weights.size() && model.weights[matrix + 1].kind == WeightKind::bias)
      module.bias = matrix + 1;
    module.is_last = matrix == matrices.back();
    if (all.gated && matrices.size() == 2 && !module.is_last) module.outputs = 2;
    module.inputs = own(weight.inputs(), weight.cut == Cut::rows);
    module.width = own(weight.outputs(), weight.cut == Cut::columns) / module.outputs;
    module.wide = kernel_copy(tensors[matrix], element);
    add_adapter(module, model, tensors, element);
    if (module.is_last) all.inner = module.inputs;
    all.modules.push_back(module);
  }
  return all;
}

TileArrays tile_arrays(const TiledFeedForward& of, std::uint64_t rows, bool backward) {
  TileLayout layout(of, rows);
  return backward ? layout.backward() : layout.forward();
}

}  // namespace spillway::models
