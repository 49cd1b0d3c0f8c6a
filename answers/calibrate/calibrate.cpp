#include "answers/calibrate/calibrate.hpp"

#include "answers/calibrate/another_card.hpp"
#include "answers/calibrate/drive_names.hpp"
#include "answers/calibrate/drives.hpp"
#include "answers/calibrate/power_limit.hpp"
#include "answers/calibrate/put.hpp"
#include "scenarios/description/text.hpp"
#include "scenarios/document/read_machine.hpp"
#include "scenarios/reading/read_scenario.hpp"

#include <fmt/format.h>
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
answer::LoggedNumber beside(std::string what, const char* unit, double logged,
                            const Predicted* predicted, const Of& of) {
  answer::LoggedNumber number{std::move(what), unit, logged, {}, {}};
  if (predicted && predicted->before()) number.before = of(*predicted->before());
  if (predicted && predicted->after()) number.after = of(*predicted->after());
  return number;
}

template <class Of>
void add(answer::LoggedRun& run, const char* what, const char* unit, std::optional<double> logged,
         const Predicted* predicted, const Of& of) {
  if (logged) run.numbers.push_back(beside(what, unit, *logged, predicted, of));
}

/// What a timer of a program is of in a step: all of its forward passes, backward passes or update;
/// null: a part of one, or something else.
///   Source  DeepSpeed, runtime/engine.py, FORWARD_GLOBAL_TIMER and those beside it; Megatron-LM,
///           schedules.py and training.py
double (*phase_of(const std::string& timer))(const Result&) {
  if (timer == "fwd" || timer == "forward")
    return [](const Result& result) { return result.forward_s; };
  if (timer == "bwd" || timer == "backward")
    return [](const Result& result) { return result.backward_s; };
  if (timer == "forward-backward")
    return [](const Result& result) { return result.forward_s + result.backward_s; };
  if (timer == "step" || timer == "optimizer")
    return [](const Result& result) { return result.update_s; };
  return nullptr;
}

/// GPUs that a scenario trains on.
double ranks_of(const Predicted& predicted) {
  return static_cast<double>(predicted.scenarios[0].parallel.ranks());
}

/// Samples of a step of the scenario.
double samples_of(const Predicted& predicted) {
  const description::Scenario& scenario = predicted.scenarios[0];
  return static_cast<double>(scenario.training.micro_batch *
                             scenario.training.gradient_accumulation * scenario.parallel.data);
}

std::string at_this_rate(double samples) {
  return fmt::format("{} sample{} at this rate", samples, samples == 1 ? "" : "s");
}

/// What the scenario's samples take at the logged rate, of samples or of tokens.
std::optional<double> step_at_rate(const evidence::LoggedRun& run, const Predicted& predicted) {
  const Result* known = predicted.after() ? predicted.after() : predicted.before();
  if (!known || known->step_time_s <= 0) return {};
  const double ranks = ranks_of(predicted);
  const double samples = known->samples_per_s * known->step_time_s;
  const double tokens = known->tokens_per_s * known->step_time_s;
  const auto at = [](double work, const std::optional<double>& rate) {
    return rate && *rate > 0 ? std::optional(work / *rate) : std::nullopt;
  };
  if (const auto step = at(samples, run.samples_per_s)) return step;
  if (const auto step = at(tokens, run.tokens_per_s)) return step;
  if (const auto step = at(samples / ranks, run.samples_per_s_of_rank)) return step;
  return at(tokens / ranks, run.tokens_per_s_of_rank);
}

/// A step as a log has it beside one of the scenario.
struct OtherStep {
  bool has_other_samples = false;  ///< it is other work
  text::Text words;                ///< with both numbers
};

/// Samples of a step as a log has them.
struct LoggedSamples {
  double samples = 0;
  double less = 0, more = 0;  ///< shares by which it may say fewer, or more, than there are
  bool is_by_stamps = false;
};

std::optional<LoggedSamples> samples_of(const evidence::LoggedRun& run) {
  constexpr double alike = 0.05;  // rates are of some steps
  if (run.batch) return LoggedSamples{*run.batch};
  if (!run.samples_per_s) return {};
  if (run.step_s) {
    const double slack = alike + run.step_rounding + run.samples_rounding;
    return LoggedSamples{*run.step_s * *run.samples_per_s, slack, slack};
  }
  if (!run.stamped_step_s) return {};
  constexpr double between = 0.33;  // data loading and logging, which the rate leaves out
  return LoggedSamples{*run.stamped_step_s * *run.samples_per_s, alike, between, true};
}

/// Nothing where the log does not say, or the same.
std::optional<OtherStep> other_step(const evidence::LoggedRun& run, const Predicted& predicted) {
  const description::Training& training = predicted.scenarios[0].training;
  const double own = samples_of(predicted);
  const auto say = [&](const char* pattern, double logged, double of_scenario) {
    return text::filled(pattern,
                        {run.program, text::plain(std::round(logged)), text::plain(of_scenario)});
  };
  const auto logged = samples_of(run);
  if (logged &&
      (logged->samples < (1 - logged->less) * own || logged->samples > (1 + logged->more) * own))
    return OtherStep{true, say(logged->is_by_stamps
                                   ? "a step of {} has about {} samples by the times of its "
                                     "lines, and one of the scenario {}: set training.micro_batch "
                                     "and training.gradient_accumulation so that they agree"
                                   : "a step of {} has {} samples, and one of the scenario {}: "
                                     "set training.micro_batch and "
                                     "training.gradient_accumulation so that they agree",
                               logged->samples, own)};
  const auto accumulation = static_cast<double>(training.gradient_accumulation);
  if (run.accumulation && *run.accumulation != accumulation)
    return OtherStep{!logged, say("a step of {} has {} micro-batches, and one of the scenario {}: "
                                  "set training.gradient_accumulation so that they agree",
                                  *run.accumulation, accumulation)};
  const auto micro_batch = static_cast<double>(training.micro_batch);
  if (run.micro_batch && *run.micro_batch != micro_batch)
    return OtherStep{!logged, say("a micro-batch of {} has {} samples, and one of the scenario "
                                  "{}: set training.micro_batch so that they agree",
                                  *run.micro_batch, micro_batch)};
  return {};
}

answer::LoggedRun compared(const std::string& file, const evidence::LoggedRun& logged,
                           const Predicted* predicted) {
  answer::LoggedRun run{file, logged.program, logged.logged, {}, {}};
  const auto other = predicted ? other_step(logged, *predicted) : std::nullopt;
  // Rates are of the same work as a step; memory is of a micro-batch, which is another one then.
  const Predicted* of_work = other && other->has_other_samples ? nullptr : predicted;
  const Predicted* of_memory = other ? nullptr : predicted;
  const auto step = [](const Result& result) { return result.step_time_s; };
  if (logged.step_s)
    add(run, "step", "s", logged.step_s, of_work, step);
  else if (of_work)
    add(run, at_this_rate(samples_of(*of_work)).c_str(), "s", step_at_rate(logged, *of_work),
        of_work, step);
  add(run, "samples a second", "per_s", logged.samples_per_s, of_work,
      [](const Result& result) { return result.samples_per_s; });
  add(run, "tokens a second", "per_s", logged.tokens_per_s, of_work,
      [](const Result& result) { return result.tokens_per_s; });
  const double ranks = predicted ? ranks_of(*predicted) : 1;
  add(run, "samples a second and GPU", "per_s", logged.samples_per_s_of_rank, of_work,
      [ranks](const Result& result) { return result.samples_per_s / ranks; });
  add(run, "tokens a second and GPU", "per_s", logged.tokens_per_s_of_rank, of_work,
      [ranks](const Result& result) { return result.tokens_per_s / ranks; });
  // PyTorch's allocator knows nothing of the context.
  const double context =
      predicted ? static_cast<double>(predicted->scenarios[0].machine.gpu.context.value()) : 0;
  add(run, "GPU memory", "bytes", logged.gpu_bytes, of_memory, [&](const Result& result) {
    return std::max(0.0, static_cast<double>(result.gpu.total) - context);
  });
  add(run, "host memory", "bytes", logged.host_bytes, of_memory,
      [](const Result& result) { return static_cast<double>(result.host.total); });
  for (const auto& [name, seconds] : logged.phases_s) {
    const auto phase = phase_of(name);
    run.phases.push_back(phase ? beside(name, "s", seconds, of_work, phase)
                               : answer::LoggedNumber{name, "s", seconds, {}, {}});
  }
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
    if (auto other = other_step(run, predicted)) notes.push_back(std::move(other->words));
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
    if (auto limited = power_note(answer.machine.get<MachineFile>(), each))
      answer.files.back().notes.push_back(std::move(*limited));
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
