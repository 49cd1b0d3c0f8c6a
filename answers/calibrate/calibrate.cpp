#include "answers/calibrate/calibrate.hpp"

#include "answers/calibrate/card_names.hpp"
#include "answers/calibrate/drive_names.hpp"
#include "answers/calibrate/drives.hpp"
#include "answers/calibrate/put.hpp"
#include "scenarios/description/text.hpp"
#include "scenarios/document/read_machine.hpp"
#include "scenarios/reading/read_scenario.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace spillway::answers {

using description::MachineFile;
using evidence::Evidence;
using result::Result;

namespace {

/// The scenario on the machine before and after.
struct Predicted {
  std::vector<description::Scenario> scenarios;
  std::vector<Result> results;
  const Result* before() const { return results[0].feasible() ? &results[0] : nullptr; }
  const Result* after() const { return results[1].feasible() ? &results[1] : nullptr; }
};

description::Scenario on_machine(const CalibrateQuestion& question, const nlohmann::json& machine) {
  std::vector<std::string> overrides = question.overrides;
  overrides.push_back("machine=" + description::json_text(machine));
  return scenarios::read_scenario(std::filesystem::path(question.scenario), overrides,
                                  explore::known_systems(), scenarios::Refuse::what_cannot_run)
      .scenario;
}

Predicted predict(const explore::Backend& backend, const CalibrateQuestion& question,
                  const MachineFile& before, const nlohmann::json& after) {
  Predicted predicted;
  predicted.scenarios = {on_machine(question, before), on_machine(question, after)};
  for (const explore::Outcome& each : explore::simulate_all(backend, predicted.scenarios))
    predicted.results.push_back(explore::result_of(each));
  return predicted;
}

/// One logged number with what `of` finds of it in the two results.
template <class Of>
void add(answer::LoggedRun& run, const char* what, const char* unit, std::optional<double> logged,
         const Predicted* predicted, const Of& of) {
  if (!logged) return;
  answer::LoggedNumber number{what, unit, *logged, {}, {}};
  if (predicted && predicted->before()) number.before = of(*predicted->before());
  if (predicted && predicted->after()) number.after = of(*predicted->after());
  run.numbers.push_back(std::move(number));
}

/// GPUs that a scenario trains on.
double ranks_of(const Predicted& predicted) {
  return static_cast<double>(predicted.scenarios[0].parallel.ranks());
}

/// What a step took: as it was logged, or by the samples or tokens of a step of the scenario.
std::optional<double> step_of(const evidence::LoggedRun& run, const Predicted* predicted) {
  if (run.step_s) return run.step_s;
  const Result* known =
      predicted ? predicted->after() ? predicted->after() : predicted->before() : nullptr;
  if (!known || known->step_time_s <= 0) return {};
  if (run.samples_per_s && *run.samples_per_s > 0)
    return known->samples_per_s * known->step_time_s / *run.samples_per_s;
  if (run.tokens_per_s && *run.tokens_per_s > 0)
    return known->tokens_per_s * known->step_time_s / *run.tokens_per_s;
  const double ranks = ranks_of(*predicted);
  if (run.samples_per_s_of_rank && *run.samples_per_s_of_rank > 0)
    return known->samples_per_s * known->step_time_s / ranks / *run.samples_per_s_of_rank;
  if (run.tokens_per_s_of_rank && *run.tokens_per_s_of_rank > 0)
    return known->tokens_per_s * known->step_time_s / ranks / *run.tokens_per_s_of_rank;
  return {};
}

/// Samples of a step as a log has them and as the scenario does, where both are known and differ.
std::optional<std::pair<double, double>> other_batch(const evidence::LoggedRun& run,
                                                     const Predicted* predicted) {
  constexpr double alike = 0.05;  // rates are rounded, and of some steps
  if (!predicted || !run.step_s || !run.samples_per_s) return {};
  const description::Scenario& scenario = predicted->scenarios[0];
  const double logged = *run.step_s * *run.samples_per_s;
  const auto own =
      static_cast<double>(scenario.training.micro_batch * scenario.training.gradient_accumulation *
                          scenario.parallel.data);
  if (std::abs(logged - own) <= alike * own) return {};
  return std::pair(logged, own);
}

answer::LoggedRun compared(const std::string& file, const evidence::LoggedRun& logged,
                           const Predicted* predicted) {
  answer::LoggedRun run{file, logged.program, logged.logged, {}, {}};
  // steps of other samples are other work
  const Predicted* of_step = other_batch(logged, predicted) ? nullptr : predicted;
  add(run, "step", "s", step_of(logged, predicted), of_step,
      [](const Result& result) { return result.step_time_s; });
  add(run, "samples a second", "per_s", logged.samples_per_s, predicted,
      [](const Result& result) { return result.samples_per_s; });
  add(run, "tokens a second", "per_s", logged.tokens_per_s, predicted,
      [](const Result& result) { return result.tokens_per_s; });
  const double ranks = predicted ? ranks_of(*predicted) : 1;
  add(run, "samples a second and GPU", "per_s", logged.samples_per_s_of_rank, predicted,
      [ranks](const Result& result) { return result.samples_per_s / ranks; });
  add(run, "tokens a second and GPU", "per_s", logged.tokens_per_s_of_rank, predicted,
      [ranks](const Result& result) { return result.tokens_per_s / ranks; });
  // PyTorch's allocator knows nothing of the context.
  const double context =
      predicted ? static_cast<double>(predicted->scenarios[0].machine.gpu.context.value()) : 0;
  add(run, "GPU memory", "bytes", logged.gpu_bytes, predicted, [&](const Result& result) {
    return std::max(0.0, static_cast<double>(result.gpu.total) - context);
  });
  add(run, "host memory", "bytes", logged.host_bytes, predicted,
      [](const Result& result) { return static_cast<double>(result.host.total); });
  for (const auto& [name, seconds] : logged.phases_s)
    run.phases.push_back({name, "s", seconds, {}, {}});
  return run;
}

text::Text another_drive(const description::StorageSpec& storage) {
  return text::filled(
      "the machine file's endurance, cache and price are of a drive of {}, which this one is not: "
      "write what its sheet says as storage.{}.endurance.rated and the others",
      {text::bytes(static_cast<double>(storage.capacity.value()), text::Origin::datasheet),
       storage.name});
}

/// Where a drive as large as the machine file's does not say that it is one of those.
std::optional<text::Text> unnamed_drive(const MachineFile& before,
                                        const description::StorageSpec& storage,
                                        const std::string& model) {
  const auto bought = before.bought.find("storage." + storage.name);
  if (bought == before.bought.end() || model.empty() || names_drive(model, bought->second))
    return std::nullopt;
  return text::filled(
      "the machine file's endurance, rates and price are of the {}, this drive says that it is {}: "
      "if that is another one, write what its sheet says as storage.{}.endurance.rated and the "
      "others, or begin with a machine that has it",
      {bought->second, model, storage.name});
}

/// Where the evidence is of another card than the machine file was made of.
std::optional<text::Text> another_card(const MachineFile& before, const Evidence& each) {
  const auto bought = before.bought.find("gpu");
  if (bought != before.bought.end() && !is_same_card(bought->second, each.card))
    return text::filled(
        "the machine file's rates, power and price are of the {}, this one is {}: write what its "
        "sheet says as gpu.compute, gpu.memory_rate and the others, or begin with a machine that "
        "has this card",
        {bought->second, each.card});
  constexpr double alike = 0.08;  // ECC takes a sixteenth of GDDR6
  const auto has = static_cast<double>(before.gpu.memory.value());
  for (const evidence::Reading& reading : each.readings)
    if (reading.path == "gpu.memory" && std::abs(reading.value - has) > alike * has)
      return text::filled(
          "the machine file's rates, power and price are of a card of {}, this one has {}: write "
          "what its sheet says as gpu.compute, gpu.memory_rate and the others, or begin with a "
          "machine that has this card",
          {text::bytes(has, text::Origin::datasheet),
           text::bytes(reading.value, text::Origin::measured)});
  return {};
}

/// Why nothing, or not all, is predicted beside what was logged.
void note_what_is_not_predicted(const Evidence& each, const Predicted& predicted,
                                std::vector<text::Text>& notes) {
  for (const bool after : {false, true}) {
    const Result& result = predicted.results[after ? 1 : 0];
    if (result.feasible()) continue;
    text::Text note(after ? "the scenario is predicted not to fit on the machine after"
                          : "the scenario is predicted not to fit on the machine before");
    const result::Infeasible& why = *result.infeasible;
    note += text::filled(": {} finds no room in {} memory of {}",
                         {why.purpose, why.tier, text::memory(why.capacity_bytes)});
    if (!each.runs.empty())
      note += "; what was logged did run: it is another training, or this one takes less";
    notes.push_back(std::move(note));
  }
  for (const evidence::LoggedRun& run : each.runs)
    if (const auto samples = other_batch(run, &predicted))
      notes.push_back(text::filled(
          "a step of {} has {} samples, and one of the scenario {}: set training.micro_batch and "
          "training.gradient_accumulation so that they agree",
          {run.program, text::plain(std::round(samples->first)), text::plain(samples->second)}));
}

void add_shortfalls(const Evidence& each, answer::Calibration& into) {
  for (const evidence::Shortfall& one : each.shortfalls)
    into.shortfalls.push_back({each.file, one.what, one.unit, one.rated, one.found, one.remedy});
}

}  // namespace

answer::Calibration calibrate(const explore::Backend& backend, const CalibrateQuestion& question) {
  const MachineFile before = scenarios::read_machine(question.machine);
  std::vector<Evidence> all;
  for (const std::string& file : question.files) all.push_back(evidence::read_evidence(file));
  answer::Calibration answer;
  answer.scenario = question.scenario;
  answer.machine = before;
  if (!question.name.empty()) answer.machine["name"] = question.name;
  put_readings(before, all, answer);
  answer.untouched = still_assumed(answer.machine);
  std::optional<Predicted> predicted;
  const bool compares = std::any_of(all.begin(), all.end(), [](const Evidence& each) {
    return each.drive || !each.runs.empty();
  });
  if (compares && !question.scenario.empty())
    predicted = predict(backend, question, before, answer.machine);
  for (const Evidence& each : all) {
    answer.files.push_back({each.file, each.kind, each.notes});
    const std::optional<DriveOf> drive = drive_of(before, each);
    if (drive && drive->is_other)
      answer.files.back().notes.push_back(another_drive(*drive->storage));
    else if (drive)
      if (auto doubt = unnamed_drive(before, *drive->storage, each.drive->model))
        answer.files.back().notes.push_back(std::move(*doubt));
    if (auto card = another_card(before, each))
      answer.files.back().notes.push_back(std::move(*card));
    if (predicted && (each.drive || !each.runs.empty()))
      note_what_is_not_predicted(each, *predicted, answer.files.back().notes);
    add_shortfalls(each, answer);
    for (const evidence::LoggedRun& run : each.runs)
      answer.runs.push_back(compared(each.file, run, predicted ? &*predicted : nullptr));
    if (drive)
      answer.drives.push_back(
          forecast(each, *drive, predicted ? predicted->after() : nullptr, question.today));
  }
  return answer;
}

}  // namespace spillway::answers
