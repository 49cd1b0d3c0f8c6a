#include "answers/fit/search.hpp"

#include "explore/runs_with.hpp"
#include "explore/ways.hpp"
#include "strategies/catalogue.hpp"
#include "strategies/counting/mandatory.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <limits>

namespace spillway::answers {

using description::Scenario;
using nlohmann::json;

namespace {

const std::vector<std::uint64_t> batches = {32, 16, 8, 4, 2, 1};
/// Of a way that plans for each tensor: a simulation takes as long as ten of another, and more
/// samples make it slower once its storage is busy.
const std::vector<std::uint64_t> batches_of_plans = {4, 1};
/// Simulations that other systems than those that people can run get at most.
constexpr std::uint64_t most_of_others = 12;

/// What can be faster by less is not simulated.
constexpr double worth_a_look = 1.02;

/// How the cards of a node share the work.
struct Split {
  std::string words;
  std::vector<std::string> overrides;
};

std::vector<Split> splits_of(const Scenario& alone) {
  const std::uint64_t nodes = alone.machine.nodes, own = alone.machine.gpu.count;
  const auto set = [](const char* how, std::uint64_t number) {
    return fmt::format("parallel.{}={}", how, number);
  };
  std::vector<Split> splits = {{"", {set("data", nodes * own)}}};
  const bool stages = alone.strategy.system == "resident";
  if (own > 1 && stages)
    for (const char* how : {"tensor", "pipeline"})
      splits.push_back({fmt::format(", {} {}", how, own), {set("data", nodes), set(how, own)}});
  return splits;
}

double tokens_of(const Scenario& scenario) {
  const description::Training& training = scenario.training;
  return static_cast<double>(training.micro_batch * training.gradient_accumulation *
                             scenario.parallel.data * training.sequence);
}

/// Sets the bound; 0 where a memory is too small for what is held throughout.
void bound(Candidate& candidate) {
  candidate.most_tokens_per_s = std::numeric_limits<double>::infinity();
  const auto mandatory = strategies::Mandatory::of(candidate.scenario);
  if (!mandatory) return;
  if (mandatory->too_small(candidate.scenario.machine)) {
    candidate.most_tokens_per_s = 0;
    return;
  }
  const double step_s = mandatory->step_s(candidate.scenario);
  if (step_s > 0) candidate.most_tokens_per_s = tokens_of(candidate.scenario) / step_s;
}

/// Resolves ways; remembers what is wrong with the first.
class Candidates {
 public:
  Candidates(const json& job, const std::vector<std::string>& overrides)
      : job_(job), overrides_(overrides) {}

  std::vector<Candidate> all() {
    for (const explore::Way& way : explore::ways_of({}, {})) add(way);
    if (found_.empty() && wrong_) throw *wrong_;
    return std::move(found_);
  }

 private:
  std::optional<Scenario> read(const explore::Way& way, const std::vector<std::string>& more) {
    std::vector<std::string> all = {way.overrides};
    all.insert(all.end(), more.begin(), more.end());
    all.insert(all.end(), overrides_.begin(), overrides_.end());
    try {
      return scenarios::read_scenario(job_, all, systems_, strategies::unsupported).scenario;
    } catch (const description::ScenarioError& error) {
      if (!wrong_) wrong_ = error;
      return std::nullopt;
    }
  }

  void add(const explore::Way& way) {
    const auto alone = read(way, {});
    if (!alone) return;
    for (const Split& split : splits_of(*alone)) {
      const auto scenario = read(way, split.overrides);
      if (!scenario) continue;
      const bool runnable = explore::runs_with(*scenario).runnable;
      for (const std::uint64_t batch : way.plans ? batches_of_plans : batches) {
        Candidate& fresh = found_.emplace_back();
        fresh.words = fmt::format("{}{}, micro-batch {}", way.name, split.words, batch);
        fresh.scenario = *scenario;
        fresh.scenario.training.micro_batch = batch;
        fresh.way = ways_;
        fresh.runnable = runnable;
        fresh.plans = way.plans;
      }
      ++ways_;
    }
  }

  const json& job_;
  const std::vector<std::string>& overrides_;
  const std::vector<scenarios::SystemInfo> systems_ = explore::known_systems();
  std::vector<Candidate> found_;
  std::optional<description::ScenarioError> wrong_;
  std::size_t ways_ = 0;
};

/// The candidates of one way, from the largest micro-batch down.
struct Line {
  std::vector<Candidate> candidates;
  std::size_t at = 0;
  bool bounded = false;  ///< the one at hand
  bool runnable() const { return candidates.front().runnable; }
  bool plans() const { return candidates.front().plans; }
};

/// Two leagues: what people can run, and all.
class Search {
 public:
  Search(const explore::Backend& backend, std::span<const Candidate> candidates,
         explore::Effort effort)
      : backend_(backend), effort_(std::move(effort)) {
    for (const Candidate& one : candidates) {
      if (one.way >= lines_.size()) lines_.resize(one.way + 1);
      lines_[one.way].candidates.push_back(one);
    }
  }

  Found run(bool only_runnable) {
    play(true);
    limit_ = found_.simulated + most_of_others;
    if (!only_runnable) play(false);
    if (found_.runnable && !only_runnable &&
        (!found_.best || found_.best->tokens_per_s <= found_.runnable->tokens_per_s))
      found_.best = found_.runnable;
    return std::move(found_);
  }

 private:
  /// The fastest so far that a candidate has to beat.
  double to_beat(bool runnable) const {
    double least = 0;
    if (found_.runnable) least = found_.runnable->tokens_per_s;
    if (!runnable && found_.best) least = std::max(least, found_.best->tokens_per_s);
    return least;
  }

  /// Goes down to the first candidate that is not ruled out; false when there is none. A smaller
  /// micro-batch has no higher bound, so a line ends with the first that is too slow.
  bool ready(Line& line) {
    while (line.at < line.candidates.size()) {
      Candidate& one = line.candidates[line.at];
      if (!line.bounded) {
        bound(one);
        ++found_.bounded;
        line.bounded = true;
      }
      if (one.most_tokens_per_s > worth_a_look * to_beat(line.runnable())) return true;
      if (one.most_tokens_per_s > 0) break;
      advance(line);
    }
    line.at = line.candidates.size();
    return false;
  }

  static void advance(Line& line) {
    ++line.at;
    line.bounded = false;
  }

  /// Until bounds leave nothing that could be faster. Plans last: they have no close bound, and
  /// what is faster than they are spares them.
  void play(bool runnable) {
    while (true) {
      std::vector<Line*> open;
      for (Line& line : lines_)
        if (!line.candidates.empty() && line.runnable() == runnable && ready(line))
          open.push_back(&line);
      leave_out_long_ones(open);
      if (open.empty()) return;
      std::stable_sort(open.begin(), open.end(), [](const Line* one, const Line* other) {
        if (one->plans() != other->plans()) return other->plans();
        return one->candidates[one->at].most_tokens_per_s >
               other->candidates[other->at].most_tokens_per_s;
      });
      open.resize(std::min(open.size(), at_once));
      simulate(open);
    }
  }

  /// Plans, once anything fits, and all that is left when the limit is reached.
  void leave_out_long_ones(std::vector<Line*>& open) {
    const bool full = limit_ && found_.simulated >= *limit_;
    const bool fits = found_.runnable || found_.best;
    for (Line*& line : open)
      if (full || (fits && line->plans())) {
        found_.left_out.push_back(line->candidates.front().scenario.strategy.system);
        line->at = line->candidates.size();
        line = nullptr;
      }
    std::erase(open, nullptr);
  }

  void simulate(const std::vector<Line*>& open) {
    std::vector<Scenario> scenarios;
    for (const Line* line : open) scenarios.push_back(line->candidates[line->at].scenario);
    const auto outcomes =
        explore::simulate_all(backend_, scenarios, 0, explore::default_limit_s, effort_);
    found_.simulated += open.size();
    for (std::size_t i = 0; i < open.size(); ++i) judge(*open[i], outcomes[i]);
  }

  void judge(Line& line, const explore::Outcome& outcome) {
    const Candidate& one = line.candidates[line.at];
    advance(line);
    if (!outcome.result) {
      const std::string why =
          outcome.complaints.empty() ? outcome.failure : to_string(outcome.complaints.front());
      found_.unanswered.push_back(one.words + ": " + why);
      return;
    }
    if (!outcome.result->feasible()) return;
    line.at = line.candidates.size();  // the largest that fits
    auto& best = one.runnable ? found_.runnable : found_.best;
    if (!best || outcome.result->tokens_per_s > best->tokens_per_s) best = outcome.result;
  }

  /// As many whatever the processor: so the same ones are simulated on any.
  static constexpr std::size_t at_once = 2;

  const explore::Backend& backend_;
  explore::Effort effort_;
  std::vector<Line> lines_;
  Found found_;
  std::optional<std::uint64_t> limit_;  ///< of found_.simulated
};

}  // namespace

std::vector<Candidate> candidates_of(const json& job, const std::vector<std::string>& overrides) {
  return Candidates(job, overrides).all();
}

Found search(const explore::Backend& backend, std::span<const Candidate> candidates,
             bool only_runnable) {
  const auto with = [&](const explore::Effort& effort) {
    return Search(backend, candidates, effort).run(only_runnable);
  };
  Found found = with({explore::WhenFull::stop, false});
  if (found.runnable || found.best) return found;
  Found again = with({});
  again.lower_plans = true;
  again.bounded += found.bounded;
  again.simulated += found.simulated;
  return again;
}

}  // namespace spillway::answers
