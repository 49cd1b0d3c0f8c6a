#include "reports/words/trials_table.hpp"

#include "reports/view/text_page.hpp"
#include "reports/words/finished_run.hpp"
#include "reports/words/range.hpp"
#include "reports/words/table.hpp"
#include "reports/words/verdict.hpp"
#include "reports/words/wear_words.hpp"

namespace spillway::reports {

using answer::Trial;
using view::filled;
using view::Text;

namespace {

/// What a line says of a result that fits.
std::vector<Cell> cells_of(const result::Result& result) {
  return {view::number(result.tokens_per_s),
          view::seconds(result.step_time_s),
          view::memory(result.gpu.total),
          view::memory(result.host.total),
          drives_last(result),
          result.runs_with ? result.runs_with->program : "-"};
}

/// Of the finished run: its days, and what its energy costs. They stand before the last column.
constexpr std::ptrdiff_t run_column = 6;
std::vector<Cell> run_cells(const result::Result& result) {
  if (!result.run) return {"-", "-"};
  const auto& energy = result.run->usd.energy;
  return {view::number(result.run->days, view::Quantity::days),
          energy ? Cell(view::dollars(*energy)) : "-"};
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

view::Table trials_table(const std::vector<TrialLine>& lines) {
  Table table;
  table.columns = {{"tried", Align::left, 0},         {"tokens/s", Align::right, 0},
                   {"step", Align::right, 0},         {"GPU peak", Align::right, 0},
                   {"host peak", Align::right, 0},    {"warranty of drives", Align::right, 0},
                   {"time for all", Align::right, 0}, {"energy", Align::right, 0},
                   {"runs with", Align::left, 0},     {"why not", Align::left, 0}};
  for (const auto& [words, of] : lines) {
    const Trial& trial = *of;
    if (trial.not_tried) continue;  // how many is said below the answer
    auto& cells = table.rows.emplace_back(std::vector<Cell>{words});
    if (trial.fits()) {
      const std::vector<Cell> said = cells_of(*trial.result);
      cells.insert(cells.end(), said.begin(), said.end());
      const std::vector<Cell> run = run_cells(*trial.result);
      cells.insert(cells.begin() + run_column, run.begin(), run.end());
    } else {
      cells.insert(cells.end(), {"-", "-", "-", "-", "-", "-", "-", "-", trial.reason});
    }
  }
  drop_silent_columns(table);
  return table;
}

view::Table trials_table(const std::vector<Trial>& trials) {
  std::vector<TrialLine> lines;
  for (const Trial& trial : trials) lines.push_back({trial.words, &trial});
  return trials_table(lines);
}

std::string text_of_trials(const view::Document& document, const Screen& screen) {
  const auto* table =
      document.blocks.empty() ? nullptr : std::get_if<Table>(&document.blocks.front().content);
  return (table && table->rows.empty() ? "\n" : "") + to_text(document, screen);
}

Text counts_words(const answer::TrialCounts& counts) {
  Text text = filled(
      "{} simulated; {} of {} ruled out by bounds, which no schedule can beat.",
      {view::count(counts.simulated), view::count(counts.ruled_out), view::count(counts.bounded)});
  return text + unanswered_words(counts.unanswered);
}

Text unanswered_words(std::uint64_t unanswered) {
  if (unanswered == 0) return {};
  return filled(" {} could not be simulated, so there may be a better answer: try again.",
                {view::count(unanswered)});
}

void add_notes(view::Document& document, const result::Result& result) {
  for (const Text& note : result.notes)
    document.say("Note: " + note + (view::words(note).ends_with('.') ? "" : "."));
}

Text certainty_words(const result::Result& result, const answer::Certainty& certainty) {
  const auto whole = [](std::uint64_t number) { return view::plain(static_cast<double>(number)); };
  const GpuUse use = gpu_use(result);
  Text text;
  if (use.idle() > 0)
    text = filled("Only {} of {} GPUs work, at the price of the whole machine. ",
                  {whole(use.used), whole(use.all)});
  if (!certainty.trainer.empty()) text += certainty.trainer + ". ";
  if (certainty.assumed == 0) return text + "Every number of the machine is stated or measured.";
  const bool one = certainty.assumed == 1;
  return text +
         filled("{} number{} of the machine {} assumed; spillway machine {} says which.",
                {whole(certainty.assumed), one ? "" : "s", one ? "is" : "are", certainty.machine});
}

Text rate_words(const result::Result& result) {
  return with_range(view::number(result.tokens_per_s), result, "throughput.tokens_per_s") +
         " tokens/s";
}

void add_around(view::Document& document, const result::Result& result,
                const std::string& old_prices) {
  if (result.run) document.add(finished_run_table(result));
  document.say(range_note(result)).say(old_prices);
}

}  // namespace spillway::reports
