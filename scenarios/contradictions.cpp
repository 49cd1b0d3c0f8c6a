#include "scenarios/contradictions.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <tuple>

#include "scenarios/description/names.hpp"
#include "scenarios/description/quantity.hpp"
#include "scenarios/schema_check.hpp"
#include "scenarios/settle.hpp"

namespace spillway::scenarios {

using namespace description;

namespace {

struct CheckedPart {
  std::string path;   ///< without "strategy."
  std::string value;  ///< as a person writes it
};

template <class E>
CheckedPart part(const char* path, E value) {
  return {path, "\"" + std::string(name_of(value)) + "\""};
}
CheckedPart part(const char* path, bool value) { return {path, value ? "true" : "false"}; }
CheckedPart part(const char* path, std::uint64_t value) { return {path, std::to_string(value)}; }

/// Collects what contradicts in one scenario.
class Checks {
 public:
  Checks(const Scenario& scenario, const LocatedJson& written)
      : scenario_(scenario), written_(written), parts_(scenario.strategy) {}

  void run(const models::Model* model) {
    if (model) {
      shape(*model);
      pool_sizes(*model);
      rates();
    }
    ranks();
    pool();
    optimizer();
    storages();
    gradients();
    engine();
    tensor_cache();
  }
  std::vector<Complaint> finish() { return std::move(complaints_); }

 private:
  void complain(const std::string& path, const std::string& message, const std::string& hint) {
    complaints_.push_back(placed_in(written_, {"", 0, 0, path, message, hint}));
  }
  void exclude(const CheckedPart& one, const CheckedPart& other, const std::string& why,
               const std::string& fix) {
    const bool first =
        says(written_, "strategy." + one.path) || !says(written_, "strategy." + other.path);
    complain(
        "strategy." + (first ? one.path : other.path),
        one.path + " " + one.value + " contradicts " + other.path + " " + other.value + ": " + why,
        fix);
  }

  void ranks() {
    const Parallel& parallel = scenario_.parallel;
    const std::uint64_t gpus = scenario_.machine.gpus();
    if (parallel.ranks() > gpus)
      complain("parallel",
               fmt::format("data {} x tensor {} x pipeline {} makes {} ranks, but {} has {} GPU{}",
                           parallel.data, parallel.tensor, parallel.pipeline, parallel.ranks(),
                           scenario_.machine.name, gpus, gpus == 1 ? "" : "s"),
               "lower one of them or raise machine.gpu.count or machine.nodes");
  }

  void shape(const models::Model& model) {
    const models::Architecture& a = model.architecture;
    const Parallel& parallel = scenario_.parallel;
    if (a.max_positions > 0 && scenario_.training.sequence > a.max_positions)
      complain("training.sequence",
               fmt::format("{} tokens, but {} has {} positions", scenario_.training.sequence,
                           model.name(), a.max_positions),
               fmt::format("write at most {}", a.max_positions));
    for (const auto& [what, count] : a.shared_by_ranks()) divides(what, count);
    if (const std::string why = models::refusal(a, scenario_.training.experts); !why.empty())
      complain("training.experts", why, "leave it out or write \"stacked\"");
    if (parallel.pipeline > a.layers + a.encoder_layers)
      complain("parallel.pipeline",
               fmt::format("{} stages, but {} has {} blocks", parallel.pipeline, model.name(),
                           a.layers + a.encoder_layers),
               "");
  }
  void divides(const char* what, std::uint64_t count) {
    const std::uint64_t tensor = scenario_.parallel.tensor;
    if (count % tensor != 0)
      complain("parallel.tensor",
               fmt::format("{} does not divide the {} {} of {}", tensor, count, what,
                           scenario_.model_name),
               "");
  }

  void rates() {
    const Precision precision = scenario_.training.precision;
    const auto starts = [&](const char* type) { return name_of(precision).starts_with(type); };
    const std::string type = starts("fp16") ? "fp16" : starts("bf16") ? "bf16" : "fp32";
    if (scenario_.machine.gpu.compute.contains(type)) return;
    complain("training.precision",
             fmt::format("\"{}\" needs machine.gpu.compute.{}, which {} does not have",
                         name_of(precision), type, scenario_.machine.name),
             type == "fp32" ? "add its rate, of fp32 or tf32, or train in another precision"
                            : "add its rate or train in another precision");
  }

  void pool() {
    const WeightsPart& weights = parts_.weights;
    if (weights.pool == PoolKind::pages && weights.home != Home::host)
      exclude(part("weights.pool", weights.pool), part("weights.home", weights.home),
              "pages are what weights in host memory consist of",
              "set weights.home to \"host\" or weights.pool to \"none\"");
    else if (weights.pool != PoolKind::none && weights.pool != PoolKind::pages &&
             weights.home != Home::ssd)
      exclude(part("weights.pool", weights.pool), part("weights.home", weights.home),
              "a pool buffers weights that come from SSD",
              "set weights.home to \"ssd\" or weights.pool to \"none\"");
    if (weights.pool == PoolKind::none && weights.home == Home::ssd)
      exclude(part("weights.pool", weights.pool), part("weights.home", weights.home),
              "weights from SSD need host buffers to land in",
              "set weights.pool to \"monolithic\" or \"adaptive\"");
  }

  void pool_sizes(const models::Model& model) {
    const WeightsPart& weights = parts_.weights;
    if (weights.home != Home::ssd || weights.pool != PoolKind::monolithic) return;
    const Parallel& parallel = scenario_.parallel;
    const std::uint64_t largest =
        divide_up(model.largest_tensor().value(), parallel.data * parallel.tensor);
    if (weights.buffer_size && weights.buffer_size->value() < largest)
      complain("strategy.weights.buffer_size",
               fmt::format("{} is below the largest tensor of a rank, {} params",
                           to_text(*weights.buffer_size), largest),
               "raise it or write \"auto\"");
    const std::uint64_t least = 2 + 7 * weights.prefetch_blocks;
    if (weights.buffer_count && *weights.buffer_count < least)
      exclude(
          part("weights.buffer_count", *weights.buffer_count),
          part("weights.prefetch_blocks", weights.prefetch_blocks),
          fmt::format("2 vocabulary tensors and 7 of each block in flight need {} buffers", least),
          "raise buffer_count or write \"auto\"");
  }

  void optimizer() {
    const OptimizerPart& optimizer = parts_.optimizer;
    const std::uint64_t set = parts_.gradients.policy == GradientPolicy::ssd_fp32 ? 4 : 3;
    const std::uint64_t paths = std::max<std::size_t>(1, optimizer.paths.size());
    if (optimizer.home == Home::ssd && optimizer.buffers && *optimizer.buffers * paths < 2 * set)
      for (const auto& [path, on] :
           {std::pair{"optimizer.pipeline_read", optimizer.pipeline_read},
            std::pair{"optimizer.pipeline_write", optimizer.pipeline_write}})
        if (on)
          exclude(
              part(path, true), part("optimizer.buffers", *optimizer.buffers),
              fmt::format("a sub-group in flight needs a set of {} buffers beside the one being "
                          "updated",
                          set),
              fmt::format("set optimizer.buffers to {} or more", divide_up(2 * set, paths)));
    const Training& training = scenario_.training;
    const bool mixed = name_of(training.precision).ends_with("_mixed");
    if (training.optimizer == OptimizerKind::sgd && !mixed && optimizer.home == Home::ssd)
      complain(
          "strategy.optimizer.home",
          "optimizer.home \"ssd\" contradicts training.optimizer \"sgd\": without momentum and "
          "master weights there are no states to keep there",
          "set optimizer.home to \"gpu\" or training.optimizer to \"adam\"");
  }

  void storages() {
    const auto& storage = scenario_.machine.storage;
    std::vector<std::string> known;
    for (const StorageSpec& one : storage) known.push_back(one.name);
    for (const auto& [name, share] : parts_.optimizer.paths) known_storage("paths", name, known);
    for (const auto& [name, count] : parts_.optimizer.lanes) known_storage("lanes", name, known);
    const bool drives = std::any_of(storage.begin(), storage.end(), [](const StorageSpec& one) {
      return one.kind == StorageKind::ssd;
    });
    if (drives || scenario_.run.io_bench) return;  // a stream goes to any storage
    const bool paths = !parts_.optimizer.paths.empty() && !storage.empty();
    needs_drive(part("weights.home", parts_.weights.home), parts_.weights.home == Home::ssd);
    needs_drive(part("optimizer.home", parts_.optimizer.home),
                parts_.optimizer.home == Home::ssd && !paths);
    needs_drive(part("gradients.policy", parts_.gradients.policy),
                parts_.gradients.policy == GradientPolicy::ssd_fp32 && !paths);
    needs_drive(part("activations.policy", parts_.activations.policy),
                parts_.activations.policy == ActivationPolicy::checkpoint_ssd);
    const auto& homes = parts_.activations.homes;
    needs_drive(part("activations.policy", parts_.activations.policy),
                (parts_.activations.policy == ActivationPolicy::swap ||
                 parts_.activations.policy == ActivationPolicy::plan ||
                 parts_.activations.policy == ActivationPolicy::tensor_cache) &&
                    std::find(homes.begin(), homes.end(), "ssd") != homes.end());
  }
  void known_storage(const std::string& knob, const std::string& name,
                     const std::vector<std::string>& known) {
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    const std::string path = "strategy.optimizer." + knob + "." + name;
    Complaint complaint = unknown_name({}, path, name, known);
    if (known.empty()) complaint.hint = scenario_.machine.name + " has no storage";
    complaints_.push_back(placed_in(written_, std::move(complaint)));
  }
  void needs_drive(const CheckedPart& user, bool needed) {
    if (!needed) return;
    complain("strategy." + user.path,
             user.path + " " + user.value + " needs a storage of kind \"ssd\", but " +
                 scenario_.machine.name + " has none",
             "choose another home or add one to machine.storage");
  }

  void gradients() {
    const GradientPolicy policy = parts_.gradients.policy;
    if (updates_in_backward(policy) && parts_.overflow_check != OverflowCheck::none)
      exclude(part("overflow_check", parts_.overflow_check), part("gradients.policy", policy),
              "an overflow is known after the last gradient, when the first are applied already",
              "set overflow_check to \"none\" or gradients.policy to \"ssd_fp32\"");
    if (parts_.gradients.lands == Landing::states) lands_in_states();
  }

  /// Only what keeps weights on the GPU and fp32 states in host memory has gradients to land in.
  void lands_in_states() {
    const CheckedPart lands = part("gradients.lands", Landing::states);
    const std::string why = "only fp32 gradients of states in host memory take them in";
    const std::string fix = "set gradients.lands to \"auto\"";
    if (parts_.gradients.policy != GradientPolicy::host_fp32)
      exclude(lands, part("gradients.policy", parts_.gradients.policy), why, fix);
    if (parts_.weights.home != Home::gpu)
      exclude(lands, part("weights.home", parts_.weights.home), why, fix);
    if (parts_.optimizer.home != Home::host)
      exclude(lands, part("optimizer.home", parts_.optimizer.home), why, fix);
    if (parts_.optimizer.device != OptimizerDevice::cpu)
      exclude(lands, part("optimizer.device", parts_.optimizer.device), why, fix);
  }

  void engine() {
    if (parts_.io_engine == IoEngine::gds && !scenario_.machine.gpu.gpudirect)
      complain("strategy.io_engine",
               "io_engine \"gds\" contradicts machine.gpu.gpudirect false: SSDs cannot reach GPU "
               "memory on " +
                   scenario_.machine.name,
               "write \"direct\"; bytes then pass a pinned bounce buffer");
    const auto& storage = scenario_.machine.storage;
    const bool near = std::any_of(storage.begin(), storage.end(), [](const StorageSpec& one) {
      return one.near_storage.has_value();
    });
    if (parts_.optimizer.device == OptimizerDevice::near_storage && !near)
      complain("strategy.optimizer.device",
               "optimizer.device \"near_storage\" needs a storage with near_storage, but " +
                   scenario_.machine.name + " has none",
               "add storage[].near_storage or set optimizer.device to \"cpu\"");
  }

  void tensor_cache() {
    const auto& [cancel, forwarding] =
        std::tie(parts_.activations.cancel, parts_.activations.forwarding);
    if (forwarding == false && cancel && *cancel != CancelStores::never)
      exclude(part("activations.cancel", *cancel), part("activations.forwarding", false),
              "only a store whose tensor was forwarded can be cancelled",
              "set activations.cancel to \"never\" or activations.forwarding to true");
  }

  const Scenario& scenario_;
  const LocatedJson& written_;
  const Strategy& parts_;
  std::vector<Complaint> complaints_;
};

}  // namespace

Complaint placed_in(const LocatedJson& written, Complaint complaint) {
  const Place place = written.place(pointer_of(complaint.path));
  complaint.file = place.file;
  complaint.line = place.line;
  complaint.column = place.column;
  return complaint;
}

std::vector<Complaint> contradictions(const Scenario& scenario, const models::Model* model,
                                      const LocatedJson& written) {
  Checks checks(scenario, written);
  checks.run(model);
  return checks.finish();
}

}  // namespace spillway::scenarios
