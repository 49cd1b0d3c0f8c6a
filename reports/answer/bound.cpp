#include "reports/answer/bound.hpp"

#include "reports/result/reading.hpp"

namespace spillway::answer {

using nlohmann::json;
using result::or_null;
using result::read;

void to_json(json& out, const MemoryFloor& floor) {
  out = {{"floor_bytes", floor.floor_bytes}, {"capacity_bytes", floor.capacity_bytes}};
}

void from_json(const json& in, MemoryFloor& floor) {
  read(in, "floor_bytes", floor.floor_bytes);
  read(in, "capacity_bytes", floor.capacity_bytes);
}

void to_json(json& out, const Bound& bound) {
  out = {{"schema", "spillway/answer/bound/1"},
         {"known", bound.known},
         {"too_small", bound.too_small.empty() ? json() : json(bound.too_small)},
         {"step_time_s", bound.step_time_s},
         {"tokens_per_s", or_null(bound.tokens_per_s)},
         {"limited_by", bound.limited_by},
         {"busy_s", bound.busy_s},
         {"memory", bound.memory},
         {"io_bytes_per_step", bound.io_bytes_per_step},
         {"price_usd", or_null(bound.price_usd)}};
}

void from_json(const json& in, Bound& bound) {
  result::require_schema(in, "answer/bound");
  bound = {};
  read(in, "known", bound.known);
  read(in, "too_small", bound.too_small);
  read(in, "step_time_s", bound.step_time_s);
  read(in, "tokens_per_s", bound.tokens_per_s);
  read(in, "limited_by", bound.limited_by);
  read(in, "busy_s", bound.busy_s);
  read(in, "memory", bound.memory);
  read(in, "io_bytes_per_step", bound.io_bytes_per_step);
  read(in, "price_usd", bound.price_usd);
}

}  // namespace spillway::answer
