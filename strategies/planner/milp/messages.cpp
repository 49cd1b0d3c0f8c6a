#include "strategies/planner/milp/messages.hpp"

#include <nlohmann/json.hpp>

namespace spillway::milp {

using nlohmann::json;

void to_json(json& out, const Column& column) {
  out = {column.lower, column.upper, column.cost, column.integer};
}
void from_json(const json& in, Column& column) {
  column = {in.at(0), in.at(1), in.at(2), in.at(3)};
}

void to_json(json& out, const Row& row) { out = {row.terms, row.lower, row.upper}; }
void from_json(const json& in, Row& row) {
  row = {in.at(0).get<decltype(row.terms)>(), in.at(1), in.at(2)};
}

Message message_of(const Program& program, const Limits& limits) {
  return json::to_cbor({{"columns", program.columns},
                        {"rows", program.rows},
                        {"nodes", limits.nodes},
                        {"gap", limits.gap},
                        {"seconds", limits.seconds}});
}

std::pair<Program, Limits> question_in(const Message& message) {
  const json in = json::from_cbor(message);
  return {
      Program{in.at("columns").get<std::vector<Column>>(), in.at("rows").get<std::vector<Row>>()},
      Limits{in.at("nodes"), in.at("gap"), in.at("seconds")}};
}

Message message_of(const Solution& solution) {
  return json::to_cbor({{"found", solution.found},
                        {"proven", solution.proven},
                        {"cost", solution.cost},
                        {"bound", solution.bound},
                        {"columns", solution.columns}});
}

Solution answer_in(const Message& message) {
  const json in = json::from_cbor(message);
  return {in.at("found"), in.at("proven"), in.at("cost"), in.at("bound"),
          in.at("columns").get<std::vector<double>>()};
}

}  // namespace spillway::milp
