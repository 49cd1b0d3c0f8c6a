#include "explore/fidelity/fit.hpp"
#include "explore/fidelity/machine_parameter.hpp"
#include "strategies/counting/counting_machine.hpp"

#include <gtest/gtest.h>

namespace spillway::explore {
namespace {

Backend counting() {
  return {"counting",
          [](const description::Scenario& scenario, bool) {
            return std::make_unique<strategies::CountingMachine>(scenario);
          },
          [] {}};
}

scenarios::Figure capacity(double gib) {
  scenarios::Figure figure;
  figure.id = "paper.capacity";
  figure.metric = "a.peak_bytes.gpu.capacity";
  figure.value = gib;
  figure.unit = "GiB";
  figure.scale = 1 << 30;
  figure.tolerance = 0.01;
  figure.fit = true;
  figure.fits = {"gpu.memory"};
  figure.setups["a"] = scenarios::located_at(
      {{"model", "gpt2"}, {"machine", "gaming_4090"}, {"strategy", {{"system", "resident"}}}}, {});
  return figure;
}

std::string why_left_out(scenarios::Figure figure) {
  const result::Fit fit = fit_machine(counting(), {std::move(figure)}, "gaming_4090").fit;
  return fit.left_out.empty() ? "" : words(fit.left_out.front().second);
}

TEST(FitMachine, MovesWhatTheFigureNamesToItsValue) {
  const Fitted found = fit_machine(counting(), {capacity(20)}, "gaming_4090");
  ASSERT_EQ(found.fit.parameters.size(), 1u);
  const result::FitParameter& memory = found.fit.parameters.front();
  EXPECT_EQ(memory.path, "gpu.memory");
  EXPECT_EQ(memory.before, "24 GiB");
  EXPECT_EQ(memory.after, "20 GiB");
  EXPECT_NEAR(memory.change, 20.0 / 24 - 1, 1e-6);
  EXPECT_NEAR(memory.sensitivity, 1, 1e-6);  // the figure is the parameter
  EXPECT_EQ(memory.note, "");
  EXPECT_NEAR(found.fit.figures.front().error_before(), 0.2, 1e-9);
  EXPECT_NEAR(found.fit.figures.front().error_after(), 0, 1e-6);
  const auto file = nlohmann::json::parse(found.machine_file);
  EXPECT_EQ(file["gpu"]["memory"], "20 GiB");
  EXPECT_EQ(file["gpu"]["count"], 1);
}

TEST(FitMachine, FindsTheLeastSquaresOfTwoFiguresThatDisagree) {
  scenarios::Figure other = capacity(30);
  other.id = "paper.other";
  // errors relative to 20 and 30: (m/20 - 1)^2 + (m/30 - 1)^2 is least at
  // m = (1/20 + 1/30) / (1/400 + 1/900) = 23.077
  const Fitted found = fit_machine(counting(), {capacity(20), other}, "gaming_4090");
  EXPECT_NEAR(found.fit.figures.front().after, 23.077, 0.01);
}

TEST(FitMachine, WritesBetweenWhichValuesFiguresPinANumber) {
  scenarios::Figure other = capacity(30);
  other.id = "paper.other";
  // each figure is the parameter: one is met at 20 GiB, the other at 30
  const Fitted found = fit_machine(counting(), {capacity(20), other}, "gaming_4090");
  const result::FitParameter& memory = found.fit.parameters.front();
  EXPECT_EQ(memory.low, "20 GiB");
  EXPECT_EQ(memory.high, "30 GiB");
  EXPECT_EQ(memory.from, (std::vector<std::string>{"paper.capacity", "paper.other"}));
  const Fitted alone = fit_machine(counting(), {capacity(20)}, "gaming_4090");
  EXPECT_TRUE(alone.fit.parameters.front().from.empty());
}

TEST(FitMachine, SaysWhenItStopsAtItsBound) {
  const Fitted found = fit_machine(counting(), {capacity(480)}, "gaming_4090");
  EXPECT_EQ(found.fit.parameters.front().after, "240 GiB");  // ten times
  EXPECT_EQ(found.fit.parameters.front().note, "at its bound");
}

TEST(FitMachine, SaysWhichParametersOnlyMoveTogether) {
  scenarios::Figure product = capacity(20);
  product.metric = "a.peak_bytes.gpu.capacity + a.peak_bytes.host.capacity";
  product.value = 100;
  product.fits = {"gpu.memory", "host.memory"};
  const Fitted found = fit_machine(counting(), {product}, "gaming_4090");
  EXPECT_EQ(found.fit.parameters.at(0).note, "only together with host.memory");
  EXPECT_EQ(found.fit.parameters.at(1).note, "only together with gpu.memory");
}

TEST(FitMachine, LeavesOutWhatHasNoSlopeOrNoValue) {
  scenarios::Figure chosen = capacity(20);
  chosen.fits.clear();
  chosen.chosen = {"training.micro_batch"};
  EXPECT_EQ(why_left_out(chosen), "settings were chosen on it, no parameter");
  scenarios::Figure truth = capacity(0);
  truth.metric = "a.feasible";
  EXPECT_EQ(why_left_out(truth), "yes or no has no slope");
  scenarios::Figure missing = capacity(20);
  missing.setups["a"].value["strategy"]["system"] = "perpetual_motion";
  EXPECT_EQ(why_left_out(missing), "the system perpetual_motion is not there yet");
  scenarios::Figure huge = capacity(20);
  huge.metric = "a.step_time_s";
  huge.setups["a"].value["model"] = "opt-175b";
  EXPECT_TRUE(why_left_out(huge).starts_with("a does not fit: gpu, ")) << why_left_out(huge);
}

TEST(FitMachine, ReportsTheValueOfWhatWasChosen) {
  scenarios::Figure figure = capacity(20);
  figure.chosen = {"training.sequence"};
  const Fitted found = fit_machine(counting(), {figure}, "gaming_4090");
  ASSERT_EQ(found.fit.chosen.size(), 1u);
  EXPECT_EQ(found.fit.chosen[0].setting, "training.sequence");
  EXPECT_EQ(found.fit.chosen[0].figures, std::vector<std::string>{"paper.capacity"});
}

TEST(FitMachine, IgnoresChecksAndOtherMachines) {
  scenarios::Figure check = capacity(20);
  check.fit = false;
  EXPECT_TRUE(fit_machine(counting(), {check}, "gaming_4090").fit.parameters.empty());
  EXPECT_TRUE(fit_machine(counting(), {capacity(20)}, "lohan_4090").fit.parameters.empty());
  EXPECT_THROW(fit_machine(counting(), {capacity(20)}, "gaming_4091"), description::ScenarioError);
}

TEST(MachineParameter, IsFoundByThePathOfItsSource) {
  const auto machine = nlohmann::json::parse(R"({
    "name": "box", "host": { "adam": "0.8 Gparam/s", "memory": "64 GiB" },
    "storage": [ { "name": "a", "read": "1 GB/s" },
                 { "name": "b", "read": "6.9 GB/s", "process_efficiency": { "file": 0.44 } } ] })");
  const MachineParameter read(machine, "storage.b.read");
  EXPECT_EQ(read.value(), 6.9e9);
  EXPECT_EQ(read.pointer(), "/storage/1/read");
  EXPECT_EQ(read.override_with(7e9), "machine.storage.b.read=7 GB/s");
  EXPECT_EQ(read.text(7123456789.0), "7123 MB/s");
  const MachineParameter share(machine, "storage.b.process_efficiency.file");
  EXPECT_EQ(share.most(), 1);
  EXPECT_EQ(share.override_with(0.5), "machine.storage.b.process_efficiency.file=0.5");
  const MachineParameter memory(machine, "host.memory");
  EXPECT_EQ(memory.text(1.5 * (1 << 30)), "1.5 GiB");
  EXPECT_EQ(memory.text(100), "100 B");
  for (const char* path : {"host", "host.adm", "storage.c.read", "name", "storage"})
    EXPECT_THROW(MachineParameter(machine, path), description::ScenarioError) << path;
}

}  // namespace
}  // namespace spillway::explore
