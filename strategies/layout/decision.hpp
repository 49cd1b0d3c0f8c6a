#pragma once

#include "reports/text/text.hpp"
#include "strategies/layout/delays.hpp"
#include "strategies/layout/fates.hpp"
#include "strategies/layout/prepared.hpp"
#include "strategies/layout/tensor_table.hpp"

#include <memory>
#include <nlohmann/json.hpp>

namespace spillway::strategies {

struct RankPlan;

/// Memory that a run takes because there is room for it, and would do without.
struct Filled {
  std::uint64_t host = 0;                 ///< bytes of a node
  std::optional<std::uint64_t> gpu_peak;  ///< of a GPU without it; absent: nothing is filled
};

/// Whether tiers that are too small end a run, or grow to find what it needs.
enum class Tiers : bool { fixed, grow };

/// A plan for less of a machine may be the better one on all of it: the run is that of the lesser
/// machine, and its result stands for the scenario as it was asked.
struct StandsFor {
  nlohmann::json question;  ///< Result::scenario
  text::Text note;          ///< the last of Result::notes
};

/// All that is decided of a run before it begins.
struct Decided {
  /// With the values that `auto` stood for.
  description::Scenario scenario;
  std::shared_ptr<const Prepared> prepared;
  /// What a rank holds of each weight; a table a pipeline stage, or the only one.
  std::vector<TensorTable> tensors{};
  ActivationPlan fates;  ///< of the whole program's saved tensors
  /// By rank, of a system that plans whole steps, up to the first that finds no room; null: others.
  std::shared_ptr<const std::vector<RankPlan>> ranks{};
  /// By rank: modules of blocks, from the first, whose saved tensors a cache stores until it has
  /// measured a step; empty: no cache plans its budget by times.
  std::vector<std::size_t> cached_modules{};
  /// By rank: delays that a reference repeats (`optimizer.staleness` async on the GPU).
  std::vector<Delays> replay{};
  Filled filled{};
  Tiers tiers = Tiers::fixed;  ///< of the machine that it was made for
  nlohmann::json report{};     ///< Result::plan of planners of saved tensors; null: none planned
  std::vector<text::Text> notes{};  ///< Result::notes of who decided
  /// Result::scenario: as it was asked, automatic where the run's own plan had to find a value.
  nlohmann::json question{};
  std::optional<StandsFor> stands_for{};
};

/// A decision: made once, between the scenario and the machine, and never changed. Copies share it.
class Decision {
 public:
  explicit Decision(Decided all) : all_(std::make_shared<const Decided>(std::move(all))) {}
  const Decided* operator->() const { return all_.get(); }
  const Decided& operator*() const { return *all_; }

 private:
  std::shared_ptr<const Decided> all_;
};

/// The same, of a reference that repeats the delays of a training.
Decision repeating(const Decision& decision, std::vector<Delays> delays);

}  // namespace spillway::strategies
