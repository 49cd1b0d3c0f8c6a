#include "reports/explain.hpp"

#include "reports/human.hpp"
#include "reports/phases.hpp"
#include "reports/table.hpp"
#include "reports/verdict.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace spillway::reports {

using result::PeakBytes;
using result::PeakEntry;
using result::Result;

namespace {

constexpr std::size_t lines_of_a_purpose = 8;

/// Buffers that are equal on several ranks.
struct Line {
  PeakEntry entry;
  std::set<std::uint64_t> ranks;
  std::uint64_t bytes() const { return ranks.size() * entry.count * entry.asked_bytes; }
  std::uint64_t rounding() const {
    const std::uint64_t charged = std::max(entry.charged_bytes, entry.asked_bytes);
    return ranks.size() * entry.count * (charged - entry.asked_bytes);
  }
};

/// Lines per purpose, the biggest first, then as the ledger had them.
std::map<std::string, std::vector<Line>> lines_of(const PeakBytes& peak) {
  std::map<std::string, std::vector<Line>> all;
  std::map<std::tuple<std::string, std::uint64_t, std::uint64_t, std::uint64_t, bool>, std::size_t>
      seen;
  for (const PeakEntry& e : peak.entries) {
    std::vector<Line>& lines = all[e.purpose];
    const auto [at, is_new] = seen.try_emplace(
        {e.purpose, e.count, e.asked_bytes, e.charged_bytes, e.pinned}, lines.size());
    if (is_new || !lines[at->second].ranks.insert(e.rank).second) lines.push_back({e, {e.rank}});
  }
  for (auto& [purpose, lines] : all)
    std::stable_sort(lines.begin(), lines.end(),
                     [](const Line& a, const Line& b) { return a.bytes() > b.bytes(); });
  return all;
}

/// "rank 0", "ranks 0-3", "ranks 0, 2".
std::string words(const std::set<std::uint64_t>& ranks) {
  const bool run = ranks.size() > 1 && *ranks.rbegin() - *ranks.begin() + 1 == ranks.size();
  if (run) return fmt::format("ranks {}-{}", *ranks.begin(), *ranks.rbegin());
  return fmt::format("rank{} {}", ranks.size() > 1 ? "s" : "", fmt::join(ranks, ", "));
}

std::string share_of(std::uint64_t part, std::uint64_t whole) {
  return whole ? human_share(static_cast<double>(part) / static_cast<double>(whole)) : "";
}

void add_lines(Table& table, const std::string& tier, std::uint64_t total,
               const std::vector<Line>& lines) {
  const std::size_t shown = std::min(lines.size(), lines_of_a_purpose);
  for (std::size_t i = 0; i < shown; ++i) {
    const Line& line = lines[i];
    const std::string what =
        fmt::format("  {}: {}{} x {}", words(line.ranks), line.ranks.size() > 1 ? "each " : "",
                    human_count(line.entry.count), tier_bytes(tier, line.entry.asked_bytes));
    table.rows.push_back({what, tier_bytes(tier, line.bytes()), share_of(line.bytes(), total),
                          line.rounding() ? "+ " + tier_bytes(tier, line.rounding()) : "",
                          line.entry.pinned ? "pinned" : ""});
  }
  std::uint64_t rest = 0;
  std::uint64_t rounding = 0;
  for (std::size_t i = shown; i < lines.size(); ++i)
    rest += lines[i].bytes(), rounding += lines[i].rounding();
  if (shown < lines.size())
    table.rows.push_back({fmt::format("  {} smaller lines", lines.size() - shown),
                          tier_bytes(tier, rest), share_of(rest, total),
                          rounding ? "+ " + tier_bytes(tier, rounding) : "", ""});
}

/// The tree of one tier: purposes, the biggest first, and under each its buffers.
std::string memory_tree(const std::string& tier, const PeakBytes& peak, const Screen& screen) {
  if (peak.total == 0) return "";
  const std::string when = peak.phase.empty() ? "" : ", in " + peak.phase;
  const std::string title = fmt::format("Where the {} of {} come from, at the fullest instant{}:",
                                        tier_bytes(tier, peak.total), tier_name(tier), when);
  Table table{{{"purpose", Align::left}, {"bytes"}, {"share"}, {"rounding"}, {"", Align::left}},
              {}};
  std::vector<std::pair<std::string, std::uint64_t>> purposes(peak.by_purpose.begin(),
                                                              peak.by_purpose.end());
  std::stable_sort(purposes.begin(), purposes.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  const auto lines = lines_of(peak);
  for (const auto& [purpose, bytes] : purposes) {
    if (bytes == 0) continue;
    table.rows.push_back({purpose, tier_bytes(tier, bytes), share_of(bytes, peak.total)});
    if (const auto found = lines.find(purpose); found != lines.end())
      add_lines(table, tier, peak.total, found->second);
  }
  drop_silent_columns(table);
  return paragraph(title, screen) + to_text(table, screen) + "\n";
}

std::string seconds_of(double busy, double phase) {
  if (busy <= 0) return "-";
  return phase > 0 ? fmt::format("{} ({:.0f} %)", human_time(busy), 100 * busy / phase)
                   : human_time(busy);
}

std::string time_table(const Result& r, const Screen& screen) {
  Table table{{{"phase", Align::left},
               {"time"},
               {"GPU"},
               {"of it recomputing"},
               {"host to GPU"},
               {"GPU to host"},
               {"SSD"},
               {"CPU"},
               {"network"}},
              {}};
  for (const PhaseTime& phase : phases_of(r)) {
    table.rows.push_back(
        {(phase.part_of_update ? "  " : "") + phase.name, human_time(phase.seconds)});
    if (!phase.busy) continue;
    const result::PhaseBusy& b = *phase.busy;
    for (const double busy : {b.gpu, b.gpu_recompute, b.h2d, b.d2h, b.ssd, b.cpu, b.network})
      table.rows.back().emplace_back(seconds_of(busy, phase.seconds));
  }
  drop_silent_columns(table);
  return paragraph(fmt::format("Where the {} of a step go, and how long each resource works:",
                               human_time(r.step_time_s)),
                   screen) +
         to_text(table, screen) + stalls_sentence(r, screen) + "\n";
}

std::string bytes_table(const Result& r, const Screen& screen) {
  Table table{{{"phase", Align::left},
               {"SSD read"},
               {"SSD written"},
               {"host to GPU"},
               {"GPU to host"},
               {"SSD to GPU"},
               {"GPU to SSD"}},
              {}};
  for (std::size_t i = 0; i < result::phase_count; ++i) {
    const auto found = r.phase_bytes.find(std::string(to_string(static_cast<result::Phase>(i))));
    if (found == r.phase_bytes.end()) continue;
    const result::PhaseBytes& b = found->second;
    table.rows.push_back({found->first});
    for (const std::uint64_t bytes :
         {b.ssd_read, b.ssd_write, b.h2d, b.d2h, b.gpu_direct_read, b.gpu_direct_write})
      table.rows.back().emplace_back(bytes ? human_bytes(static_cast<double>(bytes)) : "-");
  }
  if (table.rows.empty()) return "";
  drop_silent_columns(table);
  return "Bytes that each phase of a step sends off:\n" + to_text(table, screen) + "\n";
}

/// Numbers as their names tell their units.
std::string plan_value(const std::string& name, const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (name.find("bytes") != std::string::npos && value.is_number_unsigned())
    return human_memory(value.get<std::uint64_t>());
  if (name.ends_with("_s") && value.is_number()) return human_time(value.get<double>());
  return value.dump();
}

std::string plan_table(const Result& r, const Screen& screen) {
  if (!r.plan.is_object()) return "";
  Table table{{{"the planner decided", Align::left}, {"", Align::right, 30}}, {}};
  for (const auto& [name, value] : r.plan.items())
    table.rows.push_back({name, plan_value(name, value)});
  return to_text(table, screen) + "\n";
}

std::string settings_table(std::span<const Setting> settings, const Screen& screen) {
  if (settings.empty()) return "";
  Table table{{{"setting", Align::left}, {"value", Align::left}, {"from", Align::left}}, {}};
  for (const Setting& s : settings) table.rows.push_back({s.path, s.value, s.source});
  return to_text(table, screen) + "\n";
}

}  // namespace

std::string explain(const Result& r, std::span<const Setting> settings, const Screen& screen) {
  std::string out = settings_table(settings, screen);
  out += plan_table(r, screen);
  out += memory_tree("gpu", r.gpu, screen);
  out += memory_tree("host", r.host, screen);
  out += memory_tree("ssd", r.ssd, screen);
  if (r.feasible()) out += time_table(r, screen) + bytes_table(r, screen);
  out.erase(out.find_last_not_of('\n') + 1);
  return out + "\n";
}

}  // namespace spillway::reports
