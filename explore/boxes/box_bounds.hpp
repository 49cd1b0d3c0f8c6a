#pragma once

#include "explore/outcome/outcomes.hpp"
#include "scenarios/document/box.hpp"
#include "strategies/bounds/mandatory.hpp"

#include <deque>
#include <map>

namespace spillway::explore {

/// One way to train on a box.
struct BoxSetting {
  std::string words;                   ///< "lohan, micro-batch 8"
  std::string system;                  ///< of the catalogue
  std::vector<std::string> overrides;  ///< "path=value"
  bool searched = true;                ///< false: tried on the box that is found, not searched with
  std::uint64_t micro_batch = 1;
  std::uint64_t accumulation = 1;  ///< micro-batches a step, where the need says no global batch
  std::uint64_t cards = 1;         ///< that share layers; data is by so many
  bool asks_more =
      false;  ///< of a user than another of the system, which is taken if nearly as fast
};

/// What is asked of a box.
struct BoxNeed {
  nlohmann::json job;  ///< a scenario without a machine
  std::vector<BoxSetting> settings;
  std::vector<std::string> overrides;  ///< of all settings, after their own
  double tokens_per_day = 0;
  double budget_usd = 0;
  std::optional<double> years;     ///< that its drives have to last
  std::uint64_t global_batch = 0;  ///< samples of a step; 0: what the settings make

  /// Micro-batches a step of `setting` on so many cards; 0: none make the global batch,
  /// or the setting shares layers among others.
  std::uint64_t accumulation(std::size_t setting, std::uint64_t gpus) const;
  /// Its words, "lohan, micro-batch 8 x 2".
  std::string words(std::size_t setting, std::uint64_t gpus) const;
  /// Overrides that make `setting` on a machine of so many cards.
  std::vector<std::string> on(std::size_t setting, std::uint64_t gpus) const;
};

/// Bounds of boxes under each setting, in closed form once a box of its shape was counted: boxes
/// have one shape when their machines differ in rates, sizes and prices only. A setting whose
/// pipeline is cut by time is counted once for each cut that the rates of these cards make.
class BoxBounds {
 public:
  /// Keeps references to both.
  BoxBounds(const scenarios::PriceList& list, const BoxNeed& need) : list_(list), need_(need) {}

  /// By setting: no schedule trains more tokens a day on the box; 0 where it cannot do what is
  /// asked: a memory is too small, drives wear out too soon at the rate that is asked for, or the
  /// parts contradict each other; without a bound for what is not searched with.
  const std::vector<double>& of(const scenarios::Box& box);

  /// What was wrong with the first setting that contradicts itself, while none did not.
  const std::optional<description::ScenarioError>& error() const { return error_; }
  /// Bounds that were computed.
  std::uint64_t bounded() const { return bounded_; }

 private:
  /// A setting on boxes of one shape.
  struct Group {
    std::optional<description::Scenario> scenario;  ///< nothing: it contradicts itself
    std::deque<strategies::Mandatory> counted;      ///< one, or of pipelines one for each cut
    std::map<std::size_t, const strategies::Mandatory*> by_rates;  ///< of these, of pipelines
    double tokens = 0;                                             ///< of a step
  };
  /// A setting on one box.
  struct Asked {
    std::size_t setting, shape, rates;
    const scenarios::Box& box;
    const nlohmann::json& written;  ///< its machine file
    const description::MachineFile& machine;
  };
  description::Scenario scenario_of(std::size_t setting, const scenarios::Box& box,
                                    const nlohmann::json& machine) const;
  Group& group(std::size_t setting, std::size_t shape, const scenarios::Box& box,
               const nlohmann::json& machine);
  const strategies::Mandatory* mandatory(Group& group, const Asked& asked) const;
  double most_tokens_per_day(const Asked& asked);
  std::size_t index_of_rates(const description::GpuSpec& gpu);

  const scenarios::PriceList& list_;
  const BoxNeed& need_;
  const std::vector<scenarios::SystemInfo> systems_ = known_systems();
  std::map<std::string, std::size_t> shapes_;  ///< numbers of machine shapes
  std::vector<description::GpuSpec> rates_;    ///< of cards whose kernels take different times
  std::map<std::pair<std::size_t, std::size_t>, Group> groups_;  ///< by setting and shape
  std::map<scenarios::Box, std::vector<double>> known_;
  std::optional<description::ScenarioError> error_;
  bool resolved_ = false;
  std::uint64_t bounded_ = 0;
};

}  // namespace spillway::explore
