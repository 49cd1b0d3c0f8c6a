#include "strategies/rules/rule.hpp"

namespace spillway::strategies::rules {

namespace {

constexpr std::string_view of_strategy = "strategy.";

/// A path of a rule with the item in its place.
std::string path_of(std::string path, const std::string& item) {
  if (const std::size_t at = path.find("{}"); at != std::string::npos) path.replace(at, 2, item);
  return path;
}

description::Complaint complaint_of(const Rule& rule, const Case& subject) {
  const std::string path = path_of(rule.path, subject.item);
  description::Complaint complaint{"", 0, 0, path, rule.why(subject), rule.hint(subject)};
  if (!rule.other) return complaint;
  const std::string other = path_of(rule.other, subject.item);
  complaint.message = part_with_value(subject.scenario, path) + " contradicts " +
                      part_with_value(subject.scenario, other) + ": " + complaint.message;
  if (subject.says(other) && !subject.says(path)) complaint.path = other;
  return complaint;
}

void warn(const Rule& rule, const Case& subject, Settled& settled) {
  const std::string words = rule.warning(subject);
  if (!words.empty()) settled.warnings.push_back(path_of(rule.path, subject.item) + ": " + words);
}

void settle(const Rule& rule, description::Scenario& scenario, const Case& subject,
            Settled& settled) {
  if (!rule.settles.set) return;
  if (!rule.settles.over_written && subject.says(rule.path)) return;
  const bool settles =
      rule.settles.follows ? rule.settles.follows(subject) : !broken(rule, subject).empty();
  if (!settles) return;
  warn(rule, subject, settled);
  std::string reason = rule.settles.reason(subject);
  rule.settles.set(scenario);
  settled.reasons[rule.path] = std::move(reason);
}

/// The warnings of a row that changes nothing.
void warn_of_broken(const Rule& rule, Case subject, Settled& settled) {
  if (rule.settles.set || rule.warning.none()) return;
  for (std::string& item : broken(rule, subject)) {
    subject.item = std::move(item);
    warn(rule, subject, settled);
  }
}

/// Of a stream of requests nothing is trained.
bool is_asked(Ground ground, Refuse refuse, const Case& subject) {
  if (ground == Ground::contradiction) return refuse != Refuse::no_schedule;
  if (refuse == Refuse::contradictions) return false;
  return ground == Ground::no_stream || !subject.scenario.run.io_bench;
}

}  // namespace

std::string part_with_value(const description::Scenario& scenario, std::string path) {
  if (path.starts_with(of_strategy)) path.erase(0, of_strategy.size());
  const bool of_a_part = !path.starts_with("training.") && !path.starts_with("parallel.");
  const nlohmann::json parts =
      of_a_part ? nlohmann::json(scenario.strategy) : nlohmann::json(scenario);
  const nlohmann::json* value = &parts;
  for (std::size_t from = 0, dot = 0; dot != std::string::npos; from = dot + 1) {
    dot = path.find('.', from);
    value = &value->at(path.substr(from, dot - from));
  }
  return path + " " + value->dump();
}

std::vector<std::string> broken(const Rule& rule, const Case& subject) {
  if (rule.broken_by) return rule.broken_by(subject);
  return rule.holds(subject) ? std::vector<std::string>{} : std::vector<std::string>{""};
}

std::vector<description::Complaint> refusals(std::span<const Table> tables, Case subject,
                                             Refuse refuse) {
  std::vector<description::Complaint> complaints;
  for (const Table& table : tables)
    for (const Rule& rule : table) {
      if (rule.why.none() || !is_asked(rule.ground, refuse, subject)) continue;
      for (std::string& item : broken(rule, subject)) {
        subject.item = std::move(item);
        complaints.push_back(complaint_of(rule, subject));
      }
    }
  return complaints;
}

Verdict check(std::span<const Table> tables, description::Scenario& scenario, const Case& subject,
              Refuse refuse) {
  Verdict verdict;
  for (const Table& table : tables)
    for (const Rule& rule : table) settle(rule, scenario, subject, verdict.settled);
  for (const Table& table : tables)
    for (const Rule& rule : table) warn_of_broken(rule, subject, verdict.settled);
  verdict.complaints = refusals(tables, subject, refuse);
  return verdict;
}

}  // namespace spillway::strategies::rules
