#include "scenarios/deepspeed/import_optimizer.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>

namespace spillway::scenarios {

namespace {

const std::string clipping_key = "/gradient_clipping";

/// Reads what a configuration says of its optimizer.
class OptimizerImport {
 public:
  OptimizerImport(DeepSpeedKeys& keys, const DeepSpeedVersion& version, const Updaters& updaters)
      : keys_(keys),
        version_(version),
        updaters_(updaters),
        type_(keys.text("/optimizer/type", "AdamW")),
        offloads_(keys.text("/zero_optimization/offload_optimizer/device", "none") != "none") {}

  OptimizerFound run() {
    found_.kind = kind();
    found_.gradient_clipping = clipping();
    return std::move(found_);
  }

 private:
  void note(std::string words) { found_.notes.emplace_back(std::move(words)); }
  void note_type(const std::string& words) { note("optimizer.type: \"" + type_ + "\" " + words); }

  /// Asked for where it matters: what is no number has been complained of elsewhere.
  double stage() const { return keys_.number("/zero_optimization/stage", 0); }

  /// In the type's name, in whatever letters.
  bool mentions(const std::string& part) const {
    std::string name = type_;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return name.find(part) != std::string::npos;
  }

  double clipping() {
    const double norm = gradient_clipping(keys_, version_);
    if (norm == 0) return 0;
    if (keys_.is_auto(clipping_key))
      note("gradient_clipping: \"auto\" follows the trainer's max_grad_norm, taken as 1");
    else if (!keys_.has(clipping_key))
      note("training.gradient_clipping: 1, DeepSpeed's where its file does not say, since 0.19.3");
    if (!updaters_.zenflow) return norm;
    note(
        "gradient_clipping: 0 here, as zenflow's columns are updated before a step's norm is "
        "known; norms are taken, and their passes over memory are counted, all the same");
    return 0;
  }

  /// DeepSpeed's owner of a matrix makes it orthogonal, here ranks take turns (see
  /// strategies/parts/update/shared_matrices.hpp).
  ///   Source  DeepSpeed stage()1_and_2.py, get_flat_partition and average_tensor; stage3.py,
  ///           _apply_distributed_muon_update
  bool is_on_gpu_as_muon() {
    if (offloads_) return false;
    if (stage() == 0) return true;
    if (keys_.text("/zero_optimization/offload_param/device", "none") != "none" ||
        keys_.count_or("/tensor_parallel/autotp_size", 1, 1) > 1)
      return false;
    if (updaters_.ranks == 1) return true;
    const std::string here =
        "; here each of N ranks takes one of N matrices of a shape, by all-to-all there and back";
    if (stage() < 3)
      note_type(
          "of DeepSpeed's ZeRO-1 and 2 is done by the ranks in whose partition a matrix lies, each "
          "of which has its whole momentum and does all of it" +
          here);
    else
      note_type(
          "of DeepSpeed's ZeRO-3 all-reduces gradients and gathers momenta and updates, so that "
          "bytes between its GPUs are more" +
          here);
    return true;
  }

  /// Beside reduce_scatter, which is the default.
  ///   Source  DeepSpeed stage3.py, DeepSpeedZeroOptimizer_Stage3: "Muon and reduce scatter cannot
  ///           be used together", wherever states lie; stage_1_and_2.py, DeepSpeedZeroOptimizer,
  ///           "does not support optimizer offload", and issue 7807, pull requests 8090 and 8141
  void note_stop_of_muon() {
    if (stage() == 0 || !keys_.flag("/zero_optimization/reduce_scatter", true)) return;
    const std::string write = "\" beside true, which is its default: write false";
    if (stage() == 3)
      note("zero_optimization.reduce_scatter: DeepSpeed's ZeRO-3 stops at \"" + type_ + write);
    else if (offloads_)
      note("zero_optimization.reduce_scatter: DeepSpeed's ZeRO stops at an offloaded \"" + type_ +
           write);
    else
      note(
          "zero_optimization.reduce_scatter: up to the summer of 2026 DeepSpeed's ZeRO-1 and 2 "
          "stop at \"" +
          type_ + "\" beside true, or update ranks differently; it is the default: write false");
  }

  /// ZeRO takes few optimizers of others unless it is told to.
  ///   Source  DeepSpeed zero/utils.py, ZERO_SUPPORTED_OPTIMIZERS; engine.py,
  ///           _do_optimizer_sanity_check
  void note_untested() {
    if (stage() > 0 && !keys_.flag("/zero_allow_untested_optimizer", false))
      note("zero_allow_untested_optimizer: DeepSpeed's ZeRO stops at \"" + type_ +
           "\" unless this is true");
  }

  /// Without ZeRO DeepSpeed takes it from PyTorch, matrix by matrix. ZeRO hands it its partitions,
  /// which are vectors: as many numbers of variance as weights. So does BF16_Optimizer, which older
  /// versions have in bf16.
  ///   Source  DeepSpeed engine.py, _configure_basic_optimizer, _do_optimizer_sanity_check and
  ///           _configure_optimizer; PyTorch 2.5, torch/optim/_adafactor.py
  std::string adafactor() {
    const bool in_parts =
        stage() > 0 || (!version_.runs_bf16_without_zero() && keys_.flag("/bf16/enabled", false));
    if (!in_parts) {
      note_type(
          "is PyTorch's, from 2.5 on, to which DeepSpeed hands the model's matrices as they are; "
          "the scenario trains with it");
      return "adafactor";
    }
    note_type(
        "of DeepSpeed's ZeRO and BF16_Optimizer updates partitions, which are vectors, and keeps a "
        "variance for each "
        "weight, of a matrix's rows and columns only in stage 0; it is taken as Adam, which has "
        "a momentum besides: memory and bytes are upper bounds by 4 B a parameter");
    note_untested();
    if (offloads_ && keys_.flag("/zero_force_ds_cpu_optimizer", true))
      note(
          "zero_force_ds_cpu_optimizer: DeepSpeed stops at an optimizer of the trainer's own, such "
          "as its optim adafactor, beside offload_optimizer unless this is false; then PyTorch "
          "updates on the CPU, more slowly than Adam here");
    return as_adam();
  }

  /// What the scenario trains with in place of the type. Nothing later knows of that one.
  std::string as_adam() {
    found_.stands_for = "trains with Adam in place of DeepSpeed's \"" + type_ +
                        "\", and an export of it has optimizer.type \"AdamW\": write \"" + type_ +
                        "\" there again";
    if (keys_.flag("/zero_allow_untested_optimizer", false))
      found_.stands_for += ", and zero_allow_untested_optimizer true";
    note("optimizer.type: the scenario " + found_.stands_for);
    return "adam";
  }

  std::string kind() {
    const bool eight = mentions("8bit") || mentions("8_bit");
    if (eight && offloads_)
      keys_.complain("/optimizer/type", "\"" + type_ + "\" has 8-bit states, which no CPU updates",
                     "use AdamW, or leave offload_optimizer out");
    if (eight) {
      note_type(
          "is no type of DeepSpeed's or PyTorch's, at which DeepSpeed stops: leave the section "
          "out, "
          "and hand it the trainer's own, such as bitsandbytes'");
      note_untested();
      return "adam8bit";
    }
    if (keys_.flag("/optimizer/params/torch_adam", false) && offloads_)
      note(
          "optimizer.params.torch_adam: PyTorch's Adam, which takes two to three times as long on "
          "a CPU as DeepSpeed's own; machine.host.adam here is that of DeepSpeed's own");
    if (mentions("sgd") && offloads_)
      keys_.complain(
          "/optimizer/type",
          "\"" + type_ + "\" of a CPU: the CPU optimizers of this version are Adam and Lion",
          "use AdamW or Lion, or leave offload_optimizer out");
    if (mentions("sgd")) note_untested();
    if (mentions("sgd"))
      return keys_.number("/optimizer/params/momentum", 0) > 0 ? "sgd_momentum" : "sgd";
    if (mentions("lion")) return "lion";
    if (mentions("muon")) note_stop_of_muon();
    if (mentions("muon") && is_on_gpu_as_muon()) return "muon";
    if (mentions("adafactor")) return adafactor();
    return near_adam();
  }

  /// Of Adam, or of what is taken as it.
  std::string near_adam() {
    const bool in_one_bit = mentions("onebit") || mentions("zeroone");
    if (in_one_bit && stage() > 0)
      keys_.complain("/optimizer/type", "DeepSpeed stops at \"" + type_ + "\" beside ZeRO",
                     "use AdamW, or zero_optimization.stage 0");
    else if (in_one_bit)
      note_type(
          "sends its momentum in 1 bit; here Adam's gradients in full, so network bytes are an "
          "upper bound");
    else if (mentions("lamb"))
      note_type(
          std::string("has the states of Adam, as which it is taken; DeepSpeed's ZeRO refuses it "
                      "without zero_allow_untested_optimizer") +
          (offloads_ ? ", and its CPU kernels are of Adam, Adagrad and Lion alone" : ""));
    else if (mentions("muon"))
      note_type(
          "of a CPU, of weights off the GPU or of matrices that tensor ranks cut is taken as Adam: "
          "memory and bytes are upper bounds, and its products, which take longer than Adam, are "
          "in no step");
    else if (mentions("adagrad"))
      note_type(
          "has fewer states than Adam, as which it is taken: memory and bytes are upper bounds");
    else if (!is_adam())
      refuse_unknown();
    return is_adam() ? "adam" : as_adam();
  }

  /// By a name that DeepSpeed or PyTorch has.
  ///   Source  DeepSpeed config.py, DEEPSPEED_OPTIMIZERS; engine.py, _configure_basic_optimizer:
  ///           all others are asked of torch.optim
  bool is_adam() const {
    constexpr std::string_view names[] = {"adam",  "adamw",  "muadam",     "muadamw",
                                          "nadam", "adamax", "sparseadam", "radam"};
    return std::any_of(std::begin(names), std::end(names), [&](std::string_view name) {
      return mentions(std::string(name)) && type_.size() == name.size();
    });
  }

  void refuse_unknown() {
    const std::vector<std::string> known = {"Adam",    "AdamW",     "Lamb", "Lion",
                                            "Adagrad", "Adafactor", "Muon", "SGD"};
    keys_.complain("/optimizer/type", description::no_such_name(type_),
                   description::known_names(type_, known));
  }

  DeepSpeedKeys& keys_;
  const DeepSpeedVersion& version_;
  const Updaters& updaters_;
  std::string type_;
  bool offloads_;
  OptimizerFound found_;
};

}  // namespace

double gradient_clipping(DeepSpeedKeys& keys, const DeepSpeedVersion& version) {
  if (keys.is_auto(clipping_key)) return 1;
  return std::max(0.0, keys.number(clipping_key, version.clips_by_default() ? 1 : 0));
}

OptimizerFound read_optimizer(DeepSpeedKeys& keys, const DeepSpeedVersion& version,
                              const Updaters& updaters) {
  return OptimizerImport(keys, version, updaters).run();
}

}  // namespace spillway::scenarios
