#include "cli/common.hpp"
#include "cli/plan_common.hpp"
#include "reports/human.hpp"
#include "reports/wear_words.hpp"
#include "scenarios/box.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <cmath>
#include <memory>
#include <tuple>

namespace spillway::cli {

using explore::Trial;
using explore::TrialCounts;
using nlohmann::json;

namespace {

struct Options {
  std::string scenario, parts;
  std::vector<std::string> overrides;
  std::uint64_t most = 16;
  double years = 0, limit_s = plan_limit_s;
  bool json = false;
};

/// Of the best: as good as it.
constexpr double nearly = 0.98;
/// Drives that people can plug into a box at home: they are simulated whatever their bounds say.
constexpr std::size_t pluggable = 4;

/// Drives of one kind, from one of them on.
struct Class {
  std::string name;
  double price_usd = 0;
  std::vector<Trial> trials;  ///< by count
  std::size_t enough = 0;     ///< index of the fewest that do; none: trials.size()
  bool any() const { return enough < trials.size(); }
  double cost() const { return price_usd * static_cast<double>(enough + 1); }
};

/// The first drives of a machine that wear.
std::string drives_of(const description::Scenario& scenario) {
  for (const description::StorageSpec& storage : scenario.machine.storage)
    if (storage.kind == description::StorageKind::ssd) return storage.name;
  refuse("scenario", scenario.machine.name + " has no drives",
         "name a scenario on another machine");
}

/// "1 drive of nvme", "4 drives of nvme".
std::string drives_words(std::uint64_t count, const std::string& storage) {
  return fmt::format("{} drive{} of {}", count, count == 1 ? "" : "s", storage);
}

/// The machine's own drives, and those of the price list that is asked for.
std::vector<Class> classes_of(const Options& options, const description::Scenario& scenario) {
  const std::string storage = drives_of(scenario);
  const auto& prices = scenario.machine.prices_usd;
  std::vector<Class> classes = {{storage, prices ? prices->ssd : 0, {}}};
  for (std::uint64_t count = 1; count <= options.most; ++count)
    classes[0].trials.push_back({drives_words(count, storage),
                                 {fmt::format("machine.storage.{}.count={}", storage, count)},
                                 std::nullopt,
                                 ""});
  if (options.parts.empty()) return classes;
  const auto list = scenarios::read_price_list(options.parts);
  const json machine = scenario.machine;
  for (std::size_t i = 0; i < list.drives.size(); ++i) {
    const scenarios::DrivePart& drive = list.drives[i];
    Class& fresh = classes.emplace_back(Class{drive.name, drive.price_usd, {}});
    for (std::uint64_t count = 1; count <= options.most; ++count)
      fresh.trials.push_back({fmt::format("{} x {}", count, drive.name),
                              {"machine=" + with_drives(machine, storage, list, i, count).dump()},
                              std::nullopt,
                              ""});
  }
  return classes;
}

bool last_long_enough(const Trial& trial, double years) {
  if (years <= 0 || !trial.result->wear) return true;
  const result::Wear& wear = *trial.result->wear;
  return wear.lifetime_years ? *wear.lifetime_years >= years : wear.write_bytes_per_day == 0;
}

/// Simulates the numbers of drives that people can plug in, which were ruled out as too slow.
void try_pluggable(const explore::Backend& backend, const json& base,
                   const std::vector<Class>& classes, std::vector<Trial>& all,
                   TrialCounts& counts) {
  std::vector<Trial> few;
  std::vector<std::size_t> of;
  std::size_t from = 0;
  for (const Class& one : classes) {
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
  }
}

/// Simulates what bounds leave of all classes, and finds of each the fewest drives that are nearly
/// as good as the best of all and last.
TrialCounts try_classes(const explore::Backend& backend, const json& base,
                        std::vector<Class>& classes, double years) {
  std::vector<Trial> all;
  for (Class& one : classes) all.insert(all.end(), one.trials.begin(), one.trials.end());
  TrialCounts counts;
  if (const auto wrong = try_fastest(backend, base, all, nearly, counts)) throw *wrong;
  try_pluggable(backend, base, classes, all, counts);
  const Trial* best = explore::fastest(all);
  auto from = all.begin();
  for (Class& one : classes) {
    const auto does = [&](const Trial& trial) {
      return best && trial.fits() &&
             trial.result->tokens_per_s >= nearly * best->result->tokens_per_s &&
             last_long_enough(trial, years);
    };
    std::copy_n(from, one.trials.size(), one.trials.begin());
    from += static_cast<std::ptrdiff_t>(one.trials.size());
    const auto first = std::find_if(one.trials.begin(), one.trials.end(), does);
    one.enough = static_cast<std::size_t>(first - one.trials.begin());
    for (const std::size_t beside : {one.enough - 1, one.enough + 1})
      if (one.any() && beside < one.trials.size() && one.trials[beside].ruled_out)
        try_one(backend, base, one.trials[beside], counts);
  }
  return counts;
}

/// The class of which enough drives cost least; nullptr when none is enough.
const Class* cheapest(const std::vector<Class>& classes) {
  const Class* best = nullptr;
  for (const Class& one : classes)
    if (one.any() &&
        (!best || std::tuple(one.cost(), one.enough) < std::tuple(best->cost(), best->enough)))
      best = &one;
  return best;
}

std::string gain(const Trial& from, const Trial& to) {
  if (!to.fits()) return "it does not fit: " + to.reason;
  const double share = to.result->tokens_per_s / from.result->tokens_per_s - 1;
  if (std::abs(share) < 0.0005) return "no change";
  return fmt::format("{:+.1f} % tokens/s", 100 * share);
}

/// What becomes of the drives, with a blank before it.
std::string wear_words(const result::Result& result) {
  std::string text = reports::lifetimes_sentence(result);
  if (text.empty() || !result.wear->usd_per_million_tokens) return text;
  return text + fmt::format(" They lose ${:.3g} in value per million tokens.",
                            *result.wear->usd_per_million_tokens);
}

std::string answer_words(const Class& best, bool several) {
  const std::size_t index = best.enough;
  const bool last = index + 1 == best.trials.size();
  std::string text = several ? fmt::format("{} x {} for {}: the cheapest that are enough, ",
                                           index + 1, best.name, reports::human_price(best.cost()))
                             : fmt::format("{} drives are enough: ", index + 1);
  if (last && !several)
    text = fmt::format("{} drives are the most that were tried, more may bring more: ", index + 1);
  text += reports::human_number(best.trials[index].result->tokens_per_s) + " tokens/s.";
  if (index > 0)
    text += " With one fewer: " + gain(best.trials[index], best.trials[index - 1]) + ".";
  if (!last) text += " With one more: " + gain(best.trials[index], best.trials[index + 1]) + ".";
  return text + wear_words(*best.trials[index].result);
}

/// What it takes of the other classes.
void print_others(const std::vector<Class>& classes, const Class* best) {
  for (const Class& one : classes) {
    if (&one == best) continue;
    if (!one.any()) {
      const Trial* most = explore::fastest(one.trials);
      print_paragraph(
          most ? fmt::format("No number of {} is enough: {} tokens/s with {}.", one.name,
                             reports::human_number(most->result->tokens_per_s), most->words)
               : "No number of " + one.name + " is enough.");
      continue;
    }
    const result::Result& result = *one.trials[one.enough].result;
    print_paragraph(fmt::format("Of {} it takes {} for {}: {} tokens/s.{}", one.name,
                                one.enough + 1, reports::human_price(one.cost()),
                                reports::human_number(result.tokens_per_s), wear_words(result)));
  }
}

/// Of all that fits the one that lasts longest; nullptr: nothing fits or nothing wears.
const Trial* longest_lasting(const std::vector<Class>& classes) {
  const Trial* best = nullptr;
  for (const Class& one : classes)
    for (const Trial& trial : one.trials) {
      if (!trial.fits() || !trial.result->wear || !trial.result->wear->lifetime_years) continue;
      if (!best || *trial.result->wear->lifetime_years > *best->result->wear->lifetime_years)
        best = &trial;
    }
  return best;
}

/// How near the drives come that were tried, and what would do.
void print_none(const Options& options, const std::vector<Class>& classes,
                const TrialCounts& counts) {
  const Trial* best = longest_lasting(classes);
  if (!best) {
    const Trial& first = classes.front().trials.front();
    return print_paragraph("No number of drives does it: " + first.words + ": " + first.reason +
                           ". " + counts_words(counts));
  }
  const double years = *best->result->wear->lifetime_years;
  std::string text = fmt::format(
      "No number of drives does it. {} last longest: {} of the {} that are asked for, at {} "
      "tokens/s.",
      best->words, reports::human_years(years), reports::human_years(options.years),
      reports::human_number(best->result->tokens_per_s));
  if (years < options.years)
    text += fmt::format(
        " They would last as long if they trained {} of the time, or if each were rated for {} "
        "times the bytes.",
        reports::human_share(years / options.years), reports::human_number(options.years / years));
  print_paragraph(text + " " + counts_words(counts));
}

/// ", up to 1.0 years" where more drives only last longer.
std::string longer_words(const Trial& first, const Trial& last) {
  if (!first.fits() || !first.result->wear || !first.result->wear->lifetime_years) return "";
  const std::string from = reports::human_years(*first.result->wear->lifetime_years);
  const std::string to = reports::human_years(*last.result->wear->lifetime_years);
  return from == to ? "" : ", up to " + to;
}

/// Numbers of drives that read the same but for how long they last are one row.
std::vector<Trial> folded(const std::vector<Class>& classes) {
  std::vector<Trial> shown;
  const auto same = [](const Trial& one, const Trial& other) {
    if (one.fits() != other.fits()) return false;
    if (one.refused && other.refused) return true;  // by the first number that the board refuses
    return one.fits() ? reads_the_same(*one.result, *other.result) : one.reason == other.reason;
  };
  for (const Class& one : classes)
    for (std::size_t i = 0, end = 0; i < one.trials.size(); i = end) {
      for (end = i + 1; end < one.trials.size() && same(one.trials[i], one.trials[end]);) ++end;
      shown.push_back(one.trials[i]);
      if (end > i + 1)
        shown.back().words = fmt::format("{} to {}{}", i + 1, one.trials[end - 1].words,
                                         longer_words(one.trials[i], one.trials[end - 1]));
    }
  return shown;
}

json classes_json(const std::vector<Class>& classes) {
  json all = json::array();
  for (const Class& one : classes)
    all.push_back({{"name", one.name},
                   {"price_usd", one.price_usd},
                   {"drives", one.any() ? json(one.enough + 1) : json()},
                   {"trials", trials_json(one.trials)}});
  return all;
}

void print_answer(const Options& options, const std::vector<Class>& classes,
                  const TrialCounts& counts) {
  print(evidence(folded(classes)) + "\n");
  const Class* best = cheapest(classes);
  if (!best) return print_none(options, classes, counts);
  print_paragraph(answer_words(*best, classes.size() > 1));
  print_others(classes, best);
  print_paragraph(counts_words(counts) + " " + certainty(*best->trials[best->enough].result));
}

void plan_drives(const Options& options) {
  const description::Scenario scenario = read(options.scenario, options.overrides).scenario;
  std::vector<Class> classes = classes_of(options, scenario);
  Monitor monitor("numbers of drives", options.limit_s);
  const TrialCounts counts = try_classes(monitor.backend(), scenario, classes, options.years);
  for (Class& one : classes) find_needs(monitor.backend(), scenario, one.trials);
  monitor.clear();
  if (!options.json) {
    print_answer(options, classes, counts);
    return finish(monitor, counts, options.json);
  }
  const Class* best = cheapest(classes);
  std::vector<Trial> all;
  for (const Class& one : classes) all.insert(all.end(), one.trials.begin(), one.trials.end());
  print_json({{"drives", best ? json(best->enough + 1) : json()},
              {"class", best ? json(best->name) : json()},
              {"counts", counts_json(counts)},
              {"trials", trials_json(all)},
              {"classes", classes_json(classes)}});
  finish(monitor, counts, options.json);
}

}  // namespace

void add_plan_drives(CLI::App& plan) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = plan.add_subcommand(
      "drives", "how many drives are enough, of which kind, how long they last");
  verb->add_option("scenario", options->scenario, "what is trained on them")->required();
  verb->add_option("--most", options->most, "drives that are tried at most")
      ->check(CLI::PositiveNumber);
  verb->add_option("--parts", options->parts,
                   "tries the drives of this price list too: a name of scenarios/parts or a file");
  verb->add_option("--lifetime", options->years, "years that they have to last")
      ->check(CLI::PositiveNumber);
  add_set(*verb, options->overrides, "override one value of all that is tried");
  add_limit(*verb, options->limit_s, plan_limit_help);
  verb->add_flag("--json", options->json, "with the whole result of everything that was simulated");
  verb->footer(
      "Example:\n  spillway plan drives scenarios/examples/lohan_13b_batch32.json --parts one_box");
  verb->callback([options] { plan_drives(*options); });
}

}  // namespace spillway::cli
