#pragma once

#include "answers/fit/box.hpp"
#include "answers/fit/fit.hpp"
#include "explore/trials/trials.hpp"
#include "explore/trials/ways.hpp"
#include "scenarios/document/part_catalogue.hpp"
#include "scenarios/reading/read_scenario.hpp"
#include "tests/answers/simulator.hpp"

namespace spillway::answers {

/// Whether the model trains on a box of parts of the catalogue.
inline FitQuestion about(const std::string& model, const BoxWords& words) {
  FitQuestion question;
  question.model = model;
  question.machine = box_of(words, scenarios::part_catalogue()).machine;
  return question;
}

/// Tokens a second of the run with more overrides.
inline double rate_of(const result::Result& run, const std::vector<std::string>& set) {
  return explore::simulate(sim(),
                           scenarios::read_scenario(run.scenario, set, explore::known_systems(),
                                                    scenarios::Refuse::what_cannot_run)
                               .scenario)
      .tokens_per_s;
}

/// Of a job at the usual context: what fit takes where nobody says anything of the trainer.
inline nlohmann::json plain_training() {
  return {
      {"precision", "bf16_mixed"}, {"sequence", 4096}, {"fused_kernels", false}, {"loss", "plain"}};
}

/// A job on the machine of a question, of a system as people start it, with a change.
inline result::Result with_change(const FitQuestion& question, const std::string& system,
                                  const std::vector<std::string>& set) {
  const nlohmann::json job = {{"model", question.model},
                              {"machine", question.machine},
                              {"training", plain_training()},
                              {"run", {{"warmup_steps", 1}, {"steps", 1}}}};
  std::vector<std::string> all = explore::way_named(system).overrides;
  all.insert(all.end(), set.begin(), set.end());
  return explore::simulate(sim(), scenarios::read_scenario(job, all, explore::known_systems(),
                                                           scenarios::Refuse::what_cannot_run)
                                      .scenario);
}

}  // namespace spillway::answers
