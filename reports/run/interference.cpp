#include "reports/run/interference.hpp"

#include "scenarios/description/quantity.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <optional>
#include <vector>

namespace spillway::reports {

using result::Result;
using view::filled;
using view::Text;

namespace {

/// A number of the scenario; absent: nothing.
std::optional<double> number_at(const Result& r, const std::string& path) {
  const nlohmann::json::json_pointer pointer(path);
  if (!r.scenario.contains(pointer) || !r.scenario.at(pointer).is_number()) return {};
  return r.scenario.at(pointer).get<double>();
}

Text part(double share) { return view::number(share, view::Quantity::part); }

/// How drives update what lies on them, and that nobody waits for the CPU.
std::vector<Text> updates(const Result& r) {
  std::vector<Text> all;
  const nlohmann::json::json_pointer storages("/machine/storage");
  const nlohmann::json::json_pointer wait("/strategy/optimizer/wait");
  if (r.near_storage && r.scenario.contains(storages))
    for (const nlohmann::json& storage : r.scenario.at(storages)) {
      const auto near = storage.find("near_storage");
      if (near == storage.end()) continue;
      const auto start =
          description::parse_quantity(description::Dimension::seconds, near->value("start", "0 s"));
      all.push_back(
          filled("Each drive of {} reads, computes and writes a sub-group one after the other, {} "
                 "after the one before it has ended on all drives (near_storage.start).",
                 {storage.value("name", ""), view::seconds(static_cast<double>(start.value))}));
    }
  if (r.scenario.contains(wait) && !r.scenario.at(wait).get<bool>())
    all.push_back(
        "Nobody waits for Adam on the CPU: what it takes is in no step (optimizer.wait).");
  return all;
}

/// Whether a knob of the strategy has that word.
bool knob_is(const Result& r, const char* pointer, const char* word) {
  const nlohmann::json::json_pointer knob(std::string("/strategy") + pointer);
  return r.scenario.contains(knob) && r.scenario.at(knob) == word;
}
/// A rate or a time of the machine, as its file has it.
std::string written(const Result& r, const char* pointer) {
  const nlohmann::json::json_pointer number(std::string("/machine") + pointer);
  return r.scenario.contains(number) ? r.scenario.at(number).get<std::string>() : "";
}

/// Numbers of ranks that ZeRO shares weights among.
constexpr const char* sharing[] = {"/parallel/data", "/parallel/context"};

/// A GPU is never ahead of the thread that launches its kernels.
void add_launches(std::vector<Text>& all, const Result& r) {
  const std::string launch = written(r, "/host/launch"), hooks = written(r, "/host/module_hooks");
  const nlohmann::json::json_pointer stage("/parallel/zero_stage");
  const bool shared = std::any_of(std::begin(sharing), std::end(sharing), [&r](const char* ranks) {
    const nlohmann::json::json_pointer at(ranks);
    return r.scenario.contains(at) && r.scenario.at(at) > 1;
  });
  const bool gathers = !knob_is(r, "/weights/home", "gpu") || shared;
  const nlohmann::json::json_pointer with_hooks("/strategy/weights/hooks");
  const bool hooked = gathers && r.scenario.contains(with_hooks) &&
                      r.scenario.at(with_hooks) == true && r.scenario.contains(stage) &&
                      r.scenario.at(stage) == 3 && hooks != "0 s";
  if (launch.empty() || (launch == "0 s" && !hooked)) return;
  if (hooked && launch == "0 s")
    all.push_back(
        filled("A thread of the host runs {} of ZeRO-3's hooks for each module "
               "(host.module_hooks, weights.hooks): where layers are small the GPU waits for it.",
               {hooks}));
  else if (hooked)
    all.push_back(filled(
        "A thread of the host launches kernels, {} each (host.launch), and runs {} of ZeRO-3's "
        "hooks for each module (host.module_hooks, weights.hooks): where layers are small the GPU "
        "waits for it.",
        {launch, hooks}));
  else
    all.push_back(
        filled("A thread of the host launches kernels, {} each (host.launch): where layers are "
               "small the GPU waits for it.",
               {launch}));
}

/// What threads of the host hold up.
void add_threads(std::vector<Text>& all, const Result& r) {
  if (knob_is(r, "/io_engine", "buffered"))
    all.push_back(filled(
        "One thread of each rank copies what drives read and write by way of the page cache, at {} "
        "(host.page_cache), twice over host memory; free memory keeps it, and writes wait once {} "
        "of that is unwritten (host.dirty_limit). Bytes are those asked for: what the page cache "
        "has, drives need not read.",
        {written(r, "/host/page_cache"),
         part(number_at(r, "/machine/host/dirty_limit").value_or(0))}));
  if (knob_is(r, "/gradients/d2h", "typed"))
    all.push_back(filled(
        "Gradients change type in copies that block: into new pages, which one thread touches at "
        "{} (host.first_touch), at {} (pcie.pageable_d2h), then converted; backward waits for each "
        "layer's.",
        {written(r, "/host/first_touch"), written(r, "/pcie/pageable_d2h")}));
  if (knob_is(r, "/weights/h2d", "typed"))
    all.push_back(filled(
        "New weights change type in copies that block: converted into new pages, which one thread "
        "touches at {} (host.first_touch), and copied on at {} (pcie.pageable_h2d); the next "
        "sub-group's Adam waits for them.",
        {written(r, "/host/first_touch"), written(r, "/pcie/pageable_h2d")}));
}

/// Whether a step does both on the storage.
bool reads_and_writes(const Result& r, const std::string& storage) {
  const auto bytes = r.io.by_storage.find(storage);
  return bytes != r.io.by_storage.end() && bytes->second.read > 0 && bytes->second.write > 0;
}

}  // namespace

Text interference(const Result& r) {
  std::vector<Text> all = updates(r);
  const nlohmann::json::json_pointer storages("/machine/storage");
  const std::size_t count = r.scenario.contains(storages) ? r.scenario.at(storages).size() : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const nlohmann::json& storage = r.scenario.at(storages)[i];
    const auto mixed = number_at(r, fmt::format("/machine/storage/{}/mixed_efficiency", i));
    if (!mixed || *mixed == 1 || !reads_and_writes(r, storage.value("name", ""))) continue;
    all.push_back(
        filled("Reads and writes at once reach {} of {} where each takes half of its time "
               "(mixed_efficiency).",
               {part(*mixed), storage.value("name", "")}));
  }
  const nlohmann::json::json_pointer access("/machine/gpu/peer_access");
  if (r.scenario.contains(access) && !r.scenario.at(access).get<bool>() && r.io.network > 0)
    all.push_back("What GPUs send each other goes by way of host memory (gpu.peer_access).");
  const nlohmann::json::json_pointer sockets("/machine/host/socket_rate");
  if (r.scenario.contains(sockets) && r.io.network > 0)
    all.push_back(
        filled("What GPUs of one socket send to those of another shares {} (host.socket_rate).",
               {r.scenario.at(sockets).get<std::string>()}));
  for (const char* teams : {"2", "4", "8"})
    if (const auto share = number_at(r, std::string("/machine/host/team_rates/") + teams))
      all.push_back(
          filled("CPU work of {} ranks at once reaches {} of one's rate (host.team_rates).",
                 {teams, part(*share)}));
  add_threads(all, r);
  add_launches(all, r);
  if (const auto jitter = number_at(r, "/run/jitter"))
    all.push_back(
        filled("Each operation lasts up to {} longer or shorter (run.jitter).", {part(*jitter)}));
  return text::joined(all, " ");
}

}  // namespace spillway::reports
