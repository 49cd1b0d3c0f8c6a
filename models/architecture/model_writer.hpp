#pragma once

#include "models/architecture/weight_names.hpp"

#include <optional>
#include <string>
#include <vector>

namespace spillway::models {

/// Appends layers and their weights in model order.
class ModelWriter {
 public:
  explicit ModelWriter(const Architecture& architecture);

  void layer(std::string name, bool is_block);
  void weight(std::string name, WeightKind kind, std::vector<std::uint64_t> shape, Cut cut);
  /// A matrix and, if `bias`, its vector right behind it. Conv1D of gpt2 keeps inputs first.
  void linear(const std::string& name, WeightKind kind, std::uint64_t inputs, std::uint64_t outputs,
              Cut cut, bool bias);
  /// Over the hidden width.
  void norm(const std::string& name);
  void norm(const std::string& name, WeightKind kind, std::uint64_t width);

  void attention(const std::string& prefix, bool relative_positions);
  void linear_attention(const std::string& prefix);
  void channel_delta(const std::string& prefix);
  void state_space(const std::string& prefix);
  void short_convolution(const std::string& prefix);
  void feed_forward(const std::string& prefix);
  void experts(const std::string& prefix);

  void embedding();
  void diffusion_embedding();
  void diffusion_block(std::uint64_t index);
  void diffusion_head();
  void block(std::uint64_t index);
  void t5_block(const std::string& stack, std::uint64_t index, bool decoder);
  void head();
  Model take();

 private:
  void head_norm(const std::string& name, WeightKind kind, std::uint64_t heads);
  /// The architecture of the block that is written.
  const Architecture& here() const { return here_ ? *here_ : model_.architecture; }
  void first_norms(const std::string& block);
  void second_norms(const std::string& block);
  void mix(const std::string& block);
  void feed(const std::string& block);
  void latent_attention(const std::string& prefix);
  void token_index(const std::string& prefix);
  void stacked_experts(const std::string& prefix, std::uint64_t width);
  void expert(const std::string& prefix, std::uint64_t width);
  void shared_experts(const std::string& prefix);
  /// A tied head has the embedding's matrix; all blocks of a T5 stack add the bias that the table
  /// of the stack's first block gives.
  void lend();

  WeightNames names_;
  Model model_;
  std::optional<Architecture> here_;
  std::uint64_t idle_ = 0;  ///< parameters of experts that a token does not choose
};

}  // namespace spillway::models
