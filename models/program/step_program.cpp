#include "models/program/step_program.hpp"

#include "models/program/layers.hpp"
#include "models/program/split_backward.hpp"
#include "scenarios/description/errors.hpp"

#include <algorithm>

namespace spillway::models {

namespace {

class WorkloadCheck {
 public:
  WorkloadCheck(const Model& model, const Workload& workload)
      : a_(model.architecture), w_(workload) {
    at_least_one("training.micro_batch", w_.micro_batch);
    at_least_one("training.sequence", w_.sequence);
    at_least_one("parallel.tensor", w_.tensor);
    if (!complaints_.empty()) return;
    for (const auto& [what, count] : a_.shared_by_ranks()) divides(what, count);
    if (w_.sequence_parallel && w_.tensor > 1) shares_tokens();
    if (w_.context > 1) shares_samples();
    if (w_.expert == 0 || a_.experts % w_.expert != 0 || (w_.expert > 1 && a_.experts == 0))
      complain("parallel.expert", std::to_string(w_.expert) + " ranks cannot share the " +
                                      std::to_string(a_.experts) + " experts of " + a_.name);
    const std::uint64_t positions = a_.learned_positions - a_.position_offset;
    if (a_.learned_positions > 0 && w_.sequence > positions)
      complain("training.sequence", std::to_string(w_.sequence) + " tokens are more than the " +
                                        std::to_string(positions) + " positions of " + a_.name);
    refuse_absurd_sizes();
  }

  void throw_complaints() const {
    if (!complaints_.empty()) throw description::ScenarioError(complaints_);
  }

 private:
  void complain(const char* path, std::string message, std::string hint = "") {
    description::Complaint complaint;
    complaint.path = path;
    complaint.message = std::move(message);
    complaint.hint = std::move(hint);
    complaints_.push_back(std::move(complaint));
  }

  void at_least_one(const char* path, std::uint64_t value) {
    if (value == 0) complain(path, "must be at least 1");
  }

  // Keeps every product of sizes inside 64 bits; far above any machine.
  void refuse_absurd_sizes() {
    const auto number = [](std::uint64_t count) { return static_cast<double>(count); };
    const double copies = number(std::max<std::uint64_t>(a_.experts_per_token, 1));
    const double widest = number(w_.sequence) * number(a_.heads) + number(a_.vocabulary) +
                          number(a_.query_width()) + number(a_.ffn + a_.shared_ffn) +
                          number(a_.experts) + copies * number(a_.expert_ffn + a_.hidden) +
                          number(a_.kv_width() + a_.attention_width() + a_.value_width()) +
                          number(a_.latent.query_rank + a_.latent.kv_rank) +
                          number(a_.index.heads) * number(w_.sequence + a_.index.head_dim) +
                          number(a_.delta.value_heads) * number(a_.delta.value_dim + 64) +
                          number(a_.state_space.mixed_width());
    if (number(w_.micro_batch) * number(w_.sequence) * widest > 1e17)
      complain("training.micro_batch", "more tokens than any machine has room for");
  }

  /// Each of the context ranks has two pieces of a sample, and sees all that came before.
  void passes_blocks_on() {
    if (w_.sequence % (2 * w_.context) != 0)
      complain("parallel.context",
               std::to_string(w_.context) + " ranks in a ring cannot share two pieces each of " +
                   std::to_string(w_.sequence) + " tokens",
               "use a divisor of half of training.sequence");
    const auto windowed = [this](const BlockTraits& block) {
      return block.window > 0 && block.window < w_.sequence;
    };
    const char* const what =
        w_.attention != Attention::flash                            ? "materialized scores"
        : std::any_of(a_.blocks.begin(), a_.blocks.end(), windowed) ? "windows that hide blocks"
        : a_.attention_sinks                                        ? "attention sinks"
        : w_.document > 0 && w_.document < w_.sequence              ? "documents that hide blocks"
                                                                    : nullptr;
    if (what)
      complain("parallel.context_kind",
               "a ring passes on blocks that all tokens behind them see by flash attention, and " +
                   a_.name + " has " + what + ": write " +
                   (heads_left_over().empty() ? "ulysses" : "parallel.context 1"));
  }

  /// Each of the context ranks has some heads of all tokens: all kinds of heads divide.
  void shares_heads() {
    for (const std::string& heads : heads_left_over())
      complain("parallel.context",
               std::to_string(w_.context) + " x tensor " + std::to_string(w_.tensor) +
                   " ranks cannot share the " + heads + " of " + a_.name,
               "let context x tensor divide them");
  }

  /// "14 attention heads": of which not all context ranks would have as many.
  std::vector<std::string> heads_left_over() const {
    std::vector<std::string> all;
    for (const auto& [what, count] : a_.shared_by_ranks())
      if (std::string(what).ends_with("heads") && count % (w_.context * w_.tensor) != 0)
        all.push_back(std::to_string(count) + " " + what);
    return all;
  }

  void shares_samples() {
    if (w_.sequence % w_.context != 0)
      complain("parallel.context",
               std::to_string(w_.context) + " ranks cannot share " + std::to_string(w_.sequence) +
                   " tokens",
               "use a divisor of training.sequence");
    w_.context_in_ring ? passes_blocks_on() : shares_heads();
    const bool recurs = std::any_of(a_.blocks.begin(), a_.blocks.end(), [](const auto& block) {
      return block.mixer != Mixer::attention && block.mixer != Mixer::none;
    });
    const char* const what = a_.is_diffusion()            ? "a diffusion model"
                             : a_.stack != Stack::decoder ? "an encoder"
                             : a_.index.chosen > 0        ? "attention to chosen tokens"
                             : recurs ? "states or convolutions that go from token to token"
                                      : nullptr;
    if (what)
      complain("parallel.context",
               a_.name + " has " + what + ", whose samples this version does not share");
  }

  void shares_tokens() {
    if (w_.sequence / std::max<std::uint64_t>(w_.context, 1) % w_.tensor != 0)
      complain("parallel.sequence_parallel", std::to_string(w_.tensor) + " ranks cannot share " +
                                                 std::to_string(w_.sequence) + " tokens");
    const char* const what = a_.is_diffusion()            ? "a diffusion model"
                             : a_.stack != Stack::decoder ? "an encoder"
                             : a_.index.chosen > 0        ? "attention to chosen tokens"
                                                          : nullptr;
    if (what)
      complain("parallel.sequence_parallel",
               a_.name + " has " + what + ", whose tokens this version does not share");
  }

  void divides(const char* what, std::uint64_t count) {
    if (count % w_.tensor != 0)
      complain("parallel.tensor", std::to_string(w_.tensor) + " ranks cannot share the " +
                                      std::to_string(count) + " " + what + " of " + a_.name);
  }

  const Architecture& a_;
  const Workload& w_;
  std::vector<description::Complaint> complaints_;
};

}  // namespace

Flops StepProgram::flops(Span span) const {
  Flops sum;
  for (std::uint32_t i = span.first; i < span.last; ++i) sum += operators[i].flops;
  return sum;
}

Flops StepProgram::forward_flops() const { return flops(forward); }

std::vector<TensorId> StepProgram::saved_by(std::uint32_t layer) const {
  std::vector<TensorId> saved;
  const Span span = layers.at(layer).forward;
  for (std::uint32_t i = span.first; i < span.last; ++i)
    for (const TensorId tensor : operators[i].saved)
      if (std::find(saved.begin(), saved.end(), tensor) == saved.end()) saved.push_back(tensor);
  return saved;
}

namespace {

StepProgram record(const Model& model, const Workload& workload) {
  Tape tape(model, workload);
  std::uint32_t layer = 0;
  if (model.architecture.is_diffusion()) {
    const Conditioned embedded = diffusion_embedding(tape, layer++);
    Value hidden = embedded.hidden;
    for (std::uint64_t i = 0; i < model.architecture.layers; ++i)
      hidden = diffusion_block(tape, layer++, hidden, embedded.condition);
    diffusion_head(tape, layer, hidden, embedded.condition);
    return tape.finish();
  }
  const Embedded embedded = embedding(tape, layer++);
  Value hidden = embedded.first;
  std::optional<Value> encoder;
  const Architecture& a = model.architecture;
  if (embedded.decoder) {
    BlockCall first;
    for (std::uint64_t i = 0; i < a.encoder_layers; ++i)
      hidden = block(tape, layer++, hidden, first);
    encoder = encoder_norm(tape, layer++, hidden);
    hidden = *embedded.decoder;
  }
  BlockCall call;
  call.causal = a.stack != Stack::encoder;
  call.encoder = encoder;
  for (std::uint64_t i = 0; i < a.layers; ++i) {
    call.traits = a.block(i);
    hidden = block(tape, layer++, hidden, call);
  }
  head(tape, layer, hidden);
  return tape.finish();
}

}  // namespace

StepProgram build_step_program(const Model& model, const Workload& workload) {
  WorkloadCheck(model, workload).throw_complaints();
  StepProgram program = record(model, workload);
  if (workload.splits_backward) split_backward(program);
  return program;
}

}  // namespace spillway::models
