#include "scenarios/reading/read_model.hpp"

#include <algorithm>

#include "scenarios/document/document.hpp"

namespace spillway::scenarios {

using description::Complaint;
using description::ScenarioError;

namespace {

/// Gives a complaint about a key of the config its place; a missing key stands where its object
/// does.
Complaint placed(Complaint complaint, const LocatedJson& config, const std::string& prefix) {
  std::string pointer = complaint.path.empty() ? "" : "/" + complaint.path;
  for (char& c : pointer)
    if (c == '.' || c == '[') c = '/';
  std::erase(pointer, ']');
  const Place place = config.place(pointer);
  complaint.file = place.file;
  complaint.line = place.line;
  complaint.column = place.column;
  complaint.path = prefix + complaint.path;
  return complaint;
}

}  // namespace

models::Architecture read_config(const LocatedJson& config, const std::string& name,
                                 const std::string& prefix, std::vector<Complaint>& complaints) {
  try {
    return models::read_architecture(config.value, name, config.place("").file);
  } catch (const ScenarioError& error) {
    for (const Complaint& complaint : error.complaints())
      complaints.push_back(placed(complaint, config, prefix));
    return {};
  }
}

models::Architecture read_model(const std::string& name_or_path) {
  std::vector<Complaint> complaints;
  const Referenced referenced =
      read_reference(name_or_path, "models/library", {}, "model", complaints);
  models::Architecture architecture;
  if (referenced.present)
    architecture = read_config(referenced.json, referenced.name, "", complaints);
  if (!complaints.empty()) throw ScenarioError(complaints);
  return architecture;
}

}  // namespace spillway::scenarios
