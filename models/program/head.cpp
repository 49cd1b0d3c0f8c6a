#include "models/program/layers.hpp"
#include "models/program/operators.hpp"

#include <algorithm>
#include <bit>

namespace spillway::models {

namespace {

using description::LossKind;

struct LossCall {
  Value hidden;
  std::uint32_t weight = 0;  ///< the head's matrix, or the embedding it is tied to
  std::vector<std::uint32_t> biases;
  std::uint64_t width = 0;       ///< inner width of the product
  std::uint64_t vocabulary = 0;  ///< one rank's
  TensorId labels = 0;
  /// Where tensor ranks share the words, as OperatorFunction says.
  std::optional<TensorId> statistics{}, shares{};
};

void append(std::vector<Operand>& operands, const std::optional<TensorId>& tensor, Access access) {
  if (tensor) operands.push_back({*tensor, access});
}

/// Statistics and shares of a loss over the words of all tensor ranks; none where one has them all.
void make_statistics(Tape& tape, LossCall& call) {
  if (!tape.is_split()) return;
  call.statistics = tape.tensor("loss.statistics", 2 * tape.tokens(), 4);
  call.shares = tape.tensor("loss.shares", tape.tokens(), 4);
}

/// Each rank gets the statistics of all, and from them the loss and its share of each softmax.
///   Source  Megatron-LM, vocab_parallel_cross_entropy: all-reduces of the largest logits, of the
///           labels' and of the sums, 12 B a token
void join_losses(Tape& tape, const LossCall& call) {
  if (!call.statistics) return;
  const std::uint64_t elements = 2 * tape.tokens() * tape.workload().tensor;
  const TensorId all = tape.tensor("loss.all_statistics", elements, 4);
  tape.add("loss.all_gather", OperatorFunction::all_gather,
           {{*call.statistics, Access::read}, {all, Access::write}});
  tape.add("loss.joined", OperatorFunction::joined_loss,
           {{all, Access::read}, {*call.shares, Access::write}}, {*call.shares});
}

bool is_pure_16_bit(Precision precision) {
  return precision == Precision::fp16 || precision == Precision::bf16;
}

/// Product and loss in one, over chunks of tokens, so that whole logits never exist.
///   Chunk   so many tokens that its logits are about as large as the hidden states: a power of
///           two near tokens x width / vocabulary, as the fused loss of the Liger kernels has it
void fused_loss(Tape& tape, const LossCall& call) {
  const std::uint64_t parts = description::divide_up(call.vocabulary, call.width);
  const std::uint64_t chunk =
      std::min(tape.tokens(), std::bit_ceil(description::divide_up(tape.tokens(), parts)));
  const Bytes workspace(chunk * call.vocabulary * (tape.element() + 4));
  const Flops flops(2 * static_cast<double>(tape.tokens()) * static_cast<double>(call.vocabulary) *
                    static_cast<double>(call.width));
  const Bytes logits(tape.tokens() * call.vocabulary * tape.element());
  std::vector<Operand> operands{{call.hidden.tensor, Access::read}, {call.weight, Access::read}};
  for (const std::uint32_t bias : call.biases) operands.push_back({bias, Access::read});
  operands.push_back({call.labels, Access::read});
  append(operands, call.statistics, Access::write);
  Operator& forward =
      tape.add("loss", OperatorFunction::fused_loss, std::move(operands), {call.hidden.tensor});
  forward.flops = flops;
  forward.bytes += logits * 2u;
  forward.workspace = workspace;
  forward.gemm = {tape.tokens(), call.vocabulary, call.width, 1};
  join_losses(tape, call);
  tape.on_backward([&tape, call, flops, workspace, logits] {
    std::vector<Operand> back{{call.hidden.tensor, Access::read},
                              {call.weight, Access::read},
                              {call.labels, Access::read}};
    append(back, call.shares, Access::read);
    back.push_back(tape.weight_gradient(call.weight));
    for (const std::uint32_t bias : call.biases) back.push_back(tape.weight_gradient(bias));
    tape.accumulate(back, call.hidden);
    Operator& backward =
        tape.add("loss.backward", OperatorFunction::fused_loss_backward, std::move(back));
    backward.flops = flops * (tape.trains(call.weight) ? 2.0 : 1.0);
    backward.bytes += logits * 2u;
    backward.workspace = workspace;
    backward.gemm = {tape.tokens(), call.width, call.vocabulary,
                     tape.trains(call.weight) ? 2u : 1u};
  });
}

/// c tanh(logits / c), kept for the way back.
Value soft_cap(Tape& tape, Value logits) {
  if (!tape.architecture().logit_softcap) return logits;
  const Value capped = tape.value("capped_logits", tape.elements(logits), TensorRole::logits);
  elementwise(tape, "soft_cap", {OperatorFunction::soft_cap, OperatorFunction::soft_cap_backward},
              {logits}, {capped}, {capped.tensor});
  return capped;
}

/// The product of the head.
Value whole_logits(Tape& tape, const LossCall& call) {
  const Value product = tape.value("logits", tape.tokens() * call.vocabulary, TensorRole::logits);
  matmul(tape, "lm_head", call.hidden, {{call.weight}, call.biases}, tape.tokens(), call.width,
         {product});
  return soft_cap(tape, product);
}

/// Whole logits as kernels have them, alone kept for backward; the gradient of an eighth of the
/// tokens at a time. One kernel makes it from the logits, whose softmax nobody stores.
void chunked_loss(Tape& tape, const LossCall& call) {
  constexpr std::uint64_t chunks = 8;  // num_output_chunks
  const Value logits = whole_logits(tape, call);
  const std::uint64_t at_once = description::divide_up(tape.tokens(), chunks);
  const Bytes workspace(call.vocabulary * std::max<std::uint64_t>(at_once * tape.element(), 4));
  std::vector<Operand> operands{{logits.tensor, Access::read}, {call.labels, Access::read}};
  append(operands, call.statistics, Access::write);
  tape.add("loss", OperatorFunction::chunked_loss, std::move(operands), {logits.tensor});
  join_losses(tape, call);
  const bool caps = tape.architecture().logit_softcap;
  tape.on_backward([&tape, logits, call, workspace, caps] {
    std::vector<Operand> back{{call.labels, Access::read}};
    append(back, call.shares, Access::read);
    if (caps) {  // what is capped is read once more
      back.push_back({logits.tensor, Access::read});
      tape.accumulate(back, logits);
    } else {
      tape.replace_by_gradient(back, logits);
    }
    tape.add("loss.backward", OperatorFunction::chunked_loss_backward, std::move(back)).workspace =
        workspace;
  });
}

/// Whole logits and their softmax. The gradient needs the softmax alone and takes the logits'
/// place, unless they were capped.
///   in_place  the softmax is in fp32, in pure 16-bit training in 16 bit
///   plain     it is in fp32, beside an fp32 copy of the logits in forward, and two fp32 gradients,
///             of the log-softmax and of that copy, in backward
void whole_loss(Tape& tape, const LossCall& call, bool plain) {
  const std::uint64_t elements = tape.tokens() * call.vocabulary;
  const Value logits = whole_logits(tape, call);
  const bool caps = tape.architecture().logit_softcap;
  const std::uint64_t width = is_pure_16_bit(tape.workload().precision) && !plain ? 2 : 4;
  const TensorId softmax = tape.tensor("softmax", elements, width, TensorRole::logits);
  const Bytes copy(plain && tape.element() < 4 ? elements * 4 : 0);
  const Bytes gradients(plain ? elements * 8 : 0);
  std::vector<Operand> operands{
      {logits.tensor, Access::read}, {call.labels, Access::read}, {softmax, Access::write}};
  append(operands, call.statistics, Access::write);
  Operator& forward = tape.add(
      "loss", OperatorFunction::whole_loss, std::move(operands),
      caps ? std::vector<TensorId>{softmax} : std::vector<TensorId>{logits.tensor, softmax});
  forward.workspace = copy;
  forward.bytes += copy * 2u;  // each is written and read
  join_losses(tape, call);
  tape.on_backward([&tape, logits, softmax, call, gradients, caps] {
    std::vector<Operand> back{{softmax, Access::read}, {call.labels, Access::read}};
    append(back, call.shares, Access::read);
    if (caps)
      tape.accumulate(back, logits);  // what is capped is read once more
    else
      tape.replace_by_gradient(back, logits);
    Operator& backward =
        tape.add("loss.backward", OperatorFunction::whole_loss_backward, std::move(back));
    backward.workspace = gradients;
    backward.bytes += gradients * 2u;
  });
}

/// BERT's h x h product before the vocabulary, with its activation and norm. The model's pooler,
/// of the same shape, stands for it.
Value transform(Tape& tape, const LayerWeights& weights, Value hidden) {
  const std::uint64_t width = tape.architecture().hidden;
  const Value dense = tape.value("transform", tape.tokens() * width);
  matmul(tape, "transform", hidden, weights.of(WeightKind::other_matrix).front(), tape.tokens(),
         width, {dense});
  const Value active = tape.value("transform.activation", tape.tokens() * width);
  elementwise(tape, "transform.activation",
              {OperatorFunction::activation, OperatorFunction::activation_backward}, {dense},
              {active}, {dense.tensor});
  return norm(tape, "transform.norm", active, nullptr);
}

}  // namespace

void head(Tape& tape, std::uint32_t layer, Value hidden) {
  const Architecture& a = tape.architecture();
  const LayerWeights weights(tape.model(), layer);
  tape.begin_layer(layer, hidden);
  Value x = hidden;
  const auto& norms = weights.of(WeightKind::norm);
  if (a.final_norm) x = norm(tape, "norm", x, norms.empty() ? nullptr : &norms.front());
  if (a.pooler) x = transform(tape, weights, x);
  if (a.embedding_width != a.hidden) {
    const Value narrow = tape.value_beside(x, "projected", a.embedding_width);
    matmul(tape, "project_out", x, weights.of(WeightKind::other_matrix).front(), tape.rows(x),
           a.hidden, {narrow});
    x = narrow;
  }
  LossCall call;
  call.hidden = enter_split(tape, x);
  call.weight = a.tied_embeddings ? tape.model().layers.front().weights.front()
                                  : weights.of(WeightKind::lm_head).front().matrices.front();
  if (!a.tied_embeddings) call.biases = weights.of(WeightKind::lm_head).front().biases;
  call.width = a.embedding_width;
  call.vocabulary = tape.split(a.vocabulary);
  call.labels = tape.tensor("labels", tape.tokens(), 8, TensorRole::input);
  make_statistics(tape, call);
  const Workload& w = tape.workload();
  const LossKind loss = w.loss.value_or(w.fused_kernels ? LossKind::fused : LossKind::plain);
  if (loss == LossKind::fused)
    fused_loss(tape, call);
  else if (loss == LossKind::chunked)
    chunked_loss(tape, call);
  else
    whole_loss(tape, call, loss == LossKind::plain);
  tape.end_layer(std::nullopt);
}

}  // namespace spillway::models
