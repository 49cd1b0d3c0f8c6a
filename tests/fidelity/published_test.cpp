#include "explore/fidelity/setups.hpp"
#include "scenarios/document/document.hpp"
#include "scenarios/document/read_machine.hpp"
#include "scenarios/json/shipped.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

namespace spillway::explore {
namespace {

namespace fs = std::filesystem;

const std::vector<scenarios::Figure>& published() {
  static const auto figures = scenarios::read_figures(scenarios::published_files());
  return figures;
}

/// The machines that the setups of a figure name.
std::set<std::string> machines_of(const scenarios::Figure& figure) {
  std::set<std::string> names;
  for (const auto& [name, setup] : figure.setups)
    names.insert(scenarios::assemble(setup, {}).scenario.value.at("machine"));
  return names;
}

TEST(Published, IsInFilesNamedAfterThePaperThatBeginsEachId) {
  for (const std::string& file : scenarios::published_files())
    for (const scenarios::Figure& figure : scenarios::read_figures({file}))
      EXPECT_EQ(figure.paper(), fs::path(file).stem()) << figure.id;
}

TEST(Published, CanBeReadWhetherItCanRunYetOrNot) {
  const Setups setups = resolve_setups(published());
  EXPECT_GT(setups.scenarios.size(), 20u);
  for (const auto& figure : setups.of) EXPECT_FALSE(figure.empty());
}

// A scenario that no figure names would be a setup of nothing.
TEST(Published, HasNoScenarioThatNoFigureUses) {
  std::set<fs::path> used;
  for (const scenarios::Figure& figure : published())
    for (const auto& [name, setup] : figure.setups)
      used.insert(fs::weakly_canonical(setup.place("").file));
  const fs::path folder = fs::path(SPILLWAY_SOURCE_DIR) / "scenarios/published";
  for (const fs::directory_entry& paper : fs::directory_iterator(folder)) {
    if (!paper.is_directory()) continue;
    for (const fs::directory_entry& file : fs::directory_iterator(paper))
      EXPECT_TRUE(used.contains(fs::weakly_canonical(file.path()))) << file.path();
  }
}

TEST(Published, MayMoveOnlyWhatTheMachineFileCallsFitted) {
  std::size_t moved = 0;
  for (const scenarios::Figure& figure : published())
    for (const std::string& parameter : figure.fits)
      for (const std::string& machine : machines_of(figure)) {
        const auto sources = scenarios::read_machine(machine).sources;
        ASSERT_TRUE(sources.contains(parameter)) << figure.id << " " << parameter;
        EXPECT_TRUE(sources.at(parameter).starts_with("fitted")) << figure.id << " " << parameter;
        ++moved;
      }
  EXPECT_GT(moved, 30u);
}

// Whoever says that what is not stated causes a difference does not know the cause.
TEST(OpenFigures, EachHasAReasonAndSaysWhetherTheCauseIsEstablished) {
  std::size_t unknown = 0;
  for (const std::string& file : {scenarios::open_figures_file(), scenarios::beyond_figures_file()})
    for (const scenarios::OpenFigure& open : scenarios::read_open_figures(file)) {
      EXPECT_FALSE(open.reason.empty()) << open.id;
      const bool says_so = open.reason.find("ot established") != std::string::npos;
      EXPECT_FALSE(says_so && open.established) << open.id;
      unknown += open.established ? 0 : 1;
    }
  EXPECT_GT(unknown, 0u);
}

}  // namespace
}  // namespace spillway::explore
