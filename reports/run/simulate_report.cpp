#include "reports/run/simulate_report.hpp"
#include "reports/words/dated_price.hpp"

#include "reports/result/needs.hpp"
#include "reports/result/what_if.hpp"
#include "reports/run/remedy_report.hpp"
#include "reports/view/text_page.hpp"
#include "reports/words/finished_run.hpp"
#include "reports/words/phases.hpp"
#include "reports/words/range.hpp"
#include "reports/words/verdict.hpp"
#include "reports/words/wear_words.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

namespace spillway::reports {

using result::PeakBytes;
using result::Result;
using view::Align;
using view::Cell;
using view::Document;
using view::filled;
using view::Paragraph;
using view::Table;
using view::Text;

namespace {

constexpr std::size_t buffers_named = 4;

Cell share_of_peak(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "";
  return view::share(static_cast<double>(part) / static_cast<double>(whole));
}

/// "gradient_flat_buffer 28.3 GiB, parameter_pool 12.1 GiB, ...": the biggest first.
Text biggest_buffers(const std::string& tier, const PeakBytes& peak) {
  std::vector<std::pair<std::string, std::uint64_t>> buffers;
  for (const auto& buffer : peak.by_purpose)
    if (buffer.second > 0) buffers.push_back(buffer);
  std::stable_sort(buffers.begin(), buffers.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  Text text;
  for (std::size_t i = 0; i < std::min(buffers.size(), buffers_named); ++i)
    text += (i ? ", " : "") + Text(buffers[i].first + view::no_break_space) +
            tier_number(tier, buffers[i].second);
  if (buffers.size() > buffers_named)
    text +=
        ", " + Text(view::count(buffers.size() - buffers_named)) + view::no_break_space + "more";
  return text;
}

void add_kept_free(Document& document, const Result& r) {
  const std::string kept = reserves(r);
  if (kept.empty()) return;
  const std::string knobs = " (machine.gpu.reserve, machine.host.reserve)";
  // a larger memory has a larger reserve: that of what is needed is not that of what is there
  document.add(
      Paragraph{r.feasible() ? "Of this " + kept + " stay free for the system" + knobs + "."
                             : "This machine keeps " + kept + " free for the system" + knobs +
                                   "; needs hold what a memory of their size keeps."},
      true);
}

Table needed_tiers(const Result& r) {
  Table table{{{"tier", Align::left},
               {"needs"},
               {"has"},
               {"lacks"},
               {"in phase", Align::left},
               {"biggest buffers", Align::left}},
              {}};
  for (const result::TierNeed& need : result::needs_of(r)) {
    const PeakBytes& peak = need.tier == "gpu" ? r.gpu : need.tier == "host" ? r.host : r.ssd;
    const auto bytes = [&](std::uint64_t of) { return Cell(tier_number(need.tier, of)); };
    table.rows.push_back({need.tier, bytes(need.needed),
                          need.capacity > 0 ? bytes(need.capacity) : "no limit",
                          need.is_short() ? bytes(need.needed - need.capacity) : "-", peak.phase,
                          biggest_buffers(need.tier, peak)});
  }
  return table;
}

Table peak_tiers(const Result& r) {
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
      table.rows.push_back(
          {tier, tier_number(tier, peak->total),
           peak->capacity > 0 ? Cell(tier_number(tier, peak->capacity)) : "no limit",
           share_of_peak(peak->total, peak->capacity), peak->phase, biggest_buffers(tier, *peak)});
  return table;
}

/// Where the optimizer's states are, once they are in more than one place; and what that spares a
/// checkpoint.
Text states(const Result& r) {
  if (!r.optimizer_states) return {};
  const result::OptimizerStates& s = *r.optimizer_states;
  if (s.cache_hits == 0 && s.paths.size() < 2) return {};
  Text places;
  if (s.cache_hits > 0)
    places =
        filled("{} stay in host memory from one update to the next", {view::count(s.cache_hits)});
  for (const auto& [name, path] : s.paths)
    places += (places.empty() ? "" : ", ") + Text(view::count(path.subgroups)) + " on " + name;
  Text text = filled("Optimizer states: of {} sub-groups {}.", {view::count(s.subgroups), places});
  if (r.checkpoint && r.checkpoint->prestaged_bytes > 0)
    text += filled(" Of a checkpoint's {} {} lie on remote storage already.",
                   {view::bytes(static_cast<double>(r.checkpoint->bytes)),
                    view::bytes(static_cast<double>(r.checkpoint->prestaged_bytes))});
  return text;
}

/// "Staleness: ..."; empty where no update is delayed.
Text staleness(const Result& r) {
  if (!r.staleness) return {};
  const result::Staleness& s = *r.staleness;
  if (s.max == 0) return "Staleness: none, every step sees the update before it.";
  const bool some_unseen = std::any_of(s.blocks.begin(), s.blocks.end(),
                                       [](const result::Lateness& one) { return one.max == 0; });
  const view::Number mean = view::number(s.mean);
  Text text = some_unseen
                  ? filled(
                        "Staleness: at the pace of this run kernels see an update of a sub-group "
                        "every {} steps.",
                        {mean})
                  : filled(
                        "Staleness: kernels see an update of a sub-group every {} steps in the "
                        "mean, {} at most.",
                        {mean, view::count(s.max)});
  if (s.mean == 1 && s.max == 1) text = "Staleness: every update is seen one step late.";
  return text + " The training is not the one of the same steps without delay.";
}

/// "-12.5 %", "no change", each with what stands against it, or "" when one of the two does not
/// fit.
Text change_to(const result::WhatIf& what_if, double step_time_s) {
  if (!what_if.step_time_s || step_time_s <= 0) return {};
  const double change = *what_if.step_time_s / step_time_s - 1;
  const Text why = what_if.why.empty() ? Text() : ": " + what_if.why;
  return (std::abs(change) >= 0.0005 ? Text(view::change(change)) : Text("no change")) + why;
}

std::string title(const Result& r) {
  const std::string scenario = scenario_title(r);
  return fmt::format("{}{}{} ({})", scenario, scenario.empty() ? "" : ": ", r.system,
                     backend_words(r.backend));
}

/// "0" or "2-3".
std::string stages_of(const result::NodeUse& node) {
  const std::string first = std::to_string(node.first_stage);
  return node.first_stage == node.last_stage ? first
                                             : first + "-" + std::to_string(node.last_stage);
}

/// Of nodes that hold different stages; nothing where no host memory and no drive tells them apart.
void add_nodes(Document& document, const Result& r) {
  if (r.nodes.empty()) return;
  const result::NodeUse& first = r.nodes.front();
  const bool several = first.nodes > 1;
  bool differ = false;
  std::vector<std::string> moved;  // storages
  for (const auto& [name, bytes] : r.io.by_storage)
    if (bytes.read + bytes.write > 0) moved.push_back(name);
  for (const result::NodeUse& node : r.nodes)
    differ = differ || node.host_peak_bytes != first.host_peak_bytes;
  if (!differ && moved.empty()) return;
  Table table{{{"node", Align::left}, {"stages", Align::left}, {"host memory"}}, {}};
  if (several) table.columns.push_back({"nodes like it"});
  if (!moved.empty()) table.columns.push_back({"drives hold"});
  for (const std::string& name : moved) {
    table.columns.push_back({name + " read"});
    table.columns.push_back({name + " written"});
  }
  const auto bytes = [](std::uint64_t count) { return view::bytes(static_cast<double>(count)); };
  for (std::size_t i = 0; i < r.nodes.size(); ++i) {
    const result::NodeUse& node = r.nodes[i];
    std::vector<Cell> cells{std::to_string(i), stages_of(node), view::memory(node.host_peak_bytes)};
    if (several) cells.emplace_back(view::count(node.nodes - 1));
    if (!moved.empty()) cells.emplace_back(bytes(node.ssd_peak_bytes));
    for (const std::string& name : moved) {
      const auto own = node.storage.find(name);
      const result::NodeStorage none, &use = own == node.storage.end() ? none : own->second;
      cells.emplace_back(bytes(use.read));
      cells.emplace_back(bytes(use.write));
    }
    table.rows.push_back(std::move(cells));
  }
  document.add(std::move(table));
}

}  // namespace

std::string backend_words(const std::string& backend) {
  if (backend == "sim") return "simulated";
  if (backend == "real") return "measured";
  return backend == "counting" ? "counted" : backend;
}

void add_tiers(Document& document, const Result& r) {
  Table table = r.feasible() ? peak_tiers(r) : needed_tiers(r);
  if (table.rows.empty()) return;
  document.add(std::move(table));
  add_kept_free(document, r);
}

void add_phases(Document& document, const Result& r) {
  Table table{{{"phase", Align::left},
               {"time"},
               {"of step"},
               {"GPU busy"},
               {"mostly waits for", Align::left}},
              {}};
  for (const PhaseTime& phase : phases_of(r))
    table.rows.push_back(
        {(phase.part_of_update ? "  " : "") + phase.name, view::seconds(phase.seconds),
         view::share(r.step_time_s > 0 ? phase.seconds / r.step_time_s : 0),
         phase.busy && phase.seconds > 0 ? Cell(view::share(phase.busy->gpu / phase.seconds)) : "-",
         waits_for(phase)});
  table.rows.push_back({"step", view::seconds(r.step_time_s), view::share(1),
                        view::share(r.utilization.gpu), result::limited_by(r)});
  document.add(std::move(table));
  document.add(Paragraph{stalls(r)}, true);
}

void add_traffic(Document& document, const Result& r) {
  Table table{{{"traffic per step", Align::left}, {"bytes"}, {"link busy"}}, {}};
  // a storage has one busy share for both ways: it stands once, beside the first of them
  const auto add = [&](const std::string& name, std::uint64_t bytes, const Cell& busy) {
    if (bytes > 0) table.rows.push_back({name, view::bytes(static_cast<double>(bytes)), busy});
  };
  for (const auto& [name, bytes] : r.io.by_storage) {
    const auto found = r.utilization.storage.find(name);
    const Cell busy = found == r.utilization.storage.end() ? "" : Cell(view::share(found->second));
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
  add("host to GPU", r.io.h2d, view::share(r.utilization.h2d));
  add("GPU to host", r.io.d2h, view::share(r.utilization.d2h));
  add("GPU direct", r.io.gpu_direct, "");
  add("GPU to GPU", r.io.network, "");
  add("of it between nodes", r.io.between_nodes, view::share(r.utilization.network));
  if (!table.rows.empty()) document.add(std::move(table));
  add_nodes(document, r);
}

void add_states(Document& document, const Result& r) {
  for (const Text& text : {states(r), staleness(r)})
    if (!text.empty()) document.add(Paragraph{text});
}

void add_wear(Document& document, const Result& r) {
  if (!r.wear || r.wear->write_bytes_per_day <= 0) return;
  document.add(Paragraph{wear_text(*r.wear)});
  if (const Text cache = cache_text(r); !cache.empty())
    document.add(Paragraph{"Cache: " + cache}, true);
}

std::vector<std::pair<std::string, result::WhatIf>> best_first(const Result& r) {
  std::vector<std::pair<std::string, result::WhatIf>> sorted(r.next.begin(), r.next.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    if (!a.second.step_time_s || !b.second.step_time_s)
      return a.second.step_time_s.has_value() > b.second.step_time_s.has_value();
    return *a.second.step_time_s < *b.second.step_time_s;
  });
  return sorted;
}

void add_what_ifs(Document& document, const Result& r) {
  Table table{{{"what if", Align::left}, {"step"}, {"time"}}, {}};
  for (const auto& [name, what_if] : best_first(r))
    table.rows.push_back(
        {name, what_if.step_time_s ? Cell(view::seconds(*what_if.step_time_s)) : "does not fit",
         change_to(what_if, r.step_time_s)});
  drop_silent_columns(table);
  if (!table.rows.empty()) document.add(std::move(table));
}

void add_faster(Document& document, std::span<const answer::FasterSettings> faster,
                const Result& r) {
  Table table{{{"what costs nothing", Align::left}, {"step"}, {"time"}}, {}};
  for (const answer::FasterSettings& one : faster)
    table.rows.push_back({one.words, view::seconds(one.step_time_s),
                          view::change(one.step_time_s / r.step_time_s - 1)});
  if (!table.rows.empty()) document.add(std::move(table));
}

void add_faster_command(Document& document, std::span<const answer::FasterSettings> faster,
                        const std::string& scenario, const std::vector<std::string>& overrides) {
  document.add(
      view::Verbatim{"", "  " + command_with(faster.front().overrides, scenario, overrides)}, true);
}

Text faster_words(const answer::FasterSettings& settings, double step_time_s) {
  return filled("For nothing {} a step, {}: {}",
                {view::seconds(settings.step_time_s),
                 view::change(settings.step_time_s / step_time_s - 1), settings.words});
}

std::string faster_report(std::span<const answer::FasterSettings> faster, const Result& r,
                          const std::string& scenario, const std::vector<std::string>& overrides,
                          const Screen& screen) {
  if (faster.empty()) return "";
  Document document;
  add_faster(document, faster, r);
  if (!scenario.empty()) add_faster_command(document, faster, scenario, overrides);
  if (!scenario.empty() && r.runs_with && r.runs_with->program.starts_with("DeepSpeed"))
    document.add(Paragraph{"With export in place of simulate it is DeepSpeed's configuration."},
                 true);
  return "\n" + to_text(document, screen);
}

/// "A step is 16 samples of 1024 tokens: ranks 2 x micro-batch 4 x accumulation 2."
Text step_words(const Result& r) {
  const auto number = [&](const char* pointer) {
    const nlohmann::json::json_pointer at(pointer);
    return r.scenario.contains(at) ? r.scenario.at(at).get<std::uint64_t>() : 1;
  };
  const std::uint64_t ranks = number("/parallel/data"), batch = number("/training/micro_batch"),
                      times = number("/training/gradient_accumulation");
  const std::uint64_t samples = ranks * batch * times;
  const Text tokens = view::count(number("/training/sequence"));
  if (samples == 1) return filled("A step is one sample of {} tokens.", {tokens});
  return filled(
      "A step is {} samples of {} tokens: ranks {} x micro-batch {} x accumulation {}.",
      {view::count(samples), tokens, view::count(ranks), view::count(batch), view::count(times)});
}

/// With which kernels it holds: those that are not fused keep more on the GPU.
Text program_words(const Result& r) {
  const nlohmann::json::json_pointer loss("/training/loss");
  const bool fused = r.scenario.contains(loss) && r.scenario.at(loss) == "fused";
  Text text = "Runs with: " + r.runs_with->program;
  if (fused && r.runs_with->runnable)
    text += ", and a fused loss as Liger Kernel's; training.loss plain takes more memory";
  const nlohmann::json::json_pointer again("/training/recompute");
  if (r.runs_with->runnable && r.scenario.contains(again) && r.scenario.at(again).is_array() &&
      !r.scenario.at(again).empty())
    text +=
        ", and code that computes single operators again, as PyTorch's selective activation "
        "checkpointing; a trainer's gradient checkpointing computes whole blocks again";
  return text + ".";
}

void add_remarks(Document& document, const Result& r) {
  bool first = true;
  const auto add = [&](const Text& text) {
    document.add(Paragraph{text}, !std::exchange(first, false));
  };
  if (r.price_usd) {
    Text text = "Price: " + Text(view::dollars(*r.price_usd)) + old_prices_beside(r);
    if (r.feasible() && *r.price_usd > 0)
      text += filled(", {} tokens/s per 1000 USD",
                     {view::number(r.tokens_per_s / (*r.price_usd / 1000))});
    add(text + ".");
  }
  if (!r.steady)
    add(filled("Not steady: the longest and the shortest step differ by {} of their mean.",
               {view::share(r.step_spread)}));
  for (const Text& note : r.notes) add("Note: " + note);
  const bool trains = !r.io_bench.is_object();
  if (trains && r.scenario.is_object()) add(step_words(r));
  if (trains && r.runs_with) add(program_words(r));
  if (const std::string note = range_note(r); !note.empty()) add(note);
}

Document simulate_document(const Result& r) {
  Document document;
  document.title = title(r);
  document.add(view::Heading{title(r), 1});
  document.add(Paragraph{headline_text(r)}, true);
  add_tiers(document, r);
  if (r.feasible() && !r.io_bench.is_object()) {
    add_phases(document, r);
    add_traffic(document, r);
    add_states(document, r);
    add_wear(document, r);
    if (r.run) document.add(finished_run_table(r));
  }
  add_what_ifs(document, r);
  add_remarks(document, r);
  return document;
}

std::string simulate_report(const Result& r, const Screen& screen) {
  return to_text(simulate_document(r), screen);
}

}  // namespace spillway::reports
