#include "sim/plugin.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

/// A simulator with a bug, for tests of what the program says of one: it stands before the real one
/// in SPILLWAY_TEST_SIMULATOR and fails for the system SPILLWAY_TEST_SYSTEM from
/// SPILLWAY_TEST_TOKENS tokens a sample on.
namespace {

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

template <class Function>
Function* real(const char* name) {
  static void* library = dlopen(setting("SPILLWAY_TEST_SIMULATOR").c_str(), RTLD_NOW | RTLD_LOCAL);
  void* found = library ? dlsym(library, name) : nullptr;
  if (!found) throw std::runtime_error("no simulator in SPILLWAY_TEST_SIMULATOR");
  return reinterpret_cast<Function*>(found);
}

}  // namespace

spillway::strategies::Machine* spillway_make_sim_machine(
    const spillway::description::Scenario& scenario, bool trace, spillway::strategies::Fold fold) {
  const bool fails = scenario.strategy.system == setting("SPILLWAY_TEST_SYSTEM") &&
                     scenario.training.sequence >= std::stoull(setting("SPILLWAY_TEST_TOKENS"));
  ENSURE(!fails, "one and one is three");
  return real<decltype(spillway_make_sim_machine)>("spillway_make_sim_machine")(scenario, trace,
                                                                                fold);
}

void spillway_sim_prepare() { real<decltype(spillway_sim_prepare)>("spillway_sim_prepare")(); }
