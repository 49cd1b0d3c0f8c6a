#include "strategies/systems/catalogue.hpp"
#include "strategies/rules/rules.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <set>

namespace spillway::strategies {
namespace {

/// Sources of strategies/systems but for the catalogue's own.
std::set<std::string> system_files() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(SPILLWAY_SOURCE_DIR) +
                                                               "/strategies/systems"))
    if (entry.path().extension() == ".cpp" && entry.path().stem() != "catalogue")
      names.insert(entry.path().stem().string());
  return names;
}

TEST(Catalogue, ListsEverySystemFileOnce) {
  std::vector<std::string> names;
  for (const System& system : catalogue()) names.push_back(system.name);
  EXPECT_THAT(names, ::testing::UnorderedElementsAreArray(system_files()));
}

TEST(Catalogue, FindsByNameAndOnlyThose) {
  for (const System& system : catalogue()) EXPECT_EQ(find_system(system.name), &system);
  EXPECT_EQ(find_system(""), nullptr);
  EXPECT_EQ(find_system("Resident"), nullptr);
}

TEST(Catalogue, DefaultsBearTheirNameAndSurviveJson) {
  for (const System& system : catalogue()) {
    const description::Strategy defaults = system.defaults();
    EXPECT_EQ(defaults.system, system.name);
    const nlohmann::json written = defaults;
    description::Strategy read;
    from_json(written, read);
    EXPECT_EQ(nlohmann::json(read), written) << system.name;
  }
}

TEST(Catalogue, EverySystemSaysWhatItIsAndFromWhere) {
  for (const System& system : catalogue()) {
    EXPECT_THAT(system.summary, ::testing::MatchesRegex("[A-Za-z0-9].*[^.]")) << system.name;
    // where it stands: a venue and a year, an archive's number or the code
    EXPECT_THAT(system.source, ::testing::ContainsRegex("'[0-9][0-9]|arXiv|see its section"))
        << system.name;
  }
}

/// Paths of the complaints about a scenario of two GPUs.
std::vector<std::string> complaints(const char* system,
                                    const std::function<void(description::Scenario&)>& change) {
  description::Scenario scenario;
  scenario.machine.gpu.count = 2;
  scenario.strategy = find_system(system)->defaults();
  change(scenario);
  std::vector<std::string> paths;
  for (const description::Complaint& complaint : unsupported(scenario))
    paths.push_back(complaint.path);
  return paths;
}

TEST(Catalogue, RefusesNodesThatAreNotFilledAlike) {
  using namespace description;
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  const auto of = [](std::uint64_t data, std::uint64_t tensor) {
    return complaints("resident", [&](Scenario& s) {
      s.machine.gpu.count = 4;
      s.parallel.data = data;
      s.parallel.tensor = tensor;
    });
  };
  EXPECT_THAT(of(3, 1), IsEmpty());  // of one node any number
  EXPECT_THAT(of(8, 1), IsEmpty());
  EXPECT_THAT(of(6, 2), IsEmpty());
  EXPECT_THAT(of(2, 4), IsEmpty());
  EXPECT_THAT(of(5, 1), ElementsAre("parallel.data"));
  EXPECT_THAT(of(3, 2), ElementsAre("parallel.data"));
  EXPECT_THAT(of(4, 3), ElementsAre("parallel.tensor"));  // 12 ranks, but groups of 3 in 4
  EXPECT_THAT(of(1, 8), ElementsAre("parallel.tensor"));
}

TEST(Catalogue, RefusesPartsThatNoScheduleCombines) {
  using namespace description;
  using ::testing::Contains;
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  for (const System& system : catalogue()) {
    const auto settled = [&](Scenario& s) {
      if (s.strategy.optimizer.selected_share > 0) s.parallel.zero_stage = 2;
    };
    EXPECT_THAT(complaints(system.name, settled), IsEmpty()) << system.name;
  }
  EXPECT_THAT(complaints("lohan", [](Scenario& s) { s.parallel.pipeline = 2; }),
              Contains("parallel.pipeline"));
  EXPECT_THAT(complaints("resident", [](Scenario& s) { s.parallel.pipeline = 2; }), IsEmpty());
  EXPECT_THAT(complaints("teraio", [](Scenario& s) { s.parallel.pipeline = 2; }), IsEmpty());
  EXPECT_THAT(complaints("ssdtrain", [](Scenario& s) { s.parallel.pipeline = 2; }), IsEmpty());
  EXPECT_THAT(complaints("teraio", [](Scenario& s) { s.parallel.data = 2; }),
              ElementsAre("parallel.data"));
  EXPECT_THAT(complaints("zero_offload",
                         [](Scenario& s) {
                           s.parallel.data = 2;
                           s.parallel.zero_stage = 2;
                         }),
              ElementsAre("parallel.zero_stage"));
  EXPECT_THAT(
      complaints("resident",
                 [](Scenario& s) { s.strategy.activations.policy = ActivationPolicy::swap; }),
      ElementsAre("strategy.activations.homes"));
  EXPECT_THAT(
      complaints("zero_infinity",
                 [](Scenario& s) { s.strategy.gradients.policy = GradientPolicy::resident; }),
      ElementsAre("strategy.gradients.policy"));
  EXPECT_THAT(complaints("zero_infinity", [](Scenario& s) { s.strategy.optimizer.buffers = 3; }),
              ElementsAre("strategy.optimizer.buffers"));
  EXPECT_THAT(complaints("zero_infinity",
                         [](Scenario& s) {
                           s.strategy.optimizer.buffers = 3;  // no gradient among them
                           s.strategy.gradients.policy = GradientPolicy::host_fp32;
                         }),
              IsEmpty());
  EXPECT_THAT(complaints("zero_infinity",
                         [](Scenario& s) { s.training.optimizer_state = StateWidth::bf16; }),
              ElementsAre("strategy.gradients.policy"));  // fp32 gradients in bf16 buffers
  EXPECT_THAT(complaints("zero_infinity",
                         [](Scenario& s) {
                           s.training.optimizer_state = StateWidth::bf16;
                           s.strategy.gradients.policy = GradientPolicy::host_fp32;
                         }),
              IsEmpty());
  const auto weights = [](std::optional<double> one, std::optional<double> other) {
    return complaints("mlp_offload", [&](Scenario& s) {
      s.strategy.optimizer.paths = {{"nvme", one}, {"pfs", other}};
    });
  };
  EXPECT_THAT(weights(2, 1), IsEmpty());
  EXPECT_THAT(weights(0, 1), IsEmpty());
  EXPECT_THAT(weights(std::nullopt, std::nullopt), IsEmpty());
  EXPECT_THAT(weights(2, std::nullopt), ElementsAre("strategy.optimizer.paths"));
  EXPECT_THAT(weights(0, 0), ElementsAre("strategy.optimizer.paths"));
}

}  // namespace
}  // namespace spillway::strategies
