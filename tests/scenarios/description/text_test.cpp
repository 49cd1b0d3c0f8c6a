#include "scenarios/description/text.hpp"

#include "scenarios/description/strict_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spillway::description {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Printable, LeavesNothingThatMovesATerminal) {
  EXPECT_EQ(printable("a\x1b[2J\x7f\tb"), "a [2J  b");
  EXPECT_EQ(printable("a\u009b31m\u0085b"), "a 31m b");
  EXPECT_EQ(printable("a\u202e\u2066\u200f\u2028b"), "a    b");
  EXPECT_EQ(printable("漢字 é 🙂 …"), "漢字 é 🙂 …");
  EXPECT_EQ(printable("a\xff\xe6\xbc"), "a???");
}

TEST(Shortened, CutsBetweenCharacters) {
  const std::string long_text = "\"漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢";
  for (std::size_t most = 3; most < long_text.size(); ++most) {
    const std::string cut = shortened(long_text, most);
    EXPECT_LE(cut.size(), most);
    EXPECT_EQ(as_utf8(cut), cut) << most;
    EXPECT_TRUE(cut.ends_with("..."));
  }
  EXPECT_EQ(shortened("short"), "short");
  EXPECT_EQ(shortened(std::string(61, 'a')), std::string(57, 'a') + "...");
}

TEST(ShellQuoted, IsOneWordInOneLine) {
  EXPECT_EQ(shell_quoted("it's $(id)"), R"('it'\''s $(id)')");
  EXPECT_EQ(shell_quoted("a\ntouch x"), R"($'a\x0atouch x')");
  EXPECT_EQ(shell_quoted("a'\\\n"), R"($'a\'\\\x0a')");
  EXPECT_EQ(shell_word("a/b.json"), "a/b.json");
  EXPECT_EQ(shell_word("10 min"), "'10 min'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(JsonText, TakesStringsThatAreNotUtf8) { EXPECT_EQ(json_text("a\xff"), "\"a\xEF\xBF\xBD\""); }

TEST(ParseStrictly, ReadsWhatJsonSays) {
  const auto [value, problem] = parse_strictly(R"({"a": [1, -2, 2.5, null, true, {"b": "c"}]})");
  EXPECT_EQ(problem, "");
  EXPECT_EQ(value, nlohmann::json::parse(R"({"a": [1, -2, 2.5, null, true, {"b": "c"}]})"));
  EXPECT_EQ(parse_strictly("7").value, 7);
}

TEST(ParseStrictly, RefusesDepthTwiceTheSameKeyAndWhatIsNoJson) {
  const std::string deep(100000, '[');
  EXPECT_THAT(parse_strictly(deep).problem, StartsWith("nested deeper than 64 levels"));
  EXPECT_THAT(parse_strictly(deep + std::string(100000, ']')).problem, HasSubstr("64 levels"));
  EXPECT_EQ(parse_strictly(std::string(64, '[') + std::string(64, ']')).problem, "");
  EXPECT_EQ(parse_strictly(R"({"a": {"b": 1, "b": 2}})").problem,
            "the key \"b\" stands twice in an object");
  for (const char* text : {"", "{", "1 2", "NaN", "1e400", "\"\xff\"", "\"\\ud800\""})
    EXPECT_THAT(parse_strictly(text).problem, StartsWith("no JSON at byte ")) << text;
  EXPECT_TRUE(parse_strictly("{\"a\": 1").value.is_null());
}

}  // namespace
}  // namespace spillway::description
