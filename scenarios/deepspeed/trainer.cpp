#include "scenarios/deepspeed/trainer.hpp"

#include "models/architecture/model.hpp"
#include "scenarios/description/names.hpp"

namespace spillway::scenarios {

using description::LossKind;
using nlohmann::json;

const std::vector<std::string>& trainer_keys() {
  static const std::vector<std::string> keys{
      "attention", "fused_kernels",   "loss",
      "experts",   "dropout",         "ema",
      "optimizer", "optimizer_state", "optimizer_in_backward",
      "method",    "causal_skip",     "lora",
      "frozen",    "recompute",       "packed",
      "mlp_tiles"};
  return keys;
}

json plain_trainer() {
  return {{"fused_kernels", false}, {"loss", description::name_of(LossKind::plain)}};
}

json plain_training(const std::string& precision, std::uint64_t sequence) {
  json training = plain_trainer();
  training.update({{"precision", precision}, {"sequence", sequence}});
  return training;
}

text::Number plain_logit() { return text::memory(14); }

text::Text trainer_must_bring(const std::string& key, const json& value) {
  const std::string words = value.is_string() ? value.get<std::string>() : value.dump();
  text::Text how = "which the trainer decides";
  if (key == "loss" && value == "fused")
    how = text::filled(
        "which the trainer must bring, such as Liger Kernel's or cut cross-entropy; a plain loss "
        "holds {} a logit",
        {plain_logit()});
  else if (key == "loss" && value == "in_place")
    how = text::filled(
        "which the trainer must bring, such as Megatron-LM's cross entropy; a plain loss holds {} "
        "a logit",
        {plain_logit()});
  else if (key == "fused_kernels" && value == true)
    how = "which the trainer must bring, such as Liger Kernel's";
  else if (key == "mlp_tiles" && value != 1)
    how = "which the trainer must bring, such as DeepSpeed's TiledMLP or Liger Kernel's";
  else if (key == "method" && value == "qlora")
    how =
        "which the trainer must bring, such as PEFT; at stage 3 with bnb_4bit_quant_storage of "
        "the weights' type, or DeepSpeed does not split the matrices";
  else if (key == "recompute" && value.is_array() && !value.empty())
    how =
        "which the trainer must bring, such as PyTorch's create_selective_checkpoint_contexts; "
        "with gradient checkpointing off alone, all of it is kept";
  else if (key == "optimizer" && value == "adam8bit")
    how = "which the trainer must bring, such as bitsandbytes' AdamW8bit";
  else if (key == "optimizer" && value == "paged_adam8bit")
    how = "which the trainer must bring, such as bitsandbytes' PagedAdamW8bit";
  else if (key == "optimizer" && value == "adafactor")
    how = "which the trainer must bring, such as PyTorch's Adafactor";
  else if (key == "optimizer_in_backward" && value == true)
    how = "which DeepSpeed does not do: torchtune and others of one GPU do";
  return text::filled("training.{}: {}, {}", {key, words, how});
}

text::Text assumed_of_trainer(const description::Scenario& scenario) {
  const description::Training& training = scenario.training;
  if (models::architecture_of(scenario).is_diffusion()) return "";
  if (training.loss != LossKind::plain)
    return trainer_must_bring("loss", std::string(description::name_of(training.loss))) +
           "; --set training.loss=plain asks for it";
  return text::filled(
      "training.loss: plain and training.fused_kernels: {}, as a trainer {} computes: {} a logit; "
      "ask with --set training.loss=fused for one whose loss never holds whole logits, such as "
      "Liger Kernel's or cut cross-entropy",
      {training.fused_kernels ? "true" : "false",
       training.fused_kernels ? "with a plain loss" : "without fused kernels", plain_logit()});
}

}  // namespace spillway::scenarios
