#include "reports/answer/deepspeed.hpp"

#include "reports/result/reading.hpp"

namespace spillway::answer {

using nlohmann::json;
using result::or_null;
using result::read;

void to_json(json& out, const VersionCost& cost) {
  out = {{"host_bytes", cost.host_bytes},
         {"other_host_bytes", cost.other_host_bytes},
         {"step_time_s", cost.step_time_s},
         {"other_step_time_s", cost.other_step_time_s}};
}

void from_json(const json& in, VersionCost& cost) {
  read(in, "host_bytes", cost.host_bytes);
  read(in, "other_host_bytes", cost.other_host_bytes);
  read(in, "step_time_s", cost.step_time_s);
  read(in, "other_step_time_s", cost.other_step_time_s);
}

void to_json(json& out, const PinningDefault& pinning) {
  out = {{"pins", pinning.pins},
         {"other_version", pinning.other_version},
         {"cost", or_null(pinning.cost)}};
}

void from_json(const json& in, PinningDefault& pinning) {
  read(in, "pins", pinning.pins);
  read(in, "other_version", pinning.other_version);
  read(in, "cost", pinning.cost);
}

void to_json(json& out, const ImportedScenario& imported) {
  out = {{"schema", "spillway/answer/import/1"},
         {"scenario", imported.scenario},
         {"version", imported.version},
         {"pinning", or_null(imported.pinning)}};
  put(out, "notes", imported.notes);
}

void from_json(const json& in, ImportedScenario& imported) {
  result::require_schema(in, "answer/import");
  imported = {};
  read(in, "scenario", imported.scenario);
  read(in, "version", imported.version);
  read(in, "pinning", imported.pinning);
  read(in, "notes", imported.notes);
}

void to_json(json& out, const ImportedProfile& imported) {
  out = {{"schema", "spillway/answer/import_profile/1"},
         {"file", imported.file},
         {"tensors", imported.tensors},
         {"kernels", imported.kernels},
         {"partial", imported.partial}};
  put(out, "notes", imported.notes);
}

void from_json(const json& in, ImportedProfile& imported) {
  result::require_schema(in, "answer/import_profile");
  imported = {};
  read(in, "file", imported.file);
  read(in, "tensors", imported.tensors);
  read(in, "kernels", imported.kernels);
  read(in, "partial", imported.partial);
  read(in, "notes", imported.notes);
}

void to_json(json& out, const ExportedConfiguration& exported) {
  out = {{"schema", "spillway/answer/export/1"},
         {"ds_config", exported.ds_config},
         {"version", exported.version},
         {"scenario", exported.scenario},
         {"needs_nvme_path", exported.needs_nvme_path}};
  put(out, "notes", exported.notes);
}

void from_json(const json& in, ExportedConfiguration& exported) {
  result::require_schema(in, "answer/export");
  exported = {};
  read(in, "ds_config", exported.ds_config);
  read(in, "version", exported.version);
  read(in, "scenario", exported.scenario);
  read(in, "needs_nvme_path", exported.needs_nvme_path);
  read(in, "notes", exported.notes);
}

}  // namespace spillway::answer
