#include "answers/fit/candidates.hpp"

#include "explore/outcome/outcomes.hpp"
#include "explore/outcome/runs_with.hpp"
#include "explore/remedies/free_settings.hpp"
#include "explore/trials/card_splits.hpp"
#include "explore/trials/ways.hpp"
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
};

/// By layers and inside them.
std::vector<CardSplit> other_splits(const Cards& cards, const Scenario& scenario) {
  std::vector<CardSplit> splits;
  // what trains adapters of packed matrices has one stage at work
  const bool one_at_a_time = description::has_adapters(scenario.training.method) &&
                             scenario.training.gradient_accumulation > 1;
  for (CardSplit split : explore::splits_of_layers(cards.nodes, cards.own)) {
    splits.push_back(split);
    split.one_at_a_time = one_at_a_time && split.tensor == 1;
    if (split.one_at_a_time) splits.push_back(split);
  }
  return splits;
}

std::uint64_t ranks_of_a_sample(const Scenario& scenario) {
  const description::Parallel& parallel = scenario.parallel;
  return parallel.tensor * parallel.pipeline * parallel.context;
}

/// Resolves ways; remembers what is wrong with the first.
class Candidates {
 public:
  Candidates(const json& job, const std::vector<std::string>& overrides)
      : job_(job), overrides_(overrides) {}

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
    std::optional<Scenario> alone;
    if (!cards_) {
      alone = read(way, {});
      if (!alone) return note_refusal(way);
      cards_ = Cards{alone->machine.nodes, alone->machine.gpu.count};
      shared_by_ = ranks_of_a_sample(*alone);
    }
    const CardSplit data{.data =
                             std::max<std::uint64_t>(cards_->nodes * cards_->own / shared_by_, 1)};
    const auto scenario = read(way, data.overrides());
    if (scenario) add(way, data, *scenario);
    if (scenario && found_.back().runnable) add_smaller(way, data, *scenario);
    if (!scenario && !alone) alone = read(way, {});
    if (!scenario && !alone) return note_refusal(way);
    if (!way.splits_layers) return;
    for (const CardSplit& split : other_splits(*cards_, scenario ? *scenario : *alone))
      if (const auto other = read(way, split.overrides())) add(way, split, *other);
  }

  /// The same with what makes its gradients smaller.
  void add_smaller(const explore::Way& way, const CardSplit& split, const Scenario& scenario) {
    for (const explore::FreeSettings& smaller :
         explore::smaller_gradients_of(scenario, overrides_)) {
      std::vector<std::string> all = split.overrides();
      all.insert(all.end(), smaller.overrides.begin(), smaller.overrides.end());
      const auto other = read(way, all);
      if (!other || !explore::runs_with(*other).runnable) continue;
      explore::Way named = way;
      named.name += explore::parts_in_name(smaller.overrides);
      add(named, split, *other, ways_ - 1);
    }
  }

  void add(const explore::Way& way, const CardSplit& split, const Scenario& scenario,
           std::optional<std::size_t> instead_of = std::nullopt) {
    const bool runnable = explore::runs_with(scenario).runnable;
    for (const std::uint64_t batch : batches_for(way, scenario)) {
      Candidate& fresh = found_.emplace_back();
      fresh.name = way.name + split.name();
      fresh.scenario = scenario;
      fresh.scenario.training.micro_batch = batch;
      fresh.way = ways_;
      fresh.instead_of = instead_of;
      fresh.runnable = runnable;
      fresh.says_max_in_host = explore::name_path(overrides_, "strategy.weights.max_in_host");
      fresh.plans = way.plans;
    }
    ++ways_;
  }

  const json& job_;
  const std::vector<std::string>& overrides_;
  const std::vector<scenarios::SystemInfo> systems_ = explore::known_systems();
  std::optional<Cards> cards_;
  std::uint64_t shared_by_ = 1;  ///< ranks that share a sample in whatever way, as overrides say
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
