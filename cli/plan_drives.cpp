#include "cli/common.hpp"
#include "cli/plan_common.hpp"
#include "reports/human.hpp"
#include "reports/wear_words.hpp"
#include "scenarios/box.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
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
  double years = 0;
  bool json = false;
};

/// Of the best: as good as it.
constexpr double nearly = 0.98;

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

/// The machine's own drives, and those of the price list that is asked for.
std::vector<Class> classes_of(const Options& options, const description::Scenario& scenario) {
  const std::string storage = drives_of(scenario);
  const auto& prices = scenario.machine.prices_usd;
  std::vector<Class> classes = {{storage, prices ? prices->ssd : 0, {}}};
  for (std::uint64_t count = 1; count <= options.most; ++count)
    classes[0].trials.push_back({fmt::format("{} of {}", count, storage),
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
      fresh.trials.push_back({fmt::format("{} of {}", count, drive.name),
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

/// Simulates what bounds leave of all classes, and finds of each the fewest drives that are nearly
/// as good as the best of all and last.
TrialCounts try_classes(const json& base, std::vector<Class>& classes, double years) {
  std::vector<Trial> all;
  for (Class& one : classes) all.insert(all.end(), one.trials.begin(), one.trials.end());
  TrialCounts counts;
  if (const auto wrong = try_fastest(simulator(), base, all, nearly, counts)) throw *wrong;
  const Trial* best = explore::fastest(all);
  auto from = all.begin();
  for (Class& one : classes) {
    const auto does = [&](const Trial& trial) {
      return trial.fits() && trial.result->tokens_per_s >= nearly * best->result->tokens_per_s &&
             last_long_enough(trial, years);
    };
    std::copy_n(from, one.trials.size(), one.trials.begin());
    from += static_cast<std::ptrdiff_t>(one.trials.size());
    const auto first = std::find_if(one.trials.begin(), one.trials.end(), does);
    one.enough = static_cast<std::size_t>(first - one.trials.begin());
    for (const std::size_t beside : {one.enough - 1, one.enough + 1})
      if (one.any() && beside < one.trials.size() && one.trials[beside].ruled_out)
        try_one(base, one.trials[beside], counts);
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

json classes_json(const std::vector<Class>& classes) {
  json all = json::array();
  for (const Class& one : classes)
    all.push_back({{"name", one.name},
                   {"price_usd", one.price_usd},
                   {"drives", one.any() ? json(one.enough + 1) : json()},
                   {"trials", trials_json(one.trials)}});
  return all;
}

void plan_drives(const Options& options) {
  const description::Scenario scenario = read(options.scenario, options.overrides).scenario;
  std::vector<Class> classes = classes_of(options, scenario);
  const TrialCounts counts = try_classes(scenario, classes, options.years);
  const Class* best = cheapest(classes);
  std::vector<Trial> all;
  for (const Class& one : classes) all.insert(all.end(), one.trials.begin(), one.trials.end());
  if (options.json)
    return print_json({{"drives", best ? json(best->enough + 1) : json()},
                       {"class", best ? json(best->name) : json()},
                       {"counts", counts_json(counts)},
                       {"trials", trials_json(all)},
                       {"classes", classes_json(classes)}});
  print(evidence(all) + "\n");
  if (!best) return print_paragraph("No number of drives does it. " + counts_words(counts));
  print_paragraph(answer_words(*best, classes.size() > 1));
  print_others(classes, best);
  print_paragraph(counts_words(counts) + " " + certainty(*best->trials[best->enough].result));
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
  verb->add_flag("--json", options->json, "with the whole result of everything that was simulated");
  verb->footer(
      "Example:\n  spillway plan drives scenarios/examples/lohan_13b_batch32.json --parts one_box");
  verb->callback([options] { plan_drives(*options); });
}

}  // namespace spillway::cli
