#include "scenarios/deepspeed/import_wrapper.hpp"

#include <fmt/format.h>

namespace spillway::scenarios {

namespace {

const std::string gradient_type = "/data_types/grad_accum_dtype";

/// Of the words that DeepSpeed takes for a type, the one that is used here.
///   Source  DeepSpeed inference/config.py, DtypeEnum
std::string short_type(const std::string& word) {
  for (const char* wide : {"float32", "float", "torch.float32"})
    if (word == wide) return "fp32";
  for (const char* half : {"float16", "half", "torch.float16"})
    if (word == half) return "fp16";
  for (const char* brain : {"bfloat16", "bfloat", "torch.bfloat16"})
    if (word == brain) return "bf16";
  return word;
}

/// Without ZeRO.
///   Source  DeepSpeed engine.py, get_data_types and _do_optimizer_sanity_check; pull request 7515,
///           first released in 0.17.6, and 7790, first released in 0.18.5
class Unsharded {
 public:
  Unsharded(DeepSpeedKeys& keys, const DeepSpeedVersion& version, std::string weights,
            WrapperFound& found)
      : keys_(keys), version_(version), weights_(std::move(weights)), found_(found) {}

  void read(bool said) {
    const bool wide_by_default = !version_.runs_bf16_without_zero();
    if (weights_ == "bf16" && !said && wide_by_default) found_.accumulation = "fp32";
    const bool shares = weights_ == "bf16" && found_.accumulation == "fp32";
    if (shares && !version_.at_least(18, 5)) return share(wide_by_default);
    if (found_.accumulation != weights_)
      return keys_.complain(
          gradient_type,
          fmt::format("DeepSpeed stops at {} gradients of {} weights without ZeRO{}",
                      found_.accumulation, weights_, shares ? ", since 0.18.5" : ""),
          "leave it out, or set zero_optimization.stage to 1");
    if (weights_ == "bf16" && wide_by_default)
      return keys_.complain(gradient_type,
                            "DeepSpeed stops at bf16 gradients without ZeRO until 0.17.5",
                            "leave it out, or set zero_optimization.stage to 1");
    if (weights_ != "fp32") keep_all();
  }

 private:
  void share(bool whatever_is_said) {
    found_.wrapper = Wrapper::bf16_optimizer;
    found_.notes.emplace_back(fmt::format(
        "zero_optimization.stage: taken as 1: without ZeRO bf16 weights{} have BF16_Optimizer "
        "until {}, which shares masters and states between ranks and keeps fp32 gradients of all "
        "weights on each",
        whatever_is_said ? "" : " with fp32 gradients", whatever_is_said ? "0.17.5" : "0.18.4"));
  }

  void keep_all() {
    found_.wrapper = Wrapper::fp16_optimizer;
    if (weights_ == "bf16")
      found_.notes.emplace_back(
          "zero_optimization.stage: without ZeRO each GPU has all masters and states since 0.17.6; "
          "until then BF16_Optimizer shared them between ranks, as --deepspeed 0.16 has it, and as "
          "stage 1 does in all versions");
    found_.notes.emplace_back(
        "zero_optimization.stage: without ZeRO the update first copies all gradients to fp32, 4 "
        "bytes a trained parameter, 8 with DeepSpeed's FusedAdam; not counted, so GPU memory is a "
        "lower bound where the update is its peak");
  }

  DeepSpeedKeys& keys_;
  const DeepSpeedVersion& version_;
  std::string weights_;
  WrapperFound& found_;
};

}  // namespace

WrapperFound read_wrapper(DeepSpeedKeys& keys, const DeepSpeedVersion& version,
                          const std::string& precision, std::uint64_t stage, bool offloads) {
  WrapperFound found;
  const std::string weights = precision.substr(0, 4);
  const std::string said = short_type(keys.text(gradient_type, ""));
  found.accumulation = said.empty() ? weights : said;
  if (stage == 0) {
    // Apex's O1 has weights in fp32
    if (!keys.flag("/amp/enabled", false))
      Unsharded(keys, version, weights, found).read(!said.empty());
    return found;
  }
  const bool bf16 = stage == 1 && !offloads && weights == "bf16" && said == "fp32";
  found.wrapper = bf16 ? Wrapper::bf16_optimizer : Wrapper::zero;
  return found;
}

}  // namespace spillway::scenarios
