#include "cli/common.hpp"
#include "cli/verbs.hpp"
#include "scenarios/description/bugs.hpp"
#include "strategies/catalogue.hpp"

#include <iostream>
#include <memory>

namespace spillway::cli {

namespace {

nlohmann::json without_answer(const std::string& message) {
  return errors_json({{"", 0, 0, "", message, ""}});
}

/// {"result": ...} or {"errors": [...]}. A child of its own runs the scenario, so that nothing it
/// does ends the worker.
nlohmann::json outcome_of(const nlohmann::json& scenario, double limit_s) {
  try {
    const auto resolved =
        scenarios::read_scenario(scenario, {}, explore::known_systems(), strategies::unsupported);
    const std::vector<explore::Outcome> outcomes = explore::simulate_all(
        simulator(), std::span<const description::Scenario>(&resolved.scenario, 1), 1, limit_s,
        {explore::WhenFull::find_need});
    const explore::Outcome& outcome = outcomes.front();
    if (outcome.result) return {{"result", *outcome.result}};
    return outcome.complaints.empty() ? without_answer(outcome.failure)
                                      : errors_json(outcome.complaints);
  } catch (const description::ScenarioError& error) {
    return errors_json(error.complaints());
  } catch (const description::InternalError& error) {
    return without_answer(description::as_bug(error.what()));
  }
}

nlohmann::json answer_to(const std::string& line, double limit_s) {
  const nlohmann::json request = nlohmann::json::parse(line, nullptr, false);
  const bool complete = request.is_object() && request.contains("scenario");
  nlohmann::json reply =
      complete ? outcome_of(request["scenario"], limit_s)
               : without_answer(R"(a request is one line {"id": ..., "scenario": {...}})");
  if (request.is_object() && request.contains("id")) reply["id"] = request["id"];
  return reply;
}

void worker(double limit_s) {
  for (std::string line; std::getline(std::cin, line);)
    if (line.find_first_not_of(" \t\r") != std::string::npos) {
      print(answer_to(line, limit_s).dump() + "\n");
      std::fflush(stdout);
    }
}

}  // namespace

void add_worker(CLI::App& app) {
  auto limit_s = std::make_shared<double>(600);
  CLI::App* verb = app.add_subcommand(
      "worker", "reads scenarios and writes results, one JSON line each, in the same order");
  verb->add_option("--limit", *limit_s, "seconds after which a scenario is given up")
      ->check(CLI::PositiveNumber);
  verb->footer(
      "Example:\n  echo '{\"id\": 1, \"scenario\": {\"model\": \"gpt2\", \"machine\": "
      "\"gaming_4090\", "
      "\"strategy\": {\"system\": \"resident\"}}}' | spillway worker");
  verb->callback([limit_s] { worker(*limit_s); });
}

}  // namespace spillway::cli
