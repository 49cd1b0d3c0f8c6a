#pragma once

#include "gui/model/trace.hpp"
#include "reports/result/result.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace spillway::gui {

/// What a file holds. One kind of content is there; of a list of results all are.
struct Opened {
  enum class Kind : unsigned char {
    scenario,
    model,
    machine,
    results,
    trace,
    validation,
    database,
  };
  Kind kind = Kind::scenario;
  std::string path, label;
  nlohmann::json json;  ///< of scenario, model, machine, validation
  std::vector<result::Result> results;
  std::shared_ptr<const Trace> trace;
};

/// Reads a file of any kind that the application shows, whatever it is called.
///   word    its path, or the name of an example that ships
///   Throws  ScenarioError: what cannot be read, or is none of them; one sentence for people
Opened open_file(const std::string& word);

/// The complaint in one line.
std::string one_sentence(const std::exception& error);

}  // namespace spillway::gui
