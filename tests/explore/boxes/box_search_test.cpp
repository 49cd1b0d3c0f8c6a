#include "explore/boxes/box_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "explore/boxes/break_even.hpp"
#include "tests/explore/simulator.hpp"
#include "tests/long_test.hpp"
#include "tests/scenarios/temporary_files.hpp"

namespace spillway::explore::box_search_test {
namespace {

using nlohmann::json;
using scenarios::Box;

/// Sources for all numbers of a part.
void add_sources(json& part) {
  std::vector<std::pair<std::string, json>> open;
  for (const char* key : {"gpu", "pcie", "host", "drive", "price_usd", "dram_usd_per_gib"})
    if (part.contains(key)) open.emplace_back(key, part[key]);
  json& sources = part["sources"] = json::object();
  while (!open.empty()) {
    const auto [path, value] = open.back();
    open.pop_back();
    if (value.is_object())
      for (const auto& [key, child] : value.items()) open.emplace_back(path + "." + key, child);
    else
      sources[path] = "assumed: a test's";
  }
}

json card(const char* name, double price, const char* memory, const char* rate) {
  return {{"name", name},
          {"price_usd", price},
          {"gpu", {{"memory", memory}, {"compute", {{"bf16", rate}}}, {"memory_rate", "1 TB/s"}}},
          {"pcie", {{"h2d", "12 GB/s"}, {"d2h", "12 GB/s"}}}};
}

/// Two cards, one or two of them, three sizes of memory and up to two drives.
///   elementwise  how the traffic of the cards' kernels is charged
scenarios::PriceList small_list(const char* elementwise = "included") {
  json list = {{"name", "small"}, {"date", "2026-11-21"}};
  list["gpus"] = {card("slow", 200, "6 GiB", "5 TFLOPS"), card("fast", 900, "12 GiB", "60 TFLOPS")};
  for (json& one : list["gpus"]) one["gpu"]["elementwise"] = elementwise;
  list["hosts"] = {{{"name", "host"},
                    {"price_usd", 500},
                    {"dram_usd_per_gib", 10},
                    {"memory", {"2 GiB", "4 GiB", "16 GiB"}},
                    {"gpus", {1, 2}},
                    {"slots", {{"m2", 2}}},
                    {"host", {{"memory_rate", "30 GB/s"}, {"cores", 8}}}}};
  list["drives"] = {{{"name", "drive"},
                     {"price_usd", 60},
                     {"form", "m2"},
                     {"drive",
                      {{"capacity", "100 GB"},
                       {"read", "2 GB/s"},
                       {"write", "1 GB/s"},
                       {"endurance", {{"rated", "1 PB"}}}}}}};
  for (const char* kind : {"gpus", "hosts", "drives"})
    for (json& part : list[kind]) add_sources(part);
  const scenarios::TemporaryFiles files;
  return scenarios::read_price_list(files.write("small.json", list.dump()));
}

BoxNeed need(double tokens_per_day, double budget) {
  BoxNeed need;
  need.job = {{"model", "gpt2"},
              {"training", {{"precision", "bf16_mixed"}, {"sequence", 256}}},
              {"run", {{"warmup_steps", 1}, {"steps", 1}}}};
  for (const char* system : {"resident", "zero_offload", "zero_infinity"})
    for (const int batch : {1, 8}) {
      const std::string words = std::string(system) + " " + std::to_string(batch);
      need.settings.push_back({words,
                               system,
                               {std::string(R"(strategy={"system": ")") + system + "\"}",
                                "training.micro_batch=" + std::to_string(batch)}});
    }
  need.tokens_per_day = tokens_per_day;
  need.budget_usd = budget;
  return need;
}

/// Everything that could be bought, simulated: price, tokens a day, years.
struct Truth {
  double price, tokens, years;
};

std::vector<Truth> simulate_all_of(const scenarios::PriceList& list) {
  const BoxNeed asked = need(1, 1e9);
  std::vector<Trial> trials;
  std::vector<double> prices;
  for (const Box& box : boxes_of(list))
    for (std::size_t i = 0; i < asked.settings.size(); ++i) {
      Trial& trial = trials.emplace_back();
      trial.overrides = asked.on(i, box.gpus);
      trial.overrides.push_back("machine=" + machine_of(list, box).dump());
      prices.push_back(price_of(list, box));
    }
  EXPECT_FALSE(try_all(sim(), asked.job, trials));
  std::vector<Truth> all;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (!trials[i].fits()) continue;
    const auto& wear = trials[i].result->wear;
    const bool worn = wear && wear->lifetime_years;
    all.push_back({prices[i], trials[i].result->tokens_per_s * 86400,
                   worn ? *wear->lifetime_years : std::numeric_limits<double>::infinity()});
  }
  return all;
}

const std::vector<Truth>& truth() {
  static const std::vector<Truth> all = simulate_all_of(small_list());
  return all;
}

/// Tokens a day of the fastest.
double fastest() {
  double most = 0;
  for (const Truth& one : truth()) most = std::max(most, one.tokens);
  return most;
}

/// The least price that does it; infinity when nothing does.
double cheapest(double tokens, double years) {
  double least = std::numeric_limits<double>::infinity();
  for (const Truth& one : truth())
    if (one.tokens >= tokens && one.years >= years) least = std::min(least, one.price);
  return least;
}

TEST(BoxSearch, FindsWhatAllSimulationsTogetherFind) {
  LONG_TEST();
  const scenarios::PriceList list = small_list();
  const double most = fastest();
  std::uint64_t ruled_out = 0, missed = 0;
  for (const double share : {0.02, 0.4, 0.999, 1.001})
    for (const double years : {0.0, 0.5}) {
      SCOPED_TRACE(std::to_string(share) + " " + std::to_string(years));
      BoxNeed asked = need(share * most, 3000);
      if (years > 0) asked.years = years;
      const BoxSearch found = find_box(sim(), list, asked, 100000);
      const double price = cheapest(share * most, years);
      ASSERT_EQ(found.answer.has_value(), price <= 3000);
      EXPECT_TRUE(found.whole());
      if (found.answer) {
        EXPECT_EQ(found.answer->price_usd, price);
        EXPECT_TRUE(found.answer->meets);
      } else {
        EXPECT_EQ(found.cheaper, found.boxes);
      }
      ruled_out += found.ruled_out;
      missed += found.missed;
    }
  EXPECT_GT(ruled_out, 0u);
  EXPECT_GT(missed, 0u);
}

TEST(BoxSearch, ShowsWhatIsBesideTheAnswer) {
  const scenarios::PriceList list = small_list();
  const double most = fastest();
  const BoxSearch found = find_box(sim(), list, need(0.5 * most, 3000), 100000);
  ASSERT_TRUE(found.answer);
  for (const BoxOffer& offer : found.neighbours) {
    SCOPED_TRACE(offer.change);
    EXPECT_NE(offer.box, found.answer->box);
    EXPECT_FALSE(offer.meets && offer.price_usd < found.answer->price_usd);
  }
  std::set<std::string> systems = {need(1, 1).settings[found.answer->setting].system};
  for (const BoxOffer& offer : found.systems) {
    EXPECT_EQ(offer.box, found.answer->box);
    EXPECT_TRUE(systems.insert(offer.change).second);
  }
  for (const BoxOffer& offer : found.runners_up) {
    EXPECT_TRUE(offer.meets);
    EXPECT_GE(offer.price_usd, found.answer->price_usd);
    EXPECT_TRUE(offer.box.gpu != found.answer->box.gpu || offer.box.gpus != found.answer->box.gpus);
  }
}

/// Rests that are equal but for rounding are no price at which a drive more pays.
TEST(BreakEvens, NamesNoPriceForOneMoreOfTheSame) {
  scenarios::PriceList list = small_list();
  BoxSearch found;
  found.answer.emplace().box = {0, 0, 2, 0, 1, 1};
  found.meeting = {{0, 0, 2, 0, 1, 2}};
  for (int cents = 1; cents < 200; ++cents) {
    list.drives[0].price_usd = 400 + cents / 100.0;
    EXPECT_TRUE(break_evens(list, found).empty()) << list.drives[0].price_usd;
  }
  found.meeting = {{1, 0, 0, 0, 1, 2}};  // a dearer card with less memory
  EXPECT_FALSE(break_evens(list, found).empty());
}

TEST(BoxSearch, SaysWhatItLeftOpenWhenItsSimulationsAreSpent) {
  const scenarios::PriceList list = small_list();
  const BoxSearch none = find_box(sim(), list, need(1e15, 1e9), 1);
  EXPECT_EQ(none.ruled_out, none.boxes) << "no simulation is needed";
  EXPECT_TRUE(none.whole());
  const BoxSearch cut = find_box(sim(), list, need(1.0001 * fastest(), 1e9), 1);
  EXPECT_FALSE(cut.answer);
  EXPECT_FALSE(cut.whole());
  EXPECT_EQ(cut.cheaper, cut.boxes);
}

TEST(BoxSearch, TakesTheBudgetAsTheMostThatABoxMayCost) {
  const scenarios::PriceList list = small_list();
  // 500 + a slow card 200 + 2 GiB at 10
  EXPECT_EQ(find_box(sim(), list, need(1e15, 720), 1).boxes, 1u);
  EXPECT_EQ(find_box(sim(), list, need(1e15, 719.99), 1).boxes, 0u);
}

// Gradients of 16 bits are a little faster, and another that nobody has to ask for does it too.
TEST(BoxSearch, TakesWhatAsksMoreOnlyWhereItIsATenthFaster) {
  BoxNeed asked = need(1, 1e9);
  asked.settings.resize(4);  // none that needs drives
  std::erase_if(asked.settings, [](const BoxSetting& one) { return one.system != "zero_offload"; });
  BoxSetting narrow = asked.settings.front();
  narrow.words = "narrow";
  narrow.asks_more = true;
  narrow.overrides.emplace_back("strategy.gradients.accumulation=fp16");
  asked.settings.insert(asked.settings.begin(), narrow);
  asked.settings.resize(2);
  const BoxSearch found = find_box(sim(), small_list(), asked, 1000);
  ASSERT_TRUE(found.answer);
  EXPECT_EQ(found.answer->setting, 1u);
  asked.settings.front().asks_more = false;
  EXPECT_EQ(find_box(sim(), small_list(), asked, 1000).answer->setting, 0u);
}

TEST(BoxSearch, KeepsTheSamplesOfAStep) {
  BoxNeed asked = need(1, 3000);
  asked.settings.clear();
  for (const std::uint64_t batch : {1, 3, 8})
    asked.settings.push_back({"resident " + std::to_string(batch),
                              "resident",
                              {R"(strategy={"system": "resident"})"},
                              true,
                              batch});
  asked.global_batch = 8;
  // 8 = 1 x 8 = 8 x 1 on one card, 1 x 4 x 2 cards; three samples at a time never make eight
  EXPECT_EQ(asked.accumulation(0, 1), 8u);
  EXPECT_EQ(asked.accumulation(0, 2), 4u);
  EXPECT_EQ(asked.accumulation(1, 1), 0u);
  EXPECT_EQ(asked.accumulation(2, 1), 1u);
  EXPECT_EQ(asked.accumulation(2, 2), 0u);
  EXPECT_EQ(asked.words(0, 2), "resident 1 x 4");
  EXPECT_EQ(asked.words(2, 1), "resident 8");
  const BoxSearch found = find_box(sim(), small_list(), asked, 1000);
  ASSERT_TRUE(found.answer);
  std::vector<BoxOffer> offers = found.neighbours;
  offers.push_back(*found.answer);
  for (const BoxOffer& offer : offers) {
    if (!offer.trial.fits()) continue;
    const json& scenario = offer.trial.result->scenario;
    EXPECT_EQ(scenario["training"]["micro_batch"].get<int>() *
                  scenario["training"]["gradient_accumulation"].get<int>() *
                  scenario["parallel"]["data"].get<int>(),
              8)
        << offer.change;
  }
  asked.global_batch = 7;  // 1 x 7 on one card alone: what is beside it has no such setting
  EXPECT_TRUE(find_box(sim(), small_list(), asked, 1000).answer);
}

/// A cheaper box that does it with what is too slow to search with is the answer all the same.
TEST(BoxSearch, TriesCheaperBoxesWithWhatItDoesNotSearchWith) {
  LONG_TEST();
  const scenarios::PriceList list = small_list();
  for (const double share : {0.02, 0.1, 0.4}) {
    SCOPED_TRACE(share);
    BoxNeed asked = need(share * fastest(), 3000);
    const BoxSearch whole = find_box(sim(), list, asked, 100000);
    ASSERT_TRUE(whole.answer);
    const std::string system = asked.settings[whole.answer->setting].system;
    for (BoxSetting& setting : asked.settings) setting.searched = setting.system != system;
    const BoxSearch late = find_box(sim(), list, asked, 100000);
    if (!late.answer) continue;  // nothing else does it anywhere
    const bool joined = std::find(late.late_systems.begin(), late.late_systems.end(), system) !=
                        late.late_systems.end();
    if (joined) {
      EXPECT_EQ(late.answer->price_usd, whole.answer->price_usd);
    }
    EXPECT_TRUE(late.answer->meets);
    EXPECT_LE(late.late_missed, late.cheaper);
  }
}

TEST(BoxSearch, ShowsNoCheaperBoxThatDoesIt) {
  LONG_TEST();
  const scenarios::PriceList list = small_list();
  for (const double share : {0.02, 0.1, 0.4})
    for (const char* searched : {"resident", "zero_offload", "zero_infinity"}) {
      BoxNeed asked = need(share * fastest(), 3000);
      for (BoxSetting& setting : asked.settings) setting.searched = setting.system == searched;
      const BoxSearch found = find_box(sim(), list, asked, 100000);
      if (!found.answer) continue;
      for (const auto* offers : {&found.neighbours, &found.runners_up})
        for (const BoxOffer& offer : *offers)
          EXPECT_FALSE(offer.meets && offer.price_usd < found.answer->price_usd)
              << searched << " " << share << " " << offer.change;
    }
}

TEST(BoxSearch, FindsABoxOnWhichOnlyWhatItDoesNotSearchWithDoesIt) {
  BoxNeed asked = need(0.1 * fastest(), 3000);
  for (BoxSetting& setting : asked.settings) setting.searched = false;
  const BoxSearch found = find_box(sim(), small_list(), asked, 100000);
  ASSERT_TRUE(found.answer);
  EXPECT_TRUE(found.answer->meets);
  EXPECT_GT(found.late_looks, 0u);
  EXPECT_FALSE(found.late_systems.empty());
}

// The fast card waits for its memory where the slow one multiplies: the head is a larger part.
TEST(BoxBounds, AreOfTheStagesThatTheRatesOfEachCardCut) {
  const scenarios::PriceList list = small_list("separate");
  BoxNeed asked = need(1, 1e9);
  BoxSetting stages = asked.settings.at(1);
  stages.overrides.insert(stages.overrides.end(),
                          {"parallel.pipeline=2", "training.loss=plain", "model.vocab_size=80000"});
  stages.cards = 2;
  asked.settings = {stages};
  BoxBounds together(list, asked);
  std::set<std::string> bounds;
  for (const Box& box : boxes_of(list)) {
    if (box.gpus != 2) continue;
    const std::vector<double> alone = BoxBounds(list, asked).of(box);
    EXPECT_EQ(together.of(box), alone);
    bounds.insert(json(alone).dump());
  }
  EXPECT_GT(bounds.size(), 1u);
}

TEST(BoxSearch, ThrowsWhatIsWrongWithEverySetting) {
  BoxNeed wrong = need(1, 1e9);
  wrong.job["model"] = "gpt5";
  try {
    find_box(sim(), small_list(), wrong, 100);
    FAIL();
  } catch (const description::ScenarioError& error) {
    EXPECT_NE(std::string(error.what()).find("model: no \"gpt5\""), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace spillway::explore::box_search_test
