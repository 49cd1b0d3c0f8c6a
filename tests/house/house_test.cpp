// The checks, on this tree itself.
#include <gtest/gtest.h>

#include <string>

#include "tests/house/architecture.hpp"
#include "tests/house/coroutines.hpp"
#include "tests/house/dependencies.hpp"
#include "tests/house/repository.hpp"
#include "tests/house/sizes.hpp"

namespace spillway::house {
namespace {

const std::filesystem::path root = SPILLWAY_SOURCE_DIR;

const std::vector<SourceFile>& tree() {
  static const auto files = repository_files(root);
  return files;
}

SourceFile file_named(const std::string& path) {
  for (const auto& file : tree()) {
    if (file.path == path) return file;
  }
  return {path, ""};
}

void expect_none(const Findings& findings) {
  for (const auto& finding : findings) ADD_FAILURE() << finding;
}

TEST(House, HasFilesToCheck) { EXPECT_GT(tree().size(), 20U); }

TEST(House, EveryIncludeIsAnEdgeOfTheArchitecture) {
  expect_none(include_findings(parse_architecture(file_named("ARCHITECTURE.md").text), tree()));
}

TEST(House, EverySourceIsCompiled) { expect_none(orphan_findings(tree())); }

TEST(House, NoFileIsTooLong) { expect_none(file_findings(tree())); }

TEST(House, NoFunctionIsTooLong) { expect_none(function_findings(tree())); }

TEST(House, NoLineIsTooWide) { expect_none(line_findings(tree())); }

TEST(House, NoCoroutineAwaitsWhereTheCompilerErrs) { expect_none(coroutine_findings(tree())); }

TEST(House, EveryPackageHasItsLicenceInTheReadme) {
  const SourceFile packages = file_named("setup/packages");
  EXPECT_NE(packages.text, "");
  expect_none(licence_findings(packages, file_named("README.md")));
}

TEST(House, TheLayoutIsTheFormatters) { expect_none(layout_findings(root, tree())); }

}  // namespace
}  // namespace spillway::house
