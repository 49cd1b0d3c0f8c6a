#include "models/program/layers.hpp"

#include "models/program/operators.hpp"

namespace spillway::models {

namespace {

std::optional<std::uint32_t> relative_table(const Model& model, std::uint32_t layer) {
  for (const std::uint32_t weight : model.used_by(layer))
    if (model.weights[weight].kind == WeightKind::positions) return weight;
  return std::nullopt;
}

/// Looks up token, position and type embeddings; one row of each table a token.
Value look_up(Tape& tape, const std::string& name, const LayerWeights& weights,
              std::uint64_t width) {
  const TensorId tokens = tape.tensor(name + ".tokens", tape.tokens(), 8, TensorRole::input);
  const Value hidden = tape.value(name, tape.tokens() * width);
  std::vector<std::uint32_t> tables = weights.of(WeightKind::embedding).front().matrices;
  if (tape.architecture().learned_positions > 0)
    tables.push_back(weights.of(WeightKind::positions).front().matrices.front());
  if (tape.architecture().token_types > 0)
    tables.push_back(weights.of(WeightKind::other_matrix).front().matrices.front());
  std::vector<Operand> operands{{tokens, Access::read}};
  for (const std::uint32_t table : tables) operands.push_back({table, Access::read});
  operands.push_back({hidden.tensor, Access::write});
  const Bytes rows(tape.elements(hidden) * tape.element());
  tape.add(name, OperatorFunction::embedding, std::move(operands)).bytes =
      rows * (tables.size() + 1);
  tape.on_backward([&tape, name, tokens, hidden, tables, rows] {
    std::vector<Operand> back{{tokens, Access::read}, tape.gradient(hidden)};
    std::uint64_t trained = 0;
    for (const std::uint32_t table : tables) {
      back.push_back(tape.weight_gradient(table));
      trained += tape.trains(table);
    }
    if (trained == 0) return;
    tape.add(name + ".backward", OperatorFunction::embedding_backward, std::move(back)).bytes =
        rows * (2 * trained + 1);
  });
  return hidden;
}

/// Adds the halves of a block to the residual stream, with the norms that its form has.
class Halves {
 public:
  Halves(Tape& tape, const LayerWeights& weights)
      : tape_(tape), form_(tape.architecture().form), norms_(weights.of(WeightKind::norm)) {}

  template <class Half>
  Value add(const std::string& name, Value x, const Half& half) {
    const bool before = form_ == BlockForm::pre_norm || form_ == BlockForm::sandwich;
    Value f = half(before ? normed(name + ".norm", x) : x);
    if (form_ == BlockForm::output_norm) f = normed(name + ".norm", f);
    if (form_ == BlockForm::sandwich) f = normed(name + ".output_norm", f);
    const Value sum = residual(tape_, name + ".residual", x, f);
    return form_ == BlockForm::post_norm ? normed(name + ".norm", sum) : sum;
  }

  /// Both halves read the block's input.
  template <class Attention, class Feed>
  Value parallel(Value x, const Attention& attend, const Feed& feed) {
    const Value first = normed("attention.norm", x);
    const Value second = form_ == BlockForm::parallel ? first : normed("ffn.norm", x);
    const Value attended = attend(first);
    const Value sum = residual(tape_, "attention.residual", x, attended);
    return residual(tape_, "ffn.residual", sum, feed(second));
  }

  /// A feed-forward and experts, whose outputs are normed, added and normed again; what the experts
  /// read is normed, what their router reads is not.
  Value beside(const LayerWeights& weights, Value x) {
    const Value read = normed("ffn.norm", x);
    const Value dense = normed("dense.output_norm", dense_half(tape_, weights, read));
    const Value routed = experts_half(tape_, weights, normed("experts.norm", x), x);
    const Value both = sum(tape_, "ffn.sum", dense, normed("experts.output_norm", routed));
    return residual(tape_, "ffn.residual", x, normed("ffn.output_norm", both));
  }

 private:
  Value normed(const std::string& name, Value x) {
    if (norms_.empty()) return norm(tape_, name, x, nullptr);  // one without weights
    return norm(tape_, name, x, &norms_.at(next_++));
  }

  Tape& tape_;
  BlockForm form_;
  const std::vector<Linear>& norms_;
  std::size_t next_ = 0;
};

}  // namespace

Embedded embedding(Tape& tape, std::uint32_t layer) {
  const Architecture& a = tape.architecture();
  const LayerWeights weights(tape.model(), layer);
  tape.begin_layer(layer, std::nullopt);
  const auto embed = [&](const std::string& name) {
    Value hidden = look_up(tape, name, weights, a.embedding_width);
    hidden = leave_split(tape, hidden);
    if (a.embedding_width != a.hidden) {
      const Value wide = tape.value_beside(hidden, name + ".projected", a.hidden);
      matmul(tape, name + ".project_in", hidden, weights.of(WeightKind::other_matrix).back(),
             tape.rows(hidden), a.embedding_width, {wide});
      hidden = wide;
    }
    if (a.embedding_norm)
      hidden = norm(tape, name + ".norm", hidden, &weights.of(WeightKind::norm).front());
    if (drops_hidden(tape)) dropout(tape, name + ".dropout", hidden);
    tape.mark_residual(hidden);
    return hidden;
  };
  Embedded embedded{embed("hidden"), std::nullopt};
  if (a.stack == Stack::encoder_decoder) embedded.decoder = embed("decoder_hidden");
  tape.end_layer(embedded.first);
  return embedded;
}

Value block(Tape& tape, std::uint32_t layer, Value hidden, BlockCall& call) {
  const LayerWeights weights(tape.model(), layer);
  tape.begin_layer(layer, hidden);
  tape.enter_block(call.traits);
  Halves halves(tape, weights);
  AttentionHalf own;
  own.causal = call.causal;
  own.traits = call.traits;
  own.chosen = &call.chosen;
  own.relative_positions = relative_table(tape.model(), layer);
  const auto attend = [&](Value x) {
    switch (call.traits.mixer) {
      case Mixer::attention:
        return attention_half(tape, weights, own, x);
      case Mixer::short_convolution:
        return short_convolution(tape, weights, x);
      case Mixer::attention_and_state_space: {
        const Value attended = attention_half(tape, weights, own, x);
        return sum(tape, "mixer.sum", attended, linear_attention(tape, weights, x));
      }
      default:
        return linear_attention(tape, weights, x);
    }
  };
  const auto feed = [&](Value x) { return feed_forward(tape, weights, x); };
  if (tape.architecture().is_parallel()) {
    hidden = halves.parallel(hidden, attend, feed);
  } else {
    if (call.traits.mixer != Mixer::none) hidden = halves.add("attention", hidden, attend);
    if (call.encoder)
      hidden = halves.add("cross_attention", hidden, [&](Value x) {
        AttentionHalf cross;
        cross.prefix = "cross_attention";
        cross.number = 1;
        cross.source = call.encoder;
        return attention_half(tape, weights, cross, x);
      });
    if (call.traits.feeds && tape.architecture().dense_beside_experts)
      hidden = halves.beside(weights, hidden);
    else if (call.traits.feeds)
      hidden = halves.add("ffn", hidden, feed);
  }
  tape.mark_residual(hidden);
  tape.end_layer(hidden);
  return hidden;
}

Value encoder_norm(Tape& tape, std::uint32_t layer, Value hidden) {
  const LayerWeights weights(tape.model(), layer);
  tape.begin_layer(layer, hidden);
  const Value normed = norm(tape, "norm", hidden, &weights.of(WeightKind::norm).front());
  tape.mark_residual(normed);
  const Value output = enter_split(tape, normed);
  tape.end_layer(output);
  return output;
}

}  // namespace spillway::models
