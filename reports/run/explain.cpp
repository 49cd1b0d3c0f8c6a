#include "reports/run/explain.hpp"

#include "reports/result/control.hpp"
#include "reports/run/interference.hpp"
#include "reports/view/text_page.hpp"
#include "reports/words/phases.hpp"
#include "reports/words/table.hpp"
#include "reports/words/verdict.hpp"
#include "reports/words/wear_words.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace spillway::reports {

using result::PeakBytes;
using result::PeakEntry;
using result::Result;
using view::Document;
using view::filled;
using view::Paragraph;
using view::Text;

namespace {

constexpr std::size_t lines_of_a_purpose = 8;

/// Titles of columns that a sentence below their table explains.
constexpr const char *gpu_column = "GPU", *recomputing_column = "of it recomputing",
                     *cpu_column = "CPU", *others_column = "other GPUs";

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

view::Cell share_of(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "";
  return view::share(static_cast<double>(part) / static_cast<double>(whole));
}

Text plus(const std::string& tier, std::uint64_t rounding) {
  return rounding ? "+ " + Text(tier_number(tier, rounding)) : Text();
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

  void add_to(Document& document) {
    if (peak_.total == 0) return;
    std::vector<std::pair<std::string, std::uint64_t>> purposes(peak_.by_purpose.begin(),
                                                                peak_.by_purpose.end());
    std::stable_sort(purposes.begin(), purposes.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    for (const auto& [purpose, bytes] : purposes)
      if (bytes > 0) add(purpose, bytes);
    drop_silent_columns(table_);
    const std::string when = peak_.phase.empty() ? "" : ", in " + peak_.phase;
    document.add(Paragraph{filled("Where the {} of {} come from, at the fullest instant{}:",
                                  {tier_number(tier_, peak_.total), tier_name(tier_), when})});
    document.add(std::move(table_), true);
    document.add(Paragraph{by_rank()}, true);
    document.add(Paragraph{reserve()}, true);
  }

 private:
  void add(const std::string& purpose, std::uint64_t bytes) {
    table_.rows.push_back({purpose, tier_number(tier_, bytes), share_of(bytes, peak_.total)});
    const auto found = lines_.find(purpose);
    if (found != lines_.end()) add_lines(found->second);
    const std::uint64_t count = found == lines_.end() ? 0 : found->second.front().entry.count;
    const std::string setting = result::setting_of(tier_, purpose, scenario_, count);
    if (setting.empty()) return;
    table_.remarks[table_.rows.size() - 1] = "set by " + pieces_of(setting) + "; shrinks with " +
                                             result::shrinks_with(tier_, purpose, scenario_);
  }

  void add_lines(const std::vector<Line>& lines) {
    const std::size_t shown = std::min(lines.size(), most_lines_);
    for (std::size_t i = 0; i < shown; ++i) add_line(lines[i]);
    std::uint64_t rest = 0, rounding = 0;
    for (std::size_t i = shown; i < lines.size(); ++i)
      rest += lines[i].bytes(), rounding += lines[i].rounding();
    if (shown < lines.size())
      table_.rows.push_back({filled("  {} smaller lines", {view::count(lines.size() - shown)}),
                             tier_number(tier_, rest), share_of(rest, peak_.total),
                             plus(tier_, rounding)});
  }

  void add_line(const Line& line) {
    const PeakEntry& entry = line.entry;
    const bool host = tier_ == "host";
    table_.rows.push_back(
        {filled("  {}: {}{} x {}",
                {words(line.ranks), line.ranks.size() > 1 ? "each " : "", view::count(entry.count),
                 tier_number(tier_, entry.asked_bytes)}),
         tier_number(tier_, line.bytes()), share_of(line.bytes(), peak_.total),
         plus(tier_, line.rounding()),
         entry.kept     ? "kept, unused"
         : entry.pinned ? "pinned"
         : host         ? "pageable"
                        : "",
         entry.phase});
  }

  Text reserve() const {
    if (peak_.reserve == 0) return {};
    return filled(
        "{} more stay free for the system (machine.{}.reserve): {} of {}.",
        {tier_number(tier_, peak_.reserve), tier_, tier_number(tier_, peak_.total + peak_.reserve),
         tier_number(tier_, peak_.capacity)});
  }

  /// What every rank of the node takes for itself.
  Text by_rank() const {
    std::map<std::uint64_t, std::uint64_t> of_rank;
    for (const auto& [purpose, lines] : lines_)
      for (const Line& line : lines)
        for (const std::uint64_t rank : line.ranks)
          of_rank[rank] += line.charged() / line.ranks.size();
    if (of_rank.size() < 2) return {};
    std::map<std::uint64_t, std::set<std::uint64_t>, std::greater<>> ranks_with;
    for (const auto& [rank, bytes] : of_rank) ranks_with[bytes].insert(rank);
    Text text;
    for (const auto& [bytes, ranks] : ranks_with)
      text += (text.empty() ? "" : ", ") + Text(words(ranks)) + " " + tier_number(tier_, bytes) +
              (ranks.size() > 1 ? " each" : "");
    return "Of it: " + text + ".";
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
view::Cell seconds_of(double busy, double phase) {
  constexpr double nothing = 1e-9;
  if (busy < nothing) return "-";
  if (phase <= 0) return view::seconds(busy);
  return filled("{} ({})", {view::seconds(busy), view::number(busy / phase, view::Quantity::part)});
}

/// What the columns of a table of resources mean, of those that it has.
std::string legend_of(const Table& table) {
  const auto has = [&table](std::string_view title) {
    return std::any_of(table.columns.begin(), table.columns.end(),
                       [&](const view::Column& column) { return column.title == title; });
  };
  const std::string_view resources[] = {gpu_column, "host to GPU", "GPU to host",
                                        "SSD",      cpu_column,    others_column};
  const bool several = std::count_if(std::begin(resources), std::end(resources), has) > 1;
  std::string text =
      several ? "Resources work at the same time, so shares of a phase may add up to more than "
                "100 %. "
              : "";
  std::vector<std::string_view> meanings;
  if (has(gpu_column)) meanings.emplace_back("GPU: kernels");
  if (has(recomputing_column))
    meanings.emplace_back("recomputing: of the forward pass, once more in backward");
  if (has(cpu_column)) meanings.emplace_back("CPU: optimizer, conversions and checks");
  if (has(others_column))
    meanings.emplace_back("other GPUs: exchanges with them, and waiting for those that compute");
  if (!meanings.empty()) text += fmt::format("{}.", fmt::join(meanings, "; "));
  return text;
}

void add_time(Document& document, const Result& r) {
  Table table{{{"phase", Align::left},
               {"time"},
               {gpu_column},
               {recomputing_column},
               {"waits for launches"},
               {"host to GPU"},
               {"GPU to host"},
               {"SSD"},
               {cpu_column},
               {others_column}},
              {}};
  for (const PhaseTime& phase : phases_of(r)) {
    table.rows.push_back(
        {(phase.part_of_update ? "  " : "") + phase.name, view::seconds(phase.seconds)});
    if (!phase.busy) continue;
    const result::PhaseBusy& b = *phase.busy;
    for (const double busy :
         {b.gpu, b.gpu_recompute, b.launches, b.h2d, b.d2h, b.ssd, b.cpu, b.other_gpus})
      table.rows.back().push_back(seconds_of(busy, phase.seconds));
  }
  drop_silent_columns(table);
  document.add(Paragraph{filled("Where the {} of a step go, and how long each resource works:",
                                {view::seconds(r.step_time_s)})});
  std::string legend = legend_of(table);
  document.add(std::move(table), true);
  document.add(Paragraph{std::move(legend)}, true);
  document.add(Paragraph{interference(r)}, true);
  document.add(Paragraph{stalls(r)}, true);
}

void add_bytes(Document& document, const Result& r) {
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
      table.rows.back().push_back(bytes ? view::Cell(view::bytes(static_cast<double>(bytes)))
                                        : "-");
  }
  if (table.rows.empty()) return;
  drop_silent_columns(table);
  if (table.columns.size() == 1) {
    document.add(Paragraph{"No phase of a step moves bytes to or from host memory or drives."});
    return;
  }
  document.add(Paragraph{"Bytes that each phase of a step sends off:"});
  document.add(std::move(table), true);
}

/// Numbers as their names tell their units.
view::Cell plan_value(const std::string& name, const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (name.find("bytes") != std::string::npos && value.is_number_unsigned())
    return view::memory(value.get<std::uint64_t>());
  if (name.ends_with("_s") && value.is_number()) return view::seconds(value.get<double>());
  return value.dump();
}

void add_plan(Document& document, const Result& r) {
  if (!r.plan.is_object()) return;
  Table table{{{"the planner decided", Align::left}, {"", Align::right, 30}}, {}};
  for (const auto& [name, value] : r.plan.items())
    table.rows.push_back({name, plan_value(name, value)});
  document.add(std::move(table));
}

/// One line for each purpose that the tables above name.
void add_glossary(Document& document, const Result& r) {
  std::map<std::string, std::string> meanings;
  bool kept = false, pageable = false;
  const std::pair<const char*, const PeakBytes*> tiers[] = {
      {"ssd", &r.ssd}, {"remote", &r.remote}, {"host", &r.host}, {"gpu", &r.gpu}};
  for (const auto& [tier, peak] : tiers) {
    for (const auto& [purpose, bytes] : peak->by_purpose)
      if (bytes > 0) meanings[purpose] = result::meaning_of(tier, purpose);
    for (const PeakEntry& entry : peak->entries) kept = kept || entry.kept;
  }
  pageable = !r.host.entries.empty();
  if (kept) meanings["kept, unused"] = "pinned blocks that the allocator does not give back";
  if (pageable) meanings["pinned"] = "memory that cannot be paged out, as GPUs and drives copy it";
  if (pageable)
    meanings["pageable"] = "ordinary memory, which a GPU copies through a pinned buffer";
  std::erase_if(meanings, [](const auto& one) { return one.second.empty(); });
  if (meanings.empty()) return;
  document.add(Paragraph{"The words:"});
  for (const auto& [term, meaning] : meanings)
    document.add(Paragraph{unbroken(term) + ": " + meaning + ".", view::Tone::plain, 2}, true);
}

}  // namespace

Document settings_document(const Result& r, std::span<const Setting> settings) {
  Document document;
  Table table{{{"setting", Align::left}, {"value", Align::left}, {"from", Align::left}}, {}};
  for (const Setting& s : settings) table.rows.push_back({s.path, s.value, s.source});
  if (!settings.empty()) document.add(std::move(table));
  add_plan(document, r);
  return document;
}

Document explain_document(const Result& r, Topic topic) {
  const bool all = topic == Topic::all;
  Document document;
  if (all || topic == Topic::memory)
    for (const auto& [tier, peak] : {std::pair<const char*, const PeakBytes*>{"gpu", &r.gpu},
                                     {"host", &r.host},
                                     {"ssd", &r.ssd},
                                     {"remote", &r.remote}})
      MemoryTree(tier, *peak, r.scenario, topic == Topic::memory).add_to(document);
  if (topic == Topic::memory) add_glossary(document, r);
  if (!r.feasible() || (!all && topic != Topic::time)) return document;
  add_time(document, r);
  add_bytes(document, r);
  if (const Text cache = cache_text(r); !cache.empty()) document.add(Paragraph{cache});
  return document;
}

std::string explain(const Result& r, std::span<const Setting> settings, const Screen& screen,
                    Topic topic) {
  const bool said = topic == Topic::all || topic == Topic::settings;
  const std::string first =
      said ? to_text(settings_document(r, settings), screen.for_keys()) : std::string();
  const std::string rest = to_text(explain_document(r, topic), screen);
  const std::string text = first + (first.empty() || rest.empty() ? "" : "\n") + rest;
  return text.empty() ? "\n" : text;
}

}  // namespace spillway::reports
