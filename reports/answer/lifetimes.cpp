#include "reports/answer/lifetimes.hpp"

#include "reports/result/reading.hpp"

namespace spillway::answer {

using nlohmann::json;
using result::or_null;
using result::read;

void to_json(json& out, const KernelWithoutRoom& one) {
  out = {{"kernel", one.kernel},
         {"memory", one.memory},
         {"tensor_id", one.tensor_id},
         {"asked_bytes", one.asked_bytes},
         {"free_bytes", one.free_bytes}};
}

void from_json(const json& in, KernelWithoutRoom& one) {
  read(in, "kernel", one.kernel);
  read(in, "memory", one.memory);
  read(in, "tensor_id", one.tensor_id);
  read(in, "asked_bytes", one.asked_bytes);
  read(in, "free_bytes", one.free_bytes);
}

void to_json(json& out, const RooflinePoint& point) {
  out = {{"migration_bytes_per_s", point.migration_bytes_per_s},
         {"feasible", point.feasible},
         {"step_s", point.step_s},
         {"over_ideal", point.over_ideal}};
}

void from_json(const json& in, RooflinePoint& point) {
  read(in, "migration_bytes_per_s", point.migration_bytes_per_s);
  read(in, "feasible", point.feasible);
  read(in, "step_s", point.step_s);
  read(in, "over_ideal", point.over_ideal);
}

void to_json(json& out, const MigrationPlan& plan) {
  out = {{"schema", "spillway/answer/lifetimes/1"},
         {"tensors", plan.tensors},
         {"kernels", plan.kernels},
         {"partial", plan.partial},
         {"intervals", plan.intervals},
         {"moved", plan.moved},
         {"urgent_moves", plan.urgent_moves},
         {"bytes_to_ssd", plan.bytes_to_ssd},
         {"bytes_to_host", plan.bytes_to_host},
         {"ideal_s", plan.ideal_s},
         {"step_s", plan.step_s},
         {"note", words(plan.note)},
         {"feasible", !plan.infeasible.has_value()},
         {"infeasible", or_null(plan.infeasible)}};
  if (plan.roofline) out["roofline"] = *plan.roofline;
}

void from_json(const json& in, MigrationPlan& plan) {
  result::require_schema(in, "answer/lifetimes");
  plan = {};
  read(in, "tensors", plan.tensors);
  read(in, "kernels", plan.kernels);
  read(in, "partial", plan.partial);
  read(in, "intervals", plan.intervals);
  read(in, "moved", plan.moved);
  read(in, "urgent_moves", plan.urgent_moves);
  read(in, "bytes_to_ssd", plan.bytes_to_ssd);
  read(in, "bytes_to_host", plan.bytes_to_host);
  read(in, "ideal_s", plan.ideal_s);
  read(in, "step_s", plan.step_s);
  read(in, "note", plan.note);
  read(in, "infeasible", plan.infeasible);
  read(in, "roofline", plan.roofline);
}

}  // namespace spillway::answer
