#include "reports/result/finished_run.hpp"

#include <nlohmann/json.hpp>

namespace spillway::result {

using nlohmann::json;

namespace {

/// Writes and reads a member under its own name; an empty optional is null.
void put(json& out, const char* key, const std::optional<double>& number) {
  out[key] = number ? json(*number) : json();
}
void get(const json& in, const char* key, std::optional<double>& number) {
  number.reset();
  if (const json& value = in.at(key); !value.is_null()) number = value.get<double>();
}

}  // namespace

void to_json(json& out, const RunsWith& runs_with) {
  out = {{"program", runs_with.program}, {"runnable", runs_with.runnable}};
}

void from_json(const json& in, RunsWith& runs_with) {
  in.at("program").get_to(runs_with.program);
  in.at("runnable").get_to(runs_with.runnable);
}

void to_json(json& out, const FinishedRun& run) {
  out = {{"tokens", run.tokens},
         {"steps", run.steps},
         {"days", run.days},
         {"usd", json::object()},
         {"drives", nullptr},
         {"checkpoints",
          {{"count", run.checkpoints.count},
           {"bytes", run.checkpoints.bytes},
           {"seconds", run.checkpoints.seconds}}}};
  put(out, "kwh", run.kwh);
  put(out, "gpu_kwh", run.gpu_kwh);
  put(out, "host_kwh", run.host_kwh);
  put(out, "ssd_kwh", run.ssd_kwh);
  put(out["usd"], "box", run.usd.box);
  put(out["usd"], "energy", run.usd.energy);
  put(out["usd"], "drives", run.usd.drives);
  put(out["usd"], "rented", run.usd.rented);
  if (!run.drives) return;
  json& drives = out["drives"];
  drives = {{"storage", run.drives->storage}, {"written_bytes", run.drives->written_bytes}};
  put(drives, "warranties", run.drives->warranties);
  put(drives, "used_up", run.drives->used_up);
}

void from_json(const json& in, FinishedRun& run) {
  run = {};
  in.at("tokens").get_to(run.tokens);
  in.at("steps").get_to(run.steps);
  in.at("days").get_to(run.days);
  get(in, "kwh", run.kwh);
  get(in, "gpu_kwh", run.gpu_kwh);
  get(in, "host_kwh", run.host_kwh);
  get(in, "ssd_kwh", run.ssd_kwh);
  get(in.at("usd"), "box", run.usd.box);
  get(in.at("usd"), "energy", run.usd.energy);
  get(in.at("usd"), "drives", run.usd.drives);
  get(in.at("usd"), "rented", run.usd.rented);
  const json& checkpoints = in.at("checkpoints");
  checkpoints.at("count").get_to(run.checkpoints.count);
  checkpoints.at("bytes").get_to(run.checkpoints.bytes);
  checkpoints.at("seconds").get_to(run.checkpoints.seconds);
  if (const json& drives = in.at("drives"); !drives.is_null()) {
    RunDrives& own = run.drives.emplace();
    drives.at("storage").get_to(own.storage);
    drives.at("written_bytes").get_to(own.written_bytes);
    get(drives, "warranties", own.warranties);
    get(drives, "used_up", own.used_up);
  }
}

}  // namespace spillway::result
