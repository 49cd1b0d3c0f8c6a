#include "explore/evolution/evolution.hpp"
#include "scenarios/description/data_files.hpp"
#include "scenarios/description/errors.hpp"

#include <dlfcn.h>

/// The executable's side of the plugin: no pagmo here.
namespace spillway::explore {

namespace {

/// Opened once and never closed.
decltype(&spillway_evolve) plugin() {
  static const auto opened = [] {
    const std::string file = description::plugin_file("evolution").string();
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      const char* why = dlerror();
      throw description::DeviceError("dlopen: NSGA-II cannot be opened: " +
                                     std::string(why ? why : file));
    }
    void* found = dlsym(library, "spillway_evolve");
    if (!found) throw description::DeviceError("dlsym: " + file + " has no spillway_evolve");
    return reinterpret_cast<decltype(&spillway_evolve)>(found);
  }();
  return opened;
}

}  // namespace

void evolve(const EvolutionTask& task, const EvaluatePoints& evaluate) { plugin()(task, evaluate); }

}  // namespace spillway::explore
