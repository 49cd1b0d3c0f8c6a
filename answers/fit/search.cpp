#include "answers/fit/search.hpp"

#include "explore/runs_with.hpp"
#include "explore/ways.hpp"
#include "strategies/bounds/mandatory.hpp"
#include "strategies/decide/lohan_plan.hpp"
#include "strategies/run/counting_probe.hpp"

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
struct CardSplit {
  std::string words;
  std::vector<std::string> overrides;
};

/// What a machine has to share work among.
struct Cards {
  std::uint64_t nodes = 1, own = 1;  ///< own: of a node
};

std::string set(const char* how, std::uint64_t number) {
  return fmt::format("parallel.{}={}", how, number);
}

/// By data alone, as every way can.
CardSplit by_data(const Cards& cards) { return {"", {set("data", cards.nodes * cards.own)}}; }

/// By layers and inside them, which wants whole layers on the cards.
std::vector<CardSplit> other_splits(const Cards& cards, const Scenario& scenario) {
  std::vector<CardSplit> splits;
  if (cards.own > 1 && scenario.strategy.system == "resident")
    for (const char* how : {"tensor", "pipeline"})
      splits.push_back({fmt::format(", {} {}", how, cards.own),
                        {set("data", cards.nodes), set(how, cards.own)}});
  return splits;
}

double tokens_of(const Scenario& scenario) {
  const description::Training& training = scenario.training;
  return static_cast<double>(training.micro_batch * training.gradient_accumulation *
                             scenario.parallel.data * training.sequence);
}

/// Whether no amount of swapping leaves room on the GPU.
bool swaps_in_vain(const Scenario& scenario) {
  if (scenario.strategy.activations.policy != description::ActivationPolicy::swap) return false;
  const strategies::Prepared prepared = strategies::prepare(scenario);
  return !strategies::some_swap_fits_gpu(scenario, prepared, strategies::counting_probe());
}

/// Candidate::most_tokens_per_s
double bound_of(const Scenario& scenario) {
  constexpr double none = std::numeric_limits<double>::infinity();
  if (strategies::operator_too_large(scenario)) return 0;
  const auto mandatory = strategies::Mandatory::of(scenario);
  if (!mandatory) return none;
  if (mandatory->too_small(scenario.machine) || swaps_in_vain(scenario)) return 0;
  const double step_s = mandatory->step_s(scenario);
  return step_s > 0 ? tokens_of(scenario) / step_s : none;
}

/// Resolves ways; remembers what is wrong with the first.
class Candidates {
 public:
  Candidates(const json& job, const std::vector<std::string>& overrides)
      : job_(job), overrides_(overrides) {}

  std::vector<Candidate> all(const std::vector<std::string>& systems) {
    for (const explore::Way& way : explore::ways_of(systems, {}, job_, overrides_)) add(way);
    if (found_.empty() && wrong_) throw *wrong_;
    return std::move(found_);
  }

 private:
  std::optional<Scenario> read(const explore::Way& way, const std::vector<std::string>& more) {
    std::vector<std::string> all = {way.overrides};
    all.insert(all.end(), more.begin(), more.end());
    all.insert(all.end(), overrides_.begin(), overrides_.end());
    try {
      return scenarios::read_scenario(job_, all, systems_, scenarios::Refuse::what_cannot_run)
          .scenario;
    } catch (const description::ScenarioError& error) {
      if (!wrong_) wrong_ = error;
      return std::nullopt;
    }
  }

  void add(const explore::Way& way) {
    std::optional<Scenario> alone;
    if (!cards_) {
      alone = read(way, {});
      if (!alone) return;
      cards_ = Cards{alone->machine.nodes, alone->machine.gpu.count};
    }
    const CardSplit data = by_data(*cards_);
    const auto scenario = read(way, data.overrides);
    if (scenario) add(way, data, *scenario);
    if (!scenario && !alone) alone = read(way, {});
    if (!scenario && !alone) return;
    for (const CardSplit& split : other_splits(*cards_, scenario ? *scenario : *alone))
      if (const auto other = read(way, split.overrides)) add(way, split, *other);
  }

  void add(const explore::Way& way, const CardSplit& split, const Scenario& scenario) {
    const bool runnable = explore::runs_with(scenario).runnable;
    for (const std::uint64_t batch : way.plans ? batches_of_plans : batches) {
      Candidate& fresh = found_.emplace_back();
      fresh.words = fmt::format("{}{}, micro-batch {}", way.name, split.words, batch);
      fresh.scenario = scenario;
      fresh.scenario.training.micro_batch = batch;
      fresh.way = ways_;
      fresh.runnable = runnable;
      fresh.plans = way.plans;
    }
    ++ways_;
  }

  const json& job_;
  const std::vector<std::string>& overrides_;
  const std::vector<scenarios::SystemInfo> systems_ = explore::known_systems();
  std::optional<Cards> cards_;
  std::vector<Candidate> found_;
  std::optional<description::ScenarioError> wrong_;
  std::size_t ways_ = 0;
};

/// The candidates of one way, from the largest micro-batch down.
struct Line {
  std::vector<Candidate> candidates;
  std::size_t at = 0;
  bool runnable() const { return candidates.front().runnable; }
  bool plans() const { return candidates.front().plans; }
  bool open() const { return at < candidates.size(); }
  Candidate& now() { return candidates[at]; }
  const Candidate& now() const { return candidates[at]; }
  void close() { at = candidates.size(); }
};

/// What can be faster than `least` tokens a second by so little is not simulated.
bool worth_simulating(double bound, double least) { return bound > worth_a_look * least; }

/// Bounds from the candidate at hand down to the first that is not ruled out for its memory. What
/// is ruled out rules out all larger micro-batches.
std::vector<double> next_bounds(const Line& line) {
  const auto bound = [&](std::size_t i) {
    const auto& known = line.candidates[i].most_tokens_per_s;
    return known ? *known : bound_of(line.candidates[i].scenario);
  };
  std::size_t out = line.at, first = line.candidates.size() - 1;
  if (const double most = bound(out); most > 0) return {most};
  double most = out < first ? bound(first) : 0;
  if (most == 0) return std::vector<double>(line.candidates.size() - line.at, 0);
  while (first - out > 1) {
    const std::size_t middle = out + (first - out) / 2;
    const double other = bound(middle);
    if (other == 0) {
      out = middle;
    } else {
      first = middle;
      most = other;
    }
  }
  std::vector<double> bounds(first - line.at, 0);
  bounds.push_back(most);
  return bounds;
}

/// The bounds of lines `first`, `first` + `apart`, ... as JSON; infinity is null.
std::string bounds_text(const std::vector<Line*>& lines, std::size_t first, std::size_t apart) {
  json all = json::array();
  for (std::size_t i = first; i < lines.size(); i += apart) all.push_back(next_bounds(*lines[i]));
  return all.dump();
}

/// Two leagues: what people can run, and all.
class Search {
 public:
  Search(const explore::Backend& backend, std::span<const Candidate> candidates)
      : backend_(backend) {
    for (const Candidate& one : candidates) {
      if (one.way >= lines_.size()) lines_.resize(one.way + 1);
      lines_[one.way].candidates.push_back(one);
    }
  }

  Found run(bool only_runnable, const std::function<void(const Found& so_far)>& on_runnable) {
    play_both(only_runnable, on_runnable);
    if (!found_.runnable && !found_.best && backend_.goes_on()) {
      start_over();
      play_both(only_runnable, on_runnable);
    }
    return std::move(found_);
  }

 private:
  void play_both(bool only_runnable, const std::function<void(const Found& so_far)>& on_runnable) {
    play(true);
    if (found_.runnable && on_runnable) on_runnable(found_);
    limit_ = found_.simulated + most_of_others;
    if (!only_runnable) play(false);
    if (found_.runnable && !only_runnable &&
        (!found_.best || found_.best->tokens_per_s <= found_.runnable->tokens_per_s))
      found_.best = found_.runnable;
  }

  /// With plans for less of the machine; what bounds rule out stays out.
  void start_over() {
    found_.lower_plans = true;
    found_.unanswered.clear();
    found_.left_out.clear();
    limit_.reset();
    for (Line& line : lines_) line.at = 0;
  }

  /// The fastest so far that a candidate has to beat.
  double to_beat(bool runnable) const {
    double least = 0;
    if (found_.runnable) least = found_.runnable->tokens_per_s;
    if (!runnable && found_.best) least = std::max(least, found_.best->tokens_per_s);
    return least;
  }

  /// Goes down to the first candidate that is not ruled out; false when there is none. A smaller
  /// micro-batch has no higher bound, so a line ends with the first that is too slow.
  bool ready(Line& line) const {
    while (line.open() && line.now().most_tokens_per_s == 0.0) ++line.at;
    if (!line.open() || !line.now().most_tokens_per_s) return false;  // ended before it was bounded
    if (worth_simulating(*line.now().most_tokens_per_s, to_beat(line.runnable()))) return true;
    line.close();
    return false;
  }

  /// Side by side, in as many children as there are cores; each takes its share of the lines.
  void bound(const std::vector<Line*>& lines) {
    std::vector<Line*> open;
    for (Line* line : lines)
      if (line->open() && !line->now().most_tokens_per_s) open.push_back(line);
    const std::size_t shares = std::min(open.size(), explore::usable_cores());
    const std::function<std::string(std::size_t)> work = [&](std::size_t share) {
      return bounds_text(open, share, shares);
    };
    explore::ChildPool pool(shares, work, shares, explore::default_limit_s, backend_.watch,
                            backend_.starts);
    backend_.prepare();  // beside them
    const std::vector<explore::Piece> pieces = pool.finish();
    for (std::size_t share = 0; share < shares; ++share) {
      if (pieces[share].end == explore::Piece::End::not_tried) continue;
      const json bounds = json::parse(pieces[share].text, nullptr, false);
      if (!bounds.is_array()) {  // of no child that ended well; here, if a little later
        for (std::size_t i = share; i < open.size(); i += shares) bound_here(*open[i]);
        continue;
      }
      for (std::size_t i = 0; i < bounds.size(); ++i) take(bounds[i], *open[share + i * shares]);
    }
  }

  void bound_here(Line& line) {
    if (backend_.goes_on()) take(json(next_bounds(line)), line);
  }

  void take(const json& bounds, Line& line) {
    for (std::size_t i = 0; i < bounds.size(); ++i)
      line.candidates[line.at + i].most_tokens_per_s =
          bounds[i].is_null() ? std::numeric_limits<double>::infinity() : bounds[i].get<double>();
    found_.bounded += bounds.size();
  }

  /// Until bounds leave nothing that could be faster. Plans last: they have no close bound, and
  /// what is faster than they are spares them.
  void play(bool runnable) {
    std::vector<Line*> lines;
    for (Line& line : lines_)
      if (!line.candidates.empty() && line.runnable() == runnable) lines.push_back(&line);
    while (backend_.goes_on()) {
      bound(lines);
      std::vector<Line*> open;
      for (Line* line : lines)
        if (ready(*line)) open.push_back(line);
      leave_out_long_ones(open);
      if (open.empty()) return;
      std::stable_sort(open.begin(), open.end(), [](const Line* one, const Line* other) {
        if (one->plans() != other->plans()) return other->plans();
        return one->now().most_tokens_per_s > other->now().most_tokens_per_s;
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
        line->close();
        line = nullptr;
      }
    std::erase(open, nullptr);
  }

  void simulate(const std::vector<Line*>& open) {
    std::vector<Scenario> scenarios;
    for (const Line* line : open) scenarios.push_back(line->now().scenario);
    const auto outcomes = explore::simulate_all(backend_, scenarios, 0, explore::default_limit_s,
                                                {explore::WhenFull::stop, found_.lower_plans});
    found_.simulated += open.size();
    for (std::size_t i = 0; i < open.size(); ++i) judge(*open[i], outcomes[i]);
  }

  void judge(Line& line, const explore::Outcome& outcome) {
    const Candidate& one = line.candidates[line.at++];
    if (!outcome.result) {
      const std::string why =
          outcome.complaints.empty() ? outcome.failure : to_string(outcome.complaints.front());
      found_.unanswered.push_back(one.words + ": " + why);
      return;
    }
    if (!outcome.result->feasible()) return;
    line.close();  // the largest that fits
    auto& best = one.runnable ? found_.runnable : found_.best;
    if (!best || outcome.result->tokens_per_s > best->tokens_per_s) best = outcome.result;
  }

  /// As many whatever the processor: so the same ones are simulated on any.
  static constexpr std::size_t at_once = 2;

  const explore::Backend& backend_;
  std::vector<Line> lines_;
  Found found_;
  std::optional<std::uint64_t> limit_;  ///< of found_.simulated
};

}  // namespace

std::vector<Candidate> candidates_of(const json& job, const std::vector<std::string>& overrides,
                                     const std::vector<std::string>& systems) {
  return Candidates(job, overrides).all(systems);
}

Found search(const explore::Backend& backend, std::span<const Candidate> candidates,
             bool only_runnable, const std::function<void(const Found& so_far)>& on_runnable) {
  return Search(backend, candidates).run(only_runnable, on_runnable);
}

}  // namespace spillway::answers
