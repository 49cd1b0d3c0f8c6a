#include "reports/answer/exploration.hpp"

#include "reports/result/reading.hpp"

namespace spillway::answer {

using nlohmann::json;
using result::or_null;
using result::read;
using result::require_schema;

namespace {

json row_of(const Point& point) {
  json row = {{"number", point.number},         {"key", point.key},
              {"point", point.point},           {"verdict", point.verdict},
              {"objectives", point.objectives}, {"front", point.front}};
  put(row, "reason", point.reason);
  return row;
}

}  // namespace

void to_json(json& out, const Objective& objective) {
  out = {{"path", objective.path}, {"smaller", objective.smaller}};
}

void from_json(const json& in, Objective& objective) {
  read(in, "path", objective.path);
  read(in, "smaller", objective.smaller);
}

void to_json(json& out, const Space& space) {
  out = {{"space", space.name},
         {"axes", space.axes},
         {"objectives", space.objectives},
         {"constraints", space.constraints},
         {"points", space.points},
         {"bounded", space.bounded},
         {"pruned", space.pruned},
         {"simulated", space.simulated},
         {"reused", space.reused},
         {"refused", space.refused},
         {"failed", space.failed},
         {"finished", space.finished}};
}

void from_json(const json& in, Space& space) {
  read(in, "space", space.name);
  read(in, "axes", space.axes);
  read(in, "objectives", space.objectives);
  read(in, "constraints", space.constraints);
  read(in, "points", space.points);
  read(in, "bounded", space.bounded);
  read(in, "pruned", space.pruned);
  read(in, "simulated", space.simulated);
  read(in, "reused", space.reused);
  read(in, "refused", space.refused);
  read(in, "failed", space.failed);
  read(in, "finished", space.finished);
}

void to_json(json& out, const Point& point) {
  out = row_of(point);
  out["result"] = point.result;
  out["program"] = point.program;
  out["wear"] = point.wear;
}

void from_json(const json& in, Point& point) {
  read(in, "number", point.number);
  read(in, "key", point.key);
  read(in, "point", point.point);
  read(in, "verdict", point.verdict);
  read(in, "reason", point.reason);
  read(in, "objectives", point.objectives);
  read(in, "front", point.front);
  read(in, "result", point.result);
  read(in, "program", point.program);
  read(in, "wear", point.wear);
}

void to_json(json& out, const Front& front) {
  out = front.space;
  out["schema"] = "spillway/answer/front/1";
  out["front"] = front.points;
}

void from_json(const json& in, Front& front) {
  require_schema(in, "answer/front");
  front = {};
  from_json(in, front.space);
  read(in, "front", front.points);
}

void to_json(json& out, const Groups& groups) {
  out = {{"schema", "spillway/answer/groups/1"},
         {"space", groups.space},
         {"axis", groups.axis},
         {"points", groups.points}};
}

void from_json(const json& in, Groups& groups) {
  require_schema(in, "answer/groups");
  groups = {};
  read(in, "space", groups.space);
  read(in, "axis", groups.axis);
  read(in, "points", groups.points);
}

void to_json(json& out, const ReasonGroup& group) {
  out = {{"count", group.count}, {"example", group.example}};
}

void from_json(const json& in, ReasonGroup& group) {
  read(in, "count", group.count);
  read(in, "example", group.example);
}

void to_json(json& out, const Reasons& reasons) {
  out = {{"schema", "spillway/answer/reasons/1"},
         {"space", reasons.space},
         {"points", reasons.points},
         {"groups", reasons.groups}};
}

void from_json(const json& in, Reasons& reasons) {
  require_schema(in, "answer/reasons");
  reasons = {};
  read(in, "space", reasons.space);
  read(in, "points", reasons.points);
  read(in, "groups", reasons.groups);
}

void to_json(json& out, const RepricedPoint& at) {
  out = {{"number", at.point.number}, {"key", at.point.key},
         {"point", at.point.point},   {"objectives", at.point.objectives},
         {"price_usd", at.price_usd}, {"old_price_usd", at.old_price_usd}};
}

void from_json(const json& in, RepricedPoint& at) {
  from_json(in, at.point);
  read(in, "price_usd", at.price_usd);
  read(in, "old_price_usd", at.old_price_usd);
}

void to_json(json& out, const RepricedFront& front) {
  out = {{"schema", "spillway/answer/repriced/1"},
         {"space", front.space},
         {"axes", front.axes},
         {"objectives", front.objectives},
         {"points", front.points},
         {"joined", front.joined},
         {"unknown", front.unknown},
         {"pruned", front.pruned},
         {"front", front.front}};
}

void from_json(const json& in, RepricedFront& front) {
  require_schema(in, "answer/repriced");
  front = {};
  read(in, "space", front.space);
  read(in, "axes", front.axes);
  read(in, "objectives", front.objectives);
  read(in, "points", front.points);
  read(in, "joined", front.joined);
  read(in, "unknown", front.unknown);
  read(in, "pruned", front.pruned);
  read(in, "front", front.front);
}

std::vector<json> rows_of(const RepricedFront& front) {
  return {front.front.begin(), front.front.end()};
}

void to_json(json& out, const NextStep& step) {
  out = {{"change", step.words},
         {"set", step.set},
         {"system", step.system},
         {"most_tokens_per_s", or_null(step.most_tokens_per_s)},
         {"result", or_null(step.result)}};
  put(out, "reason", step.reason);
  put(out, "unmet", step.unmet);
}

void from_json(const json& in, NextStep& step) {
  read(in, "change", step.words);
  read(in, "set", step.set);
  read(in, "system", step.system);
  read(in, "reason", step.reason);
  read(in, "unmet", step.unmet);
  read(in, "most_tokens_per_s", step.most_tokens_per_s);
  read(in, "result", step.result);
}

void to_json(json& out, const Explanation& explanation) {
  out = {{"schema", "spillway/answer/explain/1"}, {"space", explanation.space},
         {"number", explanation.point.number},    {"point", explanation.point.point},
         {"result", explanation.result},          {"steps", explanation.steps}};
}

void from_json(const json& in, Explanation& explanation) {
  require_schema(in, "answer/explain");
  explanation = {};
  read(in, "space", explanation.space);
  read(in, "number", explanation.point.number);
  read(in, "point", explanation.point.point);
  read(in, "result", explanation.result);
  read(in, "steps", explanation.steps);
}

std::vector<json> rows_of(const std::vector<Point>& points) {
  std::vector<json> rows;
  for (const Point& point : points) rows.push_back(row_of(point));
  return rows;
}

std::vector<json> rows_of(const Front& front) {
  std::vector<json> rows;
  for (const Point& point : front.points) {
    rows.push_back(point.result.is_object() ? point.result : json::object());
    rows.back()["point"] = point.point;
    rows.back()["key"] = point.key;
    rows.back()["number"] = point.number;
  }
  return rows;
}

}  // namespace spillway::answer
