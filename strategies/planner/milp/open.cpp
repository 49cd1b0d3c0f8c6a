#include "scenarios/description/data_files.hpp"
#include "scenarios/description/errors.hpp"
#include "strategies/planner/milp/milp.hpp"

#include <dlfcn.h>
#include <algorithm>
#include <cmath>

/// The executable's side of the plugin: no CBC here.
namespace spillway::milp {

namespace {

/// Opened once and never closed.
decltype(&spillway_milp_solve) solver() {
  static const auto opened = [] {
    const std::string file = description::plugin_file("milp").string();
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      const char* why = dlerror();
      throw description::DeviceError("dlopen: the solver cannot be opened: " +
                                     std::string(why ? why : file));
    }
    void* found = dlsym(library, "spillway_milp_solve");
    if (!found) throw description::DeviceError("dlsym: " + file + " has no spillway_milp_solve");
    return reinterpret_cast<decltype(&spillway_milp_solve)>(found);
  }();
  return opened;
}

}  // namespace

double Solution::gap() const {
  if (!found || cost <= bound) return 0;
  return std::min(1.0, (cost - bound) / std::max(std::abs(cost), 1e-30));
}

Solution solve(const Program& program, const Limits& limits) {
  Solution solution;
  ENSURE(solver()(program, limits, solution), "CBC gave up on a program");
  return solution;
}

}  // namespace spillway::milp
