#include "reports/compare_table.hpp"

#include "reports/human.hpp"
#include "reports/table.hpp"
#include "reports/verdict.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <functional>
#include <optional>

namespace spillway::reports {

using result::PeakBytes;
using result::Result;

namespace {

constexpr std::size_t widest_cell = 24;

enum class Best : unsigned char { none, lowest, highest };

/// What a metric says of one result; `value` decides who is best, `text` who reads the same.
struct Answer {
  double value = 0;
  std::string text;
  std::string beside = "";  ///< printed after the text
};

struct Metric {
  std::string title;
  Best best = Best::none;
  std::function<std::optional<Answer>(const Result&)> of;
};

using Number = std::function<double(const Result&)>;
using Words = std::string (*)(double);

/// A metric that only a run that fits has.
Metric measured(std::string title, Best best, Number number, Words words) {
  return {std::move(title), best, [=](const Result& r) -> std::optional<Answer> {
            if (!r.feasible()) return std::nullopt;
            return Answer{number(r), words(number(r))};
          }};
}

/// The range of the number above it.
Metric ranged(std::string title, const char* path, Words words) {
  return {std::move(title), Best::none, [=](const Result& r) -> std::optional<Answer> {
            const auto range = r.range.find(path);
            if (range == r.range.end()) return std::nullopt;
            return Answer{0, words(range->second.first) + " to " + words(range->second.second)};
          }};
}

/// The capacity of a tier that all who have the tier agree on; 0: none, or they differ.
std::uint64_t common_capacity(PeakBytes Result::*member, std::span<const Contender> contenders) {
  std::uint64_t common = 0;
  for (const Contender& contender : contenders) {
    const PeakBytes& p = contender.result->*member;
    if (p.total == 0 && p.capacity == 0) continue;
    if (p.capacity == 0 || (common != 0 && p.capacity != common)) return 0;
    common = p.capacity;
  }
  return common;
}

/// The capacity stands in the title when there is one, else beside each peak.
Metric peak(std::string title, std::string tier, PeakBytes Result::*member,
            std::span<const Contender> contenders) {
  const std::uint64_t common = common_capacity(member, contenders);
  if (common > 0) title += " " + unbroken("of " + tier_bytes(tier, common));
  return {std::move(title), Best::lowest, [=](const Result& r) -> std::optional<Answer> {
            const PeakBytes& p = r.*member;
            if (p.total == 0 && !r.feasible()) return std::nullopt;
            const bool tells = common == 0 && p.capacity > 0;
            return Answer{static_cast<double>(p.total), tier_bytes(tier, p.total),
                          tells ? " of " + tier_bytes(tier, p.capacity) : ""};
          }};
}

Metric moved(std::string title, std::uint64_t result::IoBytes::*member) {
  return measured(
      std::move(title), Best::lowest,
      [=](const Result& r) { return static_cast<double>(r.io.*member); }, human_bytes);
}

std::optional<Answer> lifetime(const Result& r) {
  if (!r.feasible() || !r.wear || !r.wear->lifetime_years) return std::nullopt;
  return Answer{*r.wear->lifetime_years, human_years(*r.wear->lifetime_years)};
}

std::optional<Answer> written_a_day(const Result& r) {
  if (!r.feasible() || !r.wear) return std::nullopt;
  return Answer{r.wear->write_bytes_per_day, human_bytes(r.wear->write_bytes_per_day)};
}

std::optional<Answer> worn_off(const Result& r) {
  if (!r.feasible() || !r.wear || !r.wear->usd_per_million_tokens) return std::nullopt;
  const double usd = *r.wear->usd_per_million_tokens;
  return Answer{usd, fmt::format("${:.3g}", usd)};
}

/// A number of a `run.io_bench`.
std::function<std::optional<Answer>(const Result&)> of_stream(const char* key, Words words) {
  return [=](const Result& r) -> std::optional<Answer> {
    if (!r.feasible() || !r.io_bench.is_object()) return std::nullopt;
    const double number = r.io_bench.value(key, 0.0);
    return Answer{number, words(number)};
  };
}

/// By how many steps kernels see updates late, in the mean; at most, where that differs.
std::optional<Answer> lateness(const Result& r) {
  if (!r.feasible()) return std::nullopt;
  if (!r.staleness || r.staleness->max == 0) return Answer{0, "none"};
  const auto& [mean, max] = static_cast<const result::Lateness&>(*r.staleness);
  const std::string steps = fmt::format("{:.3g} step{}", mean, mean == 1 ? "" : "s");
  const bool varies = mean != static_cast<double>(max);
  return Answer{mean, steps + (varies ? fmt::format(", {} at most", max) : "")};
}

std::string human_days(double days) { return human_time(days * 86400); }
std::string human_kwh(double kwh) { return human_number(kwh) + " kWh"; }

/// A number of the finished run.
std::function<std::optional<Answer>(const Result&)> of_run(
    std::optional<double> (*number)(const result::FinishedRun&), Words words) {
  return [=](const Result& r) -> std::optional<Answer> {
    const auto found = r.run ? number(*r.run) : std::nullopt;
    if (!found) return std::nullopt;
    return Answer{*found, words(*found)};
  };
}

std::optional<Answer> price(const Result& r) {
  if (!r.price_usd) return std::nullopt;
  return Answer{*r.price_usd, human_price(*r.price_usd)};
}

std::optional<Answer> value_for_money(const Result& r) {
  if (!r.feasible() || !r.price_usd || *r.price_usd <= 0) return std::nullopt;
  const double value = r.tokens_per_s / (*r.price_usd / 1000);
  return Answer{value, human_number(value)};
}

std::optional<Answer> bottleneck(const Result& r) {
  if (!r.feasible() || r.bottleneck.empty()) return std::nullopt;
  return Answer{0, r.bottleneck};
}

std::optional<Answer> program(const Result& r) {
  if (!r.runs_with) return std::nullopt;
  return Answer{0, r.runs_with->program};
}

std::vector<Metric> metrics(std::span<const Contender> contenders) {
  using result::IoBytes;
  return {
      {"fits", Best::none,
       [](const Result& r) {
         return std::optional(Answer{0, verdict(r)});
       }},
      peak("GPU peak", "gpu", &Result::gpu, contenders),
      peak("host peak", "host", &Result::host, contenders),
      peak("SSD peak", "ssd", &Result::ssd, contenders),
      moved("SSD read/step", &IoBytes::ssd_read),
      moved("SSD written/step", &IoBytes::ssd_write),
      moved("host to GPU/step", &IoBytes::h2d),
      moved("GPU to host/step", &IoBytes::d2h),
      moved("GPU direct/step", &IoBytes::gpu_direct),
      moved("GPU to GPU/step", &IoBytes::network),
      moved("between nodes/step", &IoBytes::between_nodes),
      measured(
          "step time", Best::lowest, [](auto& r) { return r.step_time_s; }, human_time),
      ranged("  from ... to", "step_time_s", human_time),
      measured(
          "  forward", Best::lowest, [](auto& r) { return r.forward_s; }, human_time),
      measured(
          "  backward", Best::lowest, [](auto& r) { return r.backward_s; }, human_time),
      measured(
          "  update", Best::lowest, [](auto& r) { return r.update_s; }, human_time),
      {"updates late", Best::lowest, lateness},
      measured(
          "tokens/s", Best::highest, [](auto& r) { return r.tokens_per_s; }, human_number),
      ranged("  from ... to", "throughput.tokens_per_s", human_number),
      measured(
          "TFLOPS per GPU", Best::highest, [](auto& r) { return r.model_tflops_per_gpu; },
          human_number),
      measured(
          "GPU busy", Best::highest, [](auto& r) { return r.utilization.gpu; }, human_share),
      {"bottleneck", Best::none, bottleneck},
      {"runs with", Best::none, program},
      {"SSD written/day", Best::lowest, written_a_day},
      {"SSD lifetime", Best::highest, lifetime},
      {"SSD per 1M tokens", Best::lowest, worn_off},
      {"request latency", Best::lowest, of_stream("latency_s", human_time)},
      {"request rate", Best::highest, of_stream("rate_bytes_per_s", human_rate)},
      {"run: days", Best::lowest,
       of_run([](const result::FinishedRun& run) { return std::optional(run.days); }, human_days)},
      {"run: energy", Best::lowest,
       of_run([](const result::FinishedRun& run) { return run.kwh; }, human_kwh)},
      {"run: its price", Best::lowest,
       of_run([](const result::FinishedRun& run) { return run.usd.energy; }, human_price)},
      {"run: rented", Best::lowest,
       of_run([](const result::FinishedRun& run) { return run.usd.rented; }, human_price)},
      {"run: drives lose", Best::lowest,
       of_run([](const result::FinishedRun& run) { return run.usd.drives; }, human_price)},
      {"price", Best::lowest, price},
      {"tokens/s per $1000", Best::highest, value_for_money},
  };
}

/// The text that is best among the runs that fit; "" when nothing is better than anything.
std::string best_text(const Metric& metric, std::span<const Contender> contenders,
                      const std::vector<std::optional<Answer>>& answers) {
  if (metric.best == Best::none) return "";
  const Answer* best = nullptr;
  bool differ = false;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i] || !contenders[i].result->feasible()) continue;
    differ = differ || (best && best->text != answers[i]->text);
    if (!best || (metric.best == Best::lowest ? answers[i]->value < best->value
                                              : answers[i]->value > best->value))
      best = &*answers[i];
  }
  return differ ? best->text : "";
}

std::vector<Cell> row_of(const Metric& metric, std::span<const Contender> contenders) {
  std::vector<std::optional<Answer>> answers;
  bool says_something = false;
  for (const Contender& contender : contenders) {
    answers.push_back(metric.of(*contender.result));
    const bool zero = answers.back() && metric.best != Best::none && answers.back()->value == 0;
    says_something = says_something || (answers.back() && !zero);
  }
  if (!says_something) return {};
  const std::string best = best_text(metric, contenders, answers);
  std::vector<Cell> row = {metric.title};
  for (std::size_t i = 0; i < answers.size(); ++i)
    row.emplace_back(answers[i] ? answers[i]->text + answers[i]->beside : "-",
                     answers[i] && contenders[i].result->feasible() && answers[i]->text == best);
  return row;
}

}  // namespace

std::string compare_table(std::span<const Contender> contenders, const Screen& screen) {
  Table table;
  table.columns.push_back({"", Align::left, 0});
  for (const Contender& contender : contenders)
    table.columns.push_back({contender.label, Align::right, widest_cell});
  for (const Metric& metric : metrics(contenders))
    if (std::vector<Cell> row = row_of(metric, contenders); !row.empty())
      table.rows.push_back(std::move(row));
  return to_text(table, screen);
}

}  // namespace spillway::reports
