#include "answers/fit/candidates.hpp"

#include "explore/outcome/outcomes.hpp"
#include "explore/outcome/runs_with.hpp"
#include "explore/remedies/free_settings.hpp"
#include "explore/trials/expert_ways.hpp"
#include "models/architecture/architecture.hpp"
#include "scenarios/document/document.hpp"
#include "strategies/systems/catalogue.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace spillway::answers {

using description::Scenario;
using explore::CardSplit;
using nlohmann::json;

namespace {

const std::vector<std::uint64_t> batches = {32, 16, 8, 4, 2, 1};
/// Of a way that plans for each tensor: a simulation takes as long as ten of another, and more
/// samples make it slower once its storage is busy.
const std::vector<std::uint64_t> batches_of_plans = {4, 1};

/// What a machine has to share work among.
struct Cards {
  std::uint64_t nodes = 1, own = 1;  ///< own: of a node
  std::uint64_t shared_by = 1;       ///< ranks that share a sample, as overrides say

  std::uint64_t all_by_data() const { return std::max<std::uint64_t>(nodes * own / shared_by, 1); }
};

std::uint64_t said_count(const json* of, const char* key) {
  const bool said = of && of->is_object() && of->contains(key) && (*of)[key].is_number_unsigned();
  return said ? std::max<std::uint64_t>((*of)[key].get<std::uint64_t>(), 1) : 1;
}

/// Before any way is read: what is said of ranks may fit all cards, and not one.
///   Result  nothing where it cannot be read; whoever reads a way says what is wrong
std::optional<Cards> cards_of(const json& job, const std::vector<std::string>& overrides) {
  try {
    const scenarios::Document document =
        scenarios::assemble(scenarios::located_at(job, {}), overrides);
    if (!document.machine.present) return std::nullopt;
    const json& machine = document.machine.json.value;
    const json* parallel = document.scenario.find("/parallel");
    const json* gpu = machine.contains("gpu") ? &machine["gpu"] : nullptr;
    Cards cards{said_count(&machine, "nodes"), said_count(gpu, "count")};
    for (const char* ranks : {"tensor", "pipeline", "context"})
      cards.shared_by *= said_count(parallel, ranks);
    return cards;
  } catch (const description::ScenarioError&) {
    return std::nullopt;
  }
}

/// By layers and inside them, and by the experts of layers.
///   data  all cards by data
std::vector<CardSplit> other_splits(const Cards& cards, const CardSplit& data,
                                    const Scenario& scenario,
                                    const std::vector<std::string>& overrides) {
  std::vector<CardSplit> splits;
  // what trains adapters of packed matrices has one stage at work
  const bool one_at_a_time = description::has_adapters(scenario.training.method) &&
                             scenario.training.gradient_accumulation > 1;
  for (CardSplit split : explore::splits_of_layers(cards.nodes, cards.own)) {
    splits.push_back(split);
    split.one_at_a_time = one_at_a_time && split.tensor == 1;
    if (split.one_at_a_time) splits.push_back(split);
  }
  if (explore::name_path(overrides, "parallel.expert") ||
      scenario.strategy.weights.experts_on_cpu())
    return splits;
  std::vector<CardSplit> by_data = splits;
  by_data.insert(by_data.begin(), data);
  const std::uint64_t experts = models::architecture_of(scenario).experts;
  for (const CardSplit& split : explore::splits_of_experts(by_data, cards.own, experts))
    splits.push_back(split);
  return splits;
}

/// Resolves ways; remembers what is wrong with the first.
class Candidates {
 public:
  Candidates(const json& job, const std::vector<std::string>& overrides)
      : job_(job), overrides_(overrides), cards_(cards_of(job, overrides).value_or(Cards())) {}

  /// See candidates_of.
  std::vector<text::Text> refused() const {
    std::vector<text::Text> all;
    for (const auto& [why, names] : refused_)
      all.push_back(text::filled("not simulated with what is asked for: {}; {}",
                                 {fmt::format("{}", fmt::join(names, ", ")), why}));
    return all;
  }

  std::vector<Candidate> all(const std::vector<std::string>& systems) {
    for (const explore::Way& way : explore::ways_of(systems, {}, job_, overrides_)) add(way);
    if (found_.empty() && wrong_) throw *wrong_;
    return std::move(found_);
  }

 private:
  std::optional<Scenario> read(const explore::Way& way, const std::vector<std::string>& more) {
    std::vector<std::string> all = way.overrides;
    all.insert(all.end(), more.begin(), more.end());
    all.insert(all.end(), overrides_.begin(), overrides_.end());
    try {
      return scenarios::read_scenario(job_, all, systems_, scenarios::Refuse::what_cannot_run)
          .scenario;
    } catch (const description::ScenarioError& error) {
      if (!wrong_) wrong_ = error;
      last_wrong_ = error;
      return std::nullopt;
    }
  }

  /// A way that cannot be read; its error is the last one.
  void note_refusal(const explore::Way& way) {
    const strategies::System* system = strategies::find_system(way.name);
    if (!system || overrides_.empty() || !explore::runs_with(*system).runnable) return;
    const description::Complaint& first = last_wrong_->complaints().front();
    const std::string why = first.path + ": " + first.message;
    try {
      scenarios::read_scenario(job_, way.overrides, systems_, scenarios::Refuse::what_cannot_run);
      refused_[why].push_back(way.name);
    } catch (const description::ScenarioError&) {
      return;  // it is not for this job whatever the overrides
    }
  }

  /// The one that is said, where one is.
  std::vector<std::uint64_t> batches_for(const explore::Way& way, const Scenario& scenario) const {
    if (explore::name_path(overrides_, "training.micro_batch"))
      return {scenario.training.micro_batch};
    return way.plans ? batches_of_plans : batches;
  }

  void add(const explore::Way& way) {
    const CardSplit data{.data = cards_.all_by_data()};
    const auto scenario = read(way, data.overrides());
    if (scenario) add(way, data, *scenario);
    if (scenario && found_.back().runnable) add_leaner(way, data, *scenario);
    const auto alone = scenario ? scenario : read(way, {});
    if (!alone) return note_refusal(way);
    if (!way.splits_layers) return;
    for (const CardSplit& split : other_splits(cards_, data, *alone, overrides_))
      if (const auto other = read(way, split.overrides())) add(way, split, *other);
  }

  /// The same with what needs less memory and costs nothing.
  void add_leaner(const explore::Way& way, const CardSplit& split, const Scenario& scenario) {
    for (const explore::FreeSettings& leaner : explore::less_memory_of(scenario, overrides_)) {
      std::vector<std::string> all = split.overrides();
      all.insert(all.end(), leaner.overrides.begin(), leaner.overrides.end());
      const auto other = read(way, all);
      if (!other || !explore::runs_with(*other).runnable) continue;
      explore::Way named = way;
      named.name += explore::parts_in_name(leaner.overrides);
      add(named, split, *other, ways_ - 1, leaner.frees_gpu);
    }
  }

  void add(const explore::Way& way, const CardSplit& split, const Scenario& scenario,
           std::optional<std::size_t> instead_of = std::nullopt, bool frees_gpu = false) {
    const bool runnable = explore::runs_with(scenario).runnable;
    for (const std::uint64_t batch : batches_for(way, scenario)) {
      Candidate& fresh = found_.emplace_back();
      fresh.name = way.name + split.name();
      fresh.scenario = scenario;
      fresh.scenario.training.micro_batch = batch;
      fresh.way = ways_;
      fresh.instead_of = instead_of;
      fresh.frees_gpu = frees_gpu;
      fresh.runnable = runnable;
      fresh.says_max_in_host = explore::name_path(overrides_, "strategy.weights.max_in_host");
      fresh.plans = way.plans;
    }
    ++ways_;
  }

  const json& job_;
  const std::vector<std::string>& overrides_;
  const std::vector<scenarios::SystemInfo> systems_ = explore::known_systems();
  const Cards cards_;
  std::vector<Candidate> found_;
  std::optional<description::ScenarioError> wrong_, last_wrong_;
  std::map<std::string, std::vector<std::string>> refused_;  ///< systems by what is wrong
  std::size_t ways_ = 0;
};

}  // namespace

std::string Candidate::words() const { return fmt::format("{}, micro-batch {}", name, batch()); }

Candidate Candidate::with_batch(std::uint64_t batch) const {
  Candidate other = *this;
  other.scenario.training.micro_batch = batch;
  other.most_tokens_per_s.reset();
  return other;
}

std::vector<Candidate> candidates_of(const json& job, const std::vector<std::string>& overrides,
                                     const std::vector<std::string>& systems,
                                     std::vector<text::Text>* refused) {
  Candidates candidates(job, overrides);
  std::vector<Candidate> all = candidates.all(systems);
  if (refused) *refused = candidates.refused();
  return all;
}

}  // namespace spillway::answers
