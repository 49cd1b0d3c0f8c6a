#include "hw_backend/arithmetic/operands.hpp"

#include "scenarios/description/errors.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::hw_backend {

Element Call::element() const {
  switch (description::kernel_type(workload().precision)) {
    case description::ElementType::fp16:
      return Element::fp16;
    case description::ElementType::bf16:
      return Element::bf16;
    default:
      return Element::fp32;
  }
}

SyntheticText Call::text() const {
  RandomKey key;
  key.seed = lowering.seed;
  SyntheticText text;
  text.successors = random_stream(RandomUse::successors, key);
  key.step = moment.step;
  key.micro_batch = moment.micro_batch;
  key.rank = moment.rank;
  text.tokens = random_stream(RandomUse::tokens, key);
  text.vocabulary = architecture().vocabulary;
  text.sequence = workload().sequence;
  text.share = share();
  return text;
}

TokenShare Call::share_of(std::uint64_t context_rank) const {
  const std::uint64_t ranks = workload().context, own = workload().sequence / ranks;
  if (ranks == 1) return {};
  if (workload().context_in_ring)
    return {own, context_rank * (own / 2), (2 * ranks - 1 - context_rank) * (own / 2)};
  const std::uint64_t first = context_rank * own;
  return {own, first, first + own / 2};
}

std::vector<Call::Run> Call::runs(std::uint64_t elements) const {
  Dropout dropped = dropout();
  const TokenShare mine = share();
  if (mine.tokens == 0) return {{0, elements, dropped}};
  const std::uint64_t width = elements / tokens(), half = mine.tokens / 2;
  std::vector<Run> all;
  for (std::uint64_t sample = 0; sample < workload().micro_batch; ++sample)
    for (const auto& [first, last] :
         {std::pair(std::uint64_t{0}, half), std::pair(half, mine.tokens)}) {
      if (first == last) continue;
      dropped.first = (sample * workload().sequence + mine.position(first)) * width;
      all.push_back({(sample * mine.tokens + first) * width, (last - first) * width, dropped});
    }
  return all;
}

Dropout Call::dropout() const {
  Dropout dropout;
  const bool attends = op.kind == models::OperatorKind::attention;
  dropout.probability =
      static_cast<float>(attends ? workload().dropout_of_attention() : workload().dropout);
  dropout.stream = random_stream(
      RandomUse::dropout,
      {lowering.seed, moment.step, moment.micro_batch, moment.rank, op.layer, op.draw});
  return dropout;
}

Routing Call::routing() const {
  return routing_of(architecture(), workload(),
                    {lowering.seed, moment.step, moment.micro_batch, moment.rank, op.layer});
}

Norm Call::norm(std::uint64_t elements, std::uint64_t width) const {
  return {architecture().layer_norm ? NormKind::layer : NormKind::root_mean_square,
          static_cast<float>(architecture().norm_epsilon), elements / width, width};
}

AttentionShape Call::attention_shape() const {
  const models::Architecture& a = architecture();
  AttentionShape shape;
  shape.samples = workload().micro_batch;
  shape.sequence = workload().sequence;
  const std::uint64_t ranks = workload().context_in_ring ? 1 : workload().context;
  shape.heads = a.heads / ranks;
  shape.kv_heads = a.kv_heads / ranks;
  shape.all_heads = a.heads;
  shape.first_head = ranks == 1 ? 0 : moment.share * shape.heads;
  shape.head_dim = a.head_dim;
  shape.causal = op.causal;
  shape.scale = 1.0f / std::sqrt(static_cast<float>(a.head_dim));
  shape.dropout = dropout();
  return shape;
}

std::size_t OperandReader::left() const { return call_.op.operands.size() - next_; }

bool OperandReader::bias_next() const {
  if (left() == 0) return false;
  const auto& tensor = call_.lowering.program->tensors[call_.op.operands[next_].tensor];
  return tensor.weight &&
         call_.lowering.model->weights[*tensor.weight].kind == models::WeightKind::bias;
}

void OperandReader::skip_inputs() {
  const auto& tensors = call_.lowering.program->tensors;
  while (left() > 0 && tensors[call_.op.operands[next_].tensor].role == models::TensorRole::input)
    ++next_;
}

Operand OperandReader::take() {
  ENSURE(left() > 0, call_.op.name + " has fewer operands than its function");
  const models::Operand& operand = call_.op.operands[next_++];
  skip_inputs();
  const models::Tensor& tensor = call_.lowering.program->tensors[operand.tensor];
  Operand taken;
  if (tensor.weight) taken.weight = &call_.lowering.model->weights[*tensor.weight];
  if (tensor.elements == 0) return taken;
  const auto bound = std::find_if(call_.bound.begin(), call_.bound.end(),
                                  [&](const Bound& b) { return b.tensor == operand.tensor; });
  ENSURE(bound != call_.bound.end() && bound->data,
         call_.op.name + " has no memory for " + tensor.name);
  taken.data = bound->data;
  taken.elements = tensor.elements;
  taken.type = tensor.bytes.value() == 2 * tensor.elements ? call_.element() : Element::fp32;
  taken.add = operand.access == models::Access::read_write && !bound->fresh;
  return taken;
}

Input from(Input x, std::uint64_t elements) {
  return {x.data + elements * size_of(x.type), x.type};
}

Output from(Output x, std::uint64_t elements) {
  return {x.data + elements * size_of(x.type), x.type, x.add};
}

}  // namespace spillway::hw_backend
