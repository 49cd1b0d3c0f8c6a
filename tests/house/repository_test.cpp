#include "tests/house/repository.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>

namespace spillway::house {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace fs = std::filesystem;

/// A folder of its own for one test, gone with it.
class Repository : public testing::Test {
 protected:
  Repository() : root_(fs::temp_directory_path() / ("house_test_" + std::to_string(getpid()))) {
    fs::create_directories(root_);
  }
  ~Repository() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << text;
  }

  fs::path root_;
};

TEST_F(Repository, ListsTrackedAndNewFilesButNoIgnoredOnesAndNoBinaries) {
  write(".gitignore", "*.o\n");
  write("a.cpp", "tracked");
  write("b/ö.cpp", "new");
  write("c.o", "ignored");
  write("d.png", std::string("\0x", 2));
  ASSERT_EQ(run_command(root_, "git init -q && git add a.cpp").exit_code, 0);
  std::vector<std::string> paths;
  for (const auto& file : repository_files(root_)) paths.push_back(file.path + "=" + file.text);
  EXPECT_THAT(paths,
              testing::UnorderedElementsAre(".gitignore=*.o\n", "a.cpp=tracked", "b/ö.cpp=new"));
}

TEST_F(Repository, SaysSoWhereThereIsNone) {
  EXPECT_THROW(repository_files(root_), std::runtime_error);
}

TEST_F(Repository, FindsLayoutThatTheFormatterWouldChange) {
  write(".clang-format", "BasedOnStyle: Google\n");
  write("good.cpp", "int f() { return 1; }\n");
  write("bad's.cpp", "int   f( ) {return 1;}\n");
  EXPECT_THAT(layout_findings(root_, {{"good.cpp", ""}}), IsEmpty());
  EXPECT_THAT(layout_findings(root_, {{"bad's.cpp", ""}, {"good.cpp", ""}}),
              testing::Contains(HasSubstr("bad's.cpp:1:")));
  EXPECT_THAT(layout_findings(root_, {{"missing.cpp", ""}}), testing::SizeIs(1));
}

TEST(Orphans, AreSourcesThatNoListNames) {
  const SourceFile list{"a/CMakeLists.txt", "spillway_library(a SOURCES x.cpp b/y.cpp)\n"};
  EXPECT_THAT(orphan_findings({list, {"a/x.cpp", ""}, {"a/b/y.cpp", ""}, {"a/b/z.hpp", ""}}),
              IsEmpty());
  EXPECT_THAT(orphan_findings({list, {"a/b/x2.cpp", ""}}),
              ElementsAre("a/b/x2.cpp:1: no CMakeLists.txt names it"));
  EXPECT_THAT(orphan_findings({list, {"other/x.cpp", ""}}), testing::SizeIs(1));
  EXPECT_THAT(orphan_findings({{"f/CMakeLists.txt", "file(GLOB s *.cpp)"}, {"f/q.cpp", ""}}),
              IsEmpty());
}

}  // namespace
}  // namespace spillway::house
