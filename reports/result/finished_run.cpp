#include "reports/result/finished_run.hpp"

#include "reports/result/reading.hpp"

namespace spillway::result {

using nlohmann::json;

namespace {

/// Writes a member under its own name; an empty optional is null.
void put(json& out, const char* key, const std::optional<double>& number) {
  out[key] = or_null(number);
}

}  // namespace

void to_json(json& out, const RunsWith& runs_with) {
  out = {{"program", runs_with.program}, {"runnable", runs_with.runnable}};
}

void from_json(const json& in, RunsWith& runs_with) {
  read(in, "program", runs_with.program);
  read(in, "runnable", runs_with.runnable);
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
  put(out["usd"], "replacements", run.usd.replacements);
  put(out["usd"], "rented", run.usd.rented);
  if (!run.drives) return;
  json& drives = out["drives"];
  drives = {{"storage", run.drives->storage},
            {"written_bytes", run.drives->written_bytes},
            {"placed_bytes", run.drives->placed_bytes},
            {"replaced", run.drives->replaced}};
  put(drives, "warranties", run.drives->warranties);
  put(drives, "used_up", run.drives->used_up);
}

void from_json(const json& in, RunCosts& usd) {
  read(in, "box", usd.box);
  read(in, "energy", usd.energy);
  read(in, "drives", usd.drives);
  read(in, "replacements", usd.replacements);
  read(in, "rented", usd.rented);
}

void from_json(const json& in, RunDrives& drives) {
  read(in, "storage", drives.storage);
  read(in, "written_bytes", drives.written_bytes);
  read(in, "placed_bytes", drives.placed_bytes);
  read(in, "warranties", drives.warranties);
  read(in, "used_up", drives.used_up);
  read(in, "replaced", drives.replaced);
}

void from_json(const json& in, RunCheckpoints& checkpoints) {
  read(in, "count", checkpoints.count);
  read(in, "bytes", checkpoints.bytes);
  read(in, "seconds", checkpoints.seconds);
}

void from_json(const json& in, FinishedRun& run) {
  run = {};
  read(in, "tokens", run.tokens);
  read(in, "steps", run.steps);
  read(in, "days", run.days);
  read(in, "kwh", run.kwh);
  read(in, "gpu_kwh", run.gpu_kwh);
  read(in, "host_kwh", run.host_kwh);
  read(in, "ssd_kwh", run.ssd_kwh);
  read(in, "usd", run.usd);
  read(in, "drives", run.drives);
  read(in, "checkpoints", run.checkpoints);
}

}  // namespace spillway::result
