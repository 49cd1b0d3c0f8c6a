#include "answers/plan/between.hpp"

#include "answers/fit/line.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <map>

namespace spillway::answers {

using answer::Trial;

namespace {

constexpr std::uint64_t most_middles = 12;
/// Simulated together.
constexpr std::size_t ways_at_once = 2;
constexpr std::string_view batch_path = "training.micro_batch=", batch_word = "micro-batch ";

bool sets_batch(const std::string& one) { return one.starts_with(batch_path); }

/// 0: none is set, or the user sets one for all.
std::uint64_t batch_of(const Trial& trial) {
  std::uint64_t batch = 0;
  if (std::count_if(trial.overrides.begin(), trial.overrides.end(), sets_batch) != 1) return 0;
  const std::string& set =
      *std::find_if(trial.overrides.begin(), trial.overrides.end(), sets_batch);
  std::from_chars(set.data() + batch_path.size(), set.data() + set.size(), batch);
  return batch;
}

/// What the trials of one way have in common.
std::vector<std::string> way_of(const Trial& trial) {
  std::vector<std::string> way = trial.overrides;
  std::erase_if(way, sets_batch);
  return way;
}

/// The same way in another micro-batch.
Trial with_batch(const Trial& trial, std::uint64_t batch) {
  Trial other{trial.words, trial.overrides, std::nullopt, ""};
  const std::string before = fmt::format("{}{}", batch_word, batch_of(trial));
  other.words.replace(other.words.find(before), before.size(),
                      fmt::format("{}{}", batch_word, batch));
  *std::find_if(other.overrides.begin(), other.overrides.end(), sets_batch) =
      fmt::format("{}{}", batch_path, batch);
  return other;
}

/// Tokens a second, or no more where it was left out as slower; nothing: no room, or not known.
std::optional<double> rate_of(const Trial& trial) {
  if (trial.fits()) return trial.result->tokens_per_s;
  const bool slower = trial.ruled_out && !trial.times_too_large;
  return slower ? trial.most_tokens_per_s : std::nullopt;
}

bool has_no_room(const Trial& trial) {
  return trial.times_too_large || (trial.result && !trial.fits());
}

/// A way whose next larger micro-batch has no room.
struct Between {
  const Trial* room = nullptr;
  Gap gap;
};

using Ways = std::map<std::vector<std::string>, Between>;

Ways ways_of(const std::vector<Trial>& trials) {
  Ways ways;
  for (const Trial& trial : trials) {
    const std::uint64_t batch = batch_of(trial);
    const std::optional<double> rate = rate_of(trial);
    if (batch == 0 || !rate) continue;
    Between& way = ways[way_of(trial)];
    if (batch > way.gap.room) way.room = &trial, way.gap = {batch, 0, *rate, {}};
  }
  for (const Trial& trial : trials) {
    const auto way = ways.find(way_of(trial));
    if (way == ways.end() || !has_no_room(trial)) continue;
    Gap& gap = way->second.gap;
    const std::uint64_t batch = batch_of(trial);
    if (batch > gap.room && (gap.none == 0 || batch < gap.none)) gap.none = batch;
  }
  return ways;
}

/// The most promising first.
std::vector<Between*> promising(Ways& ways, double least) {
  std::vector<Between*> all;
  for (auto& [overrides, way] : ways)
    if (worth_simulating(way.gap.most_tokens_per_s(), least)) all.push_back(&way);
  std::stable_sort(all.begin(), all.end(), [](const Between* one, const Between* other) {
    return one->gap.most_tokens_per_s() > other->gap.most_tokens_per_s();
  });
  all.resize(std::min(all.size(), ways_at_once));
  return all;
}

void narrow(Gap& gap, const Trial& middle) {
  if (const auto rate = rate_of(middle))
    gap.take_room(gap.middle(), *rate);
  else if (has_no_room(middle))
    gap.take_none(gap.middle());
  else
    gap = {};
}

/// Behind the last of its way that is smaller.
void insert(std::vector<Trial>& trials, Trial trial) {
  const auto before = std::find_if(trials.rbegin(), trials.rend(), [&](const Trial& one) {
    return way_of(one) == way_of(trial) && batch_of(one) < batch_of(trial);
  });
  trials.insert(before.base(), std::move(trial));
}

}  // namespace

void try_between(const explore::Backend& backend, const nlohmann::json& base,
                 std::vector<Trial>& trials, answer::TrialCounts& counts) {
  const Trial* best = explore::fastest(trials);
  if (!best) return;
  double least = best->result->tokens_per_s;
  const std::uint64_t limit = counts.simulated + most_middles;
  Ways ways = ways_of(trials);
  std::vector<Trial> found;
  while (backend.goes_on() && counts.simulated < limit) {
    const std::vector<Between*> now = promising(ways, least);
    if (now.empty()) break;
    std::vector<Trial> middles;
    for (const Between* way : now) middles.push_back(with_batch(*way->room, way->gap.middle()));
    try_fastest(backend, base, middles, 1, counts);
    for (std::size_t i = 0; i < now.size(); ++i) {
      narrow(now[i]->gap, middles[i]);
      if (middles[i].fits()) least = std::max(least, middles[i].result->tokens_per_s);
      found.push_back(std::move(middles[i]));
    }
  }
  for (Trial& trial : found) insert(trials, std::move(trial));
}

}  // namespace spillway::answers
