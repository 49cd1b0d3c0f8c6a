#include "reports/plan/fit_report.hpp"

#include "reports/result/way.hpp"
#include "reports/result/what_if.hpp"
#include "reports/view/text_page.hpp"
#include "reports/words/dated_price.hpp"
#include "reports/words/finished_run.hpp"
#include "reports/words/range.hpp"
#include "reports/words/table.hpp"
#include "reports/words/trials_table.hpp"
#include "reports/words/verdict.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <cmath>
#include <functional>

namespace spillway::reports {

using answer::FitAnswer;
using nlohmann::json;
using result::Result;
using view::Document;
using view::filled;
using view::Paragraph;
using view::Text;

namespace {

Text batch_words(const json& scenario) {
  const json& training = scenario.at("training");
  const auto micro = training.at("micro_batch").get<std::uint64_t>();
  const auto times = training.at("gradient_accumulation").get<std::uint64_t>();
  const json& parallel = scenario.at("parallel");
  Text text = filled("micro-batch {}", {whole_number(micro)});
  if (times > 1) text += filled(" x {}", {whole_number(times)});
  for (const char* how : {"data", "tensor", "pipeline"})
    if (const auto ranks = parallel.at(how).get<std::uint64_t>(); ranks > 1)
      text += filled(", {} {}", {how, whole_number(ranks)});
  return text;
}

Text of_capacity(const result::PeakBytes& peak) {
  if (peak.total == 0) return "-";
  if (peak.capacity == 0) return view::memory(peak.total);
  return filled("{} of {}", {view::memory(peak.total), view::memory(peak.capacity)});
}

constexpr double days_a_year = 365;

/// The day on which the maker's warranty of the drives ends, at this pace and from now on:
/// "2027-03-01 (3 months of training)"; "-" where nothing is written or rated.
Text warranty_words(const Result& r, std::time_t now) {
  if (!r.wear || r.wear->rated_write_bytes <= 0 || !r.wear->warranty_years || r.wear->rated_by_use)
    return "-";
  const double years = *r.wear->warranty_ends_years(), days = years * days_a_year;
  const view::Number span = view::years(years);
  constexpr double far = 100 * days_a_year;  // a calendar says nothing there
  if (days > far) return filled("in {}", {span});
  constexpr std::time_t hour_s = 3600;
  constexpr double rounding = 1e-6;  // of days that were years before
  const std::time_t end = now + hour_s * static_cast<std::time_t>(std::floor(days * 24 + rounding));
  return filled("{} ({} of training)", {fmt::format("{:%Y-%m-%d}", fmt::gmtime(end)), span});
}

/// "lora of rank 16, attention"; "-" where every weight is trained.
Text method_words(const json& scenario) {
  const json& training = scenario.at("training");
  if (!training.contains("method")) return "-";
  Text text = training["method"].get<std::string>();
  if (!training.contains("lora")) return text;
  const json& lora = training["lora"];
  text += filled(" of rank {}", {whole_number(lora.at("rank").get<std::uint64_t>())});
  std::string targets;
  for (const json& one : lora.at("targets").is_array() ? lora["targets"] : json{lora["targets"]})
    targets += ", " + one.get<std::string>();
  return text + targets;
}

/// A line of the table: what it says of each result.
struct FitLine {
  const char* title;
  std::function<Text(const Result&)> of;
};

std::vector<FitLine> fit_lines(std::time_t now) {
  return {
      {"runs with", [](const Result& r) { return Text(r.runs_with ? r.runs_with->program : "-"); }},
      {"trained", [](const Result& r) { return method_words(r.scenario); }},
      {"batch", [](const Result& r) { return batch_words(r.scenario); }},
      {"tokens/s",
       [](const Result& r) {
         return with_range(view::number(r.tokens_per_s), r, "throughput.tokens_per_s");
       }},
      {"step",
       [](const Result& r) { return with_range(view::seconds(r.step_time_s), r, "step_time_s"); }},
      {"updates late",
       [](const Result& r) {
         const Text late = lateness_words(r);
         return late.empty() ? Text("-") : late + ": another training";
       }},
      {"limited by",
       [](const Result& r) {
         const std::string limit = result::limited_by(r);
         return Text(limit.empty() ? "nothing alone" : limit);
       }},
      {"GPU peak", [](const Result& r) { return of_capacity(r.gpu); }},
      {"host peak", [](const Result& r) { return of_capacity(r.host); }},
      {"on drives",
       [](const Result& r) {
         return r.ssd.total == 0 ? "-" : Text(view::bytes(static_cast<double>(r.ssd.total)));
       }},
      {"drives' warranty ends", [now](const Result& r) { return warranty_words(r, now); }},
      {"price of the box",
       [](const Result& r) {
         return r.price_usd ? view::dollars(*r.price_usd) + Text(old_prices_beside(r)) : Text("-");
       }},
  };
}

/// The answers side by side; one column where they are the same.
Table best_table(const FitAnswer& answer, std::time_t now) {
  std::vector<std::pair<std::string, const Result*>> shown;
  const bool same =
      answer.runnable && answer.best && answer.runnable->scenario == answer.best->scenario;
  if (answer.runnable) shown.emplace_back("best to run today", &*answer.runnable);
  if (answer.best && !same)
    shown.emplace_back(answer.untried.empty() ? "best of all" : "best that was tried",
                       &*answer.best);
  Table table;
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
  add("system", [&](const Result& r) {
    const bool runnable = answer.runnable && &r == &*answer.runnable;
    const std::string& swaps = runnable ? answer.runnable_way : answer.best_way;
    return Text(swaps.empty() ? result::way_of(r) : swaps);
  });
  for (const FitLine& line : fit_lines(now)) add(line.title, line.of);
  if (answer.answer()->run)
    for (const RunLine& line : run_lines()) add(line.title, line.of);
  return table;
}

/// What each way would need of every tier, the cheapest to buy for first.
Table needs_table(const FitAnswer& answer) {
  constexpr std::size_t most_rows = 6;
  Table table;
  table.columns = {{"needs", Align::left, 0},
                   {"GPU memory", Align::left, 0},
                   {"host memory", Align::left, 0},
                   {"on drives", Align::left, 0},
                   {"runs with", Align::left, 0}};
  for (const answer::FitNeed& need : answer.needs) {
    if (table.rows.size() == most_rows) break;
    std::vector<Cell> row = {need.words};
    for (const char* tier : {"gpu", "host", "ssd"}) {
      const auto needed = need.needed_bytes.find(tier);
      if (needed == need.needed_bytes.end() || needed->second == 0) {
        row.emplace_back("-");
        continue;
      }
      const std::uint64_t has = need.has_bytes.at(tier);
      row.emplace_back(
          filled("{} of {}{}", {tier_number(tier, needed->second), tier_number(tier, has),
                                has > 0 && needed->second > has ? " *" : ""}));
    }
    row.emplace_back(need.runs_with ? need.runs_with->program : "-");
    table.rows.push_back(std::move(row));
  }
  drop_silent_columns(table);
  return table;
}

void add_needs(Document& document, const FitAnswer& answer) {
  Table table = needs_table(answer);
  if (table.rows.empty()) return;
  document.add(std::move(table)).add(Paragraph{.text = "* too small", .wraps = false}, true);
}

/// ", for $2,816 more"; of what takes the place of something ", for $4,650: what is replaced counts
/// as worth nothing, second-hand prices are not known".
Text price_words(const FitAnswer& answer, const answer::FitChange& change) {
  const auto now = answer.answer() ? answer.answer()->price_usd : answer.price_usd;
  if (!change.price_usd) return {};
  if (!now) return filled(", on a box for {}", {view::dollars(*change.price_usd)});
  const double more = *change.price_usd - *now;
  const double outlay = change.outlay_usd.value_or(more);
  constexpr double cent = 0.01;
  if (std::abs(outlay) < cent) return {};
  if (outlay > more + cent)
    return filled(
        ", for {}: what is replaced counts as worth nothing, second-hand prices are not known",
        {view::dollars(outlay)});
  return filled(", for {} {}", {view::dollars(std::abs(outlay)), outlay > 0 ? "more" : "less"});
}

Text gain_over(const FitAnswer& answer, double tokens_per_s) {
  return view::number(tokens_per_s / answer.runnable->tokens_per_s - 1, view::Quantity::gain);
}

/// What one would buy, with more samples a step: ", and beside more samples a step +35 %, ...".
Text beside_more_samples(const FitAnswer& answer) {
  const auto& more = answer.more_samples;
  if (!answer.runnable || !more || !more->changed_tokens_per_s) return {};
  return filled(
      "; with {} micro-batches a step {} over today's box with as many, {} tokens/s",
      {whole_number(more->accumulation),
       view::number(*more->changed_tokens_per_s / more->tokens_per_s - 1, view::Quantity::gain),
       view::number(*more->changed_tokens_per_s)});
}

Text in_words(const answer::MoreSamples& more) {
  return filled(
      "{}{} micro-batches{} before each update (gradient_accumulation), {} samples a step in place "
      "of {}",
      {more.system.empty() ? "" : more.system + " and ", whole_number(more.accumulation),
       answer::size_of_each(more), whole_number(more.samples), whole_number(more.samples_now)});
}

/// "; with 16 micro-batches before each update ..., 315 tokens/s"; "" without.
Text with_more_samples(const answer::FitChange& change) {
  if (!change.more_samples) return {};
  return filled("; with {}, {} tokens/s",
                {in_words(*change.more_samples), view::number(change.more_samples->tokens_per_s)});
}

/// What is bought is to bring so many times what costs nothing does, or that comes first.
constexpr double worth_buying = 1.05;

/// Tokens per second, with more samples a step where they bring more; 0 without a change.
double rate_of(const std::optional<answer::FitChange>& change) {
  if (!change) return 0;
  return std::max(change->tokens_per_s.value_or(0),
                  change->more_samples ? change->more_samples->tokens_per_s : 0);
}

/// Purchases are tried with the loss that is asked for: a fused one leaves more room.
Text purchases_with_another_loss(const FitAnswer& answer) {
  const nlohmann::json::json_pointer loss("/training/loss");
  if (!answer.runnable || !answer.runnable->scenario.contains(loss) ||
      answer.runnable->scenario.at(loss) != "plain")
    return ".";
  return answer.change ? ". Beside a fused loss (--set training.loss=fused) less may do."
                       : ", beside a plain loss; a fused one (--set training.loss=fused) may leave "
                         "room for what does.";
}

Text change_sentence(const FitAnswer& answer) {
  if (answer.change) return change_words(answer) + purchases_with_another_loss(answer);
  if (!answer.whole)
    return "Time was up before it was tried what more memory, drives or cards would bring; --limit "
           "SECONDS waits longer.";
  if (answer.runnable)
    return Text(
               "Neither more host memory nor one more drive or card, as far as the board takes "
               "them, nor another board of its kind, makes it faster") +
           purchases_with_another_loss(answer);
  return answer.fits
             ? "No memory, drives or card of the catalogue that this box takes makes it fit with "
               "what people can run."
             : "No memory, drives or card of the catalogue that this box takes makes it fit.";
}

}  // namespace

bool samples_help_most(const FitAnswer& answer) {
  return answer.runnable && answer.more_samples &&
         answer.more_samples->tokens_per_s >=
             std::max(rate_of(answer.change) / worth_buying, rate_of(answer.fused_loss));
}

bool fused_loss_helps_most(const FitAnswer& answer) {
  return answer.runnable && answer.fused_loss && !samples_help_most(answer) &&
         worth_buying * rate_of(answer.fused_loss) >= rate_of(answer.change);
}

Text fused_loss_words(const FitAnswer& answer) {
  const answer::FitChange& loss = *answer.fused_loss;
  Text text = (fused_loss_helps_most(answer) ? "What helps most costs nothing: "
               : answer.runnable             ? "What costs nothing: "
               : answer.fits ? "What makes it fit with what people can run costs nothing: "
                             : "What makes it fit costs nothing: ") +
              loss.words;
  if (loss.tokens_per_s && !answer.runnable)
    text += filled(", {} tokens/s", {view::number(*loss.tokens_per_s)});
  else if (loss.tokens_per_s)
    text += filled(", {}, {} tokens/s",
                   {gain_over(answer, *loss.tokens_per_s), view::number(*loss.tokens_per_s)});
  return text + with_more_samples(loss);
}

Text samples_words(const FitAnswer& answer) {
  const answer::MoreSamples& more = *answer.more_samples;
  return filled(
      "{}: {}, {}, {} tokens/s",
      {samples_help_most(answer) ? "What helps most costs nothing" : "What costs nothing",
       in_words(more), gain_over(answer, more.tokens_per_s), view::number(more.tokens_per_s)});
}

Text change_words(const FitAnswer& answer) {
  const answer::FitChange& change = *answer.change;
  const bool free = samples_help_most(answer) || fused_loss_helps_most(answer);
  const bool costs_nothing = answer.runnable && change.outlay_usd == 0.0;
  Text text = (costs_nothing       ? "What costs nothing: "
               : free              ? "What helps most for money: "
               : answer.runnable   ? "What helps most: "
               : answer.fused_loss ? "What makes it fit for money: "
               : answer.fits       ? "What makes it fit with what people can run: "
                                   : "What makes it fit: ") +
              change.words;
  if (change.tokens_per_s && answer.runnable)
    text += filled(", {}", {gain_over(answer, *change.tokens_per_s)});
  if (change.tokens_per_s) text += filled(", {} tokens/s", {view::number(*change.tokens_per_s)});
  text += with_more_samples(change);
  return text + beside_more_samples(answer) + price_words(answer, change);
}

namespace {

/// What helps, what helps most first.
///   known  whether something fits, or that nothing does
void add_helps(Document& document, const FitAnswer& answer, bool known) {
  const bool samples = samples_help_most(answer), loss = fused_loss_helps_most(answer);
  const auto say_samples = [&] {
    if (answer.more_samples) document.say(samples_words(answer) + ".");
  };
  const auto say_loss = [&] {
    if (answer.fused_loss) document.say(fused_loss_words(answer) + ".");
  };
  const bool makes_it_fit = !answer.runnable && answer.fused_loss;
  if (loss || makes_it_fit) say_loss();
  if (loss || samples) say_samples();
  if (samples) say_loss();
  if (answer.change || known)
    document.add(Paragraph{change_sentence(answer)},
                 document.blocks.size() == 1 || samples || loss);
  if (loss || samples || makes_it_fit) return;
  say_samples();
  say_loss();
}

}  // namespace

Document fit_document(const FitWords& words, const FitAnswer& answer) {
  Document document;
  document.title = words.model + " on " + words.box;
  const bool known = answer.fits || (answer.whole && answer.unanswered == 0);
  if (!known) {
    document.say(filled(
        "{} on {}: not known whether it fits{}.",
        {words.model, words.box,
         answer.unanswered > 0 ? filled(": {} simulations could not be done, try again",
                                        {view::count(answer.unanswered)})
                               : Text(", time was up before anything that fits was found")}));
  } else if (!answer.fits) {
    document.say(fmt::format("{} on {}: does not fit{}.", words.model, words.box,
                             words.runnable ? " with what people can run" : ""));
  } else {
    document.say(
        fmt::format("{} on {}: fits{}.", words.model, words.box,
                    answer.runnable ? "" : ", but with nothing that people can run today"));
    document.add(best_table(answer, words.now));
  }
  if (!answer.fits || !answer.runnable) add_needs(document, answer);
  add_helps(document, answer, known);
  for (const Text& note : answer.notes) document.say("Note: " + note + ".");
  if (!answer.fits) return document;
  add_notes(document, *answer.answer());
  document.say(range_note(*answer.answer(), answer.best ? &*answer.best : nullptr));
  if (words.out.empty()) document.say("--out FILE writes the scenario.");
  return document;
}

std::string fit_report(const FitWords& words, const FitAnswer& answer, const Screen& screen) {
  return to_text(fit_document(words, answer), screen);
}

}  // namespace spillway::reports
