#include "scenarios/json/hjson.hpp"

#include <gtest/gtest.h>

#include "tests/scenarios/complaints.hpp"

namespace spillway::scenarios::hjson_test {
namespace {

using nlohmann::json;

json read(const std::string& text) { return parse_hjson(text, "a.json").value; }
std::string refusal(const std::string& text) {
  return complaints_of([&] { parse_hjson(text, "a.json"); });
}

TEST(Hjson, ReadsJsonAsItIs) {
  const std::string text = R"({"a": [1, -2.5e3, true, null, "x\n\u00e9\"{}"], "b": {}})";
  EXPECT_EQ(read(text), json::parse(text));
}

TEST(Hjson, ReadsCommentsAndTooManyOrTooFewCommas) {
  EXPECT_EQ(
      read("# one\n{\"a\": 1, // two\n \"b\": [1, 2,], /* three */\n \"c\": 5e8\n \"d\": 2,\n}"),
      json({{"a", 1}, {"b", {1, 2}}, {"c", 5e8}, {"d", 2}}));
}

TEST(Hjson, ReadsWordsWithoutQuotes) {
  EXPECT_EQ(read("device: cpu  # there\nstage: 3\npin: True\nname: 'it'\nlong: '''two\nlines'''"),
            json({{"device", "cpu"},
                  {"stage", 3},
                  {"pin", "True"},
                  {"name", "it"},
                  {"long", "two\nlines"}}));
  EXPECT_EQ(read(R"({"size": CONFIG_SIZE, "more": 1})"),
            json({{"size", "CONFIG_SIZE"}, {"more", 1}}));
}

TEST(Hjson, KnowsWhereThingsStand) {
  const LocatedJson located = parse_hjson("{\n  a: {\n    b: 7 } }", "a.json");
  EXPECT_EQ(located.place("/a/b").line, 3);
  EXPECT_EQ(located.place("/a/b").column, 8);
  EXPECT_EQ(located.key_place("/a/b").column, 5);
}

TEST(Hjson, RefusesWhatDeepSpeedRefuses) {
  EXPECT_EQ(refusal("{\"a\": 1,\n \"a\": 2}"),
            "a.json:2:2: a: the key stands twice in this object, which DeepSpeed refuses; keep "
            "one; the first is in line 1");
  EXPECT_EQ(refusal("{\"a\" 1}"), "a.json:1:6: not JSON: expected ':' after the key \"a\"");
  EXPECT_EQ(refusal("{\"a\": [1, 2}"), "a.json:1:12: not JSON: expected a value or ']'");
  EXPECT_EQ(refusal("{\"a\": }"), "a.json:1:7: not JSON: expected a value for \"a\"");
  EXPECT_EQ(refusal("{\"a\": 1"),
            "a.json:1:8: not JSON: the text ends inside an object, expected '}'");
  EXPECT_EQ(refusal("{\"a\": \"x\n\"}"), "a.json:1:9: not JSON: the line ends inside quotes");
  EXPECT_EQ(refusal(""), "a.json:1:1: not JSON: the text ends before anything is said");
  EXPECT_EQ(refusal(std::string(70, '[')), "a.json:1:66: not JSON: nested deeper than 64 levels");
}

}  // namespace
}  // namespace spillway::scenarios::hjson_test
