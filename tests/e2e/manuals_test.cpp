#include "tests/e2e/command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <sstream>

// Manual pages and completions against what `--help` prints, as a reader sees both.
namespace spillway::e2e {
namespace {

using testing::HasSubstr;

/// The lines of `help` between a title, "Options:", and the next empty line, that begin an entry.
std::vector<std::string> entries(const std::string& help, const std::string& title) {
  std::vector<std::string> found;
  std::istringstream lines(help);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == title || line.empty()) inside = line == title;
    if (inside && line.starts_with("  ") && line[2] != ' ')
      found.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  return found;
}

struct Verb {
  std::string words;                 ///< "plan drives", "" for the program
  std::vector<std::string> options;  ///< "-h", "--help"
  std::vector<std::string> below;    ///< verbs
};

void add_verbs(const std::string& words, std::vector<Verb>& all) {
  const Ended help = spillway(words + " --help");
  ASSERT_EQ(help.exit, 0) << words;
  Verb verb{words, {}, entries(help.out, "Subcommands:")};
  for (const std::string& names : entries(help.out, "Options:")) {
    std::istringstream each(names);
    for (std::string name; std::getline(each, name, ',');)
      verb.options.push_back(name.substr(0, name.find('{')));  // --csv{rows}: its value if none
  }
  all.push_back(verb);
  for (const std::string& name : verb.below)
    add_verbs(words + (words.empty() ? "" : " ") + name, all);
}

/// The program and all its verbs, from what `--help` prints.
const std::vector<Verb>& verbs() {
  static const std::vector<Verb> all = [] {
    std::vector<Verb> found;
    add_verbs("", found);
    return found;
  }();
  return all;
}

std::string page_of(const Verb& verb) {
  std::string name = verb.words.empty() ? "spillway" : "spillway " + verb.words;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

/// Each in a folder of its own, made once.
const Workplace& made() {
  static const Workplace place;
  static const Ended ended = shell(place,
                                   "for what in man bash zsh fish; do "
                                   "spillway generate $what made/$what || exit 1; done");
  EXPECT_EQ(ended.exit, 0) << ended.err;
  return place;
}

std::string made_text(const std::string& name) { return file_text(made().path() / "made" / name); }

bool installed(const std::string& program) {
  return shell(Workplace(), "command -v " + program + " >/dev/null").exit == 0;
}

TEST(Manuals, HaveAPageForEachVerbWithEachOfItsOptions) {
  EXPECT_GT(verbs().size(), 20u);
  for (const Verb& verb : verbs()) {
    std::string page = made_text("man/" + page_of(verb) + ".1");
    std::erase(page, '\\');
    EXPECT_GE(verb.options.size(), 1u);
    for (const std::string& option : verb.options)
      EXPECT_THAT(page, HasSubstr("fB" + option + "fR")) << verb.words;
    for (const std::string& name : verb.below)
      EXPECT_THAT(page, HasSubstr(page_of(verb) + "-" + name + "fR(1)"));
  }
}

TEST(Manuals, RenderWithoutAWarning) {
  if (!installed("man")) GTEST_SKIP() << "man is not installed (man-db)";
  for (const Verb& verb : verbs()) {
    const Ended ended = shell(
        made(), "LC_ALL=C.UTF-8 MANWIDTH=80 MANROFFSEQ= man --warnings -E UTF-8 -l made/man/" +
                    page_of(verb) + ".1");
    EXPECT_EQ(ended.exit, 0) << verb.words;
    EXPECT_EQ(ended.err, "") << verb.words;
    EXPECT_THAT(ended.out, HasSubstr("EXIT STATUS")) << verb.words;
  }
}

TEST(Manuals, ShowOptionsThatCanBePasted) {
  if (!installed("man")) GTEST_SKIP() << "man is not installed (man-db)";
  const Ended ended = shell(
      made(), "LC_ALL=C.UTF-8 MANWIDTH=200 man -E UTF-8 -l made/man/spillway-simulate.1 | col -b");
  EXPECT_THAT(ended.out, HasSubstr("--set PATH=VALUE"));
  EXPECT_THAT(ended.out, HasSubstr("--set training.micro_batch=2 --explain memory"));
}

TEST(Completions, AreLegalInTheirShells) {
  const std::pair<std::string, std::string> shells[] = {
      {"bash", "spillway"}, {"zsh", "_spillway"}, {"fish", "spillway.fish"}};
  for (const auto& [name, file] : shells) {
    if (!installed(name)) continue;
    const Ended ended = shell(made(), name + " -n made/" + name + "/" + file);
    EXPECT_EQ(ended.exit, 0) << name;
    EXPECT_EQ(ended.err, "") << name;
  }
}

/// What bash offers for the last of these words.
std::vector<std::string> offered_by_bash(const std::string& words) {
  const Ended ended =
      shell(made(), "bash -c '. made/bash/spillway; COMP_WORDS=(" + words + "); [[ \"" + words +
                        "\" == *\" \" ]] && COMP_WORDS+=(\"\"); "
                        "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _spillway; "
                        "printf \"%s\\n\" \"${COMPREPLY[@]}\"'");
  std::vector<std::string> found;
  std::istringstream lines(ended.out);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) found.push_back(line);
  return found;
}

TEST(Completions, OfBashOfferEachVerbAndEachOption) {
  for (const Verb& verb : verbs()) {
    const std::string words = "spillway " + verb.words + (verb.words.empty() ? "" : " ");
    const auto options = offered_by_bash(words + "-");
    EXPECT_THAT(options, testing::UnorderedElementsAreArray(verb.options)) << verb.words;
    if (verb.below.empty()) continue;
    EXPECT_THAT(offered_by_bash(words), testing::UnorderedElementsAreArray(verb.below));
  }
}

TEST(Completions, OfBashOfferTheValuesOfAnOptionAndElseFiles) {
  EXPECT_THAT(offered_by_bash("spillway validate --device "),
              testing::UnorderedElementsAre("auto", "cuda", "host"));
  EXPECT_THAT(offered_by_bash("spillway simulate scenarios/examples/ti"),
              testing::Contains("scenarios/examples/tiny.json"));
}

TEST(Completions, OfFishOfferEachVerbAndEachOption) {
  if (!installed("fish")) GTEST_SKIP() << "fish is not installed";
  for (const Verb& verb : verbs()) {
    const std::string words = "spillway " + verb.words + (verb.words.empty() ? "" : " ");
    const auto offered = [&words](const std::string& last) {
      return shell(made(),
                   "HOME=$PWD fish --no-config -c 'source made/fish/spillway.fish; "
                   "complete -C \"" +
                       words + last + "\"'")
          .out;
    };
    const std::string options = "\n" + offered("--");
    for (const std::string& option : verb.options) {
      if (!option.starts_with("--")) continue;
      EXPECT_THAT(options, HasSubstr("\n" + option + "\t")) << verb.words;
    }
    const std::string below = "\n" + offered("");
    for (const std::string& name : verb.below)
      EXPECT_THAT(below, HasSubstr("\n" + name + "\t")) << verb.words;
  }
}

// zsh completes in a terminal only: its file is read instead.
TEST(Completions, OfZshNameEachVerbAndEachOption) {
  const std::string text = made_text("zsh/_spillway");
  for (const Verb& verb : verbs()) {
    const std::string title = "    'spillway" + (verb.words.empty() ? "" : " " + verb.words) + "')";
    const std::size_t from = text.find("\n" + title + "\n");
    ASSERT_NE(from, std::string::npos) << title;
    const std::string here = text.substr(from, text.find("\n      ;;\n", from) - from);
    for (const std::string& option : verb.options)
      EXPECT_THAT(here, HasSubstr("\n        '" + option + ":")) << verb.words;
    for (const std::string& name : verb.below)
      EXPECT_THAT(here, HasSubstr("\n        '" + name + ":")) << verb.words;
  }
}

TEST(Generate, IsNoVerbThatPeopleAreShownAndWritesOnlyWhatItKnows) {
  EXPECT_EQ(spillway("--help").out.find("generate"), std::string::npos);
  EXPECT_EQ(spillway("simulat").err.find("generate"), std::string::npos);
  EXPECT_EQ(spillway("generate csh made").exit, 2);
  EXPECT_EQ(spillway("generate man /proc/none").exit, 2);
}

}  // namespace
}  // namespace spillway::e2e
