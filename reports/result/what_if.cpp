#include "reports/result/what_if.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace spillway::result {

namespace {

bool takes_away(const std::string& what_if) { return what_if.starts_with(without); }

constexpr const char *page_cache = "page cache", *launches = "launches", *peers = "gpu-to-gpu",
                     *host_memory = "host memory";

/// "scratch" of "one more ssd of scratch" and of "twice the storage rate of scratch"; "" of others.
std::string storage_in(const std::string& what_if) {
  for (const std::string& before :
       {std::string(one_more_drive) + " of ", std::string(twice_the_rate_of)})
    if (what_if.starts_with(before)) return what_if.substr(before.size());
  return "";
}

/// "gpu" of "twice the gpu rate"; "" of what is about storage.
std::string resource_of(const std::string& what_if) {
  if (!storage_in(what_if).empty() || takes_away(what_if)) return "";
  for (const char* name :
       {page_cache, launches, peers, host_memory, "gpu", "pcie", "cpu", "network"})
    if (what_if.find(name) != std::string::npos) return name;
  return "";
}

double storage_share(const Result& r, const std::string& storage) {
  const auto share = r.utilization.storage.find(storage);
  return share == r.utilization.storage.end() ? 0 : share->second;
}

/// The array that a what-if is about: the one that it names, else the busiest of them; null where
/// the result does not say.
const nlohmann::json* array_of(const std::string& what_if, const Result& r) {
  const nlohmann::json::json_pointer storages("/machine/storage");
  if (!r.scenario.is_object() || !r.scenario.contains(storages)) return nullptr;
  const std::string named = storage_in(what_if);
  const nlohmann::json* busiest = nullptr;
  for (const nlohmann::json& storage : r.scenario[storages]) {
    const std::string name = storage.value("name", "");
    if (name == named) return &storage;
    if (storage.value("kind", "ssd") != "ssd") continue;
    if (!busiest || storage_share(r, name) > storage_share(r, busiest->value("name", "")))
      busiest = &storage;
  }
  return busiest;
}

std::string drives_of(const std::string& what_if, const Result& r) {
  if (const nlohmann::json* array = array_of(what_if, r)) return array->value("name", "ssd");
  return r.wear && !r.wear->storage.empty() ? r.wear->storage : "ssd";
}

/// How many times as much there is of what a what-if relieves: twice, or with one more drive what
/// that adds to those that are there.
double growth_of(const std::string& what_if, const Result& r) {
  const bool adds = what_if.starts_with(one_more_drive);
  const nlohmann::json* array = adds ? array_of(what_if, r) : nullptr;
  if (!array || !array->contains("count") || !array->at("count").is_number()) return 2;
  const double drives = array->at("count").get<double>();
  return drives >= 1 ? (drives + 1) / drives : 2;
}

/// Share of a step in which a resource works.
double busy(const std::string& resource, const Utilization& share) {
  if (resource == "gpu") return share.gpu;
  if (resource == "pcie") return std::max(share.h2d, share.d2h);
  if (resource == "cpu") return share.cpu;
  if (resource == "network") return share.network;
  return 0;
}

/// Why more of it changes nothing.
text::Text no_wait(const std::string& what_if, const Result& r) {
  constexpr double all_the_time = 0.95;
  const std::string name = relieved_by(what_if, r);
  if (name == page_cache || name == launches || name == peers || name == host_memory)
    return "what waits for it waits for something else as long";
  const std::string resource = resource_of(what_if);
  const double share = resource.empty() ? storage_share(r, name) : busy(resource, r.utilization);
  if (share == 0) return "no step uses " + name;
  return text::filled(share < all_the_time ? "{} works {} of a step, and others keep it waiting"
                                           : "{} works {} of a step, beside what takes as long",
                      {name, text::number(share, text::Quantity::part)});
}

/// Says of drives that the step would be shorter without them.
void warn_of_slower_drives(Result& r) {
  for (const auto& [name, what_if] : r.next)
    if (takes_away(name) && what_if.step_time_s && *what_if.step_time_s < r.step_time_s)
      r.notes.push_back("a step is shorter " + name +
                        ": all drives are one stripe, which waits for the slowest");
}

}  // namespace

std::string relieved_by(const std::string& what_if, const Result& r) {
  const std::string resource = resource_of(what_if);
  if (!resource.empty()) return resource;
  return takes_away(what_if) ? what_if.substr(std::string(without).size()) : drives_of(what_if, r);
}

std::string limited_by(const Result& r) {
  if (!r.feasible()) return "";
  constexpr double felt = 0.995;  // of a step
  std::string best;
  double most = 0;
  for (const auto& [name, what_if] : r.next) {
    if (takes_away(name) || !what_if.step_time_s || *what_if.step_time_s >= felt * r.step_time_s)
      continue;
    const double gain =
        std::log(r.step_time_s / *what_if.step_time_s) / std::log(growth_of(name, r));
    if (gain > most) most = gain, best = relieved_by(name, r);
  }
  return best;
}

void add_what_ifs(Result& r, std::map<std::string, WhatIf> next) {
  if (!r.feasible()) return;
  constexpr double nothing = 0.0005;  // of a step
  const bool late = r.staleness && r.staleness->max > 0;
  for (auto& [name, what_if] : next) {
    if (takes_away(name)) continue;
    if (late) {
      if (what_if.why.empty() && what_if.step_time_s && *what_if.step_time_s > r.step_time_s)
        what_if.why = "updates that no step waits for meet other steps, which is no cost of it";
      continue;
    }
    const bool worse = !what_if.step_time_s || *what_if.step_time_s > (1 + nothing) * r.step_time_s;
    if (worse && what_if.why.empty()) what_if.why = "a plan for it is no better than this one";
    if (!what_if.step_time_s || *what_if.step_time_s > r.step_time_s)
      what_if.step_time_s = r.step_time_s;
    if (what_if.why.empty() && *what_if.step_time_s > (1 - nothing) * r.step_time_s)
      what_if.why = no_wait(name, r);
  }
  r.next = std::move(next);
  warn_of_slower_drives(r);
}

}  // namespace spillway::result
