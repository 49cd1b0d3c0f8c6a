#include "tests/house/dependencies.hpp"

#include <gmock/gmock.h>

namespace spillway::house {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const SourceFile readme{"README.md",
                        "| package | for | licence |\n|---|---|---|\n"
                        "| `liba-dev`, `libb` | sums | MIT |\n| `libc-dev` | products |  |\n"
                        "`libd-dev` is spoken of outside the table.\n"};

TEST(Licences, AreThereForEachPackageWithARow) {
  EXPECT_THAT(licence_findings({"packages", "# Libraries\n\nliba-dev  # why\nlibb\n"}, readme),
              IsEmpty());
}

TEST(Licences, AreMissingWhereARowSaysNone) {
  EXPECT_THAT(licence_findings({"packages", "libc-dev\n"}, readme),
              ElementsAre("packages:1: libc-dev has a row without a licence in README.md"));
}

TEST(Licences, AreMissingWhereThereIsNoRow) {
  EXPECT_THAT(
      licence_findings({"packages", "liba-dev\nlibd-dev # new\n"}, readme),
      ElementsAre("packages:2: libd-dev has no row in the table of dependencies in README.md"));
}

}  // namespace
}  // namespace spillway::house
