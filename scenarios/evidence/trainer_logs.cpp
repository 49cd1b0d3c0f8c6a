#include "scenarios/evidence/formats.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>

namespace spillway::evidence {

using nlohmann::json;

namespace {

/// What Trainer says at the end of a training (transformers, trainer_utils.speed_metrics).
void take(const std::optional<double>& samples, const std::optional<double>& steps,
          LoggedRun& run) {
  if (samples && *samples > 0) run.samples_per_s = *samples;
  if (steps && *steps > 0) run.step_s = 1 / *steps;
}

void put(LoggedRun run, Evidence& into, const char* hint) {
  run.program = "Hugging Face Trainer";
  if (!run.step_s && !run.samples_per_s)
    refuse_file(into.file, into.kind + " of a training that has not ended: it tells no rate", hint);
  into.runs.push_back(std::move(run));
}

/// What a column of a table holds.
enum class Column {
  none,
  step_s,
  step_ms,
  tokens,
  samples,
  tokens_of_rank,
  samples_of_rank,
  gpu_mib,
  gpu_gib,
  host_mib,
  host_gib
};

bool has(const std::string& name, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return name.find(word) != std::string::npos; });
}

/// By its name, in any spelling: "step_time(s)", "Peak GPU Mem (GB)", "tokens/s".
Column column_of(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  const bool memory = has(name, {"mem"});
  const bool gib = has(name, {"gb", "gib"});
  if (memory && has(name, {"gpu", "cuda", "vram", "device"}))
    return gib ? Column::gpu_gib : Column::gpu_mib;
  if (memory && has(name, {"cpu", "host", "ram", "dram"}))
    return gib ? Column::host_gib : Column::host_mib;
  const bool of_rank = has(name, {"gpu", "device", "card", "rank"}) &&
                       !has(name, {"gpus", "devices", "cards", "ranks", "total", "all "});
  if (has(name, {"token"}) && has(name, {"/s", "per_s", "persec", "per sec", "throughput"}))
    return of_rank ? Column::tokens_of_rank : Column::tokens;
  if (has(name, {"sample"}) && has(name, {"/s", "per_s", "persec", "per sec"}))
    return of_rank ? Column::samples_of_rank : Column::samples;
  if (has(name, {"step", "iter"}) && has(name, {"time", "latency", "duration"}))
    return has(name, {"ms"}) ? Column::step_ms : Column::step_s;
  return Column::none;
}

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  for (;;) {
    const std::size_t end = line.find(',');
    cells.emplace_back(trimmed(line.substr(0, end)));
    if (end == std::string_view::npos) return cells;
    line.remove_prefix(end + 1);
  }
}

void set(LoggedRun& run, Column column, double value) {
  constexpr double mib = 1024 * 1024;
  switch (column) {
    case Column::none:
      break;
    case Column::step_s:
      run.step_s = value;
      break;
    case Column::step_ms:
      run.step_s = value / 1e3;
      break;
    case Column::tokens:
      run.tokens_per_s = value;
      break;
    case Column::samples:
      run.samples_per_s = value;
      break;
    case Column::tokens_of_rank:
      run.tokens_per_s_of_rank = value;
      break;
    case Column::samples_of_rank:
      run.samples_per_s_of_rank = value;
      break;
    case Column::gpu_mib:
      run.gpu_bytes = value * mib;
      break;
    case Column::gpu_gib:
      run.gpu_bytes = value * 1024 * mib;
      break;
    case Column::host_mib:
      run.host_bytes = value * mib;
      break;
    case Column::host_gib:
      run.host_bytes = value * 1024 * mib;
      break;
  }
}

/// What tells this line of a table from others: the cells that are no measurement.
std::string label_of(const std::vector<std::string>& names, const std::vector<Column>& columns,
                     const std::vector<std::string>& cells) {
  std::string label;
  for (std::size_t i = 0; i < std::min(cells.size(), columns.size()); ++i) {
    if (columns[i] != Column::none || cells[i].empty()) continue;
    if (!label.empty()) label += ", ";
    label += names[i] + " " + cells[i];
  }
  return label.empty() ? "a run" : label;
}

}  // namespace

void read_trainer_state(const json& document, Evidence& into) {
  into.kind = "trainer_state.json";
  LoggedRun run;
  const auto history = document.find("log_history");
  if (history != document.end() && history->is_array()) {
    for (const json& entry : *history) {
      if (!entry.is_object() || !entry.contains("train_runtime")) continue;
      take(number_of(entry, "train_samples_per_second"), number_of(entry, "train_steps_per_second"),
           run);
    }
    run.logged =
        static_cast<std::uint64_t>(std::max(0.0, number_of(document, "global_step").value_or(0)));
  }
  put(std::move(run), into, "name the output of the training, or a log of DeepSpeed");
}

void read_trainer_log(std::string_view text, Evidence& into) {
  into.kind = "output of Hugging Face's Trainer";
  LoggedRun run;
  for (const std::string_view line : lines_of(text)) {
    if (line.find("'loss'") != std::string_view::npos) ++run.logged;
    if (line.find("'train_runtime'") == std::string_view::npos) continue;
    take(number_after(line, "'train_samples_per_second'"),
         number_after(line, "'train_steps_per_second'"), run);
  }
  put(std::move(run), into, "name the output of a training that has ended");
}

void read_run_table(std::string_view text, Evidence& into) {
  into.kind = "a table of runs";
  const auto lines = lines_of(text);
  const auto names = cells_of(lines.front());
  std::vector<Column> columns;
  for (const std::string& name : names) columns.push_back(column_of(name));
  if (std::all_of(columns.begin(), columns.end(),
                  [](Column column) { return column == Column::none; }))
    refuse_file(into.file,
                fmt::format("a table whose columns are no measurements of runs: {}",
                            std::string(trimmed(lines.front().substr(0, 120)))),
                "known are step time, tokens/s, samples/s, GPU memory and host memory, with units");
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (trimmed(lines[i]).empty()) continue;
    const auto cells = cells_of(lines[i]);
    LoggedRun run;
    run.program = label_of(names, columns, cells);
    run.logged = 1;
    for (std::size_t at = 0; at < std::min(cells.size(), columns.size()); ++at)
      if (const auto value = number_after("=" + cells[at], "=")) set(run, columns[at], *value);
    into.runs.push_back(std::move(run));
  }
  if (into.runs.empty())
    refuse_file(into.file, "a table without a line below its names", "add a run to it");
}

}  // namespace spillway::evidence
