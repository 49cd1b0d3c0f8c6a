#include "tests/e2e/command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// What `cmake --install` puts anywhere works there, and after it was moved.
namespace spillway::e2e {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::MatchesRegex;

/// An installation that was moved, and what its program does in the root folder.
class Installed : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    place = std::make_unique<Workplace>();
    const std::string built = fs::path(SPILLWAY_PROGRAM).parent_path().parent_path().string();
    const Ended ended =
        shell(*place, "cmake --install '" + built +
                          "' --component spillway --prefix \"$PWD/first\" && mv first moved");
    ASSERT_EQ(ended.exit, 0) << ended.out << ended.err;
  }
  static void TearDownTestSuite() { place.reset(); }

  static Ended run(const std::string& words) {
    return shell(*place, "here=$PWD; cd / && \"$here/moved/bin/spillway\" " + words);
  }
  static fs::path at(const std::string& name) { return place->path() / "moved" / name; }

  static std::unique_ptr<Workplace> place;
};
std::unique_ptr<Workplace> Installed::place;

TEST_F(Installed, AnswersFromAnotherFolder) {
  EXPECT_EQ(run("simulate tiny").exit, 0);
  EXPECT_EQ(run("simulate tiny --set strategy.system=checkmate --no-remedy").exit, 0);
  EXPECT_EQ(run("fit llama-3.1-8b --gpu 4090x2 --ram 128G --ssd 2Tx2").exit, 0);
}

// The source tree that it was built from is still there: what is taken away here is missed.
TEST_F(Installed, ReadsItsOwnFilesAndNotThoseOfTheSourceTree) {
  EXPECT_EQ(run("machine gaming_4090").exit, 0);
  fs::rename(at("share/spillway/scenarios/machines/gaming_4090.json"), at("aside.json"));
  EXPECT_EQ(run("machine gaming_4090").exit, 2);
  fs::rename(at("aside.json"), at("share/spillway/scenarios/machines/gaming_4090.json"));
  fs::rename(at("lib/spillway/spillway_sim.so"), at("aside.so"));
  const Ended ended = run("simulate tiny");
  EXPECT_EQ(ended.exit, 3);
  EXPECT_THAT(ended.err, HasSubstr(at("lib/spillway/spillway_sim.so").string()));
  fs::rename(at("aside.so"), at("lib/spillway/spillway_sim.so"));
}

TEST_F(Installed, SaysWhichCommitItIs) {
  EXPECT_THAT(run("--version").out,
              MatchesRegex("spillway [0-9.]+, commit .+, model version [0-9]+\n"));
  EXPECT_EQ(run("--version").out, run("version").out);
  fs::remove(at("share/spillway/commit"));
  EXPECT_THAT(run("--version").out, HasSubstr(", commit not known, model version"));
}

TEST_F(Installed, HasManualPagesCompletionsAndTheLicence) {
  for (const char* file :
       {"share/man/man1/spillway.1.gz", "share/man/man1/spillway-plan-drives.1.gz",
        "share/bash-completion/completions/spillway", "share/zsh/site-functions/_spillway",
        "share/fish/vendor_completions.d/spillway.fish", "share/doc/spillway/copyright"})
    EXPECT_TRUE(fs::exists(at(file))) << file;
}

/// What the script writes for a copy of it in a tree of its own.
std::string commit_written(const Workplace& place, const std::string& before) {
  const Ended ended =
      shell(place, "mkdir -p tree && cd tree && " + before + " && cmake -D SOURCE=$PWD -D FILE=" +
                       "../commit -P '" SPILLWAY_SOURCE_DIR "/cmake/commit.cmake'");
  EXPECT_EQ(ended.exit, 0) << ended.err;
  return file_text(place.path() / "commit");
}

TEST(Commit, IsThatOfTheTreeAndSaysWhenTheTreeIsAnother) {
  const Workplace place;
  EXPECT_EQ(commit_written(place, "echo 1 > file"), "commit not known: built without git\n");
  const std::string git =
      "git init -q . && git add file && GIT_COMMITTER_DATE=2026-11-22T12:00:00Z "
      "git -c user.name=a -c user.email=a@b commit -q -m first";
  const std::string clean = commit_written(place, git);
  EXPECT_THAT(clean, MatchesRegex("commit [0-9a-f]+ of 2026-11-22\n"));
  EXPECT_EQ(commit_written(place, "echo 2 > file"),
            clean.substr(0, clean.size() - 1) + " with changes\n");
}

// An archive unpacked inside somebody else's working tree has no commit of its own.
TEST(Commit, IsNotThatOfTheTreeAround) {
  const Workplace place;
  EXPECT_EQ(commit_written(place, "(cd .. && git init -q .)"),
            "commit not known: built without git\n");
}

}  // namespace
}  // namespace spillway::e2e
