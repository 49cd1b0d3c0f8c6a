#include "scenarios/json/located_json.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/scenarios/complaints.hpp"

namespace spillway::scenarios::located_json_test {
namespace {

std::string refusal(const std::string& text) {
  return complaints_of([&] { parse_located(text, "a.json"); });
}

TEST(LocatedJson, KnowsTheLineAndColumnOfEveryValueAndKey) {
  const LocatedJson read =
      parse_located("{\n  \"a\": 1,\n \"b\": [2, {\"c\": \"x\"}]\n}", "a.json");
  EXPECT_EQ(read.value, nlohmann::json::parse(R"({"a":1,"b":[2,{"c":"x"}]})"));
  EXPECT_EQ(read.place("/a").line, 2);
  EXPECT_EQ(read.place("/a").column, 8);
  EXPECT_EQ(read.key_place("/a").column, 3);
  EXPECT_EQ(read.place("/b/0").column, 8);
  EXPECT_EQ(read.place("/b/1/c").line, 3);
  EXPECT_EQ(read.place("/b/1/c").column, 17);
  EXPECT_EQ(read.key_place("/b/1/c").column, 12);
}

TEST(LocatedJson, ReadsWholeNumbersHoweverTheyAreWritten) {
  const nlohmann::json read = parse_located(R"([1e3, 4.0, -2.0, 1.5, 1e30, 0.0])", "f").value;
  EXPECT_TRUE(read[0].is_number_unsigned() && read[1].is_number_unsigned());
  EXPECT_TRUE(read[2].is_number_integer() && read[5].is_number_integer());
  EXPECT_EQ(read, nlohmann::json::parse("[1000, 4, -2, 1.5, 1e30, 0]"));
  EXPECT_TRUE(read[4].is_number_float());
}

TEST(LocatedJson, SkipsCommentsAndAByteOrderMark) {
  const LocatedJson read =
      parse_located("\xEF\xBB\xBF// first, { \n/* a \" */ {\"a\": 1} // end", "a");
  EXPECT_EQ(read.place("/a").line, 2);
  EXPECT_EQ(read.place("/a").column, 17);
}

TEST(LocatedJson, KeepsPlacesBehindStringsWithEscapesAndBraces) {
  const LocatedJson read = parse_located(R"({"a\"}": "\\", "b/c~": 2})", "a");
  EXPECT_EQ(read.place("/a\"}").column, 10);
  EXPECT_EQ(read.place("/b~1c~0").column, 24);
  EXPECT_EQ(dotted("/b~1c~0"), "b/c~");
}

TEST(LocatedJson, NamesTheKeyThatStandsTwice) {
  EXPECT_EQ(
      refusal("{\"a\": {\"x\": 1,\n \"x\": 2},\n \"a\": 3}"),
      "a.json:2:2: a.x: the key stands twice in this object; keep one; the first is in line 1\n"
      "a.json:3:2: a: the key stands twice in this object; keep one; the first is in line 1");
}

TEST(LocatedJson, PointsAtTheFirstTokenThatIsWrong) {
  EXPECT_EQ(refusal("{\"a\": 1,}"), "a.json:1:9: not JSON: unexpected '}', expected a \"key\"");
  EXPECT_EQ(refusal("{\"a\": 1\n \"b\": 2}"),
            "a.json:2:2: not JSON: unexpected a \"key\", expected '}'");
  EXPECT_EQ(refusal("{\"a\" 1}"), "a.json:1:6: not JSON: unexpected number literal, expected ':'");
  EXPECT_EQ(refusal("{'a': 1}"), "a.json:1:2: not JSON: invalid literal");
  EXPECT_EQ(refusal("[1,\n,2]"), "a.json:2:1: not JSON: unexpected ',', expected a value");
  EXPECT_EQ(refusal("{\"a\": 1e999}"), "a.json:1:7: not JSON: the number is too large");
}

TEST(LocatedJson, RefusesTextThatEndsTooEarly) {
  EXPECT_EQ(refusal(""), "a.json:1:1: not JSON: the text ends too early, expected a value");
  EXPECT_EQ(refusal("[1,2"), "a.json:1:5: not JSON: the text ends too early, expected ']'");
  EXPECT_EQ(refusal("\"abc"), "a.json:1:1: not JSON: invalid string: missing closing quote");
}

TEST(LocatedJson, Reads64LevelsAndRefusesOneMore) {
  EXPECT_EQ(refusal(std::string(64, '[') + std::string(64, ']')), "");
  EXPECT_EQ(refusal(std::string(65, '[') + std::string(65, ']')),
            "a.json:1:65: nested deeper than 64 levels");
}

TEST(LocatedJson, SaysWhichFileCannotBeRead) {
  EXPECT_EQ(complaints_of([] { read_located("/nowhere/a.json"); }),
            "/nowhere/a.json: the file cannot be read: No such file or directory");
}

TEST(LocatedJson, PutsAPartWithItsPlaces) {
  LocatedJson whole = parse_located(R"({"a": {"b": 1}})", "a");
  whole.put("/a", parse_located("\n[7]", "b"));
  EXPECT_EQ(whole.value["a"][0], 7);
  EXPECT_EQ(whole.place("/a/0").file, "b");
  EXPECT_EQ(whole.place("/a/0").line, 2);
  EXPECT_FALSE(whole.values.contains("/a/b"));
}

}  // namespace
}  // namespace spillway::scenarios::located_json_test
