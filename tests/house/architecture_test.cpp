#include "tests/house/architecture.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

namespace spillway::house {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto* tables = R"(
| folder | owns | may include |
|---|---|---|
| `base` | x | |
| `base/inner` | x | |
| `middle` | x | `base` |
| `top` | x, not `inner` | `middle` |

| header | allowed in | why |
|---|---|---|
| `vendor/top.h` | `top` | x |
| `vendor/`, `vend*` | `middle` | x |
| `thread` | `top` | x |
| `json/` | `*` | x |
)";

Findings check(const std::string& path, const std::string& text) {
  return include_findings(parse_architecture(tables), {{path, text},
                                                       {"base/a.hpp", ""},
                                                       {"base/inner/b.hpp", ""},
                                                       {"middle/c.hpp", ""},
                                                       {"top/d.hpp", ""}});
}

TEST(Includes, OfRowsThatComeBackToTheirFolderAreRefused) {
  const std::string rows =
      "| folder | owns | may include |\n|---|---|---|\n"
      "| `a` | x | `b` |\n| `b` | x | `c` |\n| `c` | x | `a` |\n\n"
      "| header | allowed in | why |\n|---|---|---|\n| `json/` | `*` | x |\n";
  EXPECT_THROW(parse_architecture(rows), std::runtime_error);
}

TEST(Includes, FollowTheTableAndWhatFollowsFromIt) {
  EXPECT_THAT(check("middle/x.cpp", "#include \"base/a.hpp\"\n#include \"middle/c.hpp\"\n"),
              IsEmpty());
  EXPECT_THAT(check("top/x.cpp", "#include \"base/a.hpp\"\n"), IsEmpty());  // by way of middle
}

TEST(Includes, AgainstTheTableAreFoundWithTheirLine) {
  EXPECT_THAT(check("base/x.cpp", "\n#  include \"top/d.hpp\"\n"),
              ElementsAre("base/x.cpp:2: base may not include top (\"top/d.hpp\")"));
  EXPECT_THAT(check("base/x.cpp", "#include \"base/inner/b.hpp\"\n"),
              ElementsAre(HasSubstr("base may not include base/inner")));
  EXPECT_THAT(check("base/inner/x.hpp", "#include \"base/a.hpp\"\n"),
              ElementsAre(HasSubstr("base/inner may not include base")));
}

TEST(Includes, InCommentsAndStringsDoNotCount) {
  EXPECT_THAT(check("base/x.cpp", "// #include \"top/d.hpp\"\n/*\n#include <vendor/v.h>\n*/\n"),
              IsEmpty());
  EXPECT_THAT(check("base/x.cpp", "auto s = R\"(\n#include \"top/d.hpp\"\n)\";\n"), IsEmpty());
}

TEST(Includes, OfAHeaderThatIsNotWrittenFromTheRootAreFound) {
  EXPECT_THAT(check("base/x.cpp", "#include \"a.hpp\"\n"),
              ElementsAre(HasSubstr("\"a.hpp\" is not a file of ours")));
}

TEST(Includes, OfAVendorBelongInItsFolders) {
  const std::string text = "#include <vendor/v.h>\n#include <vend.h>\n#include <json/j.hpp>\n";
  EXPECT_THAT(check("middle/x.cpp", text), IsEmpty());
  EXPECT_THAT(check("top/x.cpp", text), ElementsAre("top/x.cpp:1: <vendor/v.h> is not for top",
                                                    "top/x.cpp:2: <vend.h> is not for top"));
  EXPECT_THAT(check("top/x.cpp", "#include <vendor/top.h>\n"), IsEmpty());  // the first row counts
  EXPECT_THAT(check("top/x.cpp", "#include <other.h>\n"),
              ElementsAre("top/x.cpp:1: <other.h> has no row in ARCHITECTURE.md"));
}

TEST(Includes, OfTheStandardLibraryAreFreeUnlessTheTableSaysOtherwise) {
  EXPECT_THAT(check("base/x.cpp", "#include <vector>\n"), IsEmpty());
  EXPECT_THAT(check("top/x.cpp", "#include <thread>\n"), IsEmpty());
  EXPECT_THAT(check("base/x.cpp", "#include <thread>\n"),
              ElementsAre("base/x.cpp:1: <thread> is not for base"));
}

TEST(Includes, OfAFileOutsideEveryFolderAreFound) {
  EXPECT_THAT(check("stray/x.cpp", ""), ElementsAre(HasSubstr("its folder has no row")));
}

TEST(Architecture, RefusesATableThatIsMissingOrNamesAnUnknownFolder) {
  EXPECT_THROW(parse_architecture("| folder |\n|---|\n"), std::runtime_error);
  EXPECT_THROW(parse_architecture("| folder | o | m |\n| `a` | | `b` |\n\n| header | in |\n"),
               std::runtime_error);
  EXPECT_THROW(
      parse_architecture("| folder | o | m |\n| `a` | | |\n\n| header | in |\n| `h` | `b` |\n"),
      std::runtime_error);
}

}  // namespace
}  // namespace spillway::house
