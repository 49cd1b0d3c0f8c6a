#include "reports/simulate_report.hpp"

#include "reports/finished_run.hpp"
#include "reports/human.hpp"
#include "reports/phases.hpp"
#include "reports/range.hpp"
#include "reports/result/needs.hpp"
#include "reports/result/what_if.hpp"
#include "reports/table.hpp"
#include "reports/verdict.hpp"
#include "reports/wear_words.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

namespace spillway::reports {

using result::PeakBytes;
using result::Result;

namespace {

constexpr std::size_t buffers_named = 4;

std::string share_of_peak(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "";
  return human_share(static_cast<double>(part) / static_cast<double>(whole));
}

/// "gradient_flat_buffer 28.3 GiB, parameter_pool 12.1 GiB, ...": the biggest first.
std::string biggest_buffers(const std::string& tier, const PeakBytes& peak) {
  std::vector<std::pair<std::string, std::uint64_t>> buffers;
  for (const auto& buffer : peak.by_purpose)
    if (buffer.second > 0) buffers.push_back(buffer);
  std::stable_sort(buffers.begin(), buffers.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (std::size_t i = 0; i < std::min(buffers.size(), buffers_named); ++i)
    text +=
        (i ? ", " : "") + unbroken(buffers[i].first + " " + tier_bytes(tier, buffers[i].second));
  if (buffers.size() > buffers_named)
    text += ", " + unbroken(fmt::format("{} more", buffers.size() - buffers_named));
  return text;
}

std::string kept_free(const Result& r, const Screen& screen) {
  const std::string kept = reserves(r);
  if (kept.empty()) return "";
  return paragraph(
      "Of this " + kept + " stay free for the system (machine.gpu.reserve, machine.host.reserve).",
      screen);
}

std::string needed_tiers(const Result& r, const Screen& screen) {
  Table table{{{"tier", Align::left},
               {"needs"},
               {"has"},
               {"lacks"},
               {"in phase", Align::left},
               {"biggest buffers", Align::left}},
              {}};
  for (const result::TierNeed& need : result::needs_of(r)) {
    const PeakBytes& peak = need.tier == "gpu" ? r.gpu : need.tier == "host" ? r.host : r.ssd;
    table.rows.push_back(
        {need.tier, tier_bytes(need.tier, need.needed),
         need.capacity > 0 ? tier_bytes(need.tier, need.capacity) : "no limit",
         need.is_short() ? tier_bytes(need.tier, need.needed - need.capacity) : "-", peak.phase,
         biggest_buffers(need.tier, peak)});
  }
  return table.rows.empty() ? "" : to_text(table, screen) + kept_free(r, screen) + "\n";
}

/// Peaks; of a run that does not fit what each tier needs, reserves included.
std::string tiers(const Result& r, const Screen& screen) {
  if (!r.feasible()) return needed_tiers(r, screen);
  Table table{{{"tier", Align::left},
               {"peak"},
               {"of"},
               {"full"},
               {"in phase", Align::left},
               {"biggest buffers", Align::left}},
              {}};
  const std::pair<std::string, const PeakBytes*> all[] = {
      {"gpu", &r.gpu}, {"host", &r.host}, {"ssd", &r.ssd}, {"remote", &r.remote}};
  for (const auto& [tier, peak] : all)
    if (peak->total > 0 || (peak->capacity > 0 && tier != "remote"))
      table.rows.push_back({tier, tier_bytes(tier, peak->total),
                            peak->capacity > 0 ? tier_bytes(tier, peak->capacity) : "no limit",
                            share_of_peak(peak->total, peak->capacity), peak->phase,
                            biggest_buffers(tier, *peak)});
  return table.rows.empty() ? "" : to_text(table, screen) + kept_free(r, screen) + "\n";
}

std::string phase_table(const Result& r, const Screen& screen) {
  Table table{{{"phase", Align::left},
               {"time"},
               {"of step"},
               {"GPU busy"},
               {"mostly waits for", Align::left}},
              {}};
  for (const PhaseTime& phase : phases_of(r))
    table.rows.push_back(
        {(phase.part_of_update ? "  " : "") + phase.name, human_time(phase.seconds),
         human_share(r.step_time_s > 0 ? phase.seconds / r.step_time_s : 0),
         phase.busy && phase.seconds > 0 ? human_share(phase.busy->gpu / phase.seconds) : "-",
         waits_for(phase)});
  table.rows.push_back({"step", human_time(r.step_time_s), human_share(1),
                        human_share(r.utilization.gpu), result::limited_by(r)});
  return to_text(table, screen);
}

std::string traffic(const Result& r, const Screen& screen) {
  Table table{{{"traffic per step", Align::left}, {"bytes"}, {"link busy"}}, {}};
  // a storage has one busy share for both ways: it stands once, beside the first of them
  const auto add = [&](const std::string& name, std::uint64_t bytes, const std::string& busy) {
    if (bytes > 0) table.rows.push_back({name, human_bytes(static_cast<double>(bytes)), busy});
  };
  for (const auto& [name, bytes] : r.io.by_storage) {
    const auto found = r.utilization.storage.find(name);
    const std::string busy = found == r.utilization.storage.end() ? "" : human_share(found->second);
    add(name + " read", bytes.read, busy);
    add(name + " written", bytes.write, bytes.read > 0 ? "" : busy);
  }
  if (r.near_storage) {
    add("inside the drives read", r.near_storage->read, "");
    add("inside the drives written", r.near_storage->write, "");
  }
  if (r.io.by_storage.empty()) {
    add("SSD read", r.io.ssd_read, "");
    add("SSD written", r.io.ssd_write, "");
  }
  add("host to GPU", r.io.h2d, human_share(r.utilization.h2d));
  add("GPU to host", r.io.d2h, human_share(r.utilization.d2h));
  add("GPU direct", r.io.gpu_direct, "");
  add("GPU to GPU", r.io.network, "");
  add("of it between nodes", r.io.between_nodes, human_share(r.utilization.network));
  return table.rows.empty() ? "" : to_text(table, screen) + "\n";
}

std::string wear(const Result& r, const Screen& screen) {
  if (!r.wear || r.wear->write_bytes_per_day <= 0) return "";
  std::string text = paragraph(wear_paragraph(*r.wear), screen);
  const std::string cache = cache_paragraph(r);
  if (!cache.empty()) text += paragraph("Cache: " + cache, screen);
  return text + "\n";
}

/// Where the optimizer's states are, once they are in more than one place; and what that spares a
/// checkpoint.
std::string states(const Result& r, const Screen& screen) {
  if (!r.optimizer_states) return "";
  const result::OptimizerStates& s = *r.optimizer_states;
  if (s.cache_hits == 0 && s.paths.size() < 2) return "";
  std::vector<std::string> places;
  if (s.cache_hits > 0)
    places.push_back(fmt::format("{} stay in host memory from one update to the next",
                                 human_count(s.cache_hits)));
  for (const auto& [name, path] : s.paths)
    places.push_back(fmt::format("{} on {}", human_count(path.subgroups), name));
  std::string text = fmt::format("Optimizer states: of {} sub-groups {}.", human_count(s.subgroups),
                                 fmt::join(places, ", "));
  if (r.checkpoint && r.checkpoint->prestaged_bytes > 0)
    text += fmt::format(" Of a checkpoint's {} {} lie on remote storage already.",
                        human_bytes(static_cast<double>(r.checkpoint->bytes)),
                        human_bytes(static_cast<double>(r.checkpoint->prestaged_bytes)));
  return paragraph(text, screen) + "\n";
}

/// "Staleness: ..."; "" where no update is delayed.
std::string staleness(const Result& r, const Screen& screen) {
  if (!r.staleness) return "";
  const result::Staleness& s = *r.staleness;
  if (s.max == 0)
    return paragraph("Staleness: none, every step sees the update before it.", screen) + "\n";
  const bool some_unseen = std::any_of(s.blocks.begin(), s.blocks.end(),
                                       [](const result::Lateness& one) { return one.max == 0; });
  const std::string mean = human_number(s.mean);
  std::string text =
      some_unseen ? "Staleness: at the pace of this run kernels see an update of a sub-group "
                    "every " +
                        mean + " steps."
                  : fmt::format(
                        "Staleness: kernels see an update of a sub-group every {} steps in the "
                        "mean, {} at most.",
                        mean, s.max);
  if (s.mean == 1 && s.max == 1) text = "Staleness: every update is seen one step late.";
  return paragraph(text + " The training is not the one of the same steps without delay.", screen) +
         "\n";
}

/// "-12.5 %", "no change", each with what stands against it, or "" when one of the two does not
/// fit.
std::string change_to(const result::WhatIf& what_if, double step_time_s) {
  if (!what_if.step_time_s || step_time_s <= 0) return "";
  const double change = *what_if.step_time_s / step_time_s - 1;
  const std::string why = what_if.why.empty() ? "" : ": " + what_if.why;
  return (std::abs(change) >= 0.0005 ? human_change(change) : "no change") + why;
}

std::string what_ifs(const Result& r, const Screen& screen) {
  std::vector<std::pair<std::string, result::WhatIf>> sorted(r.next.begin(), r.next.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    if (!a.second.step_time_s || !b.second.step_time_s)
      return a.second.step_time_s.has_value() > b.second.step_time_s.has_value();
    return *a.second.step_time_s < *b.second.step_time_s;
  });
  Table table{{{"what if", Align::left}, {"step"}, {"time"}}, {}};
  for (const auto& [name, what_if] : sorted)
    table.rows.push_back({name,
                          what_if.step_time_s ? human_time(*what_if.step_time_s) : "does not fit",
                          change_to(what_if, r.step_time_s)});
  drop_silent_columns(table);
  return table.rows.empty() ? "" : to_text(table, screen) + "\n";
}

std::string remarks(const Result& r, const Screen& screen) {
  std::string out;
  if (r.price_usd) {
    std::string text = "Price: " + human_price(*r.price_usd);
    if (r.feasible() && *r.price_usd > 0)
      text += fmt::format(", {} tokens/s per 1000 USD",
                          human_number(r.tokens_per_s / (*r.price_usd / 1000)));
    out += paragraph(text + ".", screen);
  }
  if (!r.steady)
    out += paragraph(fmt::format("Not steady: the longest and the shortest step differ by {} of "
                                 "their mean.",
                                 human_share(r.step_spread)),
                     screen);
  for (const std::string& note : r.notes) out += paragraph("Note: " + note, screen);
  return out;
}

/// How the numbers came about.
std::string backend_words(const std::string& backend) {
  if (backend == "sim") return "simulated";
  if (backend == "real") return "measured";
  return backend == "counting" ? "counted" : backend;
}

std::string title(const Result& r) {
  const std::string scenario = scenario_title(r);
  return fmt::format("{}{}{} ({})", scenario, scenario.empty() ? "" : ": ", r.system,
                     backend_words(r.backend));
}

}  // namespace

std::string simulate_report(const Result& r, const Screen& screen) {
  std::string out;
  for (const std::string& line : wrapped(title(r), screen.width)) out += bold(line, screen) + "\n";
  out += paragraph(headline(r), screen) + "\n";
  out += tiers(r, screen);
  const bool trains = r.feasible() && !r.io_bench.is_object();
  if (trains) {
    out += phase_table(r, screen);
    out += stalls_sentence(r, screen) + "\n";
    out += traffic(r, screen);
    out += states(r, screen);
    out += staleness(r, screen);
    out += wear(r, screen);
    if (r.run) out += finished_run_report(r, screen) + "\n";
  }
  out += what_ifs(r, screen);
  out += remarks(r, screen);
  if (r.runs_with && !r.io_bench.is_object())
    out += paragraph("Runs with: " + r.runs_with->program + ".", screen);
  if (const std::string note = range_note(r); !note.empty()) out += paragraph(note, screen);
  out.erase(out.find_last_not_of('\n') + 1);
  return out + "\n";
}

}  // namespace spillway::reports
