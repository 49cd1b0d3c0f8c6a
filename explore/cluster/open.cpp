#include "explore/cluster/messenger.hpp"
#include "scenarios/description/data_files.hpp"
#include "scenarios/description/errors.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

/// The executable's side of the plugin: no MPI here.
namespace spillway::explore {

namespace {

/// Opened once and never closed. Open MPI opens plugins of its own that expect its symbols to be
/// visible to all.
decltype(&spillway_join_cluster) plugin() {
  static const auto opened = [] {
    const std::string file = description::plugin_file("cluster").string();
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
      const char* why = dlerror();
      throw description::DeviceError(
          "dlopen: MPI cannot be opened: " + std::string(why ? why : file) +
          "; Debian's package openmpi-bin brings Open MPI; without it use --shard");
    }
    void* found = dlsym(library, "spillway_join_cluster");
    if (!found) throw description::DeviceError("dlsym: " + file + " has no spillway_join_cluster");
    return reinterpret_cast<decltype(&spillway_join_cluster)>(found);
  }();
  return opened;
}

}  // namespace

std::unique_ptr<Messenger> join_cluster() {
  std::unique_ptr<Messenger> messenger;
  plugin()(messenger);
  return messenger;
}

bool survives_lost_ranks() {
  const char* recovery = std::getenv("OMPI_MCA_orte_enable_recovery");
  return recovery != nullptr && std::string(recovery) == "1";
}

}  // namespace spillway::explore
