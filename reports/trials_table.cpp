#include "reports/trials_table.hpp"

#include "reports/finished_run.hpp"
#include "reports/human.hpp"
#include "reports/range.hpp"
#include "reports/table.hpp"
#include "reports/verdict.hpp"
#include "reports/wear_words.hpp"

#include <fmt/format.h>

namespace spillway::reports {

using answer::Trial;

namespace {

/// What a line says of a result that fits.
std::vector<Cell> cells_of(const result::Result& result) {
  return {human_number(result.tokens_per_s),
          human_time(result.step_time_s),
          human_memory(result.gpu.total),
          human_memory(result.host.total),
          drives_last(result),
          result.runs_with ? result.runs_with->program : "-"};
}

/// Of the finished run: its days, and what its energy costs. They stand before the last column.
constexpr std::ptrdiff_t run_column = 6;
std::vector<Cell> run_cells(const result::Result& result) {
  constexpr double day_s = 86400;
  if (!result.run) return {"-", "-"};
  const auto& energy = result.run->usd.energy;
  return {human_time(result.run->days * day_s), energy ? human_price(*energy) : "-"};
}

}  // namespace

bool reads_the_same(const result::Result& one, const result::Result& other) {
  const auto equal = [](const Cell& a, const Cell& b) { return words(a.text) == words(b.text); };
  const std::vector<Cell> cells = cells_of(one), others = cells_of(other);
  const std::size_t wear = 4;  // how long drives last differs by their number
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (i == wear ? (cells[i].text == "-") != (others[i].text == "-") : !equal(cells[i], others[i]))
      return false;
  return true;
}

std::string trials_table(const std::vector<Trial>& trials, const Screen& screen) {
  Table table;
  table.columns = {{"tried", Align::left, 0},         {"tokens/s", Align::right, 0},
                   {"step", Align::right, 0},         {"GPU peak", Align::right, 0},
                   {"host peak", Align::right, 0},    {"warranty of drives", Align::right, 0},
                   {"time for all", Align::right, 0}, {"energy", Align::right, 0},
                   {"runs with", Align::left, 0},     {"why not", Align::left, 0}};
  for (const Trial& trial : trials) {
    if (trial.not_tried) continue;  // how many is said below the answer
    auto& cells = table.rows.emplace_back(std::vector<Cell>{trial.words});
    if (trial.fits()) {
      const std::vector<Cell> said = cells_of(*trial.result);
      cells.insert(cells.end(), said.begin(), said.end());
      const std::vector<Cell> run = run_cells(*trial.result);
      cells.insert(cells.begin() + run_column, run.begin(), run.end());
    } else {
      cells.insert(cells.end(), {"-", "-", "-", "-", "-", "-", "-", "-", trial.reason});
    }
  }
  if (table.rows.empty()) return "";
  drop_silent_columns(table);
  return to_text(table, screen);
}

std::string counts_words(const answer::TrialCounts& counts) {
  return fmt::format("{} simulated; {} of {} ruled out by bounds, which no schedule can beat.",
                     human_count(counts.simulated), human_count(counts.ruled_out),
                     human_count(counts.bounded));
}

std::string certainty_words(const result::Result& result, const answer::Certainty& certainty) {
  const GpuUse use = gpu_use(result);
  const std::string idle =
      use.idle() == 0 ? ""
                      : fmt::format("Only {} of {} GPUs work, at the price of the whole machine. ",
                                    use.used, use.all);
  const std::string trainer = certainty.trainer.empty() ? "" : certainty.trainer + ". ";
  if (certainty.assumed == 0)
    return idle + trainer + "Every number of the machine is stated or measured.";
  const bool one = certainty.assumed == 1;
  return idle + trainer +
         fmt::format("{} number{} of the machine {} assumed; spillway machine {} says which.",
                     certainty.assumed, one ? "" : "s", one ? "is" : "are", certainty.machine);
}

std::string rate_words(const result::Result& result) {
  return with_range(human_number(result.tokens_per_s), result, "throughput.tokens_per_s",
                    human_number) +
         " tokens/s";
}

std::string around(const result::Result& result, const std::string& old_prices,
                   const Screen& screen) {
  std::string text;
  if (result.run) text += "\n" + finished_run_report(result, screen) + "\n";
  for (const std::string& one : {range_note(result), old_prices})
    if (!one.empty()) text += paragraph(one, screen);
  return text;
}

}  // namespace spillway::reports
