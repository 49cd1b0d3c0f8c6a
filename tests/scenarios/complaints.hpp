#pragma once

#include <string>

#include "scenarios/description/errors.hpp"

namespace spillway::scenarios {

/// What `action` complains about, a line per complaint; "" when it does not.
template <class Action>
std::string complaints_of(Action action) {
  try {
    action();
  } catch (const description::ScenarioError& error) {
    return error.what();
  }
  return "";
}

}  // namespace spillway::scenarios
