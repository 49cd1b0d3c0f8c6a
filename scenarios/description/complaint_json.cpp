#include "scenarios/description/complaint_json.hpp"

#include <nlohmann/json.hpp>

namespace spillway::description {

void to_json(nlohmann::json& json, const Complaint& complaint) {
  json = {{"file", complaint.file}, {"line", complaint.line},       {"column", complaint.column},
          {"path", complaint.path}, {"message", complaint.message}, {"hint", complaint.hint}};
}

void from_json(const nlohmann::json& json, Complaint& complaint) {
  json.at("file").get_to(complaint.file);
  json.at("line").get_to(complaint.line);
  json.at("column").get_to(complaint.column);
  json.at("path").get_to(complaint.path);
  json.at("message").get_to(complaint.message);
  json.at("hint").get_to(complaint.hint);
}

}  // namespace spillway::description
