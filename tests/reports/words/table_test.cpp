#include "reports/words/table.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <algorithm>
#include <random>
#include <sstream>

namespace spillway::reports {
namespace {

using testing::ElementsAre;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Table, AlignsColumnsUnderTheirTitles) {
  const Table table{{{"tier", Align::left}, {"peak"}}, {{"gpu", "9 GiB"}, {"host", "91.1 GiB"}}};
  EXPECT_EQ(to_text(table, {80}),
            "tier      peak\n"
            "--------------\n"
            "gpu      9 GiB\n"
            "host  91.1 GiB\n");
}

TEST(Table, MarksTheBestAndKeepsNumbersInLine) {
  const Table table{{{"", Align::left}, {"a"}, {"b"}},
                    {{"time", {"4 s", true}, "12 s"}, {"x", "1", "2"}}};
  EXPECT_EQ(to_text(table, {80}),
            "        a      b\n"
            "----------------\n"
            "time  4 s*  12 s\n"
            "x       1      2\n");
}

TEST(Table, ShowsTheBestInBoldGreenOnlyInColour) {
  const Table table{{{"t"}}, {{{"4", true}}}};
  EXPECT_EQ(to_text(table, {80, true}), "\033[1mt\033[0m\n--\n\033[1;32m4*\033[0m\n");
}

TEST(Table, FillsRowsThatAreTooShort) {
  const Table table{{{"a", Align::left}, {"b", Align::left}, {"c"}}, {{"x"}, {}, {"y", "", "1"}}};
  EXPECT_EQ(to_text(table, {80}),
            "a  b  c\n"
            "-------\n"
            "x\n"
            "\n"
            "y     1\n");
}

TEST(Table, WithoutRowsIsItsTitles) {
  EXPECT_EQ(to_text({{{"a"}, {"b"}}, {}}, {80}), "a  b\n----\n");
  EXPECT_EQ(to_text(Table(), {80}), "");
}

TEST(Table, PutsWideCharactersInTwoColumns) {
  const Table table{{{"é", Align::left}, {"n"}}, {{"模型", "1"}, {"ab", "2"}}};
  EXPECT_EQ(to_text(table, {80}),
            "é     n\n"
            "-------\n"
            "模型  1\n"
            "ab    2\n");
}

TEST(Table, WrapsTheWordsOfALeftColumnWhenTheScreenIsNarrow) {
  // 4 + 2 + 34 = 40 columns; at 30 the words get 30 - 6 = 24
  const Table table{{{"size"}, {"what", Align::left}},
                    {{"1", "the quick brown fox jumps over it."}, {"2", "short"}}};
  EXPECT_EQ(to_text(table, {30}),
            "size  what\n"
            "------------------------------\n"
            "   1  the quick brown fox\n"
            "      jumps over it.\n"
            "   2  short\n");
  EXPECT_EQ(lines_of(to_text(table, {40})).size(), 4u);
}

TEST(Table, CutsColumnsOfNumbersIntoBlocksAndRepeatsTheFirst) {
  // one block of two columns is 4 + 2 + 10 = 16 wide, the next column would make 28
  const Table table{{{"what", Align::left}, {"first_____"}, {"second____"}}, {{"x", "1", "2"}}};
  EXPECT_EQ(to_text(table, {27}),
            "what  first_____\n"
            "----------------\n"
            "x              1\n"
            "\n"
            "what  second____\n"
            "----------------\n"
            "x              2\n");
  EXPECT_EQ(lines_of(to_text(table, {28})).size(), 3u);
}

TEST(Table, NamesAllItsRowsInTheFirstBlockAndThenThoseThatHaveSomethingThere) {
  const Table table{{{"what", Align::left}, {"first_____"}, {"why not___", Align::left}},
                    {{"a", "1", ""}, {"b", "-", "too small"}, {"c", "3", "-"}}};
  EXPECT_EQ(to_text(table, {27}),
            "what  first_____\n"
            "----------------\n"
            "a              1\n"
            "b              -\n"
            "c              3\n"
            "\n"
            "what  why not___\n"
            "----------------\n"
            "b     too small\n");
}

TEST(Table, SaysARemarkOnceBelowItsRowOverTheWholeWidth) {
  const Table table{{{"what", Align::left}, {"first_____"}, {"second____"}},
                    {{"x", "1", "2"}, {"y", "3", "4"}},
                    {{0, "longer than the columns"}}};
  EXPECT_EQ(to_text(table, {27}),
            "what  first_____\n"
            "----------------\n"
            "x              1\n"
            "    longer than the columns\n"
            "y              3\n"
            "\n"
            "what  second____\n"
            "----------------\n"
            "x              2\n"
            "y              4\n");
}

// "optimizer_swap_buffers 7." above "83 GiB" reads as 83 GiB.
TEST(Table, BreaksNoNumberAndNoNameOnANarrowScreen) {
  const Table table{{{"tier", Align::left},
                     {"peak"},
                     {"of"},
                     {"full"},
                     {"in phase", Align::left},
                     {"biggest buffers", Align::left}},
                    {{"host", "63.7 GiB", "64.0 GiB", "99.5 %", "backward",
                      unbroken("optimizer_swap_buffers 7.83 GiB") + ", " +
                          unbroken("gradient_flat_buffer 6 GiB")}}};
  const std::string text = to_text(table, {60});
  for (const char* whole : {"optimizer_swap_buffers 7.83 GiB", "gradient_flat_buffer 6 GiB",
                            "63.7 GiB", "99.5 %", "backward", "in phase"})
    EXPECT_NE(text.find(whole), std::string::npos) << whole << "\n" << text;
  for (const std::string& line : lines_of(text)) EXPECT_LE(line.size(), 60u) << line;
}

TEST(Table, MayHaveAFirstColumnAsWideAsTheScreen) {
  const Table table{{{"name", Align::left}, {"n"}}, {{std::string(40, 'x'), "5"}}};
  const std::string text = to_text(table, {20});
  EXPECT_EQ(std::count(text.begin(), text.end(), 'x'), 40);
  EXPECT_EQ(std::count(text.begin(), text.end(), '5'), 1);
}

TEST(Table, OfKeysIsALineAKeyWhereItIsSearched) {
  Screen pipe;
  pipe.searched = true;
  const Table table{
      {{"setting", Align::left}, {"from", Align::left}},
      {{std::string(90, 'k'), "a sentence that goes beyond what a line of text has"}}};
  EXPECT_EQ(lines_of(to_text(table, pipe.for_keys())).size(), 3u);
  EXPECT_GT(lines_of(to_text(table, pipe)).size(), 3u);
  EXPECT_EQ(Screen{60}.for_keys().width, 60u) << "a terminal keeps its width";
}

TEST(Table, KeepsEveryLineOnTheScreenAndEveryWordInTheTable) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    Table table;
    std::size_t words = 0;
    const std::size_t columns = 1 + random() % 7;
    for (std::size_t c = 0; c < columns; ++c)
      table.columns.push_back({"t" + std::to_string(c), c % 3 ? Align::right : Align::left, 20});
    for (std::size_t r = 0; r < 5; ++r) {
      table.rows.emplace_back();
      for (std::size_t c = 0; c < columns; ++c) {
        std::string text;
        for (std::size_t w = random() % 9; w > 0; --w)
          text += (text.empty() ? "" : " ") + std::string(1 + random() % 9, 'w'), words += c > 0;
        table.rows.back().emplace_back(text, random() % 4 == 0);
      }
    }
    const Screen screen{48 + random() % 60, false};
    std::size_t found = 0;
    for (const std::string& line : lines_of(to_text(table, screen))) {
      EXPECT_LE(display_width(line), screen.width) << line;
      EXPECT_FALSE(line.ends_with(' ')) << line;
      std::istringstream in(line);
      for (std::string word; in >> word;) found += word.find('w') != std::string::npos;
    }
    EXPECT_GE(found, words);
  }
}

TEST(Wrapped, BreaksAtSpacesAndOnlyThenInsideWords) {
  EXPECT_THAT(wrapped("ab cd ef", 5), ElementsAre("ab cd", "ef"));
  EXPECT_THAT(wrapped("ab cd ef", 4), ElementsAre("ab", "cd", "ef"));
  EXPECT_THAT(wrapped("abcdefg", 3), ElementsAre("abc", "def", "g"));
  EXPECT_THAT(wrapped("", 3), ElementsAre(""));
  EXPECT_THAT(wrapped("abc  ", 3), ElementsAre("abc"));
}

TEST(Wrapped, CutsALongNameAtItsLastSeamThatIsNotTooFarLeft) {
  EXPECT_THAT(wrapped("endurance.rated_retention", 17),
              ElementsAre("endurance.rated_", "retention"));
  EXPECT_THAT(wrapped("a b_c", 3), ElementsAre("a", "b_c"));  // a space comes first
  // after two of nine is too early
  EXPECT_THAT(wrapped("a_bcdefghijk", 9), ElementsAre("a_bcdefgh", "ijk"));
}

TEST(Wrapped, NeverCutsACharacter) {
  EXPECT_THAT(wrapped("ééé", 2), ElementsAre("éé", "é"));
  EXPECT_THAT(wrapped("模型模", 5), ElementsAre("模型", "模"));
  EXPECT_THAT(wrapped("模型", 1), ElementsAre("模", "型"));
}

TEST(Wrapped, KeepsWhatIsUnbrokenTogether) {
  EXPECT_THAT(wrapped("weights " + unbroken("of rank 6"), 11), ElementsAre("weights", "of rank 6"));
  EXPECT_THAT(wrapped("weights of rank 6", 11), ElementsAre("weights of", "rank 6"));
}

TEST(Wrapped, KeepsANumberWithItsUnit) {
  EXPECT_THAT(wrapped("weights 6.5 GiB", 11), ElementsAre("weights", "6.5 GiB"));
  EXPECT_THAT(wrapped("for $1,500, 12 days.", 14), ElementsAre("for $1,500,", "12 days."));
  EXPECT_THAT(wrapped("(-3.1 %) so", 7), ElementsAre("(-3.1", "%) so"));  // longer than a line
  EXPECT_THAT(wrapped("batch 8 x 4", 7), ElementsAre("batch", "8 x 4"));
  EXPECT_THAT(wrapped("rank 6 of", 7), ElementsAre("rank 6", "of"));  // no unit
}

TEST(Wrapped, HasNoControlCharacters) { EXPECT_THAT(wrapped("a\nb\tc", 9), ElementsAre("a b c")); }

TEST(Paragraph, IndentsEveryLine) {
  EXPECT_EQ(paragraph("one two three", {9}, 2), "  one two\n  three\n");
}

TEST(DisplayWidth, CountsColumnsAndNotBytes) {
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("é"), 1u);
  EXPECT_EQ(display_width("模型"), 4u);
}

TEST(DropSilentColumns, TakesOutThoseThatSayNothing) {
  Table table{{{"a"}, {"b"}, {"c"}, {"d"}}, {{"1", "-", "", "-"}, {"2", "", "-", "4"}, {"3"}}};
  drop_silent_columns(table);
  EXPECT_EQ(to_text(table, {80}), "a  d\n----\n1  -\n2  4\n3\n");
}

}  // namespace
}  // namespace spillway::reports
