#include "reports/explain.hpp"

#include "reports/phases.hpp"
#include "reports/result/control.hpp"
#include "reports/table.hpp"
#include "reports/verdict.hpp"
#include "reports/view/text_page.hpp"
#include "reports/wear_words.hpp"
#include "scenarios/description/quantity.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <optional>
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
                                             std::string(result::row_of(tier_, purpose)->smaller);
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

/// A number of the scenario; absent: nothing.
std::optional<double> number_at(const Result& r, const std::string& path) {
  const nlohmann::json::json_pointer pointer(path);
  if (!r.scenario.contains(pointer) || !r.scenario.at(pointer).is_number()) return {};
  return r.scenario.at(pointer).get<double>();
}

Text part(double share) { return view::number(share, view::Quantity::part); }

/// How drives update what lies on them, and that nobody waits for the CPU.
std::vector<Text> updates(const Result& r) {
  std::vector<Text> all;
  const nlohmann::json::json_pointer storages("/machine/storage");
  const nlohmann::json::json_pointer wait("/strategy/optimizer/wait");
  if (r.near_storage && r.scenario.contains(storages))
    for (const nlohmann::json& storage : r.scenario.at(storages)) {
      const auto near = storage.find("near_storage");
      if (near == storage.end()) continue;
      const auto start =
          description::parse_quantity(description::Dimension::seconds, near->value("start", "0 s"));
      all.push_back(
          filled("Each drive of {} reads, computes and writes a sub-group one after the other, {} "
                 "after the one before it has ended on all drives (near_storage.start).",
                 {storage.value("name", ""), view::seconds(static_cast<double>(start.value))}));
    }
  if (r.scenario.contains(wait) && !r.scenario.at(wait).get<bool>())
    all.push_back(
        "Nobody waits for Adam on the CPU: what it takes is in no step (optimizer.wait).");
  return all;
}

/// Whether a knob of the strategy has that word.
bool knob_is(const Result& r, const char* pointer, const char* word) {
  const nlohmann::json::json_pointer knob(std::string("/strategy") + pointer);
  return r.scenario.contains(knob) && r.scenario.at(knob) == word;
}
/// A rate or a time of the machine, as its file has it.
std::string written(const Result& r, const char* pointer) {
  const nlohmann::json::json_pointer number(std::string("/machine") + pointer);
  return r.scenario.contains(number) ? r.scenario.at(number).get<std::string>() : "";
}

/// Numbers of ranks that ZeRO shares weights among.
constexpr const char* sharing[] = {"/parallel/data", "/parallel/context"};

/// A GPU is never ahead of the thread that launches its kernels.
void add_launches(std::vector<Text>& all, const Result& r) {
  const std::string launch = written(r, "/host/launch"), hooks = written(r, "/host/module_hooks");
  const nlohmann::json::json_pointer stage("/parallel/zero_stage");
  const bool shared = std::any_of(std::begin(sharing), std::end(sharing), [&r](const char* ranks) {
    const nlohmann::json::json_pointer at(ranks);
    return r.scenario.contains(at) && r.scenario.at(at) > 1;
  });
  const bool gathers = !knob_is(r, "/weights/home", "gpu") || shared;
  const nlohmann::json::json_pointer with_hooks("/strategy/weights/hooks");
  const bool hooked = gathers && r.scenario.value(with_hooks, false) &&
                      r.scenario.contains(stage) && r.scenario.at(stage) == 3 && hooks != "0 s";
  if (launch.empty() || (launch == "0 s" && !hooked)) return;
  if (hooked && launch == "0 s")
    all.push_back(
        filled("A thread of the host runs {} of ZeRO-3's hooks for each module "
               "(host.module_hooks, weights.hooks): where layers are small the GPU waits for it.",
               {hooks}));
  else if (hooked)
    all.push_back(filled(
        "A thread of the host launches kernels, {} each (host.launch), and runs {} of ZeRO-3's "
        "hooks for each module (host.module_hooks, weights.hooks): where layers are small the GPU "
        "waits for it.",
        {launch, hooks}));
  else
    all.push_back(
        filled("A thread of the host launches kernels, {} each (host.launch): where layers are "
               "small the GPU waits for it.",
               {launch}));
}

/// What threads of the host hold up.
void add_threads(std::vector<Text>& all, const Result& r) {
  if (knob_is(r, "/io_engine", "buffered"))
    all.push_back(filled(
        "One thread of each rank copies what drives read and write by way of the page cache, at {} "
        "(host.page_cache), twice over host memory; free memory keeps it, and writes wait once {} "
        "of that is unwritten (host.dirty_limit). Bytes are those asked for: what the page cache "
        "has, drives need not read.",
        {written(r, "/host/page_cache"),
         part(number_at(r, "/machine/host/dirty_limit").value_or(0))}));
  if (knob_is(r, "/gradients/d2h", "typed"))
    all.push_back(filled(
        "Gradients change type in copies that block: into new pages, which one thread touches at "
        "{} (host.first_touch), at {} (pcie.pageable_d2h), then converted; backward waits for each "
        "layer's.",
        {written(r, "/host/first_touch"), written(r, "/pcie/pageable_d2h")}));
  if (knob_is(r, "/weights/h2d", "typed"))
    all.push_back(filled(
        "New weights change type in copies that block: converted into new pages, which one thread "
        "touches at {} (host.first_touch), and copied on at {} (pcie.pageable_h2d); the next "
        "sub-group's Adam waits for them.",
        {written(r, "/host/first_touch"), written(r, "/pcie/pageable_h2d")}));
}

/// What of the scenario makes resources slower, or faster, together than alone.
Text together(const Result& r) {
  std::vector<Text> all = updates(r);
  const nlohmann::json::json_pointer storages("/machine/storage");
  const std::size_t count = r.scenario.contains(storages) ? r.scenario.at(storages).size() : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const nlohmann::json& storage = r.scenario.at(storages)[i];
    const auto mixed = number_at(r, fmt::format("/machine/storage/{}/mixed_efficiency", i));
    if (!mixed || *mixed == 1) continue;
    all.push_back(
        filled("Reads and writes at once reach {} of {} where each takes half of its time "
               "(mixed_efficiency).",
               {part(*mixed), storage.value("name", "")}));
  }
  const nlohmann::json::json_pointer access("/machine/gpu/peer_access");
  if (r.scenario.contains(access) && !r.scenario.at(access).get<bool>() && r.io.network > 0)
    all.push_back("What GPUs send each other goes by way of host memory (gpu.peer_access).");
  for (const char* teams : {"2", "4", "8"})
    if (const auto share = number_at(r, std::string("/machine/host/team_rates/") + teams))
      all.push_back(
          filled("CPU work of {} ranks at once reaches {} of one's rate (host.team_rates).",
                 {teams, part(*share)}));
  add_threads(all, r);
  add_launches(all, r);
  if (const auto jitter = number_at(r, "/run/jitter"))
    all.push_back(
        filled("Each operation lasts up to {} longer or shorter (run.jitter).", {part(*jitter)}));
  return text::joined(all, " ");
}

void add_time(Document& document, const Result& r) {
  Table table{{{"phase", Align::left},
               {"time"},
               {"GPU"},
               {"of it recomputing"},
               {"waits for launches"},
               {"host to GPU"},
               {"GPU to host"},
               {"SSD"},
               {"CPU"},
               {"network"}},
              {}};
  for (const PhaseTime& phase : phases_of(r)) {
    table.rows.push_back(
        {(phase.part_of_update ? "  " : "") + phase.name, view::seconds(phase.seconds)});
    if (!phase.busy) continue;
    const result::PhaseBusy& b = *phase.busy;
    for (const double busy :
         {b.gpu, b.gpu_recompute, b.launches, b.h2d, b.d2h, b.ssd, b.cpu, b.network})
      table.rows.back().push_back(seconds_of(busy, phase.seconds));
  }
  drop_silent_columns(table);
  document.add(Paragraph{filled("Where the {} of a step go, and how long each resource works:",
                                {view::seconds(r.step_time_s)})});
  document.add(std::move(table), true);
  document.add(
      Paragraph{"Resources work at the same time, so shares of a phase may add up to more than "
                "100 %. GPU: kernels; recomputing: of the forward pass, once more in backward; "
                "CPU: optimizer, conversions and checks; network: between GPUs."},
      true);
  document.add(Paragraph{together(r)}, true);
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
