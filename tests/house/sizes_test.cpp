#include "tests/house/sizes.hpp"

#include <gmock/gmock.h>

#include <string>

namespace spillway::house {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string repeated(const std::string& line, int times) {
  std::string text;
  for (int count = 0; count < times; ++count) text += line;
  return text;
}

TEST(Sizes, AFileMayHave500LinesAndNoMore) {
  EXPECT_THAT(file_findings({{"a.cpp", repeated("x;\n", 500)}}), IsEmpty());
  EXPECT_THAT(file_findings({{"a.cpp", repeated("x;\n", 501)}}),
              ElementsAre("a.cpp:501: the file in lines has 501, at most 500"));
  EXPECT_THAT(file_findings({{"run", "#!/bin/bash\n" + repeated("x\n", 500)}}),
              ElementsAre("run:501: the file in lines has 501, at most 500"));
  EXPECT_THAT(file_findings({{"data.json", repeated("1\n", 501)}}), IsEmpty());
}

TEST(Sizes, AFoldersReadmeMayHave40Lines) {
  EXPECT_THAT(file_findings({{"a/README.md", repeated("x\n", 40)}}), IsEmpty());
  EXPECT_THAT(file_findings({{"a/README.md", repeated("x\n", 41)}}),
              ElementsAre("a/README.md:41: the file in lines has 41, at most 40"));
  EXPECT_THAT(file_findings({{"README.md", repeated("x\n", 41)}}), IsEmpty());
}

TEST(Sizes, AFunctionMayHave70LinesWithItsSignature) {
  // signature with its brace, n lines, closing brace: n + 2
  const auto function = [](int lines) {
    return "int f() {\n" + repeated("  g();\n", lines) + "}\n";
  };
  EXPECT_THAT(function_findings({{"a.cpp", function(68)}}), IsEmpty());
  EXPECT_THAT(function_findings({{"a.cpp", "\n" + function(69)}}),
              ElementsAre("a.cpp:2: the function in lines has 71, at most 70"));
  EXPECT_THAT(function_findings({{"a.cpp", "struct S {\n" + function(69) + "};\n"}}),
              ElementsAre("a.cpp:2: the function in lines has 71, at most 70"));
  EXPECT_THAT(function_findings({{"a.cpp", "namespace {\n" + function(60) + function(60) + "}\n"}}),
              IsEmpty());
}

TEST(Sizes, ALineMayHave100Letters) {
  EXPECT_THAT(line_findings({{"a.cpp", std::string(100, 'x')}}), IsEmpty());
  EXPECT_THAT(line_findings({{"a.cpp", "\n" + std::string(101, 'x') + "\n"}}),
              ElementsAre("a.cpp:2: the line in columns has 101, at most 100"));
  EXPECT_THAT(line_findings({{"x/CMakeLists.txt", std::string(101, 'x')}}), testing::SizeIs(1));
  EXPECT_THAT(line_findings({{"a.md", std::string(101, 'x')}}), IsEmpty());
}

TEST(Sizes, CountLettersAndNotBytes) {
  EXPECT_EQ(columns_of("3·3 ≤ ö"), 7);
  EXPECT_EQ(columns_of(""), 0);
}

}  // namespace
}  // namespace spillway::house
