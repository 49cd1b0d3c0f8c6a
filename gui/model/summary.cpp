#include "gui/model/summary.hpp"

#include "gui/model/text.hpp"
#include "reports/result/what_if.hpp"
#include "reports/words/finished_run.hpp"
#include "reports/words/human.hpp"
#include "reports/words/phases.hpp"
#include "reports/words/range.hpp"
#include "reports/words/verdict.hpp"
#include "reports/words/wear_words.hpp"

#include <QDateTime>

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace spillway::gui {

using result::Result;

namespace {

std::string range_words(const Result& r, const std::string& path, std::string (*words)(double)) {
  const auto found = r.range.find(path);
  if (found == r.range.end()) return "";
  const std::string low = words(found->second.first), high = words(found->second.second);
  return low == high ? "" : low + " to " + high;
}

/// "+3.1 % of the pinned".
void compare(Figure& figure, double now, double before, bool less_is_better) {
  if (!(before > 0) || !(now > 0)) return;
  const double share = now / before - 1;
  figure.below = qt(reports::human_change(share)) + " of pinned";
  if (std::abs(share) >= 0.0005)
    figure.mood = (share < 0) == less_is_better ? Cell::Mood::good : Cell::Mood::bad;
}

std::string days_text(double days) { return reports::human_time(days * 86400); }

Figure figure_of(const char* name, const std::string& value, const std::string& below = "") {
  return {name, qt(value), qt(below), Cell::Mood::plain};
}

Figure cost_of(const Result& r) {
  std::string text = r.price_usd ? reports::human_price(*r.price_usd) : "-";
  std::string below = r.price_usd ? "the box" : "no prices known";
  if (r.run && r.run->usd.energy)
    below = "and " + reports::human_price(*r.run->usd.energy) + " of energy";
  return figure_of("Cost", text, below);
}

/// The day that lies so many years ahead, as in the table of `spillway fit`; "" where a calendar
/// says nothing.
std::string day_in(double years) {
  constexpr double hours_a_year = 365 * 24, far_years = 100;
  if (years > far_years) return "";
  const auto seconds = 3600 * static_cast<qint64>(std::floor(years * hours_a_year));
  return QDateTime::currentDateTimeUtc()
      .addSecs(seconds)
      .date()
      .toString(Qt::ISODate)
      .toStdString();
}

/// The warranty's end first, as a day at this pace from now on; then how long that is.
Figure drives_of(const Result& r) {
  constexpr const char* warranty = "Drive warranty";
  if (!r.wear || r.wear->write_bytes_per_day <= 0)
    return figure_of(warranty, "-", "nothing is written");
  const result::Wear& wear = *r.wear;
  std::string flash;
  if (wear.lifetime_years) flash = "flash " + reports::human_years(*wear.lifetime_years);
  if (!wear.warranty_years)
    return flash.empty() ? figure_of(warranty, "-", "no rating known")
                         : figure_of(warranty, "-", flash);
  const double years = *wear.warranty_ends_years();
  const std::string day = day_in(years), span = reports::human_years(years);
  Figure figure = figure_of(warranty, day.empty() ? "in " + span : day);
  figure.below = qt(day.empty() ? flash : span + (flash.empty() ? "" : ", " + flash));
  if (years < 1) figure.mood = Cell::Mood::bad;
  return figure;
}

Cell share_cell(double seconds, double of) {
  if (!(of > 0)) return {};
  const double share = seconds / of;
  Cell cell = number_cell(qt(reports::human_share(share)), share);
  cell.share = share;
  if (share < 0.0005) cell.mood = Cell::Mood::quiet;
  return cell;
}

/// A row of a comparison: how it reads, and its number.
struct Metric {
  const char* name;
  std::function<std::optional<double>(const Result&)> of;
  std::string (*words)(double);
  bool less_is_better = true;
};

std::string memory_words(double bytes) {
  return reports::human_memory(static_cast<std::uint64_t>(bytes));
}
std::string plain(double number) { return reports::human_number(number); }

std::optional<double> where(bool known, double value) {
  return known ? std::optional<double>(value) : std::nullopt;
}

const std::vector<Metric>& metrics() {
  using R = Result;
  static const std::vector<Metric> all = {
      {"step", [](const R& r) { return where(r.feasible(), r.step_time_s); }, reports::human_time},
      {"forward", [](const R& r) { return where(r.feasible(), r.forward_s); }, reports::human_time},
      {"backward", [](const R& r) { return where(r.feasible(), r.backward_s); },
       reports::human_time},
      {"update", [](const R& r) { return where(r.feasible(), r.update_s); }, reports::human_time},
      {"tokens/s", [](const R& r) { return where(r.feasible(), r.tokens_per_s); }, plain, false},
      {"TFLOPS per GPU", [](const R& r) { return where(r.feasible(), r.model_tflops_per_gpu); },
       plain, false},
      {"GPU peak", [](const R& r) { return where(r.gpu.total > 0, double(r.gpu.total)); },
       memory_words},
      {"host peak", [](const R& r) { return where(r.host.total > 0, double(r.host.total)); },
       memory_words},
      {"on drives", [](const R& r) { return where(r.ssd.total > 0, double(r.ssd.total)); },
       reports::human_bytes},
      {"drives read a step", [](const R& r) { return where(r.feasible(), double(r.io.ssd_read)); },
       reports::human_bytes},
      {"drives written a step",
       [](const R& r) { return where(r.feasible(), double(r.io.ssd_write)); },
       reports::human_bytes},
      {"host to GPU a step", [](const R& r) { return where(r.feasible(), double(r.io.h2d)); },
       reports::human_bytes},
      {"GPU to host a step", [](const R& r) { return where(r.feasible(), double(r.io.d2h)); },
       reports::human_bytes},
      {"GPU waits for drives",
       [](const R& r) { return where(r.feasible(), r.stalls.gpu_waits_for_ssd); },
       reports::human_time},
      {"GPU waits for host",
       [](const R& r) { return where(r.feasible(), r.stalls.gpu_waits_for_host); },
       reports::human_time},
      {"GPU waits for other GPUs",
       [](const R& r) { return where(r.feasible(), r.stalls.gpu_waits_for_gpus); },
       reports::human_time},
      {"GPU waits for update",
       [](const R& r) { return where(r.feasible(), r.stalls.gpu_waits_for_update); },
       reports::human_time},
      {"days of the run",
       [](const R& r) { return where(r.run.has_value(), r.run ? r.run->days : 0); }, plain},
      {"price of the box", [](const R& r) { return r.price_usd; }, reports::human_price},
      {"warranty of the drives ends after",
       [](const R& r) { return r.wear ? r.wear->warranty_ends_years() : std::nullopt; },
       reports::human_years, false},
  };
  return all;
}

}  // namespace

QString headline_of(const Answer& answer) {
  if (!answer.failure.empty()) return "No answer";
  if (!answer.result)
    return answer.state == Answer::State::asked ? "Working it out ..."
           : answer.why_not.empty()             ? "Ask a question"
                                                : "Does not fit";
  const Result& r = *answer.result;
  if (answer.refuses_another())
    return answer.way_before.empty()
               ? "Working it out ..."
               : QString("not with %1; searching for another way ...").arg(qt(answer.way_before));
  if (answer.state == Answer::State::bound) {
    if (!answer.too_small.empty())
      return "Does not fit: " + qt(reports::tier_name(answer.too_small)) + " is too small";
    return qt(fmt::format("At best {} per step, {} tokens/s", reports::human_time(r.step_time_s),
                          reports::human_number(r.tokens_per_s)));
  }
  if (!r.feasible()) return "Does not fit";
  if (r.io_bench.is_object()) return qt(reports::headline(r));
  return qt(fmt::format("Fits: {} per step, {} tokens/s", reports::human_time(r.step_time_s),
                        reports::human_number(r.tokens_per_s)));
}

Cell::Mood mood_of(const Answer& answer) {
  if (!answer.failure.empty()) return Cell::Mood::bad;
  if (answer.refuses_another()) return Cell::Mood::plain;
  if (answer.refuses()) return Cell::Mood::bad;
  return answer.result ? Cell::Mood::good : Cell::Mood::plain;
}

QString second_line_of(const Answer& answer) {
  if (!answer.failure.empty()) return qt(answer.failure);
  if (!answer.result) return qt(answer.why_not);
  const Result& r = *answer.result;
  const bool bound = answer.state == Answer::State::bound;  // the result is of the question before
  if (bound && answer.refuses()) return qt(reports::tier_name(answer.too_small)) + " is too small.";
  if (!r.feasible() && (bound || answer.stale)) return {};
  if (!r.feasible()) {
    QString text = qt(reports::headline(r));
    return text.startsWith("Does not fit: ") ? text.mid(14) : text;
  }
  QStringList parts;
  QString way = qt(answer.way.empty() ? r.system : answer.way);
  if (r.runs_with) way += ", runs with " + qt(r.runs_with->program);
  parts << way;
  if (const std::string limit = result::limited_by(r); !limit.empty())
    parts << "limited by " + qt(limit);
  if (answer.other)
    parts << qt(fmt::format("{} would train {} tokens/s, but no program runs it today",
                            answer.other->system,
                            reports::human_number(answer.other->tokens_per_s)));
  return parts.join("; ") + ".";
}

std::vector<Figure> figures_of(const Answer& answer, const Answer* base) {
  if (!answer.result) return {};
  const Result& r = *answer.result;
  const Result* pinned = base && base->result && base->fits() ? &*base->result : nullptr;
  if (!r.feasible() || answer.refuses())
    return {figure_of("Step", "-", mood_of(answer) == Cell::Mood::bad ? "does not fit" : ""),
            figure_of("Throughput", "-"), figure_of("Whole run", "-"), cost_of(r),
            figure_of("Drive warranty", "-")};
  std::vector<Figure> all;
  all.push_back(figure_of("Step", reports::human_time(r.step_time_s),
                          range_words(r, "step_time_s", reports::human_time)));
  all.push_back(figure_of("Throughput", reports::human_number(r.tokens_per_s) + " tokens/s",
                          range_words(r, "throughput.tokens_per_s", reports::human_number)));
  if (r.run)
    all.push_back(figure_of("Whole run", days_text(r.run->days),
                            reports::human_number(r.run->tokens / 1e6) + " M tokens"));
  else
    all.push_back(figure_of("Whole run", "-", "tokens are not asked"));
  all.push_back(cost_of(r));
  all.push_back(drives_of(r));
  if (!pinned) return all;
  compare(all[0], r.step_time_s, pinned->step_time_s, true);
  compare(all[1], r.tokens_per_s, pinned->tokens_per_s, false);
  if (r.run && pinned->run) compare(all[2], r.run->days, pinned->run->days, true);
  if (r.price_usd && pinned->price_usd) compare(all[3], *r.price_usd, *pinned->price_usd, true);
  if (r.wear && pinned->wear && r.wear->warranty_years && pinned->wear->warranty_years)
    compare(all[4], *r.wear->warranty_ends_years(), *pinned->wear->warranty_ends_years(), false);
  return all;
}

void put_phases(const Result& r, TextTable& table) {
  std::vector<std::vector<Cell>> rows;
  for (const reports::PhaseTime& phase : reports::phases_of(r)) {
    QString name = qt(phase.name);
    name.replace('_', ' ');
    if (phase.part_of_update) name = "  of it " + name;
    std::vector<Cell> row = {text_cell(name),
                             number_cell(qt(reports::human_time(phase.seconds)), phase.seconds),
                             share_cell(phase.seconds, r.step_time_s)};
    const result::PhaseBusy none;
    const result::PhaseBusy& busy = phase.busy ? *phase.busy : none;
    for (const double seconds : {busy.gpu, busy.h2d, busy.d2h, busy.ssd, busy.cpu, busy.other_gpus})
      row.push_back(share_cell(seconds, phase.seconds));
    rows.push_back(std::move(row));
  }
  table.set(
      {"Phase", "Time", "Of step", "GPU", "to GPU", "from GPU", "Drives", "CPU", "Other GPUs"},
      std::move(rows));
}

void put_steps(const Answer& answer, TextTable& table) {
  std::vector<std::vector<Cell>> rows;
  const double now = answer.result ? answer.result->step_time_s : 0;
  for (const Step& step : answer.steps) {
    std::vector<Cell> row = {text_cell(qt(step.name), qt(step.why))};
    if (!step.step_time_s) {
      row.push_back(text_cell("does not fit"));
    } else {
      row.push_back(number_cell(qt(reports::human_time(*step.step_time_s)), *step.step_time_s));
      const double share = now > 0 ? *step.step_time_s / now - 1 : 0;
      Cell change = number_cell(
          std::abs(share) < 0.0005 ? QString("no change") : qt(reports::human_change(share)),
          share);
      change.mood = std::abs(share) < 0.0005 ? Cell::Mood::quiet
                    : share < 0              ? Cell::Mood::good
                                             : Cell::Mood::bad;
      row.push_back(change);
    }
    row.resize(3);
    row.push_back(text_cell(qt(step.why), qt(step.why)));
    row.back().mood = Cell::Mood::quiet;
    rows.push_back(std::move(row));
  }
  table.set({"With", "Step", "Change", "What stands against it"}, std::move(rows));
}

void put_traffic(const Result& r, TextTable& table) {
  std::vector<std::vector<Cell>> rows;
  const auto add = [&](const std::string& name, std::uint64_t bytes, double busy) {
    if (bytes == 0) return;
    rows.push_back({text_cell(qt(name)),
                    number_cell(qt(reports::human_bytes(static_cast<double>(bytes))),
                                static_cast<double>(bytes)),
                    busy >= 0 ? share_cell(busy, 1) : Cell{}});
  };
  for (const auto& [name, bytes] : r.io.by_storage) {
    const auto found = r.utilization.storage.find(name);
    const double busy = found == r.utilization.storage.end() ? -1 : found->second;
    add(name + " read", bytes.read, busy);
    add(name + " written", bytes.write, bytes.read > 0 ? -1 : busy);
  }
  add("host to GPU", r.io.h2d, r.utilization.h2d);
  add("GPU to host", r.io.d2h, r.utilization.d2h);
  add("GPU direct", r.io.gpu_direct, -1);
  add("GPU to GPU", r.io.network, -1);
  table.set({"A step moves", "Bytes", "Busy"}, std::move(rows));
}

void put_differences(const std::vector<std::pair<QString, const Result*>>& results,
                     TextTable& table) {
  std::vector<QString> headers = {"Number"};
  for (const auto& [name, result] : results) headers.push_back(name);
  for (std::size_t i = 1; i < results.size(); ++i)
    headers.push_back(results.size() == 2 ? QString("Difference") : results[i].first + " - first");
  std::vector<std::vector<Cell>> rows;
  std::vector<Cell> fits = {text_cell("fits")};
  for (const auto& [name, result] : results) {
    fits.push_back(text_cell(qt(reports::verdict(*result))));
    fits.back().mood = result->feasible() ? Cell::Mood::good : Cell::Mood::bad;
  }
  rows.push_back(fits);
  std::vector<Cell> systems = {text_cell("system")};
  for (const auto& [name, result] : results) systems.push_back(text_cell(qt(result->system)));
  rows.push_back(systems);
  for (const Metric& metric : metrics()) {
    std::vector<Cell> row = {text_cell(metric.name)};
    bool any = false;
    for (const auto& [name, result] : results) {
      const auto value = metric.of(*result);
      any = any || (value && *value != 0);
      row.push_back(value ? number_cell(qt(metric.words(*value)), *value) : text_cell("-"));
    }
    const double first = results.empty() ? 0 : metric.of(*results[0].second).value_or(0);
    for (std::size_t i = 1; i < results.size(); ++i) {
      const auto value = metric.of(*results[i].second);
      if (!value || !(first > 0)) {
        row.push_back(text_cell(""));
        continue;
      }
      const double share = *value / first - 1;
      const bool same = std::abs(share) < 0.0005;
      Cell cell = number_cell(same ? QString("=") : qt(reports::human_change(share)), share);
      cell.mood = same                                   ? Cell::Mood::quiet
                  : (share < 0) == metric.less_is_better ? Cell::Mood::good
                                                         : Cell::Mood::bad;
      row.push_back(cell);
    }
    if (any) rows.push_back(std::move(row));
  }
  table.set(std::move(headers), std::move(rows));
}

QString why_slower(const QString& first_name, const Result& first, const QString& second_name,
                   const Result& second) {
  if (!first.feasible() || !second.feasible()) {
    if (first.feasible() == second.feasible()) return "Neither fits.";
    return QString("%1 does not fit.").arg(first.feasible() ? second_name : first_name);
  }
  const double tokens_a = first.tokens_per_s, tokens_b = second.tokens_per_s;
  if (!(tokens_a > 0) || !(tokens_b > 0)) return {};
  const bool second_slower = tokens_b < tokens_a;
  const Result& slow = second_slower ? second : first;
  const Result& fast = second_slower ? first : second;
  const double change = slow.tokens_per_s / fast.tokens_per_s - 1;
  if (std::abs(change) < 0.005) return "Both train as fast.";
  // seconds for the same tokens
  const double scale = fast.tokens_per_s > 0 ? (slow.tokens_per_s * slow.step_time_s) /
                                                   (fast.tokens_per_s * fast.step_time_s)
                                             : 1;
  const struct {
    const char* words;
    double more;
  } parts[] = {{"in forward", slow.forward_s - fast.forward_s * scale},
               {"in backward", slow.backward_s - fast.backward_s * scale},
               {"in the update", slow.update_s - fast.update_s * scale}};
  const auto* most = std::max_element(std::begin(parts), std::end(parts),
                                      [](const auto& a, const auto& b) { return a.more < b.more; });
  QString text = QString("%1 trains %2 % fewer tokens a second")
                     .arg(second_slower ? second_name : first_name)
                     .arg(-100 * change, 0, 'f', 1);
  if (most->more > 0) {
    text += qt(fmt::format(": for the same tokens it takes {} more {}",
                           reports::human_time(most->more), most->words));
    for (const reports::PhaseTime& phase : reports::phases_of(slow)) {
      const std::string name = most->words;
      if (!phase.part_of_update && name.ends_with(phase.name))
        if (const std::string waits = view::words(reports::waits_for(phase)); !waits.empty())
          text += ", where it mostly waits for " + qt(waits);
    }
  }
  return text + ".";
}

}  // namespace spillway::gui
