#include "answers/fit/need.hpp"

#include "answers/advice.hpp"
#include "answers/fit/outlay.hpp"
#include "answers/fit/purchase.hpp"
#include "explore/points/reasons.hpp"
#include "reports/result/needs.hpp"
#include "reports/result/way.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <span>

namespace spillway::answers {

using description::Scenario;

namespace {

/// Ways that something is bought for, and purchases of each before it is given up: what the first
/// still lacks is said by its own run.
constexpr std::size_t most_bought_for = 3, most_purchases = 3;

/// A way that was asked.
struct Asked {
  const Candidate* candidate = nullptr;
  result::Result result;
};

/// Of ways that take each other's place: the last, which needs least, or the first.
enum class Takes { last, first };

/// Of each way the smallest micro-batch.
std::vector<const Candidate*> smallest_of(const std::vector<Candidate>& candidates, bool runnable,
                                          Takes takes) {
  std::map<std::size_t, const Candidate*> by_way;
  std::map<std::size_t, std::size_t> before;  // of a way that is left out, the one before it
  for (const Candidate& one : candidates) {
    if (one.plans || (runnable && !one.runnable)) continue;
    if (one.instead_of && takes == Takes::first) continue;
    if (one.frees_gpu) {  // what it takes from GPU memory, another memory needs more
      before[one.way] = *one.instead_of;
      continue;
    }
    if (one.instead_of) {
      const auto left_out = before.find(*one.instead_of);
      by_way.erase(left_out == before.end() ? *one.instead_of : left_out->second);
    }
    const Candidate*& smallest = by_way[one.way];
    if (!smallest || one.scenario.training.micro_batch < smallest->scenario.training.micro_batch)
      smallest = &one;
  }
  std::vector<const Candidate*> all;
  for (const auto& [way, one] : by_way) all.push_back(one);
  return all;
}

/// Bytes that are missing, those of cards first: a card is not bought by the GiB.
std::pair<std::uint64_t, std::uint64_t> missing(const result::Result& result) {
  std::pair<std::uint64_t, std::uint64_t> bytes;
  for (const result::TierNeed& need : result::shortages_of(result)) {
    constexpr std::uint64_t drive_share = 64;  // a byte of DRAM costs as much as so many of a drive
    if (need.tier == "gpu") bytes.first += need.needed - need.capacity;
    if (need.tier == "host") bytes.second += need.needed - need.capacity;
    if (need.tier == "ssd") bytes.second += (need.needed - need.capacity) / drive_share;
  }
  return bytes;
}

std::optional<Scenario> resolved(const Asked& asked, const std::vector<std::string>& set) {
  try {
    return scenarios::read_scenario(asked.result.scenario, set, explore::known_systems(),
                                    scenarios::Refuse::what_cannot_run)
        .scenario;
  } catch (const description::ScenarioError&) {
    return std::nullopt;  // the board has no place for it; another way may do with less
  }
}

/// "zero_offload, micro-batch 4 with 192 GiB of host memory".
std::string words_of(const std::string& way, const std::string& bought) {
  return way + " with " + bought;
}

/// What to buy for a way, and what it is then.
struct Bought {
  std::string what;  ///< "192 GiB of host memory, then 3 drives of nvme"
  FitChange change;
  result::Result result;
};

/// Buys until it fits.
class Buyer {
 public:
  Buyer(const explore::Backend& backend, std::uint64_t& simulated)
      : backend_(backend), simulated_(simulated) {}

  std::optional<Bought> buy_for(const Asked& asked) {
    std::vector<std::string> set;
    std::string what;
    Scenario scenario = asked.candidate->scenario;
    result::Result result = asked.result;
    for (std::size_t tries = 0; tries < most_purchases; ++tries) {
      const auto purchase = purchase_for(scenario, result);
      if (!purchase) return std::nullopt;
      what += (tries > 0 ? ", then " : "") + purchase->words;
      set.insert(set.end(), purchase->set.begin(), purchase->set.end());
      const auto larger = resolved(asked, set);
      if (!larger) return std::nullopt;
      ++simulated_;
      const auto outcomes =
          explore::simulate_all(backend_, std::span(&*larger, 1), 1, explore::default_limit_s,
                                {explore::WhenFull::find_need});
      if (!outcomes.front().result) return std::nullopt;
      result = *outcomes.front().result;
      if (result.feasible())
        return Bought{what,
                      {words_of(asked.candidate->words(), what),
                       set,
                       result.tokens_per_s,
                       result.price_usd,
                       {},
                       outlay_usd(asked.candidate->scenario.machine, larger->machine)},
                      result};
      scenario = *larger;
    }
    return std::nullopt;
  }

 private:
  const explore::Backend& backend_;
  std::uint64_t& simulated_;
};

/// On the box that was bought for a way in its smallest micro-batch a larger one, or another way,
/// may be much faster: what one would run there.
void take_fastest(const explore::Backend& backend, const CandidatesWith& candidates_with,
                  bool only_runnable, Bought& bought, Needs& needs, std::uint64_t& simulated) {
  const std::vector<Candidate> candidates = candidates_with(bought.change.set);
  const Found found = search(backend, candidates, only_runnable);
  simulated += found.simulated;
  needs.bounded += found.bounded;
  const auto& fastest = only_runnable ? found.runnable : found.best;
  if (!fastest || fastest->tokens_per_s <= bought.change.tokens_per_s.value_or(0)) return;
  bought.change.words = words_of(
      way_and_batch(*fastest, only_runnable ? found.runnable_way : found.best_way), bought.what);
  bought.change.tokens_per_s = fastest->tokens_per_s;
  bought.result = *fastest;
}

/// Of each, with what it needs.
std::vector<Asked> asked_of(const explore::Backend& backend,
                            const std::vector<const Candidate*>& candidates,
                            std::uint64_t& simulated) {
  std::vector<Scenario> scenarios;
  for (const Candidate* one : candidates) scenarios.push_back(one->scenario);
  const auto outcomes = explore::simulate_all(backend, scenarios, 0, explore::default_limit_s,
                                              {explore::WhenFull::find_need});
  simulated += outcomes.size();
  std::vector<Asked> asked;
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    if (outcomes[i].result && !outcomes[i].result->feasible())
      asked.push_back({candidates[i], *outcomes[i].result});
  return asked;
}

/// Of the forms of a system the one that lacks least; none where one of them has room.
///   tried  all that were asked, those that have room too
std::vector<Asked> least_of_forms(const std::vector<const Candidate*>& tried,
                                  const std::vector<Asked>& asked) {
  const auto system_of = [](const Candidate& one) {
    const bool is_mix = one.name.find(" + ") != std::string::npos;
    return is_mix ? one.name : one.scenario.strategy.system;
  };
  std::map<std::string, std::size_t> have_room;
  for (const Candidate* one : tried) ++have_room[system_of(*one)];
  std::map<std::string, const Asked*> least;
  for (const Asked& one : asked) {
    const std::string system = system_of(*one.candidate);
    --have_room[system];
    const Asked*& best = least[system];
    if (!best || missing(one.result) < missing(best->result)) best = &one;
  }
  std::vector<Asked> all;
  for (const Asked& one : asked) {
    const std::string system = system_of(*one.candidate);
    if (have_room[system] == 0 && least[system] == &one) all.push_back(one);
  }
  return all;
}

FitNeed need_of(const Asked& asked) {
  FitNeed need{
      asked.candidate->words(), asked.result.runs_with, {}, {}, explore::no_room(asked.result)};
  for (const result::TierNeed& tier : result::needs_of(asked.result)) {
    need.needed_bytes[tier.tier] = tier.needed;
    need.has_bytes[tier.tier] = tier.capacity;
  }
  return need;
}

}  // namespace

std::string way_and_batch(const result::Result& result, const std::string& way) {
  const Scenario scenario = explore::scenario_of(result);
  std::string words = way.empty() ? result::way_of(result) : way;
  for (const auto& [how, ranks] : {std::pair{"tensor", scenario.parallel.tensor},
                                   std::pair{"pipeline", scenario.parallel.pipeline},
                                   std::pair{"expert", scenario.parallel.expert}})
    if (ranks > 1) words += fmt::format(", {} {}", how, ranks);
  return words + fmt::format(", micro-batch {}", scenario.training.micro_batch);
}

Needs needs_of(const explore::Backend& backend, const std::vector<Candidate>& candidates,
               const CandidatesWith& candidates_with, std::uint64_t& simulated) {
  std::vector<const Candidate*> smallest = smallest_of(candidates, true, Takes::last);
  const bool only_runnable = !smallest.empty();
  if (smallest.empty()) smallest = smallest_of(candidates, false, Takes::last);
  std::vector<Asked> asked = asked_of(backend, smallest, simulated);
  std::stable_sort(asked.begin(), asked.end(), [](const Asked& one, const Asked& other) {
    return missing(one.result) < missing(other.result);
  });
  Needs needs;
  std::optional<Bought> best;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    needs.ways.push_back(need_of(asked[i]));
    if (!candidates_with || i >= most_bought_for) continue;
    auto bought = Buyer(backend, simulated).buy_for(asked[i]);
    if (bought && (!best || !bought->change.outlay_usd || !best->change.outlay_usd ||
                   *bought->change.outlay_usd < *best->change.outlay_usd))
      best = std::move(bought);
  }
  if (!best) return needs;
  take_fastest(backend, candidates_with, only_runnable, *best, needs, simulated);
  needs.change = std::move(best->change);
  needs.fastest = std::move(best->result);
  return needs;
}

std::vector<text::Text> passed_over(const explore::Backend& backend,
                                    const std::vector<Candidate>& candidates,
                                    const std::string& system, std::uint64_t& simulated) {
  std::vector<const Candidate*> smallest = smallest_of(candidates, true, Takes::first);
  std::erase_if(smallest, [&](const Candidate* one) {
    const description::Strategy& strategy = one->scenario.strategy;
    return strategy.system == system || strategy.optimizer.home != description::Home::host;
  });
  std::vector<text::Text> notes;
  for (const Asked& asked : least_of_forms(smallest, asked_of(backend, smallest, simulated))) {
    const auto resolve = [&](const std::vector<std::string>& set) { return resolved(asked, set); };
    notes.push_back(
        text::filled("{} does not fit: {}",
                     {asked.candidate->words(),
                      advice_on(backend, asked.candidate->scenario, asked.result, resolve)}));
  }
  return notes;
}

}  // namespace spillway::answers
