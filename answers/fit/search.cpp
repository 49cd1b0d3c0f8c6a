#include "answers/fit/search.hpp"

#include "answers/fit/line.hpp"
#include "answers/plan/question.hpp"
#include "explore/remedies/free_settings.hpp"
#include "explore/trials/ways.hpp"
#include "reports/result/way.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <set>

namespace spillway::answers {

using description::Scenario;
using nlohmann::json;

namespace {

bool moves_nothing(const result::Result& result) {
  const result::IoBytes& io = result.io;
  return io.h2d + io.d2h + io.ssd_read + io.ssd_write == 0;
}

/// Simulations that other systems than those that people can run get at most.
constexpr std::uint64_t most_of_others = 12;
/// And besides where one of them fits and nothing that people can run does.
constexpr std::uint64_t most_of_others_alone = 24;
/// And for systems none of whose ways has fitted yet.
constexpr std::uint64_t most_of_first_ones = 16;
/// Simulations of micro-batches between powers of two that a league gets, but for its fastest way.
constexpr std::uint64_t most_between = 6;

/// A setting more makes it so many times as fast.
constexpr double worth_a_setting = 1.02;

/// Of JSON, which has no infinity.
double bound_in(const json& value) {
  return value.is_null() ? std::numeric_limits<double>::infinity() : value.get<double>();
}

Line line_of(std::vector<Candidate> candidates) {
  Line line;
  line.candidates = std::move(candidates);
  return line;
}

const std::string& system_of(const Line& line) {
  return line.candidates.front().scenario.strategy.system;
}

/// Known of a run that finds no room in another memory first.
bool gpu_has_room(const explore::Outcome& outcome) {
  return outcome.result && outcome.result->infeasible && outcome.result->infeasible->tier != "gpu";
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
    play_between(true);
    step_down();
    fill_host();
    if (found_.runnable && on_runnable) on_runnable(found_);
    limit_ = found_.simulated + most_of_others;
    if (!only_runnable) {
      play(false);
      play_between(false);
    }
    if (found_.runnable && !only_runnable &&
        (!found_.best || found_.best->tokens_per_s <= found_.runnable->tokens_per_s))
      take_runnable_as_best();
  }

  void fill_host() {
    if (!found_.runnable || !backend_.goes_on() ||
        fastest_runnable_->candidates.front().says_max_in_host)
      return;
    const auto filled = explore::idle_host_of(*found_.runnable);
    if (!filled) return;
    std::vector<answer::Trial> trials = {{filled->words, filled->overrides, std::nullopt, ""}};
    try_all(backend_, found_.runnable->scenario, trials);
    ++found_.simulated;
    const answer::Trial& trial = trials.front();
    if (!trial.fits() ||
        trial.result->tokens_per_s < worth_a_setting * found_.runnable->tokens_per_s)
      return;
    std::string& way = found_.runnable_way;
    if (way.empty()) way = result::way_of(*found_.runnable);
    way += explore::parts_in_name(filled->overrides);
    found_.runnable = *trial.result;
  }

  void take_runnable_as_best() {
    found_.best = found_.runnable;
    found_.best_way = found_.runnable_way;
  }

  /// With plans for less of the machine; what bounds rule out stays out.
  void start_over() {
    found_.lower_plans = true;
    found_.unanswered.clear();
    found_.left_out.clear();
    found_.partly_left_out.clear();
    fitted_.clear();
    limit_.reset();
    for (Line& line : lines_) line = line_of(std::move(line.candidates));
  }

  std::vector<Line*> league(bool runnable) {
    std::vector<Line*> lines;
    for (Line& line : lines_)
      if (!line.candidates.empty() && line.runnable() == runnable) lines.push_back(&line);
    return lines;
  }

  /// The fastest so far that a candidate has to beat.
  double to_beat(bool runnable) const {
    double least = 0;
    if (found_.runnable) least = found_.runnable->tokens_per_s;
    if (!runnable && found_.best) least = std::max(least, found_.best->tokens_per_s);
    return least;
  }

  /// The line whose place this one takes; null: none.
  Line* before(const Line& line) {
    const std::optional<std::size_t> way = line.candidates.front().instead_of;
    return way ? &lines_[*way] : nullptr;
  }

  /// Not before the way whose place it takes was tried, and not where that is known to have room.
  bool has_its_turn(Line& line) {
    const Line* base = before(line);
    if (!base) return true;
    if (base->has_room.value_or(false)) line.give_way();
    if (line.candidates.front().frees_gpu && base->gpu_has_room) line.pass_all_by();
    return !base->open() && !base->has_room.value_or(false);
  }

  /// Goes down to the first candidate that is not ruled out; false when there is none. A smaller
  /// micro-batch has no higher bound, so a line ends with the first that is too slow.
  bool ready(Line& line) {
    if (!has_its_turn(line)) return false;
    while (line.open() && line.now().most_tokens_per_s == 0.0) line.pass_by();
    if (!line.open() || !line.now().most_tokens_per_s) return false;  // ended before it was bounded
    const double most = *line.now().most_tokens_per_s;
    if (worth_simulating(most, to_beat(line.runnable()))) return true;
    line.close_with(most);
    return false;
  }

  /// Lines that are to be simulated, but take the place of one that ended before anybody knew
  /// whether it has room: what other systems are tried must not decide that. Its smallest
  /// micro-batch says so.
  ///   Result  how many had to be asked; they have answers now
  std::size_t ask_for_room(const std::vector<Line*>& open) {
    std::vector<Line*> unknown;
    for (const Line* line : open)
      if (Line* base = before(*line); base && !base->has_room) unknown.push_back(base);
    std::vector<Scenario> scenarios;
    for (const Line* base : unknown) scenarios.push_back(base->candidates.back().scenario);
    if (unknown.empty()) return 0;
    const auto outcomes = outcomes_of(scenarios);
    for (std::size_t i = 0; i < unknown.size(); ++i) {
      Line& base = *unknown[i];
      base.has_room = outcomes[i].result && outcomes[i].result->feasible();
      base.gpu_has_room = gpu_has_room(outcomes[i]);
      if (!*base.has_room) base.gap = {};
      if (!outcomes[i].result) add_unanswered(base.candidates.back(), outcomes[i]);
    }
    return unknown.size();
  }

  /// Works something out for each line side by side, in as many children as there are cores; each
  /// takes its share of the lines.
  void share_out(const std::vector<Line*>& lines, const std::function<json(const Line&)>& of,
                 const std::function<void(const json&, Line&)>& take) {
    if (lines.empty()) return;
    const std::size_t shares = std::min(lines.size(), explore::usable_cores());
    const std::function<std::string(std::size_t)> work = [&](std::size_t share) {
      json all = json::array();
      try {
        for (std::size_t i = share; i < lines.size(); i += shares) all.push_back(of(*lines[i]));
      } catch (const description::ScenarioError&) {
        return std::string();  // worked out again below, whose caller knows what to say of it
      }
      return all.dump();
    };
    explore::ChildPool pool(shares, work, shares, explore::default_limit_s, backend_.watch,
                            backend_.starts);
    backend_.prepare();  // beside them
    const std::vector<explore::Piece> pieces = pool.finish();
    for (std::size_t share = 0; share < shares; ++share) {
      if (pieces[share].end == explore::Piece::End::not_tried) continue;
      const json all = json::parse(pieces[share].text, nullptr, false);
      const bool known = all.is_array();  // else of no child that ended well; here, if later
      for (std::size_t i = 0; share + i * shares < lines.size(); ++i) {
        Line& line = *lines[share + i * shares];
        if (known)
          take(all.at(i), line);
        else if (backend_.goes_on())
          take(json::parse(json(of(line)).dump()), line);
      }
    }
  }

  void bound(const std::vector<Line*>& lines) {
    std::vector<Line*> open;
    for (Line* line : lines)
      if (has_its_turn(*line) && line->open() && !line->now().most_tokens_per_s)
        open.push_back(line);
    const auto of = [](const Line& line) { return json(next_bounds(line)); };
    share_out(open, of, [this](const json& bounds, Line& line) {
      for (std::size_t i = 0; i < bounds.size(); ++i)
        line.candidates[line.at + i].most_tokens_per_s = bound_in(bounds[i]);
      found_.bounded += bounds.size();
    });
  }

  /// Bounds what is between powers of two where it may be faster than `least`.
  void narrow(const std::vector<Line*>& lines, double least) {
    std::vector<Line*> open;
    for (Line* line : lines)
      if (worth_simulating(line->gap.most_tokens_per_s(), least) && !line->gap.promises(least))
        open.push_back(line);
    const auto of = [least](const Line& line) {
      std::uint64_t bounded = 0;
      const Gap gap = narrowed(line, least, bounded);
      json all = {{"bounded", bounded}, {"room", gap.room}, {"none", gap.none}};
      all["at_room"] = gap.at_room;
      if (gap.most_of_middle) all["middle"] = *gap.most_of_middle;
      return all;
    };
    share_out(open, of, [this](const json& all, Line& line) {
      line.gap = {all.at("room"), all.at("none"), all.at("at_room"), {}};
      if (all.contains("middle")) line.gap.most_of_middle = bound_in(all.at("middle"));
      found_.bounded += all.at("bounded").get<std::uint64_t>();
    });
  }

  /// Until bounds leave nothing that could be faster. Plans last: they have no close bound, and
  /// what is faster than they are spares them.
  void play(bool runnable) {
    const std::vector<Line*> lines = league(runnable);
    while (backend_.goes_on()) {
      bound(lines);
      std::vector<Line*> open;
      bool turn_to_come = false;  // a line came to its end, and another may take its place
      for (Line* line : lines) {
        const bool open_before = line->open();
        if (ready(*line)) open.push_back(line);
        turn_to_come = turn_to_come || (open_before && !line->open());
      }
      leave_out_long_ones(open);
      if (open.empty() && turn_to_come) continue;
      if (open.empty()) return;
      std::stable_sort(open.begin(), open.end(), [](const Line* one, const Line* other) {
        if (one->plans() != other->plans()) return other->plans();
        return one->now().most_tokens_per_s > other->now().most_tokens_per_s;
      });
      open.resize(std::min(open.size(), at_once));
      if (ask_for_room(open) == 0) simulate(open);
    }
  }

  /// Plans, once anything fits, and what is left when the limit is reached, but for the most
  /// promising way of each system that has not fitted yet; its others wait for that.
  void leave_out_long_ones(std::vector<Line*>& open) {
    const bool alone = found_.best && !found_.runnable;
    const std::uint64_t most = alone ? most_of_others_alone : 0;
    const bool full = limit_ && found_.simulated >= *limit_ + most;
    const bool ends = limit_ && found_.simulated >= *limit_ + most + most_of_first_ones;
    const bool fits = found_.runnable || found_.best;
    std::map<std::string, const Line*> first;
    for (const Line* line : open) {
      const Line*& one = first[system_of(*line)];
      if (!one || line->now().most_tokens_per_s > one->now().most_tokens_per_s) one = line;
    }
    for (Line*& line : open) {
      const std::string& system = system_of(*line);
      const bool waits = full && !ends && !fitted_.count(system);
      if ((full && !waits) || (fits && line->plans())) {
        (fitted_.count(system) ? found_.partly_left_out : found_.left_out).insert(system);
        line->close();
        line = nullptr;
      } else if (waits && first[system] != line) {
        line = nullptr;
      }
    }
    std::erase(open, nullptr);
  }

  /// Micro-batches between the largest power of two that has room and the next, the most promising
  /// first; the smaller ones stay where larger ones bring little. Of the fastest that people can
  /// run all that promise more, or other systems would take simulations from it.
  void play_between(bool runnable) {
    const std::vector<Line*> lines = league(runnable);
    std::uint64_t limit = found_.simulated + most_between;
    while (backend_.goes_on()) {
      const bool full = found_.simulated >= limit;
      const double least = to_beat(runnable);
      narrow(lines, least);
      std::vector<Line*> open;
      for (Line* line : lines)
        if (has_its_turn(*line) && line->gap.promises(least) &&
            (!full || line == fastest_runnable_))
          open.push_back(line);
      if (open.empty()) return;
      std::stable_sort(open.begin(), open.end(), [](const Line* one, const Line* other) {
        if (one->plans() != other->plans()) return other->plans();
        return one->gap.most_tokens_per_s() > other->gap.most_tokens_per_s();
      });
      open.resize(std::min(open.size(), at_once));
      const std::size_t asked = ask_for_room(open);
      if (asked == 0) simulate_middles(open, least);
      limit += asked;
    }
  }

  /// Of what people can run: smaller micro-batches, as long as they are faster, as they may be
  /// where what samples bring along, and not the cards, sets the pace.
  void step_down() {
    while (fastest_runnable_ && fastest_runnable_->candidates.size() > 1 && backend_.goes_on()) {
      const std::uint64_t batch = explore::scenario_of(*found_.runnable).training.micro_batch;
      if (batch == 1) return;
      const Line& line = *fastest_runnable_;
      const Candidate smaller = line.candidates.front().with_batch(std::bit_floor(batch - 1));
      const auto outcomes = outcomes_of({smaller.scenario});
      const auto& result = outcomes.front().result;
      if (!result || !result->feasible() || result->tokens_per_s <= found_.runnable->tokens_per_s)
        return;
      found_.runnable = result;
    }
  }

  std::vector<explore::Outcome> outcomes_of(const std::vector<Scenario>& scenarios) {
    found_.simulated += scenarios.size();
    return explore::simulate_all(backend_, scenarios, 0, explore::default_limit_s,
                                 {explore::WhenFull::stop, found_.lower_plans});
  }

  void simulate(const std::vector<Line*>& open) {
    std::vector<Scenario> scenarios;
    for (const Line* line : open) scenarios.push_back(line->now().scenario);
    const auto outcomes = outcomes_of(scenarios);
    for (std::size_t i = 0; i < open.size(); ++i) judge(*open[i], outcomes[i]);
  }

  void judge(Line& line, const explore::Outcome& outcome) {
    if (outcome.result && outcome.result->feasible()) {
      take_if_faster(line, *outcome.result);
      line.has_room = true;
      fitted_.insert(system_of(line));
      line.close_with(outcome.result->tokens_per_s);  // the largest that fits
      return;
    }
    if (!outcome.result) add_unanswered(line.now(), outcome);
    line.gpu_has_room = gpu_has_room(outcome);
    line.pass_by();
  }

  /// What is a little faster than `least` takes nothing's place.
  void simulate_middles(const std::vector<Line*>& open, double least) {
    std::vector<Scenario> scenarios;
    for (const Line* line : open) scenarios.push_back(line->middle().scenario);
    const auto outcomes = outcomes_of(scenarios);
    for (std::size_t i = 0; i < open.size(); ++i) {
      Line& line = *open[i];
      const auto& result = outcomes[i].result;
      if (!result) {
        add_unanswered(line.middle(), outcomes[i]);
        line.gap = {};
      } else if (result->feasible()) {
        line.has_room = true;
        if (worth_simulating(result->tokens_per_s, least)) take_if_faster(line, *result);
        line.gap.take_room(line.gap.middle(), result->tokens_per_s);
      } else {
        line.gap.take_none(line.gap.middle());
      }
    }
  }

  /// Of what people can run, a way that moves nothing between memories is taken where it is nearly
  /// as fast: less of it may be otherwise than it is here.
  void take_if_faster(const Line& line, const result::Result& result) {
    auto& best = line.runnable() ? found_.runnable : found_.best;
    constexpr double nearly = 0.95;
    double least = best ? best->tokens_per_s : 0;
    if (best && line.runnable() && moves_nothing(result) != moves_nothing(*best))
      least *= moves_nothing(result) ? nearly : 1 / nearly;
    if (best && result.tokens_per_s <= least) return;
    best = result;
    if (line.runnable()) fastest_runnable_ = &line;
    const std::string& way = line.candidates.front().name;
    const bool swaps = way.find(" + ") != std::string::npos;
    const bool is_plain = way.substr(0, way.find(", ")) == result::way_of(result);
    (line.runnable() ? found_.runnable_way : found_.best_way) = swaps || !is_plain ? way : "";
  }

  void add_unanswered(const Candidate& one, const explore::Outcome& outcome) {
    const std::string why =
        outcome.complaints.empty() ? outcome.failure : to_string(outcome.complaints.front());
    found_.unanswered.push_back(one.words() + ": " + why);
  }

  /// As many whatever the processor: so the same ones are simulated on any.
  static constexpr std::size_t at_once = 2;

  const explore::Backend& backend_;
  std::vector<Line> lines_;
  Found found_;
  const Line* fastest_runnable_ = nullptr;  ///< of found_.runnable
  std::optional<std::uint64_t> limit_;      ///< of found_.simulated
  std::set<std::string> fitted_;            ///< systems with a way that has room
};

}  // namespace

Found search(const explore::Backend& backend, std::span<const Candidate> candidates,
             bool only_runnable, const std::function<void(const Found& so_far)>& on_runnable) {
  return Search(backend, candidates).run(only_runnable, on_runnable);
}

}  // namespace spillway::answers
