#include "scenarios/settle.hpp"

#include <algorithm>
#include <set>

#include "scenarios/description/names.hpp"

namespace spillway::scenarios {

using namespace description;

namespace {

/// Owns the scenario while rules change it.
class Rules {
 public:
  Rules(Scenario& scenario, const LocatedJson& written, const Strategy& defaults)
      : scenario_(scenario), written_(written), defaults_(defaults) {}

  Settled run() {
    overflow_check();
    gradients();
    active_gradients();
    pool();
    paths();
    io_engine();
    doubtful();
    return std::move(settled_);
  }

 private:
  Strategy& parts() { return scenario_.strategy; }
  bool written(const std::string& path) const { return says(written_, "strategy." + path); }
  template <class T>
  void set(const std::string& path, T& field, T value, const std::string& reason) {
    field = value;
    settled_.reasons["strategy." + path] = reason;
  }

  void overflow_check() {
    const Precision precision = scenario_.training.precision;
    if (parts().overflow_check == OverflowCheck::none) return;
    if (precision == Precision::fp16_mixed || precision == Precision::fp16) return;
    const std::string reason =
        std::string(name_of(precision)) + " has no loss scale, so nothing is checked for overflow";
    if (written("overflow_check"))
      settled_.warnings.push_back("strategy.overflow_check: " + reason);
    set("overflow_check", parts().overflow_check, OverflowCheck::none, reason);
  }

  void gradients() {
    if (scenario_.training.optimizer_state != StateWidth::bf16 || written("gradients.policy"))
      return;
    if (parts().gradients.policy != GradientPolicy::ssd_fp32) return;
    set("gradients.policy", parts().gradients.policy, GradientPolicy::host_fp32,
        "a bf16 optimizer reads gradients from the flat buffer");
  }

  /// Which way gradients come decides how an update that follows them goes.
  void active_gradients() {
    if (!updates_in_backward(parts().gradients.policy)) return;
    if (!written("optimizer.order"))
      set("optimizer.order", parts().optimizer.order, SubgroupOrder::descending,
          "active gradients arrive last layer first");
    if (!written("gradients.convert"))
      set("gradients.convert", parts().gradients.convert, ConvertOn::cpu,
          "active gradients are updated as they land in host memory");
  }

  void pool() {
    WeightsPart& weights = parts().weights;
    if (written("weights.pool")) return;
    const bool pages = weights.pool == PoolKind::pages;
    if (weights.home != Home::ssd && weights.pool != PoolKind::none &&
        !(pages && weights.home == Home::host))
      set("weights.pool", weights.pool, PoolKind::none, "only weights on SSD pass a pool");
    if (weights.home == Home::ssd && (pages || weights.pool == PoolKind::none))
      set("weights.pool", weights.pool, PoolKind::monolithic, "weights on SSD pass a pool");
  }

  void paths() {
    OptimizerPart& optimizer = parts().optimizer;
    if (optimizer.paths.empty()) return;
    every_storage(optimizer);
    const bool asked = written("optimizer.paths");
    if (optimizer.home != Home::ssd) {
      if (asked)
        settled_.warnings.push_back("strategy.optimizer.paths: no use while optimizer.home is \"" +
                                    std::string(name_of(optimizer.home)) + "\"");
      set("optimizer.paths", optimizer.paths, {}, "no use without optimizer.home \"ssd\"");
    } else if (!asked) {
      drop_unknown_paths(optimizer);
    }
  }

  /// "*" stands for each storage that has no weight of its own.
  void every_storage(OptimizerPart& optimizer) {
    const auto all = optimizer.paths.find("*");
    if (all == optimizer.paths.end()) return;
    auto named = optimizer.paths;
    named.erase("*");
    const bool near = optimizer.device == OptimizerDevice::near_storage;
    for (const StorageSpec& storage : scenario_.machine.storage)
      if (!near || storage.near_storage) named.try_emplace(storage.name, all->second);
    set("optimizer.paths", optimizer.paths, named,
        near ? "\"*\" is every storage of the machine with near_storage"
             : "\"*\" is every storage of the machine");
  }

  void drop_unknown_paths(OptimizerPart& optimizer) {
    auto kept = optimizer.paths;
    std::erase_if(kept, [&](const auto& path) {
      const auto& storages = scenario_.machine.storage;
      return std::none_of(storages.begin(), storages.end(),
                          [&](const StorageSpec& storage) { return storage.name == path.first; });
    });
    if (kept.size() != optimizer.paths.size())
      set("optimizer.paths", optimizer.paths, kept,
          "the machine has no other of the preset's storages");
  }

  void io_engine() {
    if (parts().io_engine != IoEngine::gds || scenario_.machine.gpu.gpudirect) return;
    if (written("io_engine")) return;
    const std::string reason =
        "the machine has no GPUDirect Storage, so bytes pass a pinned bounce buffer";
    settled_.warnings.push_back("strategy.io_engine: " + reason);
    set("io_engine", parts().io_engine, IoEngine::direct, reason);
  }

  void doubtful() {
    const Training& training = scenario_.training;
    if (training.optimizer_state == StateWidth::bf16 && training.precision == Precision::fp16_mixed)
      settled_.warnings.push_back(
          "training.optimizer_state: bf16 states with fp16_mixed weights lose range or precision "
          "at "
          "every step");
    if (training.optimizer == OptimizerKind::sgd && says(written_, "training.optimizer_state"))
      settled_.warnings.push_back(
          "training.optimizer_state: SGD without momentum has no states, the width changes "
          "nothing");
    const std::set<std::string> own = particular_knobs(defaults_);
    for (const std::string& path : particular_knobs(parts()))
      if (written(path) && !own.contains(path) && !of_the_planner(path) && !of_chunks(path))
        settled_.warnings.push_back("strategy." + path + ": " + parts().system +
                                    " has no such knob, it changes nothing");
  }

  /// Who plans activations, and how long, is a choice that any system has.
  bool of_the_planner(const std::string& path) const {
    if (path == "plan.lower_limits") return true;  // 0: no other plan is tried
    return scenario_.strategy.activations.policy == ActivationPolicy::plan &&
           (path == "activations.planner" || path == "activations.node_limit" ||
            path == "activations.gap" || path == "activations.time_limit");
  }

  /// Any system with weights in host memory can pack them.
  static bool of_chunks(const std::string& path) {
    return path == "weights.chunk" || path == "weights.chunk_cache";
  }

  Scenario& scenario_;
  const LocatedJson& written_;
  const Strategy& defaults_;
  Settled settled_;
};

}  // namespace

bool says(const LocatedJson& written, const std::string& path) {
  return written.find(pointer_of(path)) != nullptr;
}

Settled settle(Scenario& scenario, const LocatedJson& written, const Strategy& defaults) {
  return Rules(scenario, written, defaults).run();
}

}  // namespace spillway::scenarios
