#include "scenarios/deepspeed/deepspeed_round_trip.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "scenarios/description/names.hpp"
#include "strategies/layout/landing.hpp"

namespace spillway::scenarios {

using namespace description;
using nlohmann::json;

namespace {

void flatten(const json& value, const std::string& path, std::map<std::string, json>& into) {
  if (value.is_object() && !value.empty())
    for (const auto& [key, child] : value.items())
      flatten(child, path.empty() ? key : path + "." + key, into);
  else
    into[path] = value;
}

std::map<std::string, json> values_of(const Strategy& strategy) {
  std::map<std::string, json> values;
  flatten(json(strategy), "", values);
  return values;
}

/// Knows which values of two scenarios mean the same.
class Comparison {
 public:
  Comparison(const Scenario& asked, const Scenario& back)
      : asked_(asked),
        back_(back),
        parts_(asked.strategy),
        offloads_(parts_.optimizer.device != OptimizerDevice::gpu),
        gathers_(parts_.weights.home != Home::gpu ||
                 (asked.parallel.zero_stage == 3 && asked.parallel.data > 1)),
        in_states_(strategies::lands_in_states(asked) && strategies::lands_in_states(back)) {}

  bool same(const std::string& path, const json& one, const json& other) const {
    if (one == other || path == "system" || path == "preset") return true;
    if (path.starts_with("weights.")) return weights(path.substr(8), one);
    if (path.starts_with("gradients.")) return gradients(path.substr(10), one);
    if (path.starts_with("optimizer.")) return optimizer(path.substr(10));
    if (path == "overflow_check") return in_states_ && one != "none" && other != "none";
    if (path == "pinned") return !offloads_;
    if (path == "io_engine")
      return parts_.weights.home != Home::ssd && parts_.optimizer.home != Home::ssd;
    return false;
  }

 private:
  static std::uint64_t ahead(const WeightsPart& weights) {
    return weights.prefetch_bucket.value() && weights.max_live.value() ? weights.prefetch_blocks
                                                                       : 0;
  }

  bool weights(const std::string& knob, const json& one) const {
    const WeightsPart& weights = parts_.weights;
    const WeightsPart& came = back_.strategy.weights;
    if (knob == "home") return false;
    if (knob == "h2d")
      return weights.home != Home::gpu || parts_.optimizer.home != Home::host || !offloads_;
    if (!gathers_ || knob == "hooks") return true;  // DeepSpeed has its own, whatever is asked
    const bool swapped = weights.home == Home::ssd;
    if (knob == "overlap") return !swapped;
    const bool in_turn = swapped && !weights.overlap && !came.overlap;
    // without a pool it is max_live that limits how far ahead they are fetched
    if (knob == "prefetch_blocks")
      return in_turn || (swapped ? ahead(weights) == ahead(came)
                                 : (ahead(weights) == 0) == (ahead(came) == 0));
    if (knob == "prefetch_bucket" || knob == "max_live")
      return one == "all" || in_turn || (ahead(weights) == 0 && ahead(came) == 0);
    if (knob == "buffer_count" || knob == "buffer_size") return !swapped || one == "auto";
    if (knob == "max_in_host") return !swapped;
    return knob == "page" && weights.pool != PoolKind::pages;
  }

  bool gradients(const std::string& knob, const json& one) const {
    const GradientsPart& part = parts_.gradients;
    const bool sums = asked_.training.gradient_accumulation > 1 || part.main_gradients;
    if (knob == "main_gradients" || knob == "memory") return offloads_;
    if (knob == "norm") return true;  // DeepSpeed has its own, whatever is asked
    if (knob == "policy" || knob == "overlap") return false;
    if (knob == "reduce_bucket") return false;
    if (knob == "collective")
      return asked_.parallel.replicas() == 1 ||
             strategies::scatters_gradients(asked_) == strategies::scatters_gradients(back_);
    if (knob == "sums")
      return asked_.parallel.ranks() == asked_.parallel.pipeline ||
             strategies::sums_at_end(asked_) == strategies::sums_at_end(back_);
    if (knob == "lands")
      return strategies::lands_in_states(asked_) == strategies::lands_in_states(back_);
    if (knob == "accumulation" && asked_.training.precision == Precision::fp32) return true;
    if (!offloads_) return knob == "accumulation" ? !sums : knob != "fused_accumulation";
    if (knob == "fused_accumulation") return true;
    if (knob == "pinned") return one == "auto" && back_.strategy.gradients.pinned == parts_.pinned;
    return in_states_ && knob != "d2h" && part.flush_tail.value() == 0;
  }

  bool optimizer(const std::string& knob) const {
    if (knob == "device" || knob == "home") return false;
    if (knob == "unscale") return true;
    if (knob == "master")  // a CPU has copies of what kernels read on the GPU, asked for or not
      return offloads_ && parts_.weights.home == Home::gpu;
    if (!offloads_) return true;
    const OptimizerPart& part = parts_.optimizer;
    if (knob.starts_with("paths")) return part.home != Home::ssd || only_drive();
    if (knob == "adapt" || knob.starts_with("lanes")) return part.paths.size() < 2;
    if (knob == "host_fill") return part.buffers.has_value() || part.home != Home::ssd;
    for (const char* swapped :
         {"buffers", "pipeline_read", "pipeline_write", "host_cache", "tier_lock"})
      if (knob == swapped) return part.home != Home::ssd;
    return false;
  }

  /// One path, and it is the stripe that DeepSpeed has anyway.
  bool only_drive() const {
    const auto& storage = asked_.machine.storage;
    const auto drives = std::count_if(storage.begin(), storage.end(), [](const StorageSpec& one) {
      return one.kind == StorageKind::ssd;
    });
    return parts_.optimizer.paths.size() == 1 && drives == 1 &&
           std::any_of(storage.begin(), storage.end(), [&](const StorageSpec& one) {
             return one.kind == StorageKind::ssd && parts_.optimizer.paths.contains(one.name);
           });
  }

  const Scenario& asked_;
  const Scenario& back_;
  const Strategy& parts_;
  bool offloads_, gathers_, in_states_;
};

std::string words_of(const json& value) {
  return value.is_null() ? "nothing" : value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

bool one_optimizer_in_deepspeed(const description::Training& one,
                                const description::Training& other) {
  return one.optimizer == other.optimizer || (one.has_plain_adam() && other.has_plain_adam());
}

std::vector<RoundTripDifference> round_trip_differences(const Scenario& asked,
                                                        const Scenario& back) {
  const Comparison comparison(asked, back);
  std::vector<RoundTripDifference> found;
  const auto compare = [&](const std::string& path, const json& one, const json& other) {
    if (one != other) found.push_back({path, words_of(one), words_of(other)});
  };
  auto ours = values_of(asked.strategy);
  const auto theirs = values_of(back.strategy);
  for (const auto& [path, value] : theirs) ours.try_emplace(path, nullptr);
  for (const auto& [path, value] : ours) {
    const auto other = theirs.find(path);
    const json came = other == theirs.end() ? json() : other->second;
    if (!comparison.same(path, value, came)) compare("strategy." + path, value, came);
  }
  const json training = json(asked).at("training"), came = json(back).at("training");
  for (const char* key : {"precision", "optimizer_state"})
    compare(std::string("training.") + key, training.value(key, json()), came.value(key, json()));
  if (!one_optimizer_in_deepspeed(asked.training, back.training))
    compare("training.optimizer", training.value("optimizer", json()),
            came.value("optimizer", json()));
  compare("training.gradient_clipping", asked.training.gradient_clipping,
          back.training.gradient_clipping);
  compare("training.micro_batch", asked.training.micro_batch, back.training.micro_batch);
  compare("training.gradient_accumulation", asked.training.gradient_accumulation,
          back.training.gradient_accumulation);
  compare("parallel.data", asked.parallel.data, back.parallel.data);
  compare("parallel.context", asked.parallel.context, back.parallel.context);
  if (asked.parallel.context > 1)
    compare("parallel.context_kind", name_of(asked.parallel.context_kind),
            name_of(back.parallel.context_kind));
  compare("parallel.tensor", asked.parallel.tensor, back.parallel.tensor);
  compare("parallel.pipeline", asked.parallel.pipeline, back.parallel.pipeline);
  if (asked.parallel.pipeline > 1)
    compare("parallel.schedule", name_of(asked.parallel.schedule), name_of(back.parallel.schedule));
  if (asked.parallel.pieces() > 1)
    compare("parallel.virtual_stages", asked.parallel.virtual_stages, back.parallel.virtual_stages);
  if (asked.parallel.tensor > 1)
    compare("parallel.sequence_parallel", asked.parallel.sequence_parallel,
            back.parallel.sequence_parallel);
  if (asked.parallel.replicas() > 1)
    compare("parallel.zero_stage", asked.parallel.zero_stage, back.parallel.zero_stage);
  return found;
}

}  // namespace spillway::scenarios
