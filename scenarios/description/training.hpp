#pragma once

#include "scenarios/description/expert_load.hpp"
#include "scenarios/description/knob.hpp"
#include "scenarios/description/names.hpp"
#include "scenarios/description/units.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spillway::description {

/// In what kernels compute.
///   fp8  as bf16_mixed, but matrix products of blocks multiply 8-bit copies: E4M3 of weights and
///        inputs, E5M2 of the gradients of outputs, a scale for each tensor. Source  Micikevicius
///        et al.: FP8 Formats for Deep Learning (2022), 3; Transformer Engine, fp8_autocast with
///        DelayedScaling and Format.HYBRID; of adapters, which multiply in 16 bits,
///        Megatron-Bridge, peft/lora_layers.py
enum class Precision { fp16_mixed, bf16_mixed, fp16, bf16, fp32, fp8 };
template <>
inline constexpr auto names_of<Precision> = in_order("fp16_mixed", "bf16_mixed", "fp16", "bf16",
                                                     "fp32", "fp8");
/// Kernels read casts of fp32 parameters.
constexpr bool is_mixed(Precision precision) {
  return precision == Precision::fp16_mixed || precision == Precision::bf16_mixed ||
         precision == Precision::fp8;
}
/// What updates the weights, and what it keeps of each.
///   adam, adamw   momentum and variance; weights decay apart from the gradient
///   adam8bit      the same two in 8 bits, each 256 with an fp32 scale; those of tensors below 4096
///                 numbers in fp32. Source  Dettmers et al.: 8-bit Optimizers (2022), 2;
///                 bitsandbytes, block_wise and min_8bit_size
///   paged_adam8bit  the same, in host memory but for the weight that is being updated.
///                 Source  bitsandbytes, PagedAdamW8bit
///   lion          momentum. Source  Chen et al.: Symbolic Discovery (2023), algorithm 2
///   adafactor     of a matrix one number a row and one a column, of what else there is a variance;
///                 no momentum. Source  Shazeer and Stern: Adafactor (2018), algorithm 4; PyTorch,
///                 torch.optim.Adafactor
///   muon          of the matrices of blocks a momentum, which five iterations of Newton and Schulz
///                 make orthogonal; of what else there is Adam's two. Source  Jordan et al.: Muon
///                 (2024)
///   sgd           nothing
///   sgd_momentum  momentum. Source  PyTorch, torch.optim.SGD
enum class OptimizerKind {
  adam,
  adamw,
  adam8bit,
  paged_adam8bit,
  lion,
  adafactor,
  muon,
  sgd,
  sgd_momentum
};
template <>
inline constexpr auto names_of<OptimizerKind> = in_order("adam", "adamw", "adam8bit",
                                                         "paged_adam8bit", "lion", "adafactor",
                                                         "muon", "sgd", "sgd_momentum");
/// By its name alone its states lie in 8 bits.
constexpr bool is_8bit_adam(OptimizerKind kind) {
  return kind == OptimizerKind::adam8bit || kind == OptimizerKind::paged_adam8bit;
}
/// Its update is Adam's, whatever its states look like.
constexpr bool is_adam(OptimizerKind kind) {
  return kind == OptimizerKind::adam || kind == OptimizerKind::adamw || is_8bit_adam(kind);
}
/// Its update needs whole matrices: no rank can do a share of one.
constexpr bool needs_whole_matrices(OptimizerKind kind) {
  return kind == OptimizerKind::adafactor || kind == OptimizerKind::muon;
}
/// Element type of the optimizer states; int8 as adam8bit has them.
enum class StateWidth { fp32, bf16, int8 };
template <>
inline constexpr auto names_of<StateWidth> = in_order("fp32", "bf16", "int8");
/// Of one number in memory. Integers, and the 4-bit NormalFloat of QLoRA (arXiv 2305.14314), are
/// stored in blocks with a common scale; no kernel here computes with them.
enum class ElementType : std::uint8_t { fp32, fp16, bf16, int8, nf4 };
template <>
inline constexpr auto names_of<ElementType> = in_order("fp32", "fp16", "bf16", "int8", "nf4");
constexpr std::uint64_t bits_of(ElementType type) {
  switch (type) {
    case ElementType::fp32:
      return 32;
    case ElementType::fp16:
    case ElementType::bf16:
      return 16;
    case ElementType::int8:
      return 8;
    case ElementType::nf4:
      break;
  }
  return 4;
}

/// Of weights as kernels read them, of gradients as kernels compute them, and of activations; of
/// what is copied to 8 bits, before.
constexpr ElementType kernel_type(Precision precision) {
  switch (precision) {
    case Precision::fp16_mixed:
    case Precision::fp16:
      return ElementType::fp16;
    case Precision::bf16_mixed:
    case Precision::bf16:
    case Precision::fp8:
      return ElementType::bf16;
    case Precision::fp32:
      break;
  }
  return ElementType::fp32;
}
/// Of the parameters as a training program makes them and as checkpoints have them. Mixed precision
/// casts them to kernel_type().
constexpr ElementType parameter_type(Precision precision) {
  return is_mixed(precision) ? ElementType::fp32 : kernel_type(precision);
}

enum class AttentionKind { flash, materialized };
template <>
inline constexpr auto names_of<AttentionKind> = in_order("flash", "materialized");

/// How the loss is computed from the last hidden states.
///   plain     logits, their copy in fp32, its log-softmax and two gradients, all whole: 14 B a
///             logit in 16-bit training.  Source  ForCausalLMLoss of Hugging Face transformers
///   in_place  logits and their softmax in fp32, whose gradient takes its place: 6 B.
///             Source  Megatron-LM's cross entropy
///   chunked   of logits that are whole in the type of the kernels, an eighth of the tokens at a
///             time: the compiled kernel makes one chunk's gradient in that type from the logits.
///             Source  torchtune, CEWithChunkedOutputLoss, compiled
///   fused     with the product of the head, in chunks of tokens: whole logits never exist.
///             Source  Liger Kernel
enum class LossKind : std::uint8_t { plain, in_place, chunked, fused };
template <>
inline constexpr auto names_of<LossKind> = in_order("plain", "in_place", "chunked", "fused");

/// How the routed experts of a layer lie in memory. Types that keep theirs in one tensor in every
/// release (gpt_oss, llama4, dbrx, ...) know `stacked` alone.
///   stacked   one tensor of all experts for gate and up, one for down.
///             Source  Hugging Face transformers 5: parameters [experts, outputs, inputs] named
///             experts.gate_up_proj and experts.down_proj
///   separate  a tensor for each matrix of each expert.
///             Source  transformers 4: experts.0.gate_proj.weight, ...
enum class ExpertLayout : std::uint8_t { stacked, separate };
template <>
inline constexpr auto names_of<ExpertLayout> = in_order("stacked", "separate");

/// Operators that backward runs again, so that nothing is kept which they make for it alone.
///   attention   softmax of materialized scores, its mask and what dropout leaves of it; the output
///               is kept. Source  Korthikanti et al.: Reducing Activation Recomputation in Large
///               Transformer Models (2022), 5; Megatron-LM's core_attn
///   activation  of feed-forwards and experts, or the gated product: what the last product reads.
///               Source  Megatron-LM's moe_act, here of every feed-forward
///   norm        what products behind a norm read. Source  Megatron-LM's layernorm
enum class RecomputedOperator : std::uint8_t { attention, activation, norm };
template <>
inline constexpr auto names_of<RecomputedOperator> = in_order("attention", "activation", "norm");

/// `training.recompute`: "none", "full" (blocks keep their input alone: activations.policy
/// recompute), "selective" (the attention, as Megatron-LM has it) or names of operators.
struct Recompute {
  bool full = false;
  std::vector<RecomputedOperator> operators;
  bool operator==(const Recompute&) const = default;
};

/// `training.packed`: several documents in a sequence, none of which sees another. Sequences are
/// full either way. Source  torchtune, PackedDataset
struct Packed {
  bool packed = false;
  std::uint64_t document = 0;  ///< tokens of one; 0: as long as the sequence
  bool operator==(const Packed&) const = default;
};

/// When the 8-bit copies of weights are made.
///   kept     by the first micro-batch of each step; they stay on the GPU beside the weights.
///            Source  Transformer Engine, is_first_microbatch
///   per_use  before each product, from weights that are on the GPU for no longer either
enum class WeightCopies : std::uint8_t { kept, per_use };
template <>
inline constexpr auto names_of<WeightCopies> = in_order("kept", "per_use");

/// `training.fp8`, of precision fp8.
struct Fp8 {
  /// Products read both operands along what they sum over: weights, inputs and gradients of outputs
  /// have a transposed copy besides. False of cards with fp8_any_layout.
  /// Source  Transformer Engine, is_non_tn_fp8_gemm_supported
  bool transposes = true;
  WeightCopies weight_copies = WeightCopies::kept;
  bool operator==(const Fp8&) const = default;
};

/// What of a model is trained.
///   full    every weight
///   lora    low-rank adapters of some matrices; the model itself is frozen.
///           Source  Hu et al.: LoRA (2021), 4.1
///   qlora   the same, of a frozen model in 4 bits. Source  Dettmers et al.: QLoRA (2023), 3
///   frozen  every weight that `Training::frozen` does not name
enum class Method : std::uint8_t { full, lora, qlora, frozen };
template <>
inline constexpr auto names_of<Method> = in_order("full", "lora", "qlora", "frozen");
constexpr bool has_adapters(Method method) {
  return method == Method::lora || method == Method::qlora;
}

/// How matrices of frozen blocks lie in memory.
///   bf16  as kernels read them, in the type of `precision`
///   int8  8 bits and an fp32 scale a row of outputs. Source  LLM.int8() (arXiv 2208.07339)
///   nf4   4-bit NormalFloat: an 8-bit scale for each 64 numbers, and an fp32 scale for each 256 of
///         those. Source  QLoRA (arXiv 2305.14314), 3, double quantisation
enum class BaseType : std::uint8_t { bf16, int8, nf4 };
template <>
inline constexpr auto names_of<BaseType> = in_order("bf16", "int8", "nf4");

/// How adapters lie in memory.
///   fp32  themselves in fp32, with fp32 gradients and no other master; kernels read copies in the
///         type of `precision`. Source  PEFT's autocast_adapter_dtype
///   bf16  as any trained weight: in the type of `precision`, with the masters that it stands for
enum class AdapterType : std::uint8_t { fp32, bf16 };
template <>
inline constexpr auto names_of<AdapterType> = in_order("fp32", "bf16");

/// What `Lora::targets` has in place of names of modules.
inline constexpr const char* attention_targets = "attention";    ///< the matrices of attention
inline constexpr const char* all_linear_targets = "all_linear";  ///< all matrices of blocks

/// Adapters beside frozen matrices: y = W x + alpha / rank B A x, A [rank, inputs], B [outputs,
/// rank].
struct Lora {
  std::uint64_t rank = 16;
  std::optional<double> alpha;  ///< absent: the rank, so that nothing is scaled
  /// Names of modules as Hugging Face has them ("q_proj"), or one of the words above alone.
  std::vector<std::string> targets{attention_targets};
  BaseType base = BaseType::bf16;  ///< where a scenario says nothing: of qlora nf4
  AdapterType adapters = AdapterType::bf16;
  bool dora = false;  ///< a magnitude an output besides. Source  Liu et al.: DoRA (2024)

  double scale() const { return alpha ? *alpha / static_cast<double>(rank) : 1; }
  bool operator==(const Lora&) const = default;
};

/// What `Training::frozen` has for all tables of an embedding layer.
inline constexpr const char* frozen_embeddings = "embeddings";

struct Training {
  /// Adam of whole numbers, whose rate machines have.
  bool has_plain_adam() const { return is_adam(optimizer) && !has_8bit_states(); }
  /// The norm of a step's gradients is looked at before its update.
  bool clips() const { return gradient_clipping > 0; }
  /// States lie in 8 bits.
  bool has_8bit_states() const {
    return is_8bit_adam(optimizer) || optimizer_state == StateWidth::int8;
  }
  Method method = Method::full;
  Lora lora;                        ///< of methods with adapters
  std::vector<std::string> frozen;  ///< names of weights, modules or layers, or the word above
  Precision precision = Precision::bf16_mixed;
  Fp8 fp8;
  OptimizerKind optimizer = OptimizerKind::adam;
  StateWidth optimizer_state = StateWidth::fp32;
  /// The GPU updates each layer's weights as soon as backward has their gradients, of which none is
  /// kept. Source  PyTorch, register_post_accumulate_grad_hook; torchtune, optimizer_in_bwd
  bool optimizer_in_backward = false;
  std::uint64_t micro_batch = 1;  ///< samples per data-parallel rank and forward pass
  std::uint64_t gradient_accumulation = 1;
  std::uint64_t sequence = 1024;  ///< tokens
  AttentionKind attention = AttentionKind::flash;
  bool fused_kernels = true;        ///< the gated product of a feed-forward is one kernel
  std::uint64_t mlp_tiles = 1;      ///< parts of the tokens in dense feed-forwards
  LossKind loss = LossKind::fused;  ///< where a scenario says nothing, as fused_kernels: or plain
  ExpertLayout experts = ExpertLayout::stacked;
  ExpertLoad expert_load;
  Or<double, "model"> dropout = 0.0;  ///< the word: what the model's own file says
  Recompute recompute;
  Packed packed;
  bool ema = false;
  bool causal_skip = true;  ///< flash attention of decoders leaves out what the mask hides
  double learning_rate = 1e-4;
  /// fp16_mixed with an overflow check begins with a loss scale of 2 to this power.
  std::uint64_t initial_scale_power = 16;
  /// The largest norm of all gradients of a step together, to which longer ones are shortened; 0:
  /// they are as long as they are. Source  PyTorch, clip_grad_norm_
  double gradient_clipping = 0;
};

/// Where a pipeline is cut into stages.
///   time    where the longest stage is shortest, by the seconds of forward and backward at the
///           rates of the machine's GPU, what runs again in backward included, updates and
///           collectives not. Source  what planners that profile a step do (PipeDream, SOSP'19);
///           Megatron-LM by hand (--decoder-last-pipeline-num-layers)
///   flops   the same by FLOPs of forward and backward: one cut for all machines
///   layers  equal numbers of blocks; what lies before and behind them goes with the first and the
///           last stage. Source  TorchTitan's default split points (late 2024), Megatron-LM's
///           default: neither weighs the head
enum class PipelineCut : std::uint8_t { time, flops, layers };
template <>
inline constexpr auto names_of<PipelineCut> = in_order("time", "flops", "layers");

/// How ranks that share the tokens of a sample attend to all of it.
///   ulysses  each has some heads of all tokens: an all-to-all before attention and one behind it.
///            Source  DeepSpeed Ulysses (2023), 3.1; Megatron-LM, --cp-comm-type a2a
///   ring     each has all heads of its own tokens; keys and values go round, a block beside the
///            attention of the block before, in backward with the sums of their gradients. A rank
///            has the i-th and the i-th last of 2 x context pieces of a sample, so that what a
///            causal mask leaves is the same for every rank and block (zigzag).
///            Source  Liu et al.: Ring Attention (2023), 3; Megatron-LM, --cp-comm-type p2p; the
///            pieces: Llama 3 (2024), 3.3.2, and Transformer Engine, context parallelism
enum class ContextKind : std::uint8_t { ulysses, ring };
template <>
inline constexpr auto names_of<ContextKind> = in_order("ulysses", "ring");

/// In which order a stage of a pipeline has its micro-batches.
///   1f1b   one forward, one backward. Source  Megatron-LM (SC'21), 2.2
///   gpipe  all forwards, then all backwards: as many micro-batches are held as a step has.
///          Source  Huang et al.: GPipe (2019), 2.3
///   interleaved  1F1B over `virtual_stages` pieces of the model on each stage, every p-th of all
///          pieces in a row: a bubble so many times smaller, and as many times the hand-overs,
///          which go on beside passes. Source  Narayanan et al.: Megatron-LM (SC'21), 2.2
///   zero_bubble  1F1B with each backward in two: the gradients of what comes in, and those of
///          weights, which wait where nothing else is to do (ZB-H1: no more micro-batches are held
///          than 1F1B holds on its first stage). Source  Qi et al.: Zero Bubble Pipeline
///          Parallelism (ICLR 2024), 2.2 and figure 2
///   sequential  one micro-batch at a time goes through all stages and back: one stage works, the
///          others wait. Source  Transformers and Accelerate, device_map "auto"
enum class PipelineSchedule : std::uint8_t {
  one_forward_one_backward,
  gpipe,
  interleaved,
  zero_bubble,
  sequential
};
template <>
inline constexpr auto names_of<PipelineSchedule> = in_order("1f1b", "gpipe", "interleaved",
                                                            "zero_bubble", "sequential");

struct Parallel {
  std::uint64_t data = 1, tensor = 1, pipeline = 1, zero_stage = 3;
  PipelineCut pipeline_cut = PipelineCut::time;
  PipelineSchedule schedule = PipelineSchedule::one_forward_one_backward;
  std::uint64_t virtual_stages = 2;  ///< pieces of the model on each stage, of `interleaved` alone
  /// Tensor ranks share the tokens of what they do not cut: norms, dropout, residuals. Their sums
  /// are scattered and gathered in place of all-reduces. Source  Korthikanti et al. (2022), 4.2.2
  bool sequence_parallel = false;
  /// Ranks with the same weights that share the tokens of each sample.
  std::uint64_t context = 1;
  ContextKind context_kind = ContextKind::ulysses;
  /// Ranks in a row, data-parallel ones with their context ranks, that share the routed experts of
  /// each layer.
  std::uint64_t expert = 1;
  /// Ranks that hold, or share by ZeRO, the same weights.
  std::uint64_t replicas() const { return data * context; }
  std::uint64_t ranks() const { return replicas() * tensor * pipeline; }
  /// Pieces of the model that a stage has.
  std::uint64_t pieces() const {
    return pipeline > 1 && schedule == PipelineSchedule::interleaved ? virtual_stages : 1;
  }
  /// Where its stages begin and end depends on the rates of the GPU.
  bool cut_by_time() const {
    return pipeline > 1 && pieces() == 1 && pipeline_cut == PipelineCut::time;
  }
  /// A stage has one micro-batch at a time under way.
  bool one_at_a_time() const { return pipeline == 1 || schedule == PipelineSchedule::sequential; }
  /// Gradients of weights are computed apart from those of what comes into a layer.
  bool splits_backward() const { return pipeline > 1 && schedule == PipelineSchedule::zero_bubble; }
  /// Ranks with tokens of their own that hold the same experts.
  std::uint64_t expert_data() const { return replicas() / expert; }
};

enum class IoDirection { read, write, mixed };
template <>
inline constexpr auto names_of<IoDirection> = in_order("read", "write", "mixed");

/// One stream of requests through the I/O engine instead of training.
struct IoBench {
  IoDirection op = IoDirection::write;
  Bytes bytes;  ///< of one request
  std::uint64_t requests = 1;
  std::uint64_t queue_depth = 1;
  double read_share = 0.5;  ///< of `mixed`
};

struct RunLength {
  std::uint64_t warmup_steps = 1, steps = 2, seed = 1;
  double jitter = 0;        ///< of durations in simulations: evenly within this share, by the seed
  bool checkpoint = false;  ///< after the last step every master weight is read once more
  std::optional<IoBench> io_bench;
  std::optional<double> tokens;             ///< of the finished run; or epochs x dataset_tokens
  std::optional<Seconds> checkpoint_every;  ///< of the finished run; 0: none; absent: 1 hour
  std::optional<BytesPerSecond> checkpoint_rate;  ///< at which a rank writes one; absent: 1 GB/s
  std::optional<Bytes> log_bytes;  ///< of trackers and profilers with each step of the finished run
};

}  // namespace spillway::description
