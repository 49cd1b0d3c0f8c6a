#pragma once

#include "scenarios/description/errors.hpp"
#include "scenarios/description/machine_file.hpp"

#include <filesystem>
#include <string>
#include <vector>

/// This server as the machine of a scenario.
namespace spillway::answers {

/// A storage of the scenario and where it lies on this server.
struct StoragePath {
  std::string name;
  std::filesystem::path path;
  bool raw = false;  ///< a disk without a file system
};

/// Reads --on: "DIR" takes the name of the scenario's storage in its place, "NAME=DIR" any.
///   storages  the scenario's, by name, in order
///   raw       whether what is no directory is meant as a raw device
///   Throws    ScenarioError: two places for one storage, a name that cannot be one
std::vector<StoragePath> read_places(const std::vector<std::string>& on,
                                     const std::vector<std::string>& storages, bool raw);

/// That its transfers go through the page cache, in words.
std::string through_page_cache(const StoragePath& place);

/// What `server` (a profile) says of the storages of `places`, each one drive: the storage of that
/// name, else the one in its position. Numbers keep their sources.
///   by_name   the profile's names mean something: it was not measured for these places
///   Throws    ScenarioError: fewer storages than places, or one of several drives
description::MachineFile with_places(description::MachineFile server,
                                     const std::vector<StoragePath>& places, bool by_name);

/// `server` with the GPU, PCIe and network of `pace`, which its host shall play.
description::MachineFile paced_as(description::MachineFile server,
                                  const description::MachineFile& pace);

/// Complaints about an override "machine={...}" of ours, with `name` for its text.
std::vector<description::Complaint> without_machine_text(
    std::vector<description::Complaint> complaints, const std::string& name);

}  // namespace spillway::answers
