#include "tests/e2e/command.hpp"
#include "tests/long_test.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spillway::e2e {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// The JSON of the script with that id.
json embedded(const std::string& page, const std::string& id) {
  const std::string start = "<script type=\"application/json\" id=\"" + id + "\">";
  const std::size_t at = page.find(start);
  EXPECT_NE(at, std::string::npos) << id;
  if (at == std::string::npos) return {};
  const std::size_t from = at + start.size();
  return json::parse(page.substr(from, page.find("</script>", from) - from));
}

/// Opens `page` in a browser that reaches nothing and says what it would have said on its console.
Ended browse(const Workplace& place, const std::string& page, const std::string& more) {
  return shell(place,
               "chromium --headless --no-sandbox --disable-gpu --user-data-dir=browser "
               "--enable-logging=stderr --v=0 --host-resolver-rules='MAP * ~NOTFOUND' " +
                   more + " \"file://$PWD/" + page + "\"");
}

std::string without_scripts(const std::string& page) {
  std::string text = page;
  for (std::size_t at = 0; (at = text.find("<script")) != std::string::npos;)
    text.erase(at, text.find("</script>", at) - at);
  return text;
}

TEST(Report, HoldsTheResultToTheLastDigit) {
  const Workplace place;
  ASSERT_EQ(shell(place, "spillway report tiny --out page.html").exit, 0);
  json in_page = embedded(file_text(place.path() / "page.html"), "result-1");
  json printed = shell(place, "spillway simulate tiny --json").json();
  for (json* one : {&in_page, &printed}) one->erase("wall");
  for (const auto& [name, value] : in_page.items()) EXPECT_EQ(value, printed[name]) << name;
}

TEST(Report, IsCompleteWithoutItsScript) {
  const Workplace place;
  ASSERT_EQ(shell(place, "spillway report tiny --out page.html").exit, 0);
  const std::string text = without_scripts(file_text(place.path() / "page.html"));
  EXPECT_THAT(text, HasSubstr("<p class=\"verdict\">Fits: "));
  EXPECT_THAT(text, HasSubstr("<b>Host memory</b>"));
  EXPECT_THAT(text, HasSubstr("training.micro_batch"));
  EXPECT_THAT(text, HasSubstr("spillway report tiny --out page.html"));
  EXPECT_THAT(text, HasSubstr("model version"));
}

TEST(Report, IsDrawnByABrowserThatHasNothingToComplainAboutAndAsksForNothing) {
  const Workplace place;
  ASSERT_EQ(shell(place, "spillway report tiny --out page.html").exit, 0);
  const Ended seen = browse(place, "page.html", "--dump-dom");
  EXPECT_EQ(seen.exit, 0);
  EXPECT_THAT(seen.out, HasSubstr("data-drawn=\"yes\""));
  EXPECT_THAT(seen.out, HasSubstr("<canvas"));
  // the script says memory as the page does
  EXPECT_THAT(seen.out, ContainsRegex("aria-label=\"GPU memory, rank 0, at most [0-9.]+&nbsp;GiB"));
  EXPECT_THAT(seen.err, Not(HasSubstr("CONSOLE")));
  EXPECT_EQ(shell(place, "tidy -errors -quiet page.html").err, "");
  const std::string page = file_text(place.path() / "page.html");
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(Report, PrintsOnTwoSheetsOfA4) {
  LONG_TEST();
  const Workplace place;
  for (const char* runs : {"qwen7b_workstation", "qwen7b_workstation mix_8b_workstation",
                           "qwen7b_workstation lohan_13b_batch32"}) {
    ASSERT_EQ(shell(place, fmt::format("spillway report {} --out page.html", runs)).exit, 0);
    ASSERT_EQ(browse(place, "page.html",
                     "--virtual-time-budget=8000 --no-pdf-header-footer --print-to-pdf=page.pdf")
                  .exit,
              0);
    const Ended pages = shell(place, "grep -a -o '/Count [0-9]*' page.pdf");
    EXPECT_EQ(pages.out, "/Count 2\n") << runs;
  }
}

TEST(Report, SaysOnceWhatAllRunsAssume) {
  LONG_TEST();
  const Workplace place;
  ASSERT_EQ(shell(place,
                  "spillway report qwen7b_workstation mix_8b_workstation "
                  "--out page.html")
                .exit,
            0);
  const std::string page = without_scripts(file_text(place.path() / "page.html"));
  const std::size_t from = page.find("id=\"assumptions\""), to = page.find("id=\"inputs\"");
  ASSERT_LT(from, to);
  const std::string part = page.substr(from, to - from);
  EXPECT_THAT(part, HasSubstr("Inputs that are assumed, alike for all of these runs: "));
  EXPECT_THAT(part, HasSubstr(" inputs are assumed, as above."));
  const std::string row = ">machine.host.process_base<";
  EXPECT_EQ(part.find(row), part.rfind(row));
}

TEST(Report, IsNotWiderThanATelephone) {
  const Workplace place;
  ASSERT_EQ(shell(place, "spillway report tiny --out page.html").exit, 0);
  std::string page = file_text(place.path() / "page.html");
  // the browser's window is 500 wide at least, so the body is made narrower; tables scroll by
  // themselves
  page.insert(page.find("</body>"), R"(<script>
    document.body.style.width = "375px";
    const all = [...document.querySelectorAll("main *")].filter((one) => !one.closest(".scroll"));
    document.title = "widest " +
      Math.ceil(Math.max(...all.map((one) => one.getBoundingClientRect().right)));
  </script>)");
  place.write("page.html", page);
  const std::string seen = browse(place, "page.html", "--window-size=375,800 --dump-dom").out;
  const std::string title = "<title>widest ";
  const std::size_t at = seen.find(title);
  ASSERT_NE(at, std::string::npos);
  EXPECT_LE(std::stoi(seen.substr(at + title.size())), 375);
}

TEST(Report, PutsRunsSideBySide) {
  LONG_TEST();
  const Workplace place;
  const Ended made = shell(place,
                           "spillway report qwen7b_one_box qwen7b_workstation "
                           "--set training.micro_batch=1 --out page.html");
  ASSERT_EQ(made.exit, 0) << made.err;
  const std::string page = file_text(place.path() / "page.html");
  EXPECT_THAT(page, HasSubstr("Does not fit: "));
  EXPECT_THAT(page, HasSubstr("Fits: "));
  EXPECT_THAT(page, HasSubstr("Side by side"));
  EXPECT_EQ(embedded(page, "result-1")["feasible"], false);
  EXPECT_EQ(embedded(page, "result-2")["feasible"], true);
}

TEST(Report, TakesTheAnswerOfFitAndRefusesWhatIsNoAnswer) {
  const Workplace place;
  const std::string fit = "spillway fit gpt2 --gpu 4090 --ram 64G --ssd 2T --json > fit.json";
  ASSERT_EQ(shell(place, fit).exit, 0);
  const Ended made = shell(place, "spillway report fit.json --out page.html");
  ASSERT_EQ(made.exit, 0) << made.err;
  const json runnable = json::parse(file_text(place.path() / "fit.json")).at("runnable");
  EXPECT_EQ(embedded(file_text(place.path() / "page.html"), "result-1").at("step_time_s"),
            runnable.at("step_time_s"));
  shell(place, "spillway simulate tiny --json --set training.micro_batch=0 > refused.json");
  const Ended refused = shell(place, "spillway report refused.json --out none.html");
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.err, HasSubstr("holds the errors of a command, and no answer: "));
  place.write("strange.json", R"({"errors": [{"message": 3}]})");
  const Ended strange = shell(place, "spillway report strange.json --out none.html");
  EXPECT_EQ(strange.exit, 2);
  EXPECT_THAT(strange.err, StartsWith("strange.json: holds the errors of a command"));
  shell(place, "spillway model gpt2 --json > model.json");
  const Ended other = shell(place, "spillway report model.json --out none.html");
  EXPECT_EQ(other.exit, 2);
  EXPECT_THAT(other.err, HasSubstr("an answer without a result"));
  for (const auto& [text, words] :
       {std::pair(R"({"schema": "spillway/result/1"})", "a result without the scenario"),
        std::pair(R"({"schema": "spillway/plan/1"})", "of which no page is made")}) {
    place.write("lacking.json", text);
    const Ended lacking = shell(place, "spillway report lacking.json --out none.html");
    EXPECT_EQ(lacking.exit, 2);
    EXPECT_THAT(lacking.err, StartsWith("lacking.json: "));
    EXPECT_THAT(lacking.err, HasSubstr(words));
  }
  EXPECT_FALSE(std::filesystem::exists(place.path() / "none.html"));
}

TEST(Report, ShowsTheTimelineOfAStoredResultOnlyIfItIsItsOwn) {
  const Workplace place;
  ASSERT_EQ(shell(place, "spillway simulate tiny --json > mine.json").exit, 0);
  ASSERT_EQ(shell(place, "spillway report mine.json --out page.html").exit, 0);
  EXPECT_THAT(file_text(place.path() / "page.html"), HasSubstr("class=\"chart lanes\""));
  json other = json::parse(file_text(place.path() / "mine.json"));
  other["step_time_s"] = 123.25;
  place.write("other.json", other.dump());
  ASSERT_EQ(shell(place, "spillway report other.json --out page.html").exit, 0);
  const std::string page = file_text(place.path() / "page.html");
  EXPECT_THAT(page, Not(HasSubstr("class=\"chart lanes\"")));
  EXPECT_THAT(page, HasSubstr("The result is of another version of spillway"));
  EXPECT_EQ(embedded(page, "result-1")["step_time_s"], 123.25);
}

TEST(Report, SaysWhichPointsADatabaseHas) {
  LONG_TEST();
  const Workplace place;
  ASSERT_EQ(
      shell(place, "spillway explore scenarios/spaces/ssds_until_gpu_limit.json --db s.db").exit,
      0);
  const Ended none = shell(place, "spillway report s.db --out page.html");
  EXPECT_EQ(none.exit, 2);
  EXPECT_THAT(none.err, HasSubstr("name one, as in s.db:17"));
  const std::string front = "points of the front: ";
  ASSERT_THAT(none.err, HasSubstr(front));
  const std::string number =
      std::to_string(std::stoi(none.err.substr(none.err.find(front) + front.size())));
  EXPECT_EQ(shell(place, "spillway report s.db:" + number + " --out page.html").exit, 0);
  EXPECT_THAT(file_text(place.path() / "page.html"), HasSubstr("Fits: "));
}

TEST(MemorySnapshot, IsReadByPython) {
  const Workplace place;
  ASSERT_EQ(shell(place, "spillway simulate tiny --memory-snapshot snapshot.pickle").exit, 0);
  // replays the GPU's events: what is live never exceeds the peak that the result states
  place.write("read.py", R"(
import pickle, sys, json
snapshot = pickle.load(open('snapshot.pickle', 'rb'))
assert set(snapshot) == {'segments', 'device_traces'}
live, now, most = {}, 0, 0
for event in snapshot['device_traces'][0]:
    assert {'action', 'addr', 'size', 'stream', 'frames', 'time_us'} <= set(event)
    if event['action'] == 'alloc':
        for address, size in live.items():
            assert address + size <= event['addr'] or event['addr'] + event['size'] <= address
        live[event['addr']] = event['size']
    if event['action'] == 'free_completed':
        assert live.pop(event['addr']) == event['size']
    most = max(most, sum(live.values()))
for segment in snapshot['segments']:
    assert sum(block['size'] for block in segment['blocks']) == segment['total_size']
print(most)
)");
  const Ended read = shell(place, "python3 read.py");
  ASSERT_EQ(read.exit, 0) << read.err;
  const json result = shell(place, "spillway simulate tiny --json").json();
  EXPECT_EQ(std::stoull(read.out), result["peak_bytes"]["gpu"]["total"]);
}

}  // namespace
}  // namespace spillway::e2e
