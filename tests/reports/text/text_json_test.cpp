#include "reports/text/text_json.hpp"

#include "tests/reports/text/words_of.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace spillway::text {
namespace {

using nlohmann::json;

constexpr std::uint64_t needed = 136'826'880'001, has = 34'359'738'368;  // 127.4 and 32 GiB

Text shortage() { return filled("needs {} of {} of GPU memory", {memory(needed), memory(has)}); }

std::vector<Number> numbers_of(const Text& text) {
  std::vector<Number> numbers;
  for (const Text::Piece& piece : text.pieces())
    if (piece.is_number) numbers.push_back(piece.number);
  return numbers;
}

json put_as(const std::string& key, const Text& text) {
  json object = json::object();
  put(object, key, text);
  return object;
}

TEST(TextJson, IsAStringWithItsNumbersBesideIt) {
  const json object = put_as("reason", shortage());
  EXPECT_EQ(object.at("reason"), "needs 127.4 GiB of 32.0 GiB of GPU memory");
  ASSERT_EQ(object.at("reason_numbers").size(), 2u);
  const json& first = object.at("reason_numbers")[0];
  EXPECT_EQ(first, json({{"at", 6},
                         {"words", "127.4 GiB"},
                         {"value", static_cast<double>(needed)},
                         {"quantity", "memory"},
                         {"unit", "B"},
                         {"origin", "computed"}}));
  EXPECT_EQ(object.at("reason_numbers")[1].at("at"), 19);
}

TEST(TextJson, ComesBackWithEveryNumberAsItWas) {
  const Text all =
      filled("\u00b5s: {}, {}, {}, {}{}", {number(1.0 / 3, Quantity::error), number(5.5, "kWh"),
                                           Number{1e9, Quantity::rate, Origin::datasheet},
                                           number(123.4567, Quantity::figure, "GiB"), count(7)});
  const json written = json::parse(put_as("why", all).dump());
  const Text back = take(written, "why");
  EXPECT_EQ(breakable(words(back)), breakable(words(all)));
  const auto before = numbers_of(all), after = numbers_of(back);
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(after[i].value, before[i].value) << i;
    EXPECT_EQ(after[i].quantity, before[i].quantity) << i;
    EXPECT_EQ(after[i].origin, before[i].origin) << i;
    EXPECT_EQ(after[i].unit, before[i].unit) << i;
  }
  EXPECT_EQ(put_as("why", back), put_as("why", all));
}

TEST(TextJson, OfEveryQuantityComesBack) {
  for (int i = 0; i <= static_cast<int>(Quantity::tokens_rate); ++i) {
    const auto quantity = static_cast<Quantity>(i);
    ASSERT_EQ(quantity_of(to_string(quantity)), quantity);
    const Text back = take(put_as("t", filled("a {} b", {number(0.625, quantity)})), "t");
    ASSERT_EQ(numbers_of(back).size(), 1u) << to_string(quantity);
    EXPECT_EQ(numbers_of(back)[0].value, 0.625) << to_string(quantity);
  }
  EXPECT_FALSE(quantity_of("parsecs"));
}

TEST(TextJson, OfAnOlderFileIsWordsAlone) {
  const Text back = take({{"reason", "needs 127.43 of 32.00 GiB of GPU memory"}}, "reason");
  EXPECT_EQ(back, "needs 127.43 of 32.00 GiB of GPU memory");
  EXPECT_TRUE(numbers_of(back).empty());
}

TEST(TextJson, BelievesTheStringWhereItsNumbersSayOtherwise) {
  const json good = put_as("reason", shortage());
  const auto edits = {R"([{"op": "replace", "path": "/reason", "value": "needs more"}])",
                      R"([{"op": "replace", "path": "/reason_numbers/0/at", "value": 7}])",
                      R"([{"op": "replace", "path": "/reason_numbers/0/at", "value": -1}])",
                      R"([{"op": "replace", "path": "/reason_numbers/1/at", "value": 6}])",
                      R"([{"op": "replace", "path": "/reason_numbers/1/at", "value": 99999}])",
                      R"([{"op": "replace", "path": "/reason_numbers/0/value", "value": 1}])",
                      R"([{"op": "replace", "path": "/reason_numbers/0/value", "value": -1e300}])",
                      R"([{"op": "replace", "path": "/reason_numbers/0/value", "value": null}])",
                      R"([{"op": "replace", "path": "/reason_numbers/0/words", "value": ""}])",
                      R"([{"op": "replace", "path": "/reason_numbers/0/quantity", "value": "x"}])",
                      R"([{"op": "replace", "path": "/reason_numbers/0/unit", "value": "s"}])",
                      R"([{"op": "replace", "path": "/reason_numbers/0", "value": "127.4 GiB"}])",
                      R"([{"op": "replace", "path": "/reason_numbers", "value": {"a": 1}}])"};
  for (const char* edit : edits) {
    const json bad = good.patch(json::parse(edit));
    const Text back = take(bad, "reason");
    EXPECT_EQ(back, bad.at("reason").get<std::string>()) << edit;
    EXPECT_TRUE(numbers_of(back).empty()) << edit;
  }
}

TEST(TextJson, HasNoNumberThatIsNotFinite) {
  const json object = put_as("t", filled("at most {} or {}", {number(INFINITY), number(NAN)}));
  EXPECT_FALSE(object.contains("t_numbers"));
  EXPECT_TRUE(object.at("t").is_string());
}

TEST(TextJson, OfAListHasAListOfNumbersForEachString) {
  json object = json::object();
  put(object, "notes", std::vector<Text>{"no number", shortage()});
  EXPECT_EQ(object.at("notes").size(), 2u);
  EXPECT_EQ(object.at("notes_numbers").at(0).size(), 0u);
  EXPECT_EQ(object.at("notes_numbers").at(1).size(), 2u);
  const std::vector<Text> back = take_all(object, "notes");
  EXPECT_EQ(words_of(back), (std::vector<std::string>{"no number", words(shortage())}));
  EXPECT_EQ(numbers_of(back[1])[0].value, static_cast<double>(needed));
  object["notes"].erase(0);  // the lists are no longer those of the strings
  EXPECT_TRUE(numbers_of(take_all(object, "notes").at(0)).empty());
  put(object = json::object(), "notes", std::vector<Text>{"none"});
  EXPECT_FALSE(object.contains("notes_numbers"));
}

}  // namespace
}  // namespace spillway::text
