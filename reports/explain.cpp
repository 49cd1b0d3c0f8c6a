#include "reports/explain.hpp"

#include "reports/glossary.hpp"
#include "reports/human.hpp"
#include "reports/phases.hpp"
#include "reports/result/control.hpp"
#include "reports/table.hpp"
#include "reports/verdict.hpp"
#include "reports/wear_words.hpp"

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
  std::uint64_t charged() const {
    return ranks.size() * entry.count * std::max(entry.charged_bytes, entry.asked_bytes);
  }
  std::uint64_t rounding() const { return charged() - bytes(); }
};

auto kind_of(const PeakEntry& e) {
  return std::tie(e.purpose, e.count, e.asked_bytes, e.charged_bytes, e.pinned, e.phase, e.kept);
}

/// Lines per purpose, the biggest first, then as the ledger had them.
std::map<std::string, std::vector<Line>> lines_of(const PeakBytes& peak) {
  std::map<std::string, std::vector<Line>> all;
  for (const PeakEntry& e : peak.entries) {
    std::vector<Line>& lines = all[e.purpose];
    const auto same = std::find_if(lines.rbegin(), lines.rend(), [&](const Line& line) {
      return kind_of(line.entry) == kind_of(e);
    });
    if (same == lines.rend() || !same->ranks.insert(e.rank).second) lines.push_back({e, {e.rank}});
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

std::string plus(const std::string& tier, std::uint64_t rounding) {
  return rounding ? "+ " + tier_bytes(tier, rounding) : "";
}

/// Its "path = value" parts, each of which stays on one line.
std::string pieces_of(const std::string& setting) {
  constexpr std::string_view comma = ", ";
  std::string out;
  std::size_t first = 0;
  for (std::size_t end = 0; end != std::string::npos; first = end + comma.size()) {
    end = setting.find(comma, first);
    out += (first > 0 ? comma : "");
    out += unbroken(setting.substr(first, end - first));
  }
  return out;
}

/// The tree of one tier: purposes, the biggest first, and under each its buffers and its settings.
class MemoryTree {
 public:
  MemoryTree(std::string tier, const PeakBytes& peak, const nlohmann::json& scenario, bool in_full)
      : tier_(std::move(tier)),
        peak_(peak),
        scenario_(scenario),
        most_lines_(in_full ? ~std::size_t{0} : lines_of_a_purpose),
        lines_(lines_of(peak)) {}

  std::string text(const Screen& screen) {
    if (peak_.total == 0) return "";
    const std::string when = peak_.phase.empty() ? "" : ", in " + peak_.phase;
    std::vector<std::pair<std::string, std::uint64_t>> purposes(peak_.by_purpose.begin(),
                                                                peak_.by_purpose.end());
    std::stable_sort(purposes.begin(), purposes.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    for (const auto& [purpose, bytes] : purposes)
      if (bytes > 0) add(purpose, bytes);
    drop_silent_columns(table_);
    return paragraph(fmt::format("Where the {} of {} come from, at the fullest instant{}:",
                                 tier_bytes(tier_, peak_.total), tier_name(tier_), when),
                     screen) +
           to_text(table_, screen) + by_rank(screen) + reserve(screen) + "\n";
  }

 private:
  void add(const std::string& purpose, std::uint64_t bytes) {
    table_.rows.push_back({purpose, tier_bytes(tier_, bytes), share_of(bytes, peak_.total)});
    const auto found = lines_.find(purpose);
    if (found != lines_.end()) add_lines(found->second);
    const std::uint64_t count = found == lines_.end() ? 0 : found->second.front().entry.count;
    const std::string setting = result::setting_of(tier_, purpose, scenario_, count);
    if (setting.empty()) return;
    table_.remarks[table_.rows.size() - 1] =
        "set by " + pieces_of(setting) + "; shrinks with " +
        std::string(result::control_of(tier_, purpose)->smaller);
  }

  void add_lines(const std::vector<Line>& lines) {
    const std::size_t shown = std::min(lines.size(), most_lines_);
    for (std::size_t i = 0; i < shown; ++i) add_line(lines[i]);
    std::uint64_t rest = 0, rounding = 0;
    for (std::size_t i = shown; i < lines.size(); ++i)
      rest += lines[i].bytes(), rounding += lines[i].rounding();
    if (shown < lines.size())
      table_.rows.push_back({fmt::format("  {} smaller lines", lines.size() - shown),
                             tier_bytes(tier_, rest), share_of(rest, peak_.total),
                             plus(tier_, rounding)});
  }

  void add_line(const Line& line) {
    const PeakEntry& entry = line.entry;
    const bool host = tier_ == "host";
    table_.rows.push_back(
        {fmt::format("  {}: {}{} x {}", words(line.ranks), line.ranks.size() > 1 ? "each " : "",
                     human_count(entry.count), tier_bytes(tier_, entry.asked_bytes)),
         tier_bytes(tier_, line.bytes()), share_of(line.bytes(), peak_.total),
         plus(tier_, line.rounding()),
         entry.kept     ? "kept, unused"
         : entry.pinned ? "pinned"
         : host         ? "pageable"
                        : "",
         entry.phase});
  }

  std::string reserve(const Screen& screen) const {
    if (peak_.reserve == 0) return "";
    return paragraph(fmt::format("{} more stay free for the system (machine.{}.reserve): {} of {}.",
                                 tier_bytes(tier_, peak_.reserve), tier_,
                                 tier_bytes(tier_, peak_.total + peak_.reserve),
                                 tier_bytes(tier_, peak_.capacity)),
                     screen);
  }

  /// What every rank of the node takes for itself.
  std::string by_rank(const Screen& screen) const {
    std::map<std::uint64_t, std::uint64_t> of_rank;
    for (const auto& [purpose, lines] : lines_)
      for (const Line& line : lines)
        for (const std::uint64_t rank : line.ranks)
          of_rank[rank] += line.charged() / line.ranks.size();
    if (of_rank.size() < 2) return "";
    std::map<std::uint64_t, std::set<std::uint64_t>, std::greater<>> ranks_with;
    for (const auto& [rank, bytes] : of_rank) ranks_with[bytes].insert(rank);
    std::string text;
    for (const auto& [bytes, ranks] : ranks_with)
      text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", words(ranks),
                          tier_bytes(tier_, bytes), ranks.size() > 1 ? " each" : "");
    return paragraph("Of it: " + text + ".", screen);
  }

  std::string tier_;
  const PeakBytes& peak_;
  const nlohmann::json& scenario_;
  std::size_t most_lines_;
  std::map<std::string, std::vector<Line>> lines_;
  Table table_{{{"purpose", Align::left},
                {"bytes"},
                {"share"},
                {"rounding"},
                {"memory", Align::left},
                {"since", Align::left}},
               {}};
};

/// "850 ms (31 %)"; "-" for what a sum of many times leaves over.
std::string seconds_of(double busy, double phase) {
  constexpr double nothing = 1e-9;
  if (busy < nothing) return "-";
  if (phase <= 0) return human_time(busy);
  const double percent = 100 * busy / phase;
  return fmt::format("{} ({} %)", human_time(busy),
                     percent < 0.5 ? "<1" : fmt::format("{:.0f}", percent));
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
         to_text(table, screen) +
         paragraph(
             "Resources work at the same time, so shares of a phase may add up to more than "
             "100 %. GPU: kernels; recomputing: of the forward pass, once more in backward; "
             "CPU: optimizer, conversions and checks; network: between GPUs.",
             screen) +
         stalls_sentence(r, screen) + "\n";
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
  return to_text(table, screen.for_keys()) + "\n";
}

/// One line for each purpose that the tables above name.
std::string glossary(const Result& r, const Screen& screen) {
  std::map<std::string, std::string> meanings;
  bool kept = false, pageable = false;
  const std::pair<const char*, const PeakBytes*> tiers[] = {
      {"ssd", &r.ssd}, {"remote", &r.remote}, {"host", &r.host}, {"gpu", &r.gpu}};
  for (const auto& [tier, peak] : tiers) {
    for (const auto& [purpose, bytes] : peak->by_purpose)
      if (bytes > 0) meanings[purpose] = meaning_of(tier, purpose);
    for (const PeakEntry& entry : peak->entries) kept = kept || entry.kept;
  }
  pageable = !r.host.entries.empty();
  if (kept) meanings["kept, unused"] = "pinned blocks that the allocator does not give back";
  if (pageable) meanings["pinned"] = "memory that cannot be paged out, as GPUs and drives copy it";
  if (pageable)
    meanings["pageable"] = "ordinary memory, which a GPU copies through a pinned buffer";
  std::string out;
  for (const auto& [term, meaning] : meanings)
    if (!meaning.empty()) out += paragraph(unbroken(term) + ": " + meaning + ".", screen, 2);
  return out.empty() ? "" : "The words:\n" + out + "\n";
}

}  // namespace

std::string explain(const Result& r, std::span<const Setting> settings, const Screen& screen,
                    Topic topic) {
  const bool all = topic == Topic::all;
  std::string out;
  if (all || topic == Topic::settings) out += settings_table(settings, screen);
  if (all || topic == Topic::settings) out += plan_table(r, screen);
  if (all || topic == Topic::memory)
    for (const auto& [tier, peak] : {std::pair<const char*, const PeakBytes*>{"gpu", &r.gpu},
                                     {"host", &r.host},
                                     {"ssd", &r.ssd},
                                     {"remote", &r.remote}})
      out += MemoryTree(tier, *peak, r.scenario, topic == Topic::memory).text(screen);
  if (topic == Topic::memory) out += glossary(r, screen);
  if (r.feasible() && (all || topic == Topic::time))
    out += time_table(r, screen) + bytes_table(r, screen);
  if (const std::string cache = cache_paragraph(r);
      r.feasible() && !cache.empty() && (all || topic == Topic::time))
    out += paragraph(cache, screen);
  out.erase(out.find_last_not_of('\n') + 1);
  return out + "\n";
}

}  // namespace spillway::reports
