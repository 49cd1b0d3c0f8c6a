#include "reports/result/fit.hpp"

#include "reports/text/text_json.hpp"

#include <nlohmann/json.hpp>

namespace spillway::result {

namespace {

nlohmann::json figure_json(const Fit& fit, const FitFigure& figure) {
  nlohmann::json sensitivity;
  for (std::size_t i = 0; i < fit.parameters.size(); ++i)
    sensitivity[fit.parameters[i].path] = figure.sensitivity.at(i);
  return {{"id", figure.id},
          {"unit", figure.unit},
          {"published", figure.published},
          {"before", figure.before},
          {"after", figure.after},
          {"error_before", figure.error_before()},
          {"error_after", figure.error_after()},
          {"tolerance", figure.tolerance},
          {"sensitivity", sensitivity}};
}

}  // namespace

void to_json(nlohmann::json& json, const Fit& fit) {
  json = {{"schema", "spillway/fit/1"}, {"machine", fit.machine}};
  for (const char* list : {"parameters", "figures", "chosen", "left_out"})
    json[list] = nlohmann::json::array();
  for (const FitParameter& one : fit.parameters)
    json["parameters"].push_back({{"path", one.path},
                                  {"before", one.before},
                                  {"after", one.after},
                                  {"change", one.change},
                                  {"sensitivity", one.sensitivity},
                                  {"note", one.note},
                                  {"low", one.low},
                                  {"high", one.high},
                                  {"from", one.from}});
  for (const FitFigure& one : fit.figures) json["figures"].push_back(figure_json(fit, one));
  for (const FitChoice& one : fit.chosen)
    json["chosen"].push_back(
        {{"setting", one.setting}, {"value", one.value}, {"figures", one.figures}});
  for (const auto& [id, why] : fit.left_out) {
    json["left_out"].push_back({{"id", id}});
    put(json["left_out"].back(), "reason", why);
  }
}

}  // namespace spillway::result
