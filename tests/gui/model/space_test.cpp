#include "gui/model/space.hpp"
#include "gui/model/question.hpp"
#include "scenarios/description/errors.hpp"

#include <gtest/gtest.h>
#include <QTemporaryDir>

#include <cmath>

namespace spillway::gui {
namespace {

using nlohmann::json;

/// Two systems on drives of one kind; the second of four points has no objective, the third and the
/// fourth are not on the front.
class Database {
 public:
  explicit Database(const json& base) {
    explore::Store store(path(), explore::Database::Access::write);
    explore::SpaceRow space;
    space.id = space.name = "words";
    space.axes = {"strategy.system", "machine.storage.nvme.count"};
    space.objectives = {{"price_usd", true}};
    space.values = {{{"zero_infinity", {"strategy.system=\"zero_infinity\""}},
                     {"lohan", {"strategy.system=\"lohan\""}}},
                    {{1, {"machine.storage.nvme.count=1"}}, {3, {"machine.storage.nvme.count=3"}}}};
    space.base = base;
    number = store.begin_space(space);
    const char* systems[] = {"zero_infinity", "lohan"};
    for (std::uint64_t i = 0; i < 4; ++i)
      store.put(number, {i,
                         i == 1 ? "" : "key" + std::to_string(i),
                         {{"strategy.system", systems[i / 2]},
                          {"machine.storage.nvme.count", i % 2 == 0 ? 1 : 3}},
                         i == 1 ? "infeasible" : "accepted",
                         "",
                         i == 1 ? json::object() : json{{"price_usd", 4000 + i}},
                         i == 0});
    store.put_result("key0", {{"scenario", {{"name", "as it was simulated"}}}});
    store.commit();
  }
  std::string path() const { return folder_.filePath("words.db").toStdString(); }
  json scenario(std::uint64_t point) const {
    const SpacePoints space = read_space_points(path());
    return scenario_of_point(path(), space.space.space, *point_of(space, point));
  }
  std::int64_t number = 0;

 private:
  QTemporaryDir folder_;
};

const json base = {{"model", "gpt2"},
                   {"machine", "gaming_4090"},
                   {"training", {{"micro_batch", 4}}},
                   {"strategy", {{"system", "resident"}}}};

TEST(Space, HasAxesOfWordsBesideNumbers) {
  const Database database(base);
  const SpacePoints space = read_space_points(database.path());
  ASSERT_EQ(space.dimensions.size(), 3u) << space.trouble;
  EXPECT_EQ(space.dimensions[0].title, "price");
  EXPECT_EQ(space.dimensions[1].words, (std::vector<QString>{"zero_infinity", "lohan"}));
  EXPECT_EQ(space.values[1], (std::vector<double>{0, 0, 1, 1}));
  EXPECT_EQ(space.values[2], (std::vector<double>{1, 3, 1, 3}));
  EXPECT_TRUE(std::isnan(space.values[0][1]));
}

TEST(Space, SelectsByWordsAndLeavesOutWhatHasNoNumber) {
  const Database database(base);
  const SpacePoints space = read_space_points(database.path());
  EXPECT_EQ(within(space, {{"strategy.system", {0.5, 1.5}}}), (std::vector<char>{0, 0, 1, 1}));
  EXPECT_EQ(within(space, {{"price_usd", {0, 1e9}}}), (std::vector<char>{1, 0, 1, 1}));
  TextTable table;
  put_points(space, "", false, table, {{"strategy.system", {0.5, 1.5}}});
  ASSERT_EQ(table.rowCount(), 2);
  EXPECT_EQ(table.headerData(2, Qt::Horizontal, Qt::DisplayRole), "price");
  EXPECT_EQ(table.index(0, 2).data(), "$4,002");
  EXPECT_EQ(table.index(0, 3).data(), "lohan");
}

TEST(Space, MakesTheScenarioOfAnyPoint) {
  const Database database(base);
  EXPECT_EQ(database.scenario(0), (json{{"name", "as it was simulated"}}));
  const json other = database.scenario(3);
  EXPECT_EQ(other.at("strategy").at("system"), "lohan");
  EXPECT_EQ(other.at("model"), "gpt2");
  EXPECT_EQ(other.at("training").at("micro_batch"), 4);
  EXPECT_EQ(other.at("machine").at("storage").at(0).at("count"), 3);
  EXPECT_EQ(question_of(other).system, "lohan");
  // one without a key, whose values were refused
  EXPECT_EQ(database.scenario(1).at("strategy").at("system"), "zero_infinity");
}

TEST(Space, OfAnOlderProgramSaysThatItHasNoScenario) {
  const Database database{json()};
  EXPECT_EQ(database.scenario(0), (json{{"name", "as it was simulated"}}));
  EXPECT_THROW(database.scenario(3), description::ScenarioError);
}

}  // namespace
}  // namespace spillway::gui
