#include "answers/plan/drives.hpp"

#include "answers/fit/purchase.hpp"
#include "answers/simulate/simulate.hpp"
#include "explore/remedies/planning.hpp"
#include "scenarios/document/box.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace spillway::answers {

using answer::DriveClass;
using answer::Trial;
using answer::TrialCounts;
using nlohmann::json;

namespace {

constexpr double nearly = answer::Drives::enough_speed;
/// Drives that people can plug into a box at home: they are simulated whatever their bounds say.
constexpr std::size_t pluggable = 4;

/// The arrays of a machine that wear.
std::vector<description::StorageSpec> arrays_of(const description::Scenario& scenario) {
  std::vector<description::StorageSpec> arrays = scenario.machine.storage;
  std::erase_if(arrays, [](const auto& one) { return one.kind != description::StorageKind::ssd; });
  if (arrays.empty())
    throw description::ScenarioError(
        {{"command line", 0, 0, "scenario", scenario.machine.name + " has no drives",
          "name a scenario on another machine"}});
  return arrays;
}

/// The one that works for the largest part of a step; the first where no step says.
description::StorageSpec busiest_of(const explore::Backend& backend, const json& base,
                                    const std::vector<description::StorageSpec>& arrays) {
  std::vector<Trial> as_it_is = {{"as it is", {}, std::nullopt, ""}};
  try_all(backend, base, as_it_is);
  if (!as_it_is.front().fits()) return arrays.front();
  const std::map<std::string, double>& busy = as_it_is.front().result->utilization.storage;
  const auto share = [&](const description::StorageSpec& one) {
    const auto of = busy.find(one.name);
    return of == busy.end() ? 0 : of->second;
  };
  return *std::max_element(arrays.begin(), arrays.end(), [&](const auto& one, const auto& other) {
    return share(one) < share(other);
  });
}

/// Whose drives are counted.
description::StorageSpec array_of(const explore::Backend& backend, const DrivesQuestion& question) {
  const std::vector<description::StorageSpec> arrays = arrays_of(question.scenario);
  if (question.storage.empty())
    return arrays.size() == 1 ? arrays.front() : busiest_of(backend, question.scenario, arrays);
  std::vector<std::string> names;
  for (const description::StorageSpec& one : arrays) {
    if (one.name == question.storage) return one;
    names.push_back(one.name);
  }
  throw description::ScenarioError(
      {{"command line", 0, 0, "--storage", description::no_such_name(question.storage),
        description::known_names(question.storage, names)}});
}

/// "the drives of slow are counted; fast keeps its 2, --storage fast counts those"; nothing where
/// there is one array.
void note_other_arrays(const description::Scenario& scenario, const std::string& counted,
                       std::vector<text::Text>& notes) {
  for (const description::StorageSpec& one : arrays_of(scenario))
    if (one.name != counted)
      notes.push_back(
          text::filled("the drives of {} are counted, {} keeps its {}: --storage {} "
                       "counts those",
                       {counted, one.name, text::count(one.count), one.name}));
}

/// Says of which drives the ones counted have a history, where any has: those that the machine has.
void note_history(const description::StorageSpec& array, bool has_others,
                  std::vector<text::Text>& notes) {
  double all = 0;
  const std::vector<description::Bytes> each = array.written_before();
  for (const description::Bytes one : each) all += static_cast<double>(one.value());
  if (all == 0) return;
  const std::string others = has_others ? ", and those of the price list," : "";
  if (array.count == 1)
    return notes.push_back(
        text::filled("the drive of {} has been written to before ({}); drives of it beyond this "
                     "one{} are new",
                     {array.name, text::bytes(all), others}));
  notes.push_back(
      text::filled("the {} drives of {} have been written to before ({} in all, {} on the most "
                   "worn, which ends first): of fewer those stay that are worn least, drives of "
                   "it beyond these{} are new",
                   {text::count(array.count), array.name, text::bytes(all),
                    text::bytes(static_cast<double>(each.front().value())), others}));
}

/// "1 drive of nvme", "4 drives of nvme".
std::string drives_words(std::uint64_t count, const std::string& storage) {
  return fmt::format("{} drive{} of {}", count, count == 1 ? "" : "s", storage);
}

/// The machine stands on a board of the catalogue that has no such place.
bool has_no_place(const description::MachineFile& machine, const scenarios::DrivePart& drive) {
  const scenarios::HostPart* board = board_of(machine);
  return board && !drive.form.empty() && !board->slots.contains(drive.form);
}

/// The machine's own drives, and those of the price list that is asked for.
std::vector<DriveClass> classes_of(const DrivesQuestion& question,
                                   const description::StorageSpec& array) {
  const description::Scenario& scenario = question.scenario;
  const std::string& storage = array.name;
  const auto& prices = scenario.machine.prices_usd;
  const double price = array.price_usd.value_or(prices ? prices->ssd : 0);
  std::vector<DriveClass> classes = {{storage, price, {}, {}}};
  for (std::uint64_t count = 1; count <= question.most; ++count)
    classes[0].trials.push_back({drives_words(count, storage),
                                 {fmt::format("machine.storage.{}.count={}", storage, count)},
                                 std::nullopt,
                                 ""});
  if (question.parts.empty()) return classes;
  const auto list = scenarios::read_price_list(question.parts);
  const json machine = scenario.machine;
  for (std::size_t i = 0; i < list.drives.size(); ++i) {
    const scenarios::DrivePart& drive = list.drives[i];
    if (has_no_place(scenario.machine, drive)) continue;
    DriveClass& fresh = classes.emplace_back(DriveClass{drive.name, drive.price_usd, {}, {}});
    for (std::uint64_t count = 1; count <= question.most; ++count)
      fresh.trials.push_back({fmt::format("{} x {}", count, drive.name),
                              {"machine=" + with_drives(machine, storage, list, i, count).dump()},
                              std::nullopt,
                              ""});
  }
  return classes;
}

/// Simulates the numbers of drives that people can plug in, which were ruled out as too slow.
void try_pluggable(const explore::Backend& backend, const json& base,
                   const std::vector<DriveClass>& classes, std::vector<Trial>& all,
                   TrialCounts& counts) {
  std::vector<Trial> few;
  std::vector<std::size_t> of;
  std::size_t from = 0;
  for (const DriveClass& one : classes) {
    for (std::size_t i = from; i < from + std::min(pluggable, one.trials.size()); ++i)
      if (all[i].ruled_out) {
        few.push_back({all[i].words, all[i].overrides, std::nullopt, ""});
        of.push_back(i);
      }
    from += one.trials.size();
  }
  if (few.empty()) return;
  try_all(backend, base, few);
  for (std::size_t i = 0; i < few.size(); ++i) {
    if (few[i].not_tried) continue;
    all[of[i]] = std::move(few[i]);
    --counts.ruled_out;
    ++counts.simulated;
    counts.unanswered += all[of[i]].unanswered;
  }
}

/// Finds the fewest drives of a class that are nearly as good as the best of all and last, and
/// simulates those beside them.
void find_enough(const explore::Backend& backend, const json& base, DriveClass& one,
                 const Trial* best, answer::Drives& found) {
  const auto does = [&](const Trial& trial) {
    return best && trial.fits() &&
           trial.result->tokens_per_s >= nearly * best->result->tokens_per_s && found.lasts(trial);
  };
  const auto first = std::find_if(one.trials.begin(), one.trials.end(), does);
  if (first == one.trials.end()) return;
  const auto enough = static_cast<std::size_t>(first - one.trials.begin());
  one.drives = enough + 1;
  for (const std::size_t beside : {enough - 1, enough + 1})
    if (beside < one.trials.size() && one.trials[beside].ruled_out)
      try_one(backend, base, one.trials[beside], found.counts);
}

/// Simulates what bounds leave of all classes, and finds of each the fewest that are enough.
void try_classes(const explore::Backend& backend, const json& base, answer::Drives& found) {
  std::vector<Trial> all;
  for (DriveClass& one : found.classes) all.insert(all.end(), one.trials.begin(), one.trials.end());
  if (const auto wrong = try_fastest(backend, base, all, nearly, found.counts)) throw *wrong;
  try_pluggable(backend, base, found.classes, all, found.counts);
  const Trial* best = explore::fastest(all);
  auto from = all.begin();
  for (DriveClass& one : found.classes) {
    std::copy_n(from, one.trials.size(), one.trials.begin());
    from += static_cast<std::ptrdiff_t>(one.trials.size());
    find_enough(backend, base, one, best, found);
  }
}

/// What lies on drives, in host memory: no drive wears, where there is room.
std::vector<std::string> in_host_memory(const description::Strategy& parts) {
  using description::Home;
  std::vector<std::string> overrides;
  const auto move = [&](bool on_drives, const char* setting) {
    if (on_drives) overrides.push_back(std::string("strategy.") + setting);
  };
  move(parts.weights.home == Home::ssd, "weights.home=host");
  move(parts.weights.home == Home::ssd && parts.weights.pool != description::PoolKind::none,
       "weights.pool=none");
  if (parts.optimizer.home != Home::ssd ||
      parts.optimizer.device == description::OptimizerDevice::near_storage)
    return overrides;
  move(true, "optimizer.home=host");
  move(parts.gradients.policy == description::GradientPolicy::ssd_fp16,
       "gradients.policy=host_fp16");
  move(parts.gradients.policy == description::GradientPolicy::ssd_fp32,
       "gradients.policy=host_fp32");
  return overrides;
}

/// Says so where the machine's host memory makes a step as fast as drives do, or faster.
///   with_drives  the best that they do
void note_host_memory(const explore::Backend& backend, const json& base,
                      const description::Scenario& scenario, const result::Result& with_drives,
                      std::vector<text::Text>& notes) {
  const std::vector<std::string> overrides = in_host_memory(scenario.strategy);
  if (overrides.empty()) return;
  std::vector<Trial> trials = {{"host memory", overrides, std::nullopt, ""}};
  try_all(backend, base, trials);
  const Trial& trial = trials.front();
  if (!trial.fits() || trial.result->tokens_per_s < nearly * with_drives.tokens_per_s) return;
  notes.push_back(text::filled(
      "this machine's host memory has room for all of it: {} tokens/s without a drive and without "
      "wear, with {}",
      {text::number(trial.result->tokens_per_s, text::Quantity::number),
       fmt::format("--set {}", fmt::join(overrides, " --set "))}));
}

}  // namespace

answer::Drives drives(const explore::Backend& backend, const DrivesQuestion& question) {
  answer::Drives found;
  found.years = question.years;
  const description::StorageSpec array = array_of(backend, question);
  found.classes = classes_of(question, array);
  const json base = question.scenario;
  try_classes(backend, base, found);
  for (DriveClass& one : found.classes) find_needs(backend, base, one.trials);
  for (DriveClass& one : found.classes)
    for (Trial& trial : one.trials)
      if (trial.result) date_prices(*trial.result, question.today);
  const DriveClass* best = found.cheapest();
  explore::Backend patient = backend;  // what was found is to be whole, whatever ended the search
  patient.watch = {};
  if (!best) {
    if (const Trial* longest = found.longest_lasting())
      note_host_memory(patient, base, question.scenario, *longest->result, found.notes);
    note_other_arrays(question.scenario, array.name, found.notes);
    note_history(array, found.classes.size() > 1, found.notes);
    return found;
  }
  found.result = explore::with_what_ifs(patient, *best->enough()->result);
  note_host_memory(patient, base, question.scenario, *found.result, found.result->notes);
  note_other_arrays(question.scenario, array.name, found.result->notes);
  note_history(array, found.classes.size() > 1, found.result->notes);
  found.certainty = certainty_of(*found.result, question.scenario.machine.shown_by);
  found.old_prices = old_prices_of(*found.result, question.today);
  return found;
}

}  // namespace spillway::answers
