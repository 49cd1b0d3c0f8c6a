#include "reports/view/html_page.hpp"
#include "reports/view/json_page.hpp"
#include "reports/view/packed.hpp"
#include "reports/view/text_page.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spillway::view {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Number, IsSaidShortlyAndKeptExactly) {
  const Number bytes = memory(97818042369);  // 91.1 GiB and a little
  EXPECT_EQ(words(bytes), "91.1 GiB");
  EXPECT_EQ(exact(bytes), "97818042369");
  EXPECT_EQ(unit_of(bytes), "B");
  EXPECT_EQ(exact(seconds(0.1)), "0.1");
  EXPECT_EQ(exact(seconds(1.0 / 3)), "0.3333333333333333");
  EXPECT_EQ(words(number(1500, "kWh")), "1,500 kWh");
}

TEST(Number, HasTheWordsOfItsQuantity) {
  const auto said = [](double value, Quantity quantity, const std::string& unit = "") {
    return words(number(value, quantity, unit));
  };
  EXPECT_EQ(words(plain(14521)), "14521");
  EXPECT_EQ(words(plain(0.25)), "0.25");
  EXPECT_EQ(said(0.1234, Quantity::few), "0.12");
  EXPECT_EQ(said(1.189, Quantity::ratio), "1.19");
  EXPECT_EQ(said(-0.606, Quantity::effect), "-0.61");
  EXPECT_EQ(said(0.012345, Quantity::difference), "+0.0123");
  EXPECT_EQ(said(123.4567, Quantity::figure, "GiB"), "123.46" + unbroken(" GiB"));
  EXPECT_EQ(said(2.5e12, Quantity::billions, "FLOPS"), "2,500 GFLOPS");
  EXPECT_EQ(said(2.5e12, Quantity::trillions, "FLOP"), "2.50 TFLOP");
  EXPECT_EQ(said(0.124, Quantity::gain), "+12 %");
  EXPECT_EQ(said(0.3149, Quantity::part), "31 %");
  EXPECT_EQ(said(0.0049, Quantity::part), "<1 %");
  EXPECT_EQ(said(0.12346, Quantity::deviation), "12.35 %");
  EXPECT_EQ(said(-0.12344, Quantity::error), "-12.34 %");
  EXPECT_EQ(said(9.994, Quantity::money), "$9.99");
  EXPECT_EQ(said(1234.4, Quantity::money), "$1,234");
  EXPECT_EQ(unit_of(number(2.5e12, Quantity::billions, "FLOPS")), "FLOPS");
  EXPECT_EQ(unit_of(number(5, Quantity::money)), "USD");
}

TEST(Document, SaysSentencesBelowEachOtherAndApartFromTables) {
  Document document;
  document.say("One.").say("").say("Two.").add(Table{{{"n"}}, {{plain(1)}}}).say("Three.");
  document.add(Paragraph{.text = "a line that is not broken", .wraps = false}, true);
  EXPECT_EQ(to_text(document, {10}),
            "One.\nTwo.\n\nn\n-\n1\n\nThree.\na line that is not broken\n");
}

TEST(Origin, IsTheFirstWordOfASource) {
  EXPECT_EQ(origin_of("assumed: nobody says"), Origin::assumed);
  EXPECT_EQ(origin_of("datasheet"), Origin::datasheet);
  EXPECT_EQ(origin_of("a.json:12"), Origin::computed);
}

TEST(Text, FillsGapsInOrder) {
  const Text text = filled("{} of {} on {}", {memory(1 << 30), memory(2u << 30), "gpu"});
  EXPECT_EQ(words(text), "1.00 GiB of 2.00 GiB on gpu");
  EXPECT_EQ(text.number()->value, 1073741824);
}

TEST(TextPage, PutsAnEmptyLineBetweenBlocksThatAreNotJoined) {
  Document document;
  document.add(Paragraph{"One."}).add(Paragraph{"Two."}, true).add(Paragraph{"Three."});
  EXPECT_EQ(to_text(document, {80}), "One.\nTwo.\n\nThree.\n");
}

/// As a database, an answer or the name of a file may have them: an escape sequence, one of a
/// single character of Latin-1, a change of direction, a byte that is no UTF-8.
constexpr const char* hostile = "a\x1b[2J\u009b31m\u202e\xff";
constexpr const char* harmless = "a [2J 31m ?";

TEST(TextPage, TellsATerminalNothingByTheWordsOfOthers) {
  Document document;
  document.add(Paragraph{.text = hostile, .wraps = false});
  document.add(Verbatim{hostile, std::string(hostile) + "\n" + hostile}, true);
  EXPECT_EQ(to_text(document, {}), fmt::format("{0}\n{0}:\n{0}\n{0}\n", harmless));
}

TEST(HtmlPage, TellsABrowserNothingByTheWordsOfOthers) {
  Document document;
  document.add(Verbatim{hostile, std::string(hostile) + "\n" + hostile});
  EXPECT_THAT(to_html(document),
              HasSubstr(fmt::format("<figcaption>{0}</figcaption><pre>{0}\n{0}</pre>", harmless)));
}

TEST(TextPage, SaysBarsAsATable) {
  Document document;
  document.add(Bars{"tiers", {{"gpu", {{"weights", memory(3u << 30)}}, memory(4ull << 30)}}});
  EXPECT_EQ(to_text(document, {80}),
            "tiers        amount     limit\n"
            "-----------------------------\n"
            "gpu        3.00 GiB  4.00 GiB\n"
            "  weights  3.00 GiB\n");
}

TEST(HtmlPage, KeepsEveryDigitBesideTheWords) {
  Document document;
  document.add(Paragraph{filled("It takes {}.", {seconds(38.87654321)})});
  EXPECT_THAT(to_html(document),
              HasSubstr("<span class=\"number\" data-value=\"38.87654321\" title=\"38.87654321 s\">"
                        "38.9&nbsp;s</span>"));
}

TEST(HtmlPage, MarksWhatIsAssumed) {
  Document document;
  document.add(Paragraph{rate(2e9, Origin::assumed)});
  EXPECT_THAT(to_html(document), HasSubstr("class=\"number assumed\""));
  EXPECT_THAT(to_html(document), HasSubstr(">assumed</sup>"));
}

TEST(HtmlPage, LetsNoTextEndItsPlace) {
  Document document;
  document.title = "<b>&";
  document.add(Paragraph{"</p><script>alert(1)</script>"});
  document.add(Data{"result-1", R"({"name":"</script><!--"})"});
  const std::string page = to_html(document);
  EXPECT_THAT(page, HasSubstr("<title>&lt;b&gt;&amp;</title>"));
  EXPECT_THAT(page, HasSubstr("&lt;/p&gt;&lt;script&gt;alert(1)"));
  EXPECT_THAT(page, HasSubstr(R"({"name":"\u003c/script>\u003c!--"})"));
}

TEST(HtmlPage, HasNoPlaceForWhatSaysNothing) {
  Document document;
  document.add(Paragraph{}).add(Table{{{"empty"}}, {}});
  EXPECT_EQ(to_html(document), to_html(Document{}));
}

TEST(HtmlPage, ForbidsEveryRequest) {
  const std::string page = to_html(Document{});
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("http://")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
  EXPECT_LT(page.size(), 100'000u);  // the budget of a report without its data is 300 kB
}

TEST(HtmlPage, PacksTheDataOfALargeChart) {
  Lanes lanes;
  lanes.names = {""};
  lanes.lanes = {{"compute", "rank 0"}};
  const auto page_with = [&](std::size_t slices) {
    lanes.slices.clear();
    for (std::size_t i = 0; i < slices; ++i)
      lanes.slices.push_back({double(i), double(i) + 0.5, double(i)});
    Document document;
    document.add(lanes);
    return to_html(document);
  };
  EXPECT_THAT(page_with(2), HasSubstr("\"start\":[0,1000000000]"));
  const std::string large = page_with(50'000);  // 50,000 slices of some 40 letters: over 1 MB
  EXPECT_THAT(large, HasSubstr("<script type=\"text/plain\" class=\"chart-data\""));
  EXPECT_LT(large.size(), 1'000'000u);
}

TEST(JsonPage, GivesEachNumberItsUnitAndOrigin) {
  Document document;
  document.add(Paragraph{filled("at {}", {rate(2.5e9, Origin::datasheet)})});
  const nlohmann::json text = to_json(document)["blocks"][0]["text"];
  EXPECT_EQ(text[0], "at ");
  EXPECT_EQ(text[1], (nlohmann::json{{"value", 2.5e9},
                                     {"quantity", "rate"},
                                     {"unit", "B/s"},
                                     {"origin", "datasheet"},
                                     {"words", "2.50 GB/s"}}));
}

TEST(Csv, HasExactNumbersAndTheirUnitInTheHeader) {
  Table table{{{"phase"}, {"time"}}, {{"forward, first", seconds(1.25)}, {"update", "-"}}};
  EXPECT_EQ(to_csv(table), "phase,time [s]\n\"forward, first\",1.25\nupdate,-\n");
}

TEST(Base64, PadsTheLastGroup) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("M"), "TQ==");
  EXPECT_EQ(base64("Ma"), "TWE=");
  EXPECT_EQ(base64("Man"), "TWFu");
}

}  // namespace
}  // namespace spillway::view
