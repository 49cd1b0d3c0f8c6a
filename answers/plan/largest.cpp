#include "answers/plan/largest.hpp"

#include "models/model.hpp"
#include "scenarios/read_model.hpp"
#include "scenarios/shipped.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <limits>

namespace spillway::answers {

using answer::Trial;
using answer::TrialCounts;
using explore::Way;
using nlohmann::json;

namespace {

/// The models that are asked for, each once; the beginning of several shipped names ("qwen2.5")
/// stands for all of them, the smallest first.
std::vector<std::string> models_of(const std::vector<std::string>& asked) {
  const std::vector<std::string> shipped = scenarios::shipped_names("models/library");
  std::vector<std::string> models;
  for (const std::string& name : asked) {
    std::vector<std::pair<std::uint64_t, std::string>> family;
    if (std::find(shipped.begin(), shipped.end(), name) == shipped.end())
      for (const std::string& member : shipped)
        if (member.starts_with(name + "-") || member.starts_with(name + "."))
          family.emplace_back(models::build_model(scenarios::read_model(member)).parameters.value(),
                              member);
    std::sort(family.begin(), family.end());
    if (family.empty()) family.emplace_back(0, name);
    for (const auto& [size, member] : family)
      if (std::find(models.begin(), models.end(), member) == models.end()) models.push_back(member);
  }
  return models;
}

/// A number of the training, and from where to where it is tried.
struct Ladder {
  const char* words;
  const char* path;
  std::uint64_t from, to;
};

std::vector<Trial> with_values(const Trial& like, const Ladder& ladder,
                               const std::vector<std::uint64_t>& values) {
  std::vector<Trial> trials;
  for (const std::uint64_t value : values) {
    Trial& trial = trials.emplace_back();
    trial.words = fmt::format("{} {}", ladder.words, value);
    trial.overrides = {fmt::format("{}={}", ladder.path, value)};
    trial.overrides.insert(trial.overrides.begin(), like.overrides.begin(), like.overrides.end());
  }
  return trials;
}

/// Powers of two, then eighths between the largest of them that fits and the next.
std::vector<Trial> climb(const explore::Backend& backend, const json& base, const Trial& like,
                         const Ladder& ladder, const PlanQuestion& question, TrialCounts& counts) {
  std::vector<std::uint64_t> values;
  for (std::uint64_t value = ladder.from; value <= ladder.to; value *= 2) values.push_back(value);
  std::vector<Trial> trials = with_values(like, ladder, values);
  add_overrides(trials, question);
  try_or_refuse(backend, base, trials);
  const auto fits =
      std::find_if(trials.rbegin(), trials.rend(), [](const Trial& trial) { return trial.fits(); });
  if (fits != trials.rend() && fits != trials.rbegin()) {
    const std::size_t next = static_cast<std::size_t>(trials.rend() - fits);
    const std::uint64_t most = values[next - 1], step = std::max<std::uint64_t>(1, most / 8);
    std::vector<std::uint64_t> between;
    for (std::uint64_t value = most + step; value < values[next]; value += step)
      between.push_back(value);
    std::vector<Trial> fine = with_values(like, ladder, between);
    add_overrides(fine, question);
    try_all(backend, base, fine);  // all of them may be too long for the model
    trials.insert(trials.begin() + static_cast<std::ptrdiff_t>(next), fine.begin(), fine.end());
  }
  for (const Trial& trial : trials) {
    counts.simulated += trial.result.has_value();
    counts.not_tried += trial.not_tried;
    counts.unanswered += trial.unanswered;
  }
  keep_first_refusal(trials);
  find_needs(backend, base, trials);
  return trials;
}

/// Of trials of which none fits: one that its bound leaves, else the one that lacks least.
Trial& nearest_miss(std::vector<Trial>& trials) {
  const auto lack = [](const Trial& trial) {
    if (trial.refused) return std::numeric_limits<double>::infinity();
    return trial.ruled_out ? trial.times_too_large.value_or(1) : 0;
  };
  return *std::min_element(trials.begin(), trials.end(),
                           [&](const Trial& a, const Trial& b) { return lack(a) < lack(b); });
}

/// Of each model the fastest of the systems that fit.
std::vector<Trial> models_that_fit(const explore::Backend& backend, const PlanQuestion& question,
                                   TrialCounts& counts) {
  std::vector<Trial> trials;
  std::optional<description::ScenarioError> wrong;
  bool any = false;
  for (const std::string& model : question.models) {
    std::vector<Trial> own;
    for (const Way& way : runnable_ways(question, plan_base(question, model), question.overrides))
      for (const Split& split : splits_of(question)) {
        Trial& trial = own.emplace_back();
        trial.words = model + " with " + way.name + split.name;
        trial.overrides = {way.overrides};
        trial.overrides.insert(trial.overrides.end(), split.overrides.begin(),
                               split.overrides.end());
      }
    add_overrides(own, question);
    const auto refused = try_fastest(backend, plan_base(question, model), own, 1, counts);
    if (!wrong) wrong = refused;
    any = any || !refused;
    const Trial* best = explore::fastest(own);
    Trial& nearest = nearest_miss(own);
    if (!best && !refused && nearest.ruled_out)  // the buffer that stops it is worth a look
      try_one(backend, plan_base(question, model), nearest, counts);
    trials.push_back(best ? *best : nearest);
    if (!best) find_needs(backend, plan_base(question, model), {&trials.back()});
  }
  if (!any && wrong) throw *wrong;
  return trials;
}

/// Adds to the fastest batch how far its numbers may be off, where that is asked for, and what is
/// to be known about the machine.
void complete(const explore::Backend& backend, const PlanQuestion& question,
              answer::Largest& found) {
  const Trial* best = explore::fastest(found.batches);
  for (Trial& trial : found.batches)
    if (question.range && &trial == best) add_range(backend, *trial.result);
  found.certainty = certainty_without_scenario(*found.largest()->result);
  found.old_prices = old_prices_of(*found.largest()->result, question.today);
}

}  // namespace

answer::Largest largest(const explore::Backend& backend, PlanQuestion question,
                        const Progress& progress) {
  question.models = models_of(question.models);
  const auto say = [&](const std::string& what) {
    if (progress) progress(what);
  };
  answer::Largest found;
  say("models");
  found.models = models_that_fit(backend, question, found.counts);
  const Trial* most = nullptr;
  for (std::size_t i = 0; i < found.models.size(); ++i)
    if (found.models[i].fits()) most = &found.models[i], found.model = question.models[i];
  if (!most) return found;
  found.system = most->result->system;
  const json base = plan_base(question, found.model);
  found.context = base.at("training").at("sequence");
  say("contexts of " + found.model);
  found.contexts = climb(backend, base, *most, {"context", "training.sequence", 512, 1 << 20},
                         question, found.counts);
  say("batches of " + found.model);
  found.batches = climb(backend, base, *most, {"micro-batch", "training.micro_batch", 1, 1024},
                        question, found.counts);
  complete(backend, question, found);
  return found;
}

}  // namespace spillway::answers
