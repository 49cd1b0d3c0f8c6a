#include "hw_backend/arithmetic/execute.hpp"
#include "hw_backend/arithmetic/routing.hpp"
#include "hw_backend/arithmetic/weight_slice.hpp"
#include "scenarios/description/errors.hpp"

#include <algorithm>

namespace spillway::hw_backend {

namespace {

/// Whether some block's window hides tokens: kernels see all that came before.
bool windowed(const models::Architecture& a, std::uint64_t sequence) {
  for (const models::BlockTraits& block : a.blocks)
    if (block.window > 0 && block.window < sequence) return true;
  return false;
}

/// Whether some block has shapes or halves of its own.
bool unequal(const models::Architecture& a) {
  return std::any_of(a.blocks.begin(), a.blocks.end(), [&](const models::BlockTraits& block) {
    const models::BlockShape& s = block.shape;
    const bool shaped = s.heads + s.kv_heads + s.head_dim + s.value_dim + s.ffn > 0;
    return shaped || !block.feeds || block.mixer != models::Mixer::attention;
  });
}

/// Collects what no device computes for real.
class Refusals {
 public:
  void operator()(bool wrong, const char* path, const std::string& message, const char* hint) {
    if (!wrong) return;
    description::Complaint complaint;
    complaint.path = path;
    complaint.message = message;
    complaint.hint = hint;
    complaints_.push_back(std::move(complaint));
  }
  void throw_all() const {
    if (!complaints_.empty()) throw description::ScenarioError(complaints_);
  }

 private:
  std::vector<description::Complaint> complaints_;
};

/// Experts and routers that are simulated only.
template <class Has>
void refuse_experts(const models::Architecture& a, const Has& has) {
  if (a.experts == 0) return;
  has(a.router_rule == models::RouterRule::other,
      "a router whose shares are neither of a softmax nor of sigmoids that add up to 1");
  has(a.experts > Routing::most_experts, "more than 512 experts");
  has(a.clamped_gate, "clamped gates");
  has(a.dense_beside_experts, "feed-forwards beside experts");
  has(a.expert_latent > 0, "experts of latents");
}

/// Models that tensor ranks share in simulation only.
void refuse_tensor_ranks(const models::Model& model, const models::Workload& workload,
                         Refusals& refuse) {
  const models::Architecture& a = model.architecture;
  if (workload.tensor == 1) return;
  const char* const hint = "write 1; simulate knows more";
  refuse(
      a.head_norm == models::HeadNorm::whole, "parallel.tensor",
      "no device norms the queries of all tensor ranks together for real, as " + a.name + " does",
      hint);
  refuse(words_of(a.vocabulary, workload.tensor, workload.tensor - 1).count == 0, "parallel.tensor",
         "of " + std::to_string(a.vocabulary) + " words the last of " +
             std::to_string(workload.tensor) + " ranks would have none",
         "use fewer ranks");
}

/// Formats, optimizers and data that are simulated only.
void refuse_methods(const models::Model& model, const models::Workload& workload,
                    Refusals& refuse) {
  refuse(workload.precision == description::Precision::fp8, "training.precision",
         "no device multiplies in fp8 for real", "write bf16_mixed; simulate knows more");
  const bool first = std::any_of(model.weights.begin(), model.weights.end(),
                                 [](const auto& one) { return one.adapter && one.inputs_first; });
  const bool dora = std::any_of(model.weights.begin(), model.weights.end(), [](const auto& one) {
    return one.kind == models::WeightKind::adapter_magnitude;
  });
  const bool of_experts = std::any_of(model.weights.begin(), model.weights.end(),
                                      [](const auto& one) { return one.adapter && one.routed; });
  refuse(of_experts && dora, "training.lora.dora",
         "no device takes norms of the matrices of experts for real",
         "write false, or training.lora.targets attention");
  refuse(first && dora, "training.lora.dora",
         "no device takes norms of the columns of a matrix that has its inputs first for real",
         "write false, or use a model whose matrices have outputs first, such as llama's");
  const bool in_documents = workload.document > 0 && workload.document < workload.sequence;
  refuse(in_documents && (workload.sequence % workload.document != 0 || workload.context > 1 ||
                          workload.attention != models::Attention::flash ||
                          model.architecture.learned_positions > 0),
         "training.packed",
         "documents shorter than training.sequence compute apart for real by flash attention of "
         "models that rotate, on ranks that share no samples, where they divide the sequence",
         "write a divisor of training.sequence, or true; simulate knows more");
}

}  // namespace

void require_support(const models::Model& model, const models::Workload& workload) {
  const models::Architecture& a = model.architecture;
  Refusals refuse;
  const char* const decoders =
      "decoders compute for real: llama, qwen2, qwen3, mistral, olmo2, phi3, gpt2, opt, gpt_neox, "
      "minicpm3, and with experts mixtral, qwen2_moe, qwen3_moe, olmoe, granitemoe, dbrx, "
      "glm4_moe, minimax_m2, deepseek_v2, deepseek_v3";
  const auto has = [&](bool wrong, const char* what) {
    refuse(wrong, "model", a.name + " has " + what + ", which no device computes for real",
           decoders);
  };
  refuse(a.is_diffusion(), "model",
         a.name + " is a diffusion model, which no device computes for real", decoders);
  refuse(a.stack != models::Stack::decoder && !a.is_diffusion(), "model",
         a.name + " has an encoder, which no device computes for real", decoders);
  refuse_experts(a, has);
  has(unequal(a), "blocks of other shapes than the rest");
  has(a.index.chosen > 0, "attention to chosen tokens");
  has(a.attention_gate, "a gate behind attention");
  has(a.value_norm, "norms of values");
  has(a.embedding_width != a.hidden, "an embedding narrower than its hidden states");
  has(a.alibi, "slopes as positions (ALiBi)");
  has(a.attention_sinks, "attention sinks");
  has(a.attention_softcap, "capped attention scores");
  has(a.logit_softcap && !a.attention_softcap, "capped logits");
  has(a.head_bias, "a bias of the vocabulary's product");
  has(a.head_norm == models::HeadNorm::each_head, "norms of queries with weights for each head");
  has(!a.norm_weights, "norms without weights");
  has(windowed(a, workload.sequence), "windows of attention shorter than training.sequence");
  const std::uint64_t rotated = a.rotated_dims == 0 ? a.head_dim : a.rotated_dims;
  refuse(a.learned_positions == 0 && rotated % 2 != 0, "model",
         a.name + " rotates " + std::to_string(rotated) + " elements of a head",
         "rotation takes elements in pairs");
  refuse_methods(model, workload, refuse);
  std::size_t frozen = 0, tables = 0;
  for (const std::uint32_t weight : model.layers.front().weights)
    if (model.weights[weight].decays()) {
      ++tables;
      frozen += model.weights[weight].frozen;
    }
  refuse(
      frozen > 0 && frozen < tables, "training.frozen",
      "some tables of the embedding are frozen, others are not, which no device computes for real",
      "write \"embeddings\"");
  refuse(workload.context > 1 && workload.context_in_ring && workload.dropout_of_attention() > 0,
         "parallel.context_kind",
         "ranks in a ring drop no attention weights, which training.dropout asks for",
         "write ulysses, or training.dropout 0");
  refuse_tensor_ranks(model, workload, refuse);
  refuse(workload.dropout < 0 || workload.dropout >= 1 || workload.dropout_of_attention() >= 1,
         "training.dropout", "is not a share from 0 to less than 1", "");
  refuse.throw_all();
}

}  // namespace spillway::hw_backend
