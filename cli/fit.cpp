#include "answers/fit/fit.hpp"
#include "answers/fit/box.hpp"
#include "cli/common.hpp"
#include "cli/run_options.hpp"
#include "cli/verbs.hpp"
#include "reports/finished_run.hpp"
#include "reports/human.hpp"
#include "reports/range.hpp"
#include "reports/result/what_if.hpp"
#include "reports/table.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <chrono>
#include <cmath>
#include <memory>

namespace spillway::cli {

using answers::FitAnswer;
using nlohmann::json;
using reports::Align;
using reports::Cell;
using result::Result;

namespace {

struct Options {
  std::string model, machine, parts = "one_box", out;
  answers::BoxWords box;
  std::uint64_t context = 0;
  RunOptions run;
  std::vector<std::string> overrides;
  bool runnable = false, json = false;
};

answers::FitQuestion question_of(const Options& options, std::vector<std::string>& notes) {
  answers::FitQuestion question;
  question.model = options.model;
  if (options.machine.empty()) {
    if (options.box.gpu.empty()) refuse("--gpu", "missing", "write for example --gpu 4090x2");
    if (options.box.ram.empty()) refuse("--ram", "missing", "write for example --ram 128G");
    answers::NamedBox box = answers::box_of(options.box, scenarios::read_price_list(options.parts));
    question.machine = std::move(box.machine);
    notes = std::move(box.notes);
  } else {
    if (!options.box.gpu.empty() || !options.box.ram.empty() || !options.box.ssd.empty())
      refuse("--machine", "stands beside --gpu, --ram or --ssd", "say the box in one way");
    question.machine = options.machine;
  }
  if (options.context > 0) question.context = options.context;
  question.tokens = tokens_of(options.run);
  question.runnable = options.runnable;
  question.overrides = options.overrides;
  return question;
}

std::string batch_words(const json& scenario) {
  const json& training = scenario.at("training");
  const auto micro = training.at("micro_batch").get<std::uint64_t>();
  const auto times = training.at("gradient_accumulation").get<std::uint64_t>();
  const json& parallel = scenario.at("parallel");
  std::string text = fmt::format("micro-batch {}", micro);
  if (times > 1) text += fmt::format(" x {}", times);
  for (const char* how : {"data", "tensor", "pipeline"})
    if (const auto ranks = parallel.at(how).get<std::uint64_t>(); ranks > 1)
      text += fmt::format(", {} {}", how, ranks);
  return text;
}

std::string of_capacity(const result::PeakBytes& peak) {
  if (peak.total == 0) return "-";
  return reports::human_memory(peak.total) +
         (peak.capacity > 0 ? " of " + reports::human_memory(peak.capacity) : "");
}

constexpr double days_a_year = 365;

/// The day on which the maker's warranty of the drives ends, at this pace and from today on:
/// "2027-03-01 (3 months of training)"; "-" where nothing is written or rated.
std::string warranty_words(const Result& r) {
  if (!r.wear || r.wear->rated_write_bytes <= 0 || r.wear->write_bytes_per_day <= 0) return "-";
  const double days = r.wear->rated_write_bytes / r.wear->write_bytes_per_day;
  const std::string span = reports::human_years(days / days_a_year);
  constexpr double far = 100 * days_a_year;  // a calendar says nothing there
  if (days > far) return "in " + span;
  const auto end = std::chrono::system_clock::now() +
                   std::chrono::hours(static_cast<std::int64_t>(std::floor(days * 24)));
  return fmt::format("{:%Y-%m-%d} ({} of training)", fmt::gmtime(end), span);
}

/// A line of the table: what it says of each result.
struct Line {
  const char* title;
  std::string (*of)(const Result&);
};

const Line lines[] = {
    {"system", [](const Result& r) { return r.system; }},
    {"runs with", [](const Result& r) { return r.runs_with ? r.runs_with->program : "-"; }},
    {"batch", [](const Result& r) { return batch_words(r.scenario); }},
    {"tokens/s",
     [](const Result& r) {
       return reports::with_range(reports::human_number(r.tokens_per_s), r,
                                  "throughput.tokens_per_s", reports::human_number);
     }},
    {"step",
     [](const Result& r) {
       return reports::with_range(reports::human_time(r.step_time_s), r, "step_time_s",
                                  reports::human_time);
     }},
    {"limited by",
     [](const Result& r) {
       const std::string limit = result::limited_by(r);
       return limit.empty() ? "nothing alone" : limit;
     }},
    {"GPU peak", [](const Result& r) { return of_capacity(r.gpu); }},
    {"host peak", [](const Result& r) { return of_capacity(r.host); }},
    {"on drives",
     [](const Result& r) {
       return r.ssd.total == 0 ? "-" : reports::human_bytes(static_cast<double>(r.ssd.total));
     }},
    {"drives' warranty ends", [](const Result& r) { return warranty_words(r); }},
    {"price of the box",
     [](const Result& r) { return r.price_usd ? reports::human_price(*r.price_usd) : "-"; }},
};

/// The answers side by side; one column where they are the same.
std::string table_of(const FitAnswer& answer) {
  std::vector<std::pair<std::string, const Result*>> shown;
  const bool same =
      answer.runnable && answer.best && answer.runnable->scenario == answer.best->scenario;
  if (answer.runnable) shown.emplace_back("best to run today", &*answer.runnable);
  if (answer.best && !same) shown.emplace_back("best of all", &*answer.best);
  reports::Table table;
  table.columns.push_back({"", Align::left, 0});
  for (const auto& [title, unused] : shown) table.columns.push_back({title, Align::left, 0});
  const auto add = [&](const std::string& title, const auto& text) {
    std::vector<Cell> row = {title};
    bool says = false;
    for (const auto& [unused, result] : shown) {
      row.emplace_back(text(*result));
      says = says || (row.back().text != "-" && !row.back().text.empty());
    }
    if (says) table.rows.push_back(std::move(row));
  };
  for (const Line& line : lines) add(line.title, line.of);
  if (answer.answer()->run)
    for (const reports::RunLine& line : reports::run_lines()) add(line.title, line.of);
  return to_text(table, reports::screen_of(stdout));
}

std::string change_words(const FitAnswer& answer) {
  if (!answer.change)
    return answer.fits ? "Neither twice the host memory nor one more drive or card makes it faster."
                       : "";
  const answers::FitChange& change = *answer.change;
  std::string text = "What helps most: " + change.words;
  if (change.tokens_per_s && answer.fits)
    text += fmt::format(", {:+.0f} %",
                        100 * (*change.tokens_per_s / answer.answer()->tokens_per_s - 1));
  if (change.tokens_per_s)
    text += fmt::format(", {} tokens/s", reports::human_number(*change.tokens_per_s));
  const auto& now = answer.fits ? answer.answer()->price_usd : std::optional<double>();
  if (change.price_usd && now && *change.price_usd > *now)
    text += fmt::format(", for {} more", reports::human_price(*change.price_usd - *now));
  return text + ".";
}

void say(const std::string& text) {
  if (!text.empty()) print(reports::paragraph(text, reports::screen_of(stdout)));
}

void print_answer(const Options& options, const FitAnswer& answer, const std::string& box) {
  if (!answer.fits) {
    say(fmt::format("{} on {}: does not fit{}. The one that comes nearest: {}.", options.model, box,
                    options.runnable ? " with what people can run" : "", answer.why_not));
  } else {
    say(fmt::format("{} on {}: fits{}.", options.model, box,
                    answer.runnable ? "" : ", but with nothing that people can run today"));
    print("\n" + table_of(answer) + "\n");
  }
  say(change_words(answer));
  for (const std::string& note : answer.notes) say("Note: " + note + ".");
  if (answer.fits) say(reports::range_note(*answer.answer()));
  if (answer.fits && options.out.empty()) say("--out FILE writes the scenario.");
}

void fit(const Options& options) {
  if (!options.out.empty()) require_writable("--out", options.out);
  std::vector<std::string> notes;
  const answers::FitQuestion question = question_of(options, notes);
  FitAnswer answer = answers::fit(simulator(), question);
  answer.notes.insert(answer.notes.begin(), notes.begin(), notes.end());
  if (!options.out.empty() && answer.fits)
    write_file(options.out, answer.answer()->scenario.dump(2) + "\n");
  if (options.json) return print_json(json(answer));
  const json& machine = question.machine;
  print_answer(
      options, answer,
      machine.is_string() ? machine.get<std::string>() : machine.at("name").get<std::string>());
}

}  // namespace

void add_fit(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "fit", "does a model train on a box, how fast, at what cost: no file needed");
  verb->add_option("model", options->model, "a name of models/library or a config.json")
      ->required();
  verb->add_option("--gpu", options->box.gpu, "cards and how many: 4090x2")->type_name("CARD[xN]");
  verb->add_option("--ram", options->box.ram, "host memory: 128G")->type_name("SIZE");
  verb->add_option("--ssd", options->box.ssd, "drives, by size or name, and how many: 2Tx2")
      ->type_name("SIZE[xN]");
  verb->add_option("--machine", options->machine,
                   "in place of these a name of scenarios/machines or a file");
  verb->add_option("--parts", options->parts,
                   "where cards, drives and prices are from: a name of scenarios/parts or a file");
  verb->add_option("--context", options->context, "tokens of a sample; else 4096")
      ->check(CLI::PositiveNumber);
  add_run_options(*verb, options->run);
  verb->add_flag("--runnable", options->runnable,
                 "only what people can start today: DeepSpeed, PyTorch, Megatron-LM, Colossal-AI");
  verb->add_option("--out", options->out, "where the scenario of the answer is written");
  add_set(*verb, options->overrides, "override one value of all that is tried");
  verb->add_flag("--json", options->json, "the answer as JSON, with both results");
  verb->footer("Example:\n  spillway fit llama-3.2-1b --gpu 4090 --ram 64G --ssd 2T --tokens 1B");
  verb->callback([options] { fit(*options); });
}

}  // namespace spillway::cli
