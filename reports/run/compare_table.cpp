#include "reports/run/compare_table.hpp"

#include "reports/result/needs.hpp"
#include "reports/result/what_if.hpp"
#include "reports/run/csv.hpp"
#include "reports/view/text_page.hpp"
#include "reports/words/dated_price.hpp"
#include "reports/words/human.hpp"
#include "reports/words/table.hpp"
#include "reports/words/verdict.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <optional>

namespace spillway::reports {

using result::PeakBytes;
using result::Result;
using view::Quantity;
using view::Text;

namespace {

constexpr std::size_t widest_cell = 24;
constexpr const char* fits = "fits";
constexpr const char* tokens_a_step = "tokens/step";

bool fits_in(const Contender& contender) {
  return contender.result && contender.result->feasible();
}

bool is_late(const Contender& contender) {
  return contender.result->staleness && contender.result->staleness->max > 0;
}

/// By contender, whether a row may mark it as the best: it fits, and trains as others do. Updates
/// that are late are another training: where some runs have none, those are compared.
std::vector<bool> judged(std::span<const Contender> contenders) {
  const bool any_in_time =
      std::any_of(contenders.begin(), contenders.end(),
                  [](const Contender& one) { return fits_in(one) && !is_late(one); });
  std::vector<bool> all;
  for (const Contender& one : contenders)
    all.push_back(fits_in(one) && !(any_in_time && is_late(one)));
  return all;
}

using Value = std::function<double(const Result&)>;

Answer answer(double value, Quantity quantity) { return {value, view::Number{value, quantity}}; }

/// A metric that only a run that fits has.
Metric measured(std::string title, Best best, Value value, Quantity quantity) {
  return {std::move(title), best, [=](const Result& r) -> std::optional<Answer> {
            if (!r.feasible()) return std::nullopt;
            return answer(value(r), quantity);
          }};
}

/// The range of the number above it.
Metric ranged(std::string title, const char* path, Quantity quantity) {
  return {std::move(title), Best::none, [=](const Result& r) -> std::optional<Answer> {
            const auto range = r.range.find(path);
            if (range == r.range.end()) return std::nullopt;
            return Answer{0, Text(view::Number{range->second.first, quantity}) + " to " +
                                 view::Number{range->second.second, quantity}};
          }};
}

/// The capacity of a tier that all who have the tier agree on; 0: none, or they differ.
std::uint64_t common_capacity(PeakBytes Result::*member, std::span<const Contender> contenders) {
  std::uint64_t common = 0;
  for (const Contender& contender : contenders) {
    if (!contender.result) continue;
    const PeakBytes& p = contender.result->*member;
    if (p.total == 0 && p.capacity == 0) continue;
    if (p.capacity == 0 || (common != 0 && p.capacity != common)) return 0;
    common = p.capacity;
  }
  return common;
}

/// What a tier of a run that does not fit must have; nothing where nobody asked for it.
std::optional<Answer> needed(const Result& r, const std::string& tier, bool tells) {
  for (const result::TierNeed& need : result::needs_of(r))
    if (need.tier == tier && need.needed > 0)
      return Answer{
          static_cast<double>(need.needed), "needs " + Text(tier_number(tier, need.needed)),
          tells && need.capacity > 0 ? unbroken(" of ") + Text(tier_number(tier, need.capacity))
                                     : Text()};
  return std::nullopt;
}

/// The capacity stands in the title when there is one, else beside each peak. A run that does not
/// fit has no peak: what it needs stands there.
Metric peak(std::string title, std::string tier, PeakBytes Result::*member,
            std::span<const Contender> contenders) {
  const std::uint64_t common = common_capacity(member, contenders);
  if (common > 0) title += " " + unbroken("of " + tier_bytes(tier, common));
  return {std::move(title), Best::lowest, [=](const Result& r) -> std::optional<Answer> {
            const PeakBytes& p = r.*member;
            const bool tells = common == 0 && p.capacity > 0;
            if (!r.feasible()) return needed(r, tier, tells);
            return Answer{static_cast<double>(p.total), tier_number(tier, p.total),
                          tells ? " of " + Text(tier_number(tier, p.capacity)) : Text()};
          }};
}

double tokens_of_step(const Result& r) { return std::round(r.tokens_per_s * r.step_time_s); }

/// Whether steps of the runs that fit have equally many tokens: else more bytes and more time of a
/// step are no worse.
bool equal_steps(std::span<const Contender> contenders) {
  const Contender* first = nullptr;
  for (const Contender& contender : contenders) {
    if (!fits_in(contender)) continue;
    if (!first) first = &contender;
    if (tokens_of_step(*contender.result) != tokens_of_step(*first->result)) return false;
  }
  return true;
}

Metric moved(std::string title, Best best, std::uint64_t result::IoBytes::*member) {
  return measured(
      std::move(title), best, [=](const Result& r) { return static_cast<double>(r.io.*member); },
      Quantity::bytes);
}

std::optional<Answer> lifetime(const Result& r) {
  if (!r.feasible() || !r.wear || !r.wear->lifetime_years) return std::nullopt;
  return answer(*r.wear->lifetime_years, Quantity::years);
}

std::optional<Answer> warranty(const Result& r) {
  if (!r.feasible() || !r.wear || !r.wear->warranty_years) return std::nullopt;
  return answer(*r.wear->warranty_ends_years(), Quantity::years);
}

std::optional<Answer> amplification(const Result& r) {
  if (!r.feasible() || !r.wear || r.wear->write_bytes_per_day <= 0) return std::nullopt;
  return answer(r.wear->waf, Quantity::factor);
}

std::optional<Answer> written_a_day(const Result& r) {
  if (!r.feasible() || r.step_time_s <= 0) return std::nullopt;
  constexpr double day_s = 86400;
  return answer(static_cast<double>(r.io.ssd_write) * day_s / r.step_time_s, Quantity::bytes);
}

std::optional<Answer> worn_off(const Result& r) {
  if (!r.feasible() || !r.wear || !r.wear->usd_per_million_tokens) return std::nullopt;
  return answer(*r.wear->usd_per_million_tokens, Quantity::cents);
}

/// A number of a `run.io_bench`.
std::function<std::optional<Answer>(const Result&)> of_stream(const char* key, Quantity quantity) {
  return [=](const Result& r) -> std::optional<Answer> {
    if (!r.feasible() || !r.io_bench.is_object()) return std::nullopt;
    return answer(r.io_bench.value(key, 0.0), quantity);
  };
}

/// By how many steps kernels see updates late, in the mean; at most, where that differs.
std::optional<Answer> lateness(const Result& r) {
  if (!r.feasible()) return std::nullopt;
  const Text words = lateness_words(r);
  return words.empty() ? Answer{0, "none"} : Answer{r.staleness->mean, words};
}

/// A number of the finished run.
std::function<std::optional<Answer>(const Result&)> of_run(
    std::optional<double> (*number)(const result::FinishedRun&), Quantity quantity,
    std::string unit = "") {
  return [=](const Result& r) -> std::optional<Answer> {
    const auto found = r.run ? number(*r.run) : std::nullopt;
    if (!found) return std::nullopt;
    return Answer{*found, view::Number{*found, quantity, view::Origin::computed, unit}};
  };
}

/// A machine is bought whole: the fewer of its GPUs are idle the better.
std::optional<Answer> gpus(const Result& r) {
  const GpuUse use = gpu_use(r);
  if (use.all == 0) return std::nullopt;
  return Answer{static_cast<double>(use.idle()),
                view::filled("{} of {}", {view::count(use.used), view::count(use.all)})};
}

std::optional<Answer> price(const Result& r) {
  if (!r.price_usd) return std::nullopt;
  Answer said = answer(*r.price_usd, Quantity::dollars);
  said.beside = old_prices_beside(r);
  return said;
}

std::optional<Answer> value_for_money(const Result& r) {
  if (!r.feasible() || !r.price_usd || *r.price_usd <= 0) return std::nullopt;
  return answer(r.tokens_per_s / (*r.price_usd / 1000), Quantity::number);
}

std::optional<Answer> limit(const Result& r) {
  const std::string resource = result::limited_by(r);
  if (resource.empty()) return std::nullopt;
  return Answer{0, resource};
}

std::optional<Answer> program(const Result& r) {
  if (!r.runs_with) return std::nullopt;
  return Answer{0, r.runs_with->program};
}

}  // namespace

std::vector<Metric> metrics(std::span<const Contender> contenders) {
  using result::IoBytes;
  const Best of_step = equal_steps(contenders) ? Best::lowest : Best::not_judged;
  return {
      {fits, Best::none,
       [](const Result& r) {
         return std::optional(Answer{0, verdict(r)});
       }},
      peak("GPU peak", "gpu", &Result::gpu, contenders),
      peak("host peak", "host", &Result::host, contenders),
      peak("SSD peak", "ssd", &Result::ssd, contenders),
      peak("remote peak", "remote", &Result::remote, contenders),
      measured(tokens_a_step, Best::not_judged, tokens_of_step, Quantity::number),
      moved("SSD read/step", of_step, &IoBytes::ssd_read),
      moved("SSD written/step", of_step, &IoBytes::ssd_write),
      moved("host to GPU/step", of_step, &IoBytes::h2d),
      moved("GPU to host/step", of_step, &IoBytes::d2h),
      moved("GPU direct/step", of_step, &IoBytes::gpu_direct),
      moved("GPU to GPU/step", of_step, &IoBytes::network),
      moved("between nodes/step", of_step, &IoBytes::between_nodes),
      measured(
          "step time", of_step, [](auto& r) { return r.step_time_s; }, Quantity::seconds),
      ranged("  from ... to", "step_time_s", Quantity::seconds),
      measured(
          "  forward", of_step, [](auto& r) { return r.forward_s; }, Quantity::seconds),
      measured(
          "  backward", of_step, [](auto& r) { return r.backward_s; }, Quantity::seconds),
      measured(
          "  update", of_step, [](auto& r) { return r.update_s; }, Quantity::seconds),
      {"updates late", Best::lowest, lateness},
      measured(
          "tokens/s", Best::highest, [](auto& r) { return r.tokens_per_s; }, Quantity::number),
      ranged("  from ... to", "throughput.tokens_per_s", Quantity::number),
      measured(
          "TFLOPS per GPU", Best::highest, [](auto& r) { return r.model_tflops_per_gpu; },
          Quantity::number),
      measured(
          "GPU busy", Best::highest, [](auto& r) { return r.utilization.gpu; }, Quantity::share),
      {"limited by", Best::none, limit},
      {"runs with", Best::none, program},
      {"SSD written/day", Best::lowest, written_a_day},
      {"SSD amplification", Best::lowest, amplification},
      {"SSD warranty ends", Best::highest, warranty},
      {"SSD lifetime", Best::highest, lifetime},
      {"SSD per 1M tokens", Best::lowest, worn_off},
      {"request latency", Best::lowest, of_stream("latency_s", Quantity::seconds)},
      {"request rate", Best::highest, of_stream("rate_bytes_per_s", Quantity::rate)},
      {"run: days", Best::lowest,
       of_run([](const result::FinishedRun& run) { return std::optional(run.days); },
              Quantity::days)},
      {"run: energy", Best::lowest,
       of_run([](const result::FinishedRun& run) { return run.kwh; }, Quantity::number, "kWh")},
      {"run: price of its energy", Best::lowest,
       of_run([](const result::FinishedRun& run) { return run.usd.energy; }, Quantity::dollars)},
      {"run: drives used up", Best::lowest,
       of_run([](const result::FinishedRun& run) { return run.usd.replacements; },
              Quantity::dollars)},
      {"run: rented", Best::lowest,
       of_run([](const result::FinishedRun& run) { return run.usd.rented; }, Quantity::dollars)},
      {"run: drives lose", Best::lowest,
       of_run([](const result::FinishedRun& run) { return run.usd.drives; }, Quantity::dollars)},
      {"GPUs used", Best::lowest, gpus},
      {"price", Best::lowest, price},
      {"tokens/s per $1000", Best::highest, value_for_money},
  };
}

namespace {

/// The text that is best among the runs that are judged; "" when nothing is better than anything,
/// and where the best is to have none of it, which is no merit of its own.
std::string best_text(const Metric& metric, const std::vector<bool>& judged,
                      const std::vector<std::optional<Answer>>& answers) {
  if (metric.best == Best::none || metric.best == Best::not_judged) return "";
  const Answer* best = nullptr;
  bool differ = false;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i] || !judged[i]) continue;
    differ = differ || (best && words(best->text) != words(answers[i]->text));
    if (!best || (metric.best == Best::lowest ? answers[i]->value < best->value
                                              : answers[i]->value > best->value))
      best = &*answers[i];
  }
  return differ && best->value != 0 ? words(best->text) : "";
}

/// A row of the table.
///   may_be_best  judged(contenders)
std::vector<Cell> row_of(const Metric& metric, std::span<const Contender> contenders,
                         const std::vector<bool>& may_be_best) {
  std::vector<std::optional<Answer>> answers;
  bool says_something = false;
  for (const Contender& contender : contenders) {
    answers.push_back(contender.result ? metric.of(*contender.result) : std::nullopt);
    if (!contender.result && metric.title == fits) answers.back() = Answer{0, contender.failure};
    const bool zero = answers.back() && metric.best != Best::none && answers.back()->value == 0;
    says_something = says_something || (answers.back() && !zero);
  }
  if (!says_something) return {};
  const std::string best = best_text(metric, may_be_best, answers);
  std::vector<Cell> row = {metric.title};
  for (std::size_t i = 0; i < answers.size(); ++i)
    row.emplace_back(answers[i] ? answers[i]->text + answers[i]->beside : Text("-"),
                     answers[i] && may_be_best[i] && answers[i]->text == best);
  return row;
}

/// What a mark and the terms mean that stand in the table, a line each.
void add_legend(view::Document& document, const Table& table) {
  constexpr std::pair<std::string_view, std::string_view> terms[] = {
      {"updates late",
       "steps until kernels see an update; none: it is the training it would be, and beside such "
       "no other is marked as the best"},
      {tokens_a_step,
       "steps differ, so that nothing is marked as best of what is counted by the step"},
      {"TFLOPS per GPU", "of the model alone, without what is computed a second time"},
      {"SSD per 1M tokens", "what drives lose in value, worn out once their flash likely is"},
  };
  const auto add = [&](std::string text) {
    document.add(view::Paragraph{std::move(text), view::Tone::note}, true);
  };
  const bool marked = std::any_of(table.rows.begin(), table.rows.end(), [](const auto& row) {
    return std::any_of(row.begin(), row.end(), [](const Cell& cell) { return cell.best; });
  });
  if (marked) add("* the best of its row among those that fit");
  for (const auto& [term, meaning] : terms)
    if (std::any_of(table.rows.begin(), table.rows.end(),
                    [term = term](const auto& row) { return row.front().text == term; }))
      add(fmt::format("{}: {}", term, meaning));
}

}  // namespace

view::Document compare_document(std::span<const Contender> contenders) {
  Table table;
  table.columns.push_back({"", Align::left, 0});
  for (const Contender& contender : contenders)
    table.columns.push_back({contender.label, Align::right, widest_cell});
  const bool equal = equal_steps(contenders);
  const std::vector<bool> may_be_best = judged(contenders);
  for (const Metric& metric : metrics(contenders)) {
    if (equal && metric.title == tokens_a_step) continue;
    if (std::vector<Cell> row = row_of(metric, contenders, may_be_best); !row.empty())
      table.rows.push_back(std::move(row));
  }
  view::Document document;
  document.add(table);
  add_legend(document, table);
  return document;
}

std::string compare_table(std::span<const Contender> contenders, const Screen& screen) {
  return to_text(compare_document(contenders), screen);
}

namespace {

/// Rows of the table and their columns in CSV, which say the unit.
constexpr std::pair<std::string_view, std::string_view> csv_names[] = {
    {"GPU peak", "gpu_peak_bytes"},
    {"host peak", "host_peak_bytes"},
    {"SSD peak", "ssd_peak_bytes"},
    {tokens_a_step, "tokens_per_step"},
    {"SSD read/step", "ssd_read_bytes_per_step"},
    {"SSD written/step", "ssd_written_bytes_per_step"},
    {"host to GPU/step", "host_to_gpu_bytes_per_step"},
    {"GPU to host/step", "gpu_to_host_bytes_per_step"},
    {"GPU direct/step", "gpu_direct_bytes_per_step"},
    {"GPU to GPU/step", "gpu_to_gpu_bytes_per_step"},
    {"between nodes/step", "between_nodes_bytes_per_step"},
    {"step time", "step_time_s"},
    {"  forward", "forward_s"},
    {"  backward", "backward_s"},
    {"  update", "update_s"},
    {"updates late", "updates_late_steps"},
    {"tokens/s", "tokens_per_s"},
    {"TFLOPS per GPU", "model_tflops_per_gpu"},
    {"GPU busy", "gpu_busy_share"},
    {"SSD written/day", "ssd_written_bytes_per_day"},
    {"SSD lifetime", "ssd_lifetime_years"},
    {"SSD per 1M tokens", "ssd_usd_per_million_tokens"},
    {"request latency", "request_latency_s"},
    {"request rate", "request_rate_bytes_per_s"},
    {"GPUs used", "gpus_idle"},
    {"price", "price_usd"},
    {"tokens/s per $1000", "tokens_per_s_per_1000_usd"},
};

/// A row without a name of its own is called by its letters and digits.
std::string csv_name(const std::string& title) {
  for (const auto& [row, name] : csv_names)
    if (title == row) return std::string(name);
  std::string name;
  for (const char c : title)
    if (std::isalnum(static_cast<unsigned char>(c)))
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!name.empty() && name.back() != '_')
      name += '_';
  return name;
}

}  // namespace

void write_compare_csv(std::ostream& out, std::span<const Contender> contenders,
                       std::span<const LeftOut> left_out) {
  const std::vector<Metric> all = metrics({});  // no common capacity: titles stay as they are
  std::vector<std::string> header = {"label"};
  for (const Metric& metric : all)  // a range is of the column before it
    header.push_back(metric.title.starts_with("  from") ? header.back() + "_from_to"
                                                        : csv_name(metric.title));
  std::vector<std::vector<std::string>> rows;
  for (const Contender& contender : contenders) {
    std::vector<std::string>& row = rows.emplace_back(std::vector{contender.label});
    for (const Metric& metric : all) {
      const auto answer = contender.result       ? metric.of(*contender.result)
                          : metric.title == fits ? std::optional(Answer{0, contender.failure})
                                                 : std::nullopt;
      row.push_back(!answer                     ? ""
                    : metric.best == Best::none ? words(answer->text)
                                                : fmt::format("{}", answer->value));
    }
  }
  for (const LeftOut& one : left_out) {
    rows.emplace_back(header.size()).front() = one.label;
    rows.back()[1] = "left out: " + one.reason;
  }
  write_csv(out, header, rows);
}

}  // namespace spillway::reports
