#include "tests/house/coroutines.hpp"

#include <gmock/gmock.h>

namespace spillway::house {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

Findings of(const std::string& code) { return coroutine_findings({{"a.cpp", code}}); }

TEST(Coroutines, AwaitNothingBehindAndOrInALoopsCondition) {
  EXPECT_THAT(of("\nif (a &&\n    co_await b()) c();"),
              ElementsAre(StartsWith("a.cpp:2: a co_await behind && or ||")));
  EXPECT_THAT(of("bool x = a || !co_await b();"), SizeIs(1));
  EXPECT_THAT(of("while (f(1) && (co_await b())) c();"), SizeIs(2));
  EXPECT_THAT(of("while (f(1), co_await b()) c();"), SizeIs(1));
  EXPECT_THAT(of("for (int i = co_await b(); i < 3; ++i) c();"), SizeIs(1));
}

TEST(Coroutines, OfTestsMayDoSo) {
  EXPECT_THAT(coroutine_findings({{"tests/a.cpp", "while (co_await b()) c();"}}), IsEmpty());
}

TEST(Coroutines, MayAwaitInStatements) {
  EXPECT_THAT(of("if (a && b) co_await c();\nwhile (a) b = co_await c();\n"
                 "for (auto& one : all) co_await one;\n"
                 "if (co_await c()) d();\n// a && co_await b\n"),
              IsEmpty());
}

}  // namespace
}  // namespace spillway::house
