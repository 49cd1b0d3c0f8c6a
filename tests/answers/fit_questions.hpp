#pragma once

#include "answers/fit/box.hpp"
#include "answers/fit/fit.hpp"
#include "explore/trials/trials.hpp"
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

}  // namespace spillway::answers
