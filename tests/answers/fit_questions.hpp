#pragma once

#include "answers/fit/box.hpp"
#include "answers/fit/fit.hpp"
#include "scenarios/document/part_catalogue.hpp"
#include "tests/answers/simulator.hpp"

namespace spillway::answers {

/// Whether the model trains on a box of parts of the catalogue.
inline FitQuestion about(const std::string& model, const BoxWords& words) {
  FitQuestion question;
  question.model = model;
  question.machine = box_of(words, scenarios::part_catalogue()).machine;
  return question;
}

}  // namespace spillway::answers
