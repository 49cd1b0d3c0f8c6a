#include "answers/plan/largest.hpp"

#include "answers/plan/changed.hpp"
#include "models/architecture/model.hpp"
#include "reports/result/needs.hpp"
#include "scenarios/json/shipped.hpp"
#include "scenarios/reading/read_model.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <limits>
#include <set>
#include <span>

namespace spillway::answers {

using answer::Trial;
using answer::TrialCounts;
using explore::Way;
using nlohmann::json;

namespace {

/// The models that are asked for, each once, the smallest first; the beginning of several shipped
/// names ("qwen2.5") stands for all of them.
std::vector<std::string> models_of(const std::vector<std::string>& asked) {
  const std::vector<std::string> shipped = scenarios::shipped_names("models/library");
  std::set<std::pair<std::uint64_t, std::string>> by_size;
  const auto add = [&](const std::string& name) {
    by_size.emplace(models::build_model(scenarios::read_model(name)).parameters.value(), name);
  };
  for (const std::string& name : asked) {
    bool family = false;
    if (std::find(shipped.begin(), shipped.end(), name) == shipped.end())
      for (const std::string& member : shipped)
        if (member.starts_with(name + "-") || member.starts_with(name + ".")) {
          add(member);
          family = true;
        }
    if (!family) add(name);
  }
  std::vector<std::string> models;
  for (const auto& [size, name] : by_size) models.push_back(name);
  return models;
}

/// A number of the training, and from where to where it is tried.
struct Ladder {
  const char* words;
  const char* path;
  std::uint64_t from, to;
};

/// Ways to train a model, with all that they override.
struct TrainingWays {
  std::vector<Trial> trials;
  /// Behind the last of each round: those of the question, those of DeepSpeed with smaller
  /// gradients, then those with settings besides that cost nothing.
  std::vector<std::size_t> ends;
  std::size_t fastest = 0;  ///< where the model is the largest that fits

  void add(std::vector<Trial> round) {
    std::move(round.begin(), round.end(), std::back_inserter(trials));
    ends.push_back(trials.size());
  }
};

/// Of trials that have no room, by their bounds: one that its bound leaves lacks least.
bool lacks_less(const Trial& a, const Trial& b) {
  const auto lack = [](const Trial& trial) {
    if (trial.refused) return std::numeric_limits<double>::infinity();
    return trial.ruled_out ? trial.times_too_large.value_or(1) : 0;
  };
  return lack(a) < lack(b);
}

/// Of trials of which none fits: one that its bound leaves, else the one that lacks least.
Trial& nearest_miss(std::vector<Trial>& trials) {
  return *std::min_element(trials.begin(), trials.end(), lacks_less);
}

/// What a trial without room needs of the tier that lacks most, of what that has. Infinite where
/// nobody knows.
double times_needed(const Trial& trial) {
  double most = 0;
  if (trial.result)
    for (const result::TierNeed& need : result::shortages_of(*trial.result))
      most = std::max(most, static_cast<double>(need.needed) / static_cast<double>(need.capacity));
  return most > 0 ? most : std::numeric_limits<double>::infinity();
}

/// Climbs a ladder with the way to train that is fastest at its foot, and where that has no room
/// with the fastest of the others that has: of the first round in which one has.
class Climb {
 public:
  Climb(const explore::Backend& backend, const json& base, const TrainingWays& ways,
        const Ladder& ladder, TrialCounts& counts)
      : backend_(backend),
        base_(base),
        ways_(ways),
        ladder_(ladder),
        counts_(counts),
        way_(ways.fastest) {
    no_room_from_.resize(ways.trials.size(), std::numeric_limits<std::uint64_t>::max());
  }

  /// Powers of two, then eighths between the largest of them that fits and the next.
  std::vector<Trial> run() {
    std::vector<std::uint64_t> values;
    for (std::uint64_t value = ladder_.from; value <= ladder_.to; value *= 2)
      values.push_back(value);
    std::vector<Trial> trials = up(values, true);
    const std::size_t next = above_what_fits(trials);
    if (next > 0 && next < trials.size()) {
      const std::uint64_t most = values[next - 1], step = std::max<std::uint64_t>(1, most / 8);
      std::vector<std::uint64_t> between;
      for (std::uint64_t value = most + step; value < values[next]; value += step)
        between.push_back(value);
      const std::vector<Trial> fine = up(between, false);  // they may all be too long for the model
      trials.insert(trials.begin() + static_cast<std::ptrdiff_t>(next), fine.begin(), fine.end());
    }
    keep_first_refusal(trials);
    find_needs(backend_, base_, trials);
    return trials;
  }

 private:
  /// Behind the last that fits.
  static std::size_t above_what_fits(const std::vector<Trial>& trials) {
    const auto fits = std::find_if(trials.rbegin(), trials.rend(),
                                   [](const Trial& trial) { return trial.fits(); });
    return static_cast<std::size_t>(trials.rend() - fits);
  }

  Trial trial_of(std::size_t way, std::uint64_t value) const {
    Trial trial;
    trial.words = fmt::format("{} {}", ladder_.words, value);
    if (way != ways_.fastest) trial.words += " (" + ways_.trials[way].words + ")";
    trial.overrides = ways_.trials[way].overrides;
    trial.overrides.push_back(fmt::format("{}={}", ladder_.path, value));
    return trial;
  }

  /// All of the values with the way that climbs.
  std::vector<Trial> tried(std::span<const std::uint64_t> values, bool refuse) {
    std::vector<Trial> trials;
    for (const std::uint64_t value : values) trials.push_back(trial_of(way_, value));
    if (trials.empty()) return trials;
    const auto wrong = try_all(backend_, base_, trials);
    if (wrong && refuse) throw *wrong;
    for (const Trial& trial : trials) {
      counts_.simulated += trial.result.has_value();
      counts_.not_tried += trial.not_tried;
      counts_.unanswered += trial.unanswered;
    }
    return trials;
  }

  std::vector<Trial> up(std::span<const std::uint64_t> values, bool refuse) {
    std::vector<Trial> trials = tried(values, refuse);
    while (backend_.goes_on()) {
      const std::size_t next = above_what_fits(trials);
      if (next == trials.size() || trials[next].not_tried || trials[next].unanswered) break;
      no_room_from_[way_] = std::min(no_room_from_[way_], values[next]);
      missed_.clear();
      const auto other = fastest_other(values[next]);
      if (!other) {
        show_nearest(trials[next]);
        break;
      }
      trials.resize(next);
      trials.push_back(*other);
      const std::vector<Trial> rest = tried(values.subspan(next + 1), false);
      trials.insert(trials.end(), rest.begin(), rest.end());
    }
    return trials;
  }

  /// Of the ways that may have room; it climbs on from here.
  std::optional<Trial> fastest_other(std::uint64_t value) {
    std::size_t from = 0;
    for (const std::size_t end : ways_.ends) {
      if (auto found = fastest_of(value, from, end)) return found;
      from = end;
    }
    return std::nullopt;
  }

  /// In place of the way that climbs, where no other has room either: the one that lacks least, of
  /// those that lack least by their bounds.
  void show_nearest(Trial& shown) {
    constexpr std::size_t most_needs = 4;  // each a simulation or more
    std::sort(missed_.begin(), missed_.end(), lacks_less);
    if (missed_.size() > most_needs) missed_.resize(most_needs);
    for (Trial& trial : missed_)
      if (trial.ruled_out) try_one(backend_, base_, trial, counts_);
    missed_.push_back(std::move(shown));
    find_needs(backend_, base_, missed_);
    shown = std::move(*std::min_element(
        missed_.begin(), missed_.end(),
        [](const Trial& a, const Trial& b) { return times_needed(a) < times_needed(b); }));
  }

  /// Of one round.
  std::optional<Trial> fastest_of(std::uint64_t value, std::size_t from, std::size_t end) {
    std::vector<Trial> trials;
    std::vector<std::size_t> of;
    for (std::size_t way = from; way < end; ++way)
      if (value < no_room_from_[way]) {
        trials.push_back(trial_of(way, value));
        of.push_back(way);
      }
    if (trials.empty()) return std::nullopt;
    try_fastest(backend_, base_, trials, 1, counts_);
    const Trial* best = explore::fastest(trials);
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (&trials[i] == best) way_ = of[i];
      if (!has_no_room(trials[i])) continue;
      no_room_from_[of[i]] = value;
      if (!trials[i].refused) missed_.push_back(std::move(trials[i]));
    }
    return best ? std::optional(*best) : std::nullopt;
  }

  /// Not those that are slower, or of which nobody knows.
  static bool has_no_room(const Trial& trial) {
    return trial.refused || trial.times_too_large || (trial.result && !trial.fits());
  }

  const explore::Backend& backend_;
  const json& base_;
  const TrainingWays& ways_;
  const Ladder ladder_;
  TrialCounts& counts_;
  std::size_t way_;            ///< that climbs
  std::vector<Trial> missed_;  ///< by the others of the value that it has no room for
  std::vector<std::uint64_t> no_room_from_;
};

/// Every way on every split of the cards, with all that they override.
///   with  what else is set, for the words: ", training.loss fused"
std::vector<Trial> ways_to_train(const PlanQuestion& question, const std::string& model,
                                 const std::string& with = "") {
  std::vector<Trial> trials;
  const std::vector<Split> splits = splits_of(question);
  const json base = plan_base(question, model);
  for (const Way& way : runnable_ways(question, base, question.overrides)) {
    if (!way.beside.empty()) continue;  // no larger model fits for it
    for (const Split& split : splits) {
      if (!may_run(question, base, way, split.overrides, question.overrides)) continue;
      Trial& trial = trials.emplace_back();
      trial.words = way.name + with + split.name;
      trial.overrides = way.overrides;
      trial.overrides.insert(trial.overrides.end(), split.overrides.begin(), split.overrides.end());
      trial.overrides.push_back(
          fmt::format("training.gradient_accumulation={}", question.accumulations.front()));
    }
  }
  add_overrides(trials, question);
  return trials;
}

/// What was asked of a model.
struct AskedModel {
  Trial shown;  ///< the fastest that fits, else the one that lacks least
  TrainingWays ways;
};

/// The ways of a question to train a model, and in rounds of their own those with settings that
/// cost nothing.
TrainingWays all_ways(const PlanQuestion& question, const std::string& model, const json& base) {
  TrainingWays ways;
  ways.add(ways_to_train(question, model));
  ways.add(with_less_memory(question, base, ways.trials));
  const TrialsOf with = [&](const PlanQuestion& changed, const std::string& words) {
    return ways_to_train(changed, model, words);
  };
  for (std::vector<Trial>& round : changed_trials(question, base, ways.trials, with))
    ways.add(std::move(round));
  return ways;
}

/// Looks for the fastest way that fits, in the first round in which one does.
///   Result  where all ways of the question are refused: what is wrong
std::optional<description::ScenarioError> ask(const explore::Backend& backend, const json& base,
                                              const std::string& model, AskedModel& asked,
                                              TrialCounts& counts) {
  std::size_t from = 0;
  for (const std::size_t end : asked.ways.ends) {
    if (from > 0 && !backend.goes_on()) break;
    const auto begin = asked.ways.trials.begin();
    std::vector<Trial> own(begin + static_cast<std::ptrdiff_t>(from),
                           begin + static_cast<std::ptrdiff_t>(end));
    for (Trial& trial : own) trial.words = model + " with " + trial.words;
    const auto refused = try_fastest(backend, base, own, 1, counts);
    const Trial* best = explore::fastest(own);
    if (best) {
      asked.shown = *best;
      asked.ways.fastest = from + static_cast<std::size_t>(best - own.data());
      return std::nullopt;
    }
    if (from == 0) {
      Trial& nearest = nearest_miss(own);
      if (!refused && nearest.ruled_out)  // the buffer that stops it is worth a look
        try_one(backend, base, nearest, counts);
      asked.shown = nearest;
      if (refused) return refused;
    }
    from = end;
  }
  return std::nullopt;
}

/// Of each model the fastest of the systems that fit.
std::vector<AskedModel> models_that_fit(const explore::Backend& backend,
                                        const PlanQuestion& question, TrialCounts& counts) {
  std::vector<AskedModel> all;
  std::optional<description::ScenarioError> wrong;
  bool any = false;
  for (const std::string& model : question.models) {
    const json base = plan_base(question, model);
    AskedModel& asked = all.emplace_back();
    asked.ways = all_ways(question, model, base);
    const auto refused = ask(backend, base, model, asked, counts);
    if (!wrong) wrong = refused;
    any = any || !refused;
    if (!asked.shown.fits()) find_needs(backend, base, {&asked.shown});
  }
  if (!any && wrong) throw *wrong;
  return all;
}

/// Adds to the fastest batch how far its numbers may be off, where that is asked for, and what is
/// to be known about the machine.
void complete(const explore::Backend& backend, const PlanQuestion& question,
              answer::Largest& found) {
  const Trial* best = explore::fastest(found.batches);
  for (Trial& trial : found.batches)
    if (question.range && &trial == best) add_range(backend, *trial.result);
  found.certainty = certainty_without_scenario(*found.largest()->result, shown_by(question));
  found.old_prices = old_prices_of(*found.largest()->result, question.today);
}

}  // namespace

std::vector<std::string> notes_of_models(const std::vector<std::string>& models) {
  std::vector<std::string> all;
  for (const std::string& model : models_of(models))
    for (const std::string& note : scenarios::read_model(model).notes)
      all.push_back(model + ": " + note);
  return all;
}

answer::Largest largest(const explore::Backend& backend, PlanQuestion question,
                        const Progress& progress) {
  question.models = models_of(question.models);
  const auto say = [&](const std::string& what) {
    if (progress) progress(what);
  };
  answer::Largest found;
  say("models");
  const std::vector<AskedModel> asked = models_that_fit(backend, question, found.counts);
  const AskedModel* most = nullptr;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    found.models.push_back(asked[i].shown);
    if (asked[i].shown.fits()) most = &asked[i], found.model = question.models[i];
  }
  if (!most) return found;
  found.system = most->shown.result->system;
  const json base = plan_base(question, found.model);
  found.context = base.at("training").at("sequence");
  const auto climb = [&](const Ladder& ladder) {
    return Climb(backend, base, most->ways, ladder, found.counts).run();
  };
  say("contexts of " + found.model);
  found.contexts = climb({"context", "training.sequence", 512, 1 << 20});
  say("batches of " + found.model);
  found.batches = climb({"micro-batch", "training.micro_batch", 1, 1024});
  complete(backend, question, found);
  return found;
}

}  // namespace spillway::answers
