#include "tests/house/cpp_text.hpp"

#include <gmock/gmock.h>

namespace spillway::house {

bool operator==(const FunctionSpan& left, const FunctionSpan& right) {
  return left.first_line == right.first_line && left.last_line == right.last_line;
}

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CodeOnly, BlanksCommentsAndLiteralsAndKeepsColumns) {
  EXPECT_EQ(code_only("a; // b {\nc"), "a;       \nc");
  EXPECT_EQ(code_only("a /* {\n} */ b"), "a     \n     b");
  EXPECT_EQ(code_only(R"(f("{\"{", '{'))"), "f(      ,    )");
}

TEST(CodeOnly, BlanksRawStringsOverLines) {
  EXPECT_EQ(code_only("x = R\"y({)\"\n})y\";"), "x = R      \n    ;");
}

TEST(CodeOnly, TakesADigitSeparatorForNoLiteral) {
  EXPECT_EQ(code_only("1'000 + {2'000}"), "1'000 + {2'000}");
}

TEST(LinesOf, CountsALastLineWithoutAnEnd) {
  EXPECT_THAT(lines_of("a\n\nb"), ElementsAre("a", "", "b"));
  EXPECT_THAT(lines_of("a\n"), ElementsAre("a"));
  EXPECT_THAT(lines_of(""), IsEmpty());
}

TEST(FunctionsOf, SeesFunctionsInNamespacesAndClasses) {
  const auto* text =
      "namespace a::b {\n"               // 1
      "struct S final : T<int> {\n"      // 2
      " public:\n"                       // 3
      "  int f() const {\n"              // 4
      "    return 1;\n"                  // 5
      "  }\n"                            // 6
      "  int x = 3;\n"                   // 7
      "};\n"                             // 8
      "template <class T, int n = 2>\n"  // 9
      "auto g(T a = {},\n"               // 10
      "       int b = 2) -> V<T> {\n"    // 11
      "  if (a < b) { h(); }\n"          // 12
      "}\n"                              // 13
      "}  // namespace a::b\n"
      "extern \"C\" {\n"  // 15
      "int k() {}\n"      // 16
      "}\n";
  EXPECT_THAT(functions_of(text),
              ElementsAre(FunctionSpan{4, 6}, FunctionSpan{9, 13}, FunctionSpan{16, 16}));
}

TEST(FunctionsOf, CountsAConstructorFromItsSignatureThroughItsInitialisers) {
  const auto* text =
      "S::S(int a)\n"    // 1
      "    : a_{a},\n"   // 2
      "      b_{2} {\n"  // 3
      "  f();\n"         // 4
      "}\n"              // 5
      "int z() { }\n";   // 6
  EXPECT_THAT(functions_of(text), testing::IsSupersetOf({FunctionSpan{1, 5}, FunctionSpan{6, 6}}));
}

TEST(FunctionsOf, SeesOperatorsAndLambdasThatHaveANameOfTheirOwn) {
  EXPECT_THAT(functions_of("bool operator==(A a, A b) {\n}\nA& A::operator=(const A&) {\n}\n"),
              ElementsAre(FunctionSpan{1, 2}, FunctionSpan{3, 4}));
  EXPECT_THAT(functions_of("const auto f = [](int a) {\n};\n"), ElementsAre(FunctionSpan{1, 2}));
}

TEST(FunctionsOf, LeavesTablesEnumerationsAndDirectivesAlone) {
  EXPECT_THAT(functions_of("constexpr A table[] = {\n {1},\n {2},\n};\n"), IsEmpty());
  EXPECT_THAT(functions_of("enum class E : int {\n a,\n b\n};\n"), IsEmpty());
  EXPECT_THAT(functions_of("#define F(x) \\\n  { x }\n"), IsEmpty());
}

}  // namespace
}  // namespace spillway::house
