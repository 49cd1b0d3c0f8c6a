#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/architecture/model.hpp"
#include "reports/text/text.hpp"
#include "scenarios/deepspeed/deepspeed_keys.hpp"
#include "scenarios/deepspeed/deepspeed_version.hpp"
#include "scenarios/deepspeed/import_wrapper.hpp"

namespace spillway::scenarios {

/// Elements of all the weights that a layer uses, a tied embedding's included.
std::uint64_t elements_used(const models::Model& model, std::uint32_t layer);

/// The strategy that the zero_optimization of a configuration describes.
class ZeroImport {
 public:
  /// Of the model's width Hugging Face's "auto" makes sizes. What is assumed or left out goes to
  /// `notes`.
  ZeroImport(DeepSpeedKeys& keys, const DeepSpeedVersion& version, const models::Model& model,
             std::vector<text::Text>& notes);

  /// Before strategy() the one that is written; then 1 where DeepSpeed shares states without ZeRO.
  std::uint64_t stage() const {
    return stage_ == 0 && wrapper_.wrapper == Wrapper::bf16_optimizer ? 1 : stage_;
  }
  /// The optimizer's states lie outside the GPU.
  bool offloads() const { return optimizer_ != "none"; }
  /// ZenFlow's micro-batches between two updates, which DeepSpeed takes for its accumulation; none:
  /// it is off.
  std::optional<std::uint64_t> update_interval() const { return update_interval_; }
  /// "resident", "zero_offload", "superoffload", "zenflow" or "zero_infinity", by what is offloaded
  const std::string& system() const { return system_; }
  /// Offloaded to the CPU or to NVMe without a word about pinning.
  bool pinning_unsaid() const { return pinning_unsaid_; }
  /// ranks  that share what the stage shares; one alone gathers nothing, and no setting of that is
  ///         written
  nlohmann::json strategy(const std::string& precision, std::uint64_t ranks);
  /// After strategy(): BF16_Optimizer's, which ranks all-reduce whatever the file says.
  bool has_main_gradients() const { return wrapper_.wrapper == Wrapper::bf16_optimizer; }
  /// After strategy(): masters, gradients and states have 16 bits.
  bool narrow_states() const { return narrow_states_; }

 private:
  void note(const std::string& text) { notes_.push_back(text); }
  void read_stage();
  void read_offload();
  void read_speculation();
  void read_zenflow();
  void read_narrow_states(const std::string& precision);
  void require_cpu_adam(const std::string& beside);
  bool steps_late();
  bool offloads_columns();
  bool pinned(const std::string& section);
  nlohmann::json weights(const std::string& precision, std::uint64_t ranks);
  void pool(nlohmann::json& weights);
  nlohmann::json pool_setting(const std::string& key, const char* upstream);
  nlohmann::json activations();
  nlohmann::json gradients();
  bool blocks_and_converts() const;
  double cpu_share();
  nlohmann::json optimizer();
  bool sharded() const { return stage_ == 3; }
  bool fetches_ahead();
  std::uint64_t blocks_ahead(std::uint64_t live) const;

  DeepSpeedKeys& keys_;
  const DeepSpeedVersion& version_;
  const models::Model& model_;
  std::uint64_t hidden_;
  std::vector<text::Text>& notes_;
  std::uint64_t stage_ = 0;
  std::string param_ = "none", optimizer_ = "none", system_ = "resident";
  bool pinning_unsaid_ = false;
  std::optional<std::uint64_t> update_interval_;
  bool speculates_ = false;  ///< SuperOffload, and nothing that makes it wait
  bool narrow_states_ = false;
  WrapperFound wrapper_;
};

}  // namespace spillway::scenarios
