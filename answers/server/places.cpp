#include "answers/server/places.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>

namespace spillway::answers {

using description::refuse;

namespace {

using description::MachineFile;
using description::StorageSpec;

/// Where the name in "NAME=DIR" ends; npos: there is none. A directory may have a '=' of its own.
std::size_t name_end(const std::string& word) {
  const std::size_t equals = word.find('=');
  return equals < word.find('/') ? equals : std::string::npos;
}

bool is_name(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-';
  });
}

StoragePath read_place(const std::string& word, const std::string& usual_name) {
  const std::size_t end = name_end(word);
  if (end == std::string::npos) return {usual_name, word};
  StoragePath place{word.substr(0, end), word.substr(end + 1)};
  if (!is_name(place.name))
    refuse(
        "--on", "\"" + place.name + "\" cannot name a storage",
        "write NAME=DIR with letters, digits, \"_\" and \"-\"; a directory with a \"=\" as ./DIR");
  return place;
}

/// Moves what `sources` has for one storage to another name.
void rename_sources(MachineFile& machine, const std::string& from, const std::string& to,
                    const std::map<std::string, std::string>& old) {
  const std::string prefix = "storage." + from + ".";
  for (const auto& [path, source] : old)
    if (path.starts_with(prefix))
      machine.sources["storage." + to + "." + path.substr(prefix.size())] = source;
}

}  // namespace

std::vector<StoragePath> read_places(const std::vector<std::string>& on,
                                     const std::vector<std::string>& storages, bool raw) {
  std::vector<StoragePath> places;
  for (std::size_t i = 0; i < on.size(); ++i) {
    StoragePath place =
        read_place(on[i], i < storages.size() ? storages[i] : fmt::format("path{}", i + 1));
    for (const StoragePath& known : places)
      if (known.name == place.name)
        refuse("--on", "two directories for the storage \"" + place.name + "\"",
               "write --on NAME=DIR with another name");
    if (place.path.empty())
      refuse("--on", "no directory for the storage \"" + place.name + "\"", "write NAME=DIR");
    std::error_code unreadable;  // then it is for the gate to say so
    place.raw = raw && !std::filesystem::is_directory(place.path, unreadable);
    places.push_back(std::move(place));
  }
  return places;
}

std::string through_page_cache(const StoragePath& place) {
  return fmt::format(
      "{} ({}) has no O_DIRECT: its transfers go through the page cache, so that its rates are "
      "partly those of DRAM, and what waits there to be written is in no ledger",
      place.name, place.path.string());
}

MachineFile with_places(MachineFile server, const std::vector<StoragePath>& places, bool by_name) {
  const std::vector<StorageSpec> known = std::move(server.storage);
  const auto sources = server.sources;
  server.storage.clear();
  std::erase_if(server.sources,
                [](const auto& each) { return each.first.starts_with("storage."); });
  for (std::size_t i = 0; i < places.size(); ++i) {
    auto found = std::find_if(known.begin(), known.end(), [&](const StorageSpec& storage) {
      return by_name && storage.name == places[i].name;
    });
    if (found == known.end() && i < known.size()) found = known.begin() + static_cast<long>(i);
    if (found == known.end())
      refuse("--profile",
             fmt::format("{} has {} storages and no \"{}\"", server.name, known.size(),
                         places[i].name),
             "probe all of them: spillway probe DIR...");
    if (found->count != 1)
      refuse("--profile",
             fmt::format("storage {} of {} has {} drives, and --on names one directory for it",
                         found->name, server.name, found->count),
             "probe the directory, as one drive: spillway probe " + places[i].path.string());
    rename_sources(server, found->name, places[i].name, sources);
    server.storage.push_back(*found);
    server.storage.back().name = places[i].name;
    server.storage.back().gpus.clear();
    server.storage.back().shared_by_nodes = false;
  }
  server.nodes = 1;
  return server;
}

MachineFile paced_as(MachineFile server, const MachineFile& pace) {
  const auto of_host = [](const std::string& path) {
    return path.starts_with("host.") || path.starts_with("storage.");
  };
  std::erase_if(server.sources, [&](const auto& each) { return !of_host(each.first); });
  for (const auto& [path, source] : pace.sources)
    if (!of_host(path)) server.sources[path] = source;
  server.gpu = pace.gpu;
  server.gpu.shares_host = false;
  server.gpu.context = description::Bytes(0);  // the host has no driver
  server.gpu.reserve = description::Bytes(0);
  server.sources["gpu.reserve"] = "assumed: nothing else is on an emulated GPU";
  server.pcie = pace.pcie;
  server.network = pace.network;
  server.name += " paced as " + pace.name;
  return server;
}

std::vector<description::Complaint> without_machine_text(
    std::vector<description::Complaint> complaints, const std::string& name) {
  for (description::Complaint& complaint : complaints)
    if (complaint.file.starts_with("--set machine={")) complaint.file = name;
  return complaints;
}

}  // namespace spillway::answers
