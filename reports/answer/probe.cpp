#include "reports/answer/probe.hpp"

#include "reports/result/reading.hpp"

namespace spillway::answer {

using nlohmann::json;
using result::read;

void to_json(json& out, const Measurement& measured) {
  out = {{"path", measured.path},     {"what", measured.what},   {"unit", measured.unit},
         {"median", measured.median}, {"least", measured.least}, {"most", measured.most},
         {"runs", measured.runs}};
}

void from_json(const json& in, Measurement& measured) {
  read(in, "path", measured.path);
  read(in, "what", measured.what);
  read(in, "unit", measured.unit);
  read(in, "median", measured.median);
  read(in, "least", measured.least);
  read(in, "most", measured.most);
  read(in, "runs", measured.runs);
}

void to_json(json& out, const Product& product) {
  to_json(out, static_cast<const Measurement&>(product));
  out["rows"] = product.rows;
  out["columns"] = product.columns;
  out["inner"] = product.inner;
  out["type"] = product.type;
}

void from_json(const json& in, Product& product) {
  from_json(in, static_cast<Measurement&>(product));
  read(in, "rows", product.rows);
  read(in, "columns", product.columns);
  read(in, "inner", product.inner);
  read(in, "type", product.type);
}

void to_json(json& out, const MixedRequests& mix) {
  out = {{"storage", mix.storage},
         {"request_bytes", mix.request_bytes},
         {"in_machine_file", mix.in_machine_file},
         {"mixed_efficiency", mix.mixed_efficiency},
         {"least", mix.least},
         {"most", mix.most}};
}

void from_json(const json& in, MixedRequests& mix) {
  read(in, "storage", mix.storage);
  read(in, "request_bytes", mix.request_bytes);
  read(in, "in_machine_file", mix.in_machine_file);
  read(in, "mixed_efficiency", mix.mixed_efficiency);
  read(in, "least", mix.least);
  read(in, "most", mix.most);
}

void to_json(json& out, const Probe& probe) {
  out = {{"schema", "spillway/answer/probe/1"},
         {"machine", probe.machine},
         {"device", probe.device},
         {"device_why", probe.device_why},
         {"bytes_written", probe.bytes_written},
         {"measurements", probe.measurements},
         {"products", probe.products},
         {"mixes", probe.mixes},
         {"buffered", probe.buffered}};
  put(out, "warnings", probe.warnings);
}

void from_json(const json& in, Probe& probe) {
  result::require_schema(in, "answer/probe");
  probe = {};
  read(in, "machine", probe.machine);
  read(in, "device", probe.device);
  read(in, "device_why", probe.device_why);
  read(in, "bytes_written", probe.bytes_written);
  read(in, "measurements", probe.measurements);
  read(in, "products", probe.products);
  read(in, "mixes", probe.mixes);
  read(in, "warnings", probe.warnings);
  read(in, "buffered", probe.buffered);
}

}  // namespace spillway::answer
