#include "reports/answer/bound.hpp"
#include "reports/answer/comparison.hpp"
#include "reports/answer/deepspeed.hpp"
#include "reports/exploration/exploration_report.hpp"
#include "reports/fidelity/fidelity_table.hpp"
#include "reports/inputs/lifetimes_report.hpp"
#include "reports/inputs/model_report.hpp"
#include "reports/inputs/probe_report.hpp"
#include "reports/plan/fit_report.hpp"
#include "reports/plan/plan_report.hpp"
#include "reports/run/compare_table.hpp"
#include "reports/run/explain.hpp"
#include "reports/run/remedy_report.hpp"
#include "reports/run/run_page.hpp"
#include "reports/run/simulate_report.hpp"
#include "reports/run/validation_report.hpp"
#include "tests/fuzz/harmless.hpp"
#include "tests/fuzz/read_text.hpp"

namespace {

using namespace spillway;
using fuzz::ensure_harmless;
using nlohmann::json;

/// What the JSON says, which has to be the same when it is written and read again.
template <class T>
T read_twice(const json& in) {
  T read = in.get<T>();
  const json once = read;
  ENSURE(once == json(once.get<T>()), "an answer that was written reads as another");
  return read;
}

void report_result(const result::Result& result) {
  ensure_harmless(reports::simulate_document(result));
  for (const auto topic : {reports::Topic::all, reports::Topic::memory, reports::Topic::time})
    ensure_harmless(reports::explain_document(result, topic));
  const reports::PageRun run{result.system, result, {}, {}, {}, result.notes};
  ensure_harmless(reports::run_page(std::span(&run, 1), {"spillway report", "1"}));
}

void report_simulation(const answer::Simulation& simulation) {
  report_result(simulation.result);
  ensure_harmless(reports::settings_document(simulation.result, simulation.settings));
  if (!simulation.remedy) return;
  ensure_harmless(reports::remedies_document(*simulation.remedy, ""));
  for (const auto& remedy : {simulation.remedy->memory, simulation.remedy->change})
    if (remedy) ensure_harmless(reports::remedy_document(*remedy, "a.json", {}));
}

void report_comparison(const answer::Comparison& comparison) {
  std::vector<reports::Contender> contenders;
  for (const answer::Compared& run : comparison.runs)
    contenders.push_back({run.label, run.result ? &*run.result : nullptr, run.failure});
  if (!contenders.empty()) ensure_harmless(reports::compare_document(contenders));
  answer::rows_of(comparison);
}

view::Document fit_document(const answer::FitAnswer& answer) {
  return reports::fit_document({"a model", "a box", "", false, 0}, answer);
}

view::Document settings_document(const answer::BestSettings& settings) {
  return reports::settings_document(settings, {"a.json", "", false, false});
}

/// Of an answer that no file brings: its report may rely on the shape that this program gives it.
template <class Report, class Answer>
void report_own(const Report& report, const Answer& answer) {
  try {
    ensure_harmless(report(answer));
  } catch (const json::exception&) {
    return;
  } catch (const std::out_of_range&) {
    return;
  }
}

/// An answer by the name in its schema, and what becomes of one.
struct Kind {
  std::string_view name;
  void (*read)(const json& in);
};
constexpr Kind kinds[] = {
    {"answer/bound/", [](const json& in) { read_twice<answer::Bound>(in); }},
    {"answer/compare/",
     [](const json& in) { report_comparison(read_twice<answer::Comparison>(in)); }},
    {"answer/drives/",
     [](const json& in) { report_own(reports::drives_document, read_twice<answer::Drives>(in)); }},
    {"answer/explain/",
     [](const json& in) {
       report_own(reports::explanation_document, read_twice<answer::Explanation>(in));
     }},
    {"answer/export/", [](const json& in) { read_twice<answer::ExportedConfiguration>(in); }},
    {"answer/fit/",
     [](const json& in) { report_own(fit_document, read_twice<answer::FitAnswer>(in)); }},
    {"answer/front/",
     [](const json& in) { report_own(reports::front_document, read_twice<answer::Front>(in)); }},
    {"answer/groups/",
     [](const json& in) { report_own(reports::groups_document, read_twice<answer::Groups>(in)); }},
    {"answer/import/", [](const json& in) { read_twice<answer::ImportedScenario>(in); }},
    {"answer/import_profile/", [](const json& in) { read_twice<answer::ImportedProfile>(in); }},
    {"answer/largest/",
     [](const json& in) {
       report_own(reports::largest_document, read_twice<answer::Largest>(in));
     }},
    {"answer/lifetimes/",
     [](const json& in) {
       report_own(reports::lifetimes_document, read_twice<answer::MigrationPlan>(in));
     }},
    {"answer/machine/",
     [](const json& in) {
       report_own(reports::machine_document, read_twice<answer::BestMachine>(in));
     }},
    {"answer/model/",
     [](const json& in) {
       report_own(reports::model_document, read_twice<answer::ModelCard>(in));
     }},
    {"answer/probe/",
     [](const json& in) { report_own(reports::probe_document, read_twice<answer::Probe>(in)); }},
    {"answer/reasons/",
     [](const json& in) {
       report_own(reports::reasons_document, read_twice<answer::Reasons>(in));
     }},
    {"answer/repriced/",
     [](const json& in) {
       report_own(reports::repriced_document, read_twice<answer::RepricedFront>(in));
     }},
    {"answer/settings/",
     [](const json& in) { report_own(settings_document, read_twice<answer::BestSettings>(in)); }},
    {"answer/simulate/",
     [](const json& in) { report_simulation(read_twice<answer::Simulation>(in)); }},
    {"fidelity/",
     [](const json& in) {
       report_own(reports::fidelity_document, read_twice<result::Fidelity>(in));
     }},
    {"result/", [](const json& in) { report_result(read_twice<result::Result>(in)); }},
    {"validation/",
     [](const json& in) {
       ensure_harmless(reports::validation_document(read_twice<result::Validation>(in)));
     }},
};

}  // namespace

/// Any JSON of a kind of answer is either refused or read, and written it reads back as itself;
/// what a report says of it harms nobody.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto [in, problem] = description::parse_strictly(fuzz::text_of(data, size));
  if (!problem.empty()) return 0;
  if (in.is_array()) fuzz::read_or_refuse([&] { kinds[1].read(in); });
  const auto found = in.is_object() ? in.find("schema") : in.end();
  if (!in.is_object() || found == in.end() || !found->is_string()) return 0;
  const auto& schema = found->get_ref<const std::string&>();
  for (const Kind& kind : kinds)
    if (schema.starts_with("spillway/" + std::string(kind.name)))
      fuzz::read_or_refuse([&] { kind.read(in); });
  return 0;
}
