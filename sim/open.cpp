#include "scenarios/description/data_files.hpp"
#include "scenarios/description/errors.hpp"
#include "sim/plugin.hpp"

#include <dlfcn.h>

/// The executable's side of the plugin: no SimGrid here.
namespace spillway::sim {

namespace {

struct Plugin {
  decltype(&spillway_make_sim_machine) make = nullptr;
  decltype(&spillway_sim_prepare) prepare = nullptr;
};

template <class Function>
Function* symbol(void* library, const char* name, const std::string& file) {
  void* found = dlsym(library, name);
  if (!found) throw description::DeviceError("dlsym: " + file + " has no " + name);
  return reinterpret_cast<Function*>(found);
}

/// Opened once and never closed: SimGrid does not survive that.
const Plugin& plugin() {
  static const Plugin opened = [] {
    const std::string file = description::plugin_file("sim").string();
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      const char* why = dlerror();
      throw description::DeviceError("dlopen: the simulator cannot be opened: " +
                                     std::string(why ? why : file));
    }
    return Plugin{
        symbol<decltype(spillway_make_sim_machine)>(library, "spillway_make_sim_machine", file),
        symbol<decltype(spillway_sim_prepare)>(library, "spillway_sim_prepare", file)};
  }();
  return opened;
}

}  // namespace

std::unique_ptr<strategies::Machine> open_sim_machine(const description::Scenario& scenario,
                                                      bool trace) {
  return std::unique_ptr<strategies::Machine>(
      plugin().make(scenario, trace, strategies::Fold::nothing));
}

std::unique_ptr<strategies::Machine> open_folded_sim_machine(
    const description::Scenario& scenario) {
  return std::unique_ptr<strategies::Machine>(
      plugin().make(scenario, false, strategies::Fold::equals));
}

void prepare_sim() { plugin().prepare(); }

}  // namespace spillway::sim
