#include "gui/model/open_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <filesystem>
#include <fstream>

namespace spillway::gui {
namespace {

using testing::HasSubstr;

const std::string root = SPILLWAY_SOURCE_DIR;

class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() / ("gui_test_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

std::string refusal_of(const std::string& path) {
  try {
    open_file(path);
    return "";
  } catch (const std::exception& error) {
    return one_sentence(error);
  }
}

TEST(OpenFile, KnowsKindsByWhatTheyHold) {
  const Folder folder;
  EXPECT_EQ(open_file(root + "/scenarios/examples/tiny.json").kind, Opened::Kind::scenario);
  EXPECT_EQ(open_file("tiny").label, "tiny");  // as every command takes it
  EXPECT_EQ(open_file(root + "/scenarios/machines/gaming_4090.json").kind, Opened::Kind::machine);
  EXPECT_EQ(
      open_file(folder.file("t", R"([{"ph":"X","pid":1,"tid":1,"ts":0,"dur":1,"name":"a"}])")).kind,
      Opened::Kind::trace);
  EXPECT_EQ(open_file(folder.file("v", R"({"schema":"spillway/validation/1"})")).kind,
            Opened::Kind::validation);
  EXPECT_EQ(open_file(folder.file("d", "SQLite format 3")).kind, Opened::Kind::database);
}

TEST(OpenFile, TakesInWhatAScenarioExtends) {
  const Opened opened = open_file(root + "/scenarios/examples/qwen7b_workstation.json");
  EXPECT_FALSE(opened.json.contains("extends"));
  EXPECT_EQ(opened.json["model"], "qwen2.5-7b");
  EXPECT_EQ(opened.json["machine"], "workstation_2gpu");
  EXPECT_EQ(opened.json["training"]["sequence"], 4096);
}

TEST(OpenFile, RefusesInOneSentenceThatNamesTheFile) {
  const Folder folder;
  const std::pair<std::string, std::string> cases[] = {
      {"empty", ""},
      {"text", "hello"},
      {"number", "12"},
      {"list", "[1, 2]"},
      {"object", R"({"a":1})"},
      {"half", R"({"model":)"},
      {"binary",
       "\x7f"
       "ELF"},
      {"result", R"({"schema":"spillway/result/1"})"}};
  for (const auto& [name, text] : cases) {
    const std::string sentence = refusal_of(folder.file(name, text));
    EXPECT_THAT(sentence, HasSubstr(name)) << name;
    EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
  }
  EXPECT_THAT(refusal_of("/nowhere/at/all"), HasSubstr("is not there"));
  EXPECT_THAT(refusal_of("/tmp"), HasSubstr("is no file"));
}

TEST(OpenFile, OpensOrRefusesEveryFileOfTheFuzzers) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(root + "/tests/fuzz/corpus")) {
    if (!entry.is_regular_file()) continue;
    ++files;
    const std::string sentence = refusal_of(entry.path().string());
    EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
  }
  EXPECT_GT(files, 20);
}

}  // namespace
}  // namespace spillway::gui
