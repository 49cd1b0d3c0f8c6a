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

namespace {

/// Rows of a micro-batch's tokens, [first, last).
struct Rows {
  std::uint64_t first, last;
};

/// Those of the rank's samples that this one of the tensor ranks has: all, or, sequence parallel,
/// its share of what lies one behind the other.
Rows rows_of(const models::Workload& workload, std::uint64_t tensor) {
  if (!workload.sequence_parallel) return {0, workload.tokens()};
  const std::uint64_t each = workload.tokens() / workload.tensor;
  return {tensor * each, (tensor + 1) * each};
}

}  // namespace

std::vector<Call::Run> Call::runs(std::uint64_t elements) const {
  Dropout dropped = dropout();
  const TokenShare mine = share();
  const Rows here = rows_of(workload(), moment.tensor);
  const std::uint64_t width = elements / (here.last - here.first);
  const auto run = [&](const Rows& rows, std::uint64_t first_of_all) {
    dropped.first = first_of_all * width;
    return Run{(rows.first - here.first) * width, (rows.last - rows.first) * width, dropped};
  };
  if (mine.tokens == 0) return {run(here, here.first)};
  std::vector<Run> all;
  for (std::uint64_t sample = 0; sample < workload().micro_batch; ++sample)
    for (const Rows& piece : {Rows{0, mine.tokens / 2}, Rows{mine.tokens / 2, mine.tokens}}) {
      const std::uint64_t begin = sample * mine.tokens;
      const Rows rows{std::max(begin + piece.first, here.first),
                      std::min(begin + piece.last, here.last)};
      if (rows.first < rows.last)
        all.push_back(run(rows, sample * workload().sequence + mine.position(rows.first - begin)));
    }
  return all;
}

WordShare Call::words() const {
  if (workload().tensor == 1) return {};
  return words_of(architecture().vocabulary, workload().tensor, moment.tensor);
}

std::uint64_t Call::inputs_of(const models::WeightTensor& matrix) const {
  return matrix.inputs() / (matrix.cut == models::Cut::rows ? workload().tensor : 1);
}

std::uint64_t Call::outputs_of(const models::WeightTensor& matrix) const {
  return matrix.outputs() / (matrix.cut == models::Cut::columns ? workload().tensor : 1);
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

std::uint64_t Call::attended() const {
  return workload().document == 0 ? workload().sequence
                                  : std::min(workload().document, workload().sequence);
}

AttentionShape Call::attention_shape() const {
  const models::Architecture& a = architecture();
  AttentionShape shape;
  // documents follow each other as samples do
  shape.sequence = attended();
  shape.samples = workload().micro_batch * (workload().sequence / shape.sequence);
  // of a tensor rank's heads, those of a context rank
  const std::uint64_t ranks = workload().context_in_ring ? 1 : workload().context;
  const std::uint64_t all = workload().tensor * ranks;
  shape.heads = a.heads / all;
  shape.kv_heads = a.kv_heads / all;
  shape.all_heads = a.heads;
  shape.first_head = (moment.tensor * ranks + (ranks == 1 ? 0 : moment.share)) * shape.heads;
  shape.head_dim = a.head_dim;
  shape.value_dim = a.value_dim;
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

models::TensorRole OperandReader::next_role() const {
  return call_.lowering.program->tensors[call_.op.operands[next_].tensor].role;
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
  taken.packing = packing_of(call_.lowering, operand.tensor);
  const bool in_kernel_type = taken.packing || tensor.bytes.value() == 2 * tensor.elements;
  taken.type = in_kernel_type ? call_.element() : Element::fp32;
  taken.add = operand.access == models::Access::read_write && !bound->fresh;
  return taken;
}

void unpack(const Call& call, const Operand& packed, const Output& into) {
  const PackedMatrix& matrix = *packed.packing;
  for (std::uint64_t share = 0; share < matrix.shares; ++share)
    if (matrix.count(share) > 0)
      call.device.unpack(matrix.share, packed.data + share * matrix.stride, matrix.count(share),
                         from(into, share * matrix.share.elements));
}

Input from(Input x, std::uint64_t elements) {
  return {x.data + elements * size_of(x.type), x.type};
}

Output from(Output x, std::uint64_t elements) {
  return {x.data + elements * size_of(x.type), x.type, x.add};
}

}  // namespace spillway::hw_backend
