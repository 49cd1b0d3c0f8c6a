#include "explore/boxes/box_search.hpp"

#include "explore/boxes/box_neighbours.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

namespace spillway::explore {

using scenarios::Box;

namespace {

/// Settings of different systems that a first look at a box takes.
constexpr std::size_t first_look = 3;
/// Scenarios that are simulated together, on whatever number of cores.
constexpr std::size_t together = 16;
constexpr std::size_t most_runners_up = 3;
/// Boxes that are looked at for runners-up, and with what is not searched with.
constexpr std::size_t most_looks = 96;

/// Boxes and settings that are simulated to say how near a budget comes.
constexpr std::size_t near_boxes = 8, near_settings = 4;
/// Boxes on which systems are tried that are not searched with, where no other does it.
constexpr std::size_t near_late = 4;

/// A box under a setting.
using Point = std::pair<Box, std::size_t>;
/// Boxes with their prices.
using Priced = std::vector<std::pair<double, Box>>;

/// Owns one search: what was simulated, and what is known of each box.
class Searcher {
 public:
  Searcher(const Backend& backend, const scenarios::PriceList& list, const BoxNeed& need,
           std::uint64_t most, const BoxProgress& progress)
      : backend_(backend),
        list_(list),
        need_(need),
        most_(most),
        progress_(progress),
        bounds_(list, need) {
    for (const Box& box : boxes_of(list)) {
      const double price = price_of(list, box);
      (price <= need.budget_usd ? boxes_ : above_).emplace_back(price, box);
    }
    for (auto* some : {&boxes_, &above_})
      std::stable_sort(some->begin(), some->end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
  }

  BoxSearch run() {
    found_.boxes = boxes_.size();
    const std::size_t first = first_that_meets(boxes_);
    std::size_t answer = cheapest_before(first);
    if (answer == boxes_.size()) answer = cheapest_of_near_late();
    if (answer < boxes_.size()) {
      look_at_answer(boxes_[answer].second);
      const std::size_t cheaper = cheapest_of_late(answer);
      if (cheaper != answer) look_at_answer(boxes_[answer = cheaper].second);
      look_beside();
      while ((answer = cheapest_that_met()) != index_of(found_.answer->box)) {
        look_at_answer(boxes_[answer].second);
        look_beside();
      }
    }
    count_cheaper(answer);
    if (answer < boxes_.size()) {
      look_above(answer);
      collect_meeting();
    } else {
      look_for_near_ones();
    }
    if (bounds_.error()) throw *bounds_.error();
    found_.late_systems.assign(late_.begin(), late_.end());
    found_.bounded = bounds_.bounded();
    return std::move(found_);
  }

 private:
  bool possible(double most_tokens) const {
    return most_tokens > 0 && most_tokens >= need_.tokens_per_day;
  }
  /// Settings that bounds leave, the most promising first.
  std::vector<std::size_t> open_settings(const Box& box) {
    const std::vector<double>& most = bounds_.of(box);
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < most.size(); ++i)
      if (need_.settings[i].searched && possible(most[i])) open.push_back(i);
    std::stable_sort(open.begin(), open.end(),
                     [&](std::size_t a, std::size_t b) { return most[a] > most[b]; });
    return open;
  }
  /// The first of them of each system.
  std::vector<std::size_t> promising(const Box& box) {
    std::vector<std::size_t> few;
    std::set<std::string> systems;
    for (const std::size_t i : open_settings(box))
      if (few.size() < first_look && systems.insert(need_.settings[i].system).second)
        few.push_back(i);
    return few;
  }

  bool spent() const { return found_.simulated >= most_ || !backend_.goes_on(); }
  /// Scenarios that go together next.
  std::uint64_t next_batch() const {
    return std::min<std::uint64_t>(together, most_ - found_.simulated);
  }
  bool known(const Point& point) const { return trials_.contains(point); }

  void simulate(const std::vector<Point>& points) {
    std::vector<Trial> trials;
    std::vector<Point> fresh;
    for (const Point& point : points) {
      if (known(point) || std::find(fresh.begin(), fresh.end(), point) != fresh.end()) continue;
      const auto& [box, setting] = point;
      Trial& trial = trials.emplace_back();
      trial.words = need_.words(setting, box.gpus);
      trial.overrides = need_.on(setting, box.gpus);
      trial.overrides.insert(trial.overrides.begin(), "machine=" + machine_of(list_, box).dump());
      fresh.push_back(point);
    }
    if (trials.empty()) return;
    try_all(backend_, need_.job, trials);  // what contradicts itself has that as its reason
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      if (trials[i].not_tried) continue;
      found_.simulated += trials[i].result.has_value();
      trials_[fresh[i]] = std::move(trials[i]);
    }
    if (progress_) progress_(price_of(list_, fresh.back().first), found_.simulated);
  }

  bool meets(const Trial& trial) const {
    return trial.fits() && trial.result->tokens_per_s * 86400 >= need_.tokens_per_day &&
           lasts(trial);
  }
  bool lasts(const Trial& trial) const {
    if (!need_.years || !trial.result->wear) return true;
    const result::Wear& wear = *trial.result->wear;
    return wear.lifetime_years ? *wear.lifetime_years >= *need_.years
                               : wear.write_bytes_per_day == 0;
  }
  /// What meets before what does not, what fits before what does not, then the fastest, which is
  /// to be a tenth faster where it asks more of a user.
  auto merit(std::size_t setting, const Trial& trial) const {
    constexpr double worth_asking = 1.1;
    const double rate = trial.fits() ? trial.result->tokens_per_s : 0;
    return std::tuple(meets(trial), trial.fits(),
                      need_.settings[setting].asks_more ? rate / worth_asking : rate);
  }
  /// The best of what was simulated on the box with a setting that `takes` accepts.
  template <class Takes>
  std::optional<BoxOffer> best(const Box& box, const Takes& takes) const {
    std::optional<BoxOffer> best;
    for (auto at = trials_.lower_bound({box, 0}); at != trials_.end() && at->first.first == box;
         ++at) {
      if (!takes(at->first.second)) continue;
      if (best && merit(at->first.second, at->second) <= merit(best->setting, best->trial))
        continue;
      best =
          BoxOffer{"", box, price_of(list_, box), at->first.second, at->second, meets(at->second)};
    }
    return best;
  }
  /// Whether an answer may rest on the setting.
  bool counts(std::size_t setting) const {
    const BoxSetting& own = need_.settings[setting];
    return own.searched || late_.contains(own.system);
  }
  std::optional<BoxOffer> best_that_counts(const Box& box) const {
    return best(box, [this](std::size_t setting) { return counts(setting); });
  }
  bool met(const Box& box) const {
    const auto offer = best_that_counts(box);
    return offer && offer->meets;
  }

  /// The first box, in order of price, on which one of its most promising settings does.
  std::size_t first_that_meets(const Priced& boxes) {
    for (std::size_t from = 0; from < boxes.size() && !spent();) {
      std::vector<Point> points;
      const std::uint64_t batch = next_batch();
      std::size_t end = from;
      for (; end < boxes.size() && points.size() < batch && backend_.goes_on(); ++end)
        for (const std::size_t setting : promising(boxes[end].second))
          points.emplace_back(boxes[end].second, setting);
      simulate(points);
      for (; from < end; ++from)
        if (met(boxes[from].second)) return from;
    }
    return boxes.size();
  }

  /// How near the budget comes to what is asked, and what it would take.
  void look_for_near_ones() {
    std::vector<Point> points;
    for (const Box& box : fastest_by_bounds())
      for (const std::size_t setting : settings_by_bounds(box)) points.emplace_back(box, setting);
    simulate(points);
    for (const auto& [point, trial] : trials_) {
      if (!trial.fits() || !lasts(trial)) continue;
      const double price = price_of(list_, point.first), rate = trial.result->tokens_per_s;
      const auto& best = found_.nearest;
      if (best && std::tuple(-rate, price) >=
                      std::tuple(-best->trial.result->tokens_per_s, best->price_usd))
        continue;
      found_.nearest = BoxOffer{"", point.first, price, point.second, trial, false};
    }
    const std::size_t dearer = first_that_meets(above_);
    if (dearer < above_.size()) found_.dearer = best_that_counts(above_[dearer].second);
  }

  /// Settings that are searched with, the most promising first, whatever is asked; a few.
  std::vector<std::size_t> settings_by_bounds(const Box& box) {
    const std::vector<double>& most = bounds_.of(box);
    std::vector<std::size_t> all(most.size());
    std::iota(all.begin(), all.end(), 0);
    std::erase_if(all, [&](std::size_t i) { return !need_.settings[i].searched || most[i] <= 0; });
    std::stable_sort(all.begin(), all.end(),
                     [&](std::size_t a, std::size_t b) { return most[a] > most[b]; });
    all.resize(std::min(all.size(), near_settings));
    return all;
  }

  /// The boxes within the budget whose bounds allow most.
  std::vector<Box> fastest_by_bounds() {
    std::vector<std::pair<double, Box>> all;
    for (const auto& [price, box] : boxes_) {
      if (!backend_.goes_on()) break;
      const auto settings = settings_by_bounds(box);
      if (!settings.empty()) all.emplace_back(bounds_.of(box)[settings.front()], box);
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<Box> few;
    for (std::size_t i = 0; i < std::min(all.size(), near_boxes); ++i) few.push_back(all[i].second);
    return few;
  }

  /// The cheapest that does once all settings of all boxes before `limit` were simulated.
  std::size_t cheapest_before(std::size_t limit) {
    for (std::size_t from = 0; from < limit && !spent();) {
      std::vector<Point> points;
      const std::uint64_t batch = next_batch();
      std::size_t end = from;
      for (; end < limit && points.size() < batch && backend_.goes_on(); ++end)
        for (const std::size_t setting : open_settings(boxes_[end].second))
          if (const Point point{boxes_[end].second, setting}; !known(point))
            points.push_back(point);
      simulate(points);
      for (; from < end; ++from)
        if (met(boxes_[from].second)) return from;
    }
    return limit;
  }

  /// Of what is not searched with, the smallest micro-batch of each system and one in the middle,
  /// on the dearest boxes within the budget: the cheapest that does it.
  std::size_t cheapest_of_near_late() {
    std::map<std::string, std::vector<std::size_t>> systems;
    for (std::size_t i = 0; i < need_.settings.size(); ++i)
      if (!need_.settings[i].searched) systems[need_.settings[i].system].push_back(i);
    std::vector<Point> points;
    for (std::size_t i = boxes_.size(); i-- > 0 && found_.late_looks < near_late;) {
      if (systems.empty()) break;
      ++found_.late_looks;
      for (auto& [system, settings] : systems) {
        std::stable_sort(settings.begin(), settings.end(), [&](std::size_t a, std::size_t b) {
          return need_.settings[a].micro_batch < need_.settings[b].micro_batch;
        });
        for (const std::size_t setting : {settings.front(), settings[settings.size() / 2]})
          if (need_.accumulation(setting, boxes_[i].second.gpus) > 0)
            points.emplace_back(boxes_[i].second, setting);
      }
    }
    if (!spent()) simulate(points);
    return cheapest_that_met();
  }

  std::size_t index_of(const Box& box) const {
    const auto at = std::find_if(boxes_.begin(), boxes_.end(),
                                 [&](const auto& priced) { return priced.second == box; });
    return static_cast<std::size_t>(at - boxes_.begin());
  }

  /// The cheapest box within the budget on which anything that was simulated does it; an answer may
  /// rest on that system from now on.
  std::size_t cheapest_that_met() {
    std::size_t cheapest = boxes_.size();
    for (const auto& [point, trial] : trials_) {
      if (!meets(trial)) continue;
      const std::size_t at = index_of(point.first);
      if (at >= boxes_.size()) continue;  // beyond the budget
      if (!need_.settings[point.second].searched) late_.insert(need_.settings[point.second].system);
      cheapest = std::min(cheapest, at);
    }
    return cheapest;
  }

  /// What is not searched with and does it on the answer, on cheaper boxes: the first that does.
  /// They may have less memory, so smaller micro-batches are tried too.
  std::size_t cheapest_of_late(std::size_t answer) {
    std::map<std::string, std::uint64_t> batches;  // by system: that does it on the answer
    for (const BoxOffer& offer : found_.systems)
      if (const BoxSetting& setting = need_.settings[offer.setting];
          !setting.searched && offer.meets)
        batches[setting.system] = setting.micro_batch;
    std::vector<std::size_t> settings;
    for (std::size_t i = 0; i < need_.settings.size(); ++i) {
      const auto batch = batches.find(need_.settings[i].system);
      if (batch != batches.end() && need_.settings[i].micro_batch <= batch->second)
        settings.push_back(i);
    }
    for (const auto& [system, batch] : batches) late_.insert(system);
    if (settings.empty()) return answer;
    for (std::size_t from = answer - std::min(answer, most_looks); from < answer && !spent();) {
      std::vector<Point> points;
      const std::size_t start = from;
      std::size_t end = from;
      for (; end < answer && points.size() < next_batch(); ++end)
        for (const std::size_t setting : settings)
          if (need_.accumulation(setting, boxes_[end].second.gpus) > 0)
            points.emplace_back(boxes_[end].second, setting);
      simulate(points);
      for (; from < end; ++from)
        if (met(boxes_[from].second)) return from;
      found_.late_missed += end - start;
    }
    return answer;
  }

  void count_cheaper(std::size_t answer) {
    found_.cheaper = answer;
    for (std::size_t i = 0; i < answer && backend_.goes_on(); ++i) {
      const Box& box = boxes_[i].second;
      const auto open = open_settings(box);
      found_.ruled_out += open.empty();
      found_.missed += !open.empty() && std::all_of(open.begin(), open.end(), [&](std::size_t s) {
        return known({box, s}) && !trials_.at({box, s}).unanswered;
      });
    }
  }

  void look_at_answer(const Box& box) {
    std::vector<Point> points;
    const std::vector<double>& most = bounds_.of(box);
    for (std::size_t i = 0; i < most.size(); ++i)
      if (most[i] > 0) points.emplace_back(box, i);
    simulate(points);
    found_.answer = best_that_counts(box);
    found_.systems.clear();
    std::set<std::string> systems = {need_.settings[found_.answer->setting].system};
    for (const BoxSetting& setting : need_.settings) {
      if (!systems.insert(setting.system).second) continue;
      const auto own = [&](std::size_t i) { return need_.settings[i].system == setting.system; };
      if (auto offer = best(box, own)) {
        offer->change = setting.system;
        found_.systems.push_back(std::move(*offer));
      }
    }
  }

  /// Neighbours under the answer's settings in all micro-batches and the most promising of the
  /// others, ruled out or not.
  void look_beside() {
    const BoxOffer& answer = *found_.answer;
    const std::vector<std::string>& own = need_.settings[answer.setting].overrides;
    found_.neighbours.clear();
    const std::vector<Neighbour> changes = neighbours_of(list_, answer.box);
    std::vector<Point> points;
    for (const auto& [change, box] : changes)
      if (need_.accumulation(answer.setting, box.gpus) > 0)
        points.emplace_back(box, answer.setting);
    simulate(points);  // first of all: the time may end
    points.clear();
    for (const auto& [change, box] : changes) {
      for (std::size_t i = 0; i < need_.settings.size(); ++i)
        if (need_.settings[i].overrides == own && need_.accumulation(i, box.gpus) > 0)
          points.emplace_back(box, i);
      for (const std::size_t setting : promising(box)) points.emplace_back(box, setting);
    }
    simulate(points);
    for (const auto& [change, box] : changes) {
      auto offer = best_that_counts(box);
      if (!offer) continue;  // no setting makes the global batch on so many cards
      offer->change = change;
      found_.neighbours.push_back(std::move(*offer));
    }
  }

  /// The cheapest boxes with other cards or another host that do, as far as their most promising
  /// settings say.
  void look_above(std::size_t answer) {
    const auto kind = [](const Box& box) { return std::tuple(box.gpu, box.gpus, box.host); };
    std::set<std::tuple<std::size_t, std::uint64_t, std::size_t>> seen = {
        kind(boxes_[answer].second)};
    std::size_t looks = 0;
    for (std::size_t i = answer + 1; i < boxes_.size() && looks < most_looks && backend_.goes_on();
         ++i) {
      const auto& [price, box] = boxes_[i];
      if (seen.contains(kind(box)) || found_.runners_up.size() == most_runners_up) continue;
      std::vector<Point> points;
      for (const std::size_t setting : promising(box)) points.emplace_back(box, setting);
      looks += !points.empty();
      simulate(points);
      auto offer = best_that_counts(box);
      if (!offer || !offer->meets) continue;
      seen.insert(kind(box));
      found_.runners_up.push_back(std::move(*offer));
    }
  }

  void collect_meeting() {
    std::set<Box> seen = {found_.answer->box};
    for (const auto& [point, unused] : trials_)
      if (seen.insert(point.first).second && met(point.first))
        found_.meeting.push_back(point.first);
  }

  const Backend& backend_;
  const scenarios::PriceList& list_;
  const BoxNeed& need_;
  const std::uint64_t most_;
  const BoxProgress& progress_;
  BoxBounds bounds_;
  std::set<std::string> late_;  ///< systems that joined when there was an answer
  Priced boxes_, above_;        ///< within the budget and above it, the cheapest first
  std::map<Point, Trial> trials_;
  BoxSearch found_;
};

}  // namespace

BoxSearch find_box(const Backend& backend, const scenarios::PriceList& list, const BoxNeed& need,
                   std::uint64_t most, const BoxProgress& progress) {
  return Searcher(backend, list, need, most, progress).run();
}

}  // namespace spillway::explore
