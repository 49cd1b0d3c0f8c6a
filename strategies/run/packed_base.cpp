#include "strategies/run/packed_base.hpp"

#include "models/program/formats.hpp"

#include <algorithm>

namespace spillway::strategies {

namespace {

/// Each GPU has the whole model.
bool is_whole(const description::Scenario& scenario) {
  const description::Parallel& parallel = scenario.parallel;
  return scenario.strategy.weights.home == description::Home::gpu && parallel.tensor == 1 &&
         parallel.pipeline == 1 && (parallel.zero_stage < 3 || parallel.data == 1);
}

}  // namespace

UncountedOfBase uncounted_of_base(const description::Training& training,
                                  const models::Model& model) {
  UncountedOfBase more;
  if (!description::has_adapters(training.method) ||
      training.lora.base == description::BaseType::bf16)
    return more;
  const models::Formats formats(training);
  for (const models::WeightTensor& weight : model.weights) {
    if (weight.is_adapter() || !weight.frozen) continue;
    const std::uint64_t elements = weight.parameters.value();
    const models::NumberFormat format = formats.numbers(weight);
    const std::uint64_t bytes = format.bytes(elements);
    if (!format.is_packed()) {
      const std::uint64_t wider = models::fp32_numbers.bytes(elements) - bytes;
      more.widened += wider;
      if (weight.is_stacked()) more.widened_experts += wider;
    } else if (format.scale_block > 0) {
      more.plain_scales += models::NumberFormat(format.type, format.block).bytes(elements) - bytes;
    }
  }
  return more;
}

std::string stacked_experts_words(const description::Scenario& scenario,
                                  const models::Model& model) {
  if (!description::has_adapters(scenario.training.method)) return "";
  const description::Lora& lora = scenario.training.lora;
  const bool packed = lora.base != description::BaseType::bf16;
  const bool everywhere = std::find(lora.targets.begin(), lora.targets.end(),
                                    description::all_linear_targets) != lora.targets.end();
  if ((!packed && !everywhere) || !model.stacks_experts()) return "";
  std::string words = "experts of a layer are one tensor (training.experts: stacked)";
  if (everywhere) words += ", which has no adapter";
  if (packed) words += everywhere ? " and is not quantised" : ", which is not quantised";
  using description::ExpertLayout;
  const bool as_others = scenario.strategy.weights.experts == description::ExpertPlace::as_others;
  if (as_others && models::refusal(model.architecture, ExpertLayout::separate).empty())
    words += "; --set training.experts=separate is as in transformers 4, where each is a module";
  return words;
}

/// Source  PEFT utils/other.py, prepare_model_for_kbit_training; transformers, BitsAndBytesConfig;
///         TRL's SFTTrainer calls the former no more since 0.27
void note_packed_base(const description::Scenario& scenario, const models::Model& model,
                      result::Result& result) {
  const UncountedOfBase more = uncounted_of_base(scenario.training, model);
  if (more.widened == 0) return;
  text::Text note = text::filled(
      "training.lora.base: norms, embedding and head{}, which it does not quantise, are counted in "
      "16 bits, as TRL's SFTTrainer has them since 0.27; PEFT's prepare_model_for_kbit_training "
      "makes them fp32, {} more",
      {more.widened_experts > 0 ? ", and experts that are one tensor of each layer" : "",
       text::memory(more.widened)});
  if (more.widened_experts > 0)
    note += text::filled(", {} of which is the experts", {text::memory(more.widened_experts)});
  if (more.plain_scales > 0)
    note += text::filled(
        "; without bnb_4bit_use_double_quant, which is off unless asked for, scales take {} more",
        {text::memory(more.plain_scales)});
  const std::uint64_t needed = result.gpu.total + more.widened + more.plain_scales;
  if (result.feasible() && is_whole(scenario) && result.gpu.capacity > 0 &&
      needed > result.gpu.capacity - result.gpu.reserve)
    note += text::filled(
        "; that does not fit: a GPU then needs {} of {}, with {} that stay free for the system",
        {text::memory(needed + result.gpu.reserve),
         text::memory(result.gpu.capacity, text::Origin::datasheet),
         text::memory(result.gpu.reserve)});
  result.notes.push_back(std::move(note));
}

}  // namespace spillway::strategies
