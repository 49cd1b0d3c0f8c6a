#include "scenarios/evidence/formats.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <cmath>

namespace spillway::evidence {

using nlohmann::json;

namespace {

/// Trainer rounds rates to three decimals.
constexpr double rounded = 0.0005;
/// Below this one that is off by more than 5 %.
constexpr double least_rate = 0.01;

/// What Trainer says of a training before it begins, a line each.
///   Source  transformers, Trainer, "***** Running training *****"
struct Header {
  std::optional<double> micro_batch, batch, accumulation, steps;

  void add(std::string_view line) {
    const auto take = [&](std::optional<double>& into, std::string_view key) {
      if (const auto number = number_after(line, key); number && *number > 0) into = number;
    };
    take(micro_batch, "Instantaneous batch size per device");
    take(batch, "Total train batch size (w. parallel, distributed & accumulation)");
    take(accumulation, "Gradient Accumulation steps");
    take(steps, "Total optimization steps");
  }
};

/// What Trainer says at the end of a training.
///   steps  of all of it, in `runtime` seconds; 0: not known
///   run    with its batch, where the header said it
///   Source  transformers, trainer_utils.speed_metrics
void take(const std::optional<double>& samples, const std::optional<double>& rate,
          const std::optional<double>& runtime, double steps, LoggedRun& run) {
  if (samples && *samples >= least_rate) {
    run.samples_per_s = *samples;
    run.samples_rounding = rounded / *samples;
  }
  if (runtime && *runtime > 0 && steps > 0) {
    run.step_s = *runtime / steps;
    return;
  }
  if (rate && *rate >= least_rate) {
    run.step_s = 1 / *rate;
    run.step_rounding = rounded / *rate;
  }
  if (!run.batch || !run.samples_per_s) return;
  if (run.step_s && run.step_rounding <= run.samples_rounding) return;
  run.step_s = *run.batch / *run.samples_per_s;
  run.step_rounding = run.samples_rounding;
}

/// Of a progress bar that is through, "20/20 [": how many; else 0.
double steps_of_progress(std::string_view line) {
  const std::size_t end = line.rfind(" [");
  const std::size_t slash = end == std::string_view::npos ? end : line.rfind('/', end);
  if (slash == std::string_view::npos) return 0;
  const std::string_view all = line.substr(slash + 1, end - slash - 1);
  const std::string_view done = line.substr(0, slash);
  const bool digits = !all.empty() && std::all_of(all.begin(), all.end(), [](char letter) {
    return letter >= '0' && letter <= '9';
  });
  const bool whole = digits && done.ends_with(all) &&
                     (done.size() == all.size() || done[done.size() - all.size() - 1] == ' ');
  return whole ? std::stod(std::string(all)) : 0;
}

/// Steps of a training whose end `line` tells: of the bars that are `through`, as those of an
/// evaluation are too, and of what the header announces the one that its rate and its run time come
/// nearest to.
double steps_of_training(std::string_view line, const std::vector<double>& through) {
  const auto rate = number_after(line, "'train_steps_per_second'");
  const auto runtime = number_after(line, "'train_runtime'");
  if (!rate || !runtime) return through.empty() ? 0 : through.back();
  const auto off = [&](double steps) { return std::abs(steps - *rate * *runtime); };
  double nearest = 0;
  for (const double steps : through)
    if (off(steps) <= rounded * *runtime + 1 && (nearest == 0 || off(steps) < off(nearest)))
      nearest = steps;
  return nearest;
}

void put(LoggedRun run, Evidence& into, const char* hint) {
  run.program = "Hugging Face Trainer";
  if (!run.step_s && !run.samples_per_s)
    refuse_file(into.file,
                into.kind +
                    " that tells no rate: the training has not ended, or its rates, which "
                    "are rounded to three decimals, are below 0.01 a second",
                hint);
  constexpr double worth_a_note = 0.01;
  if (run.step_s && run.step_rounding > worth_a_note)
    into.notes.push_back(text::filled(
        "a step is known to {} only, as Trainer rounds its rates to three decimals: {}",
        {text::share(run.step_rounding), hint}));
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
  gpu_bytes,
  gpu_mib,
  gpu_gib,
  host_bytes,
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
  const bool bytes = has(name, {"byte"}) || name.ends_with("(b)") || name.ends_with("_b");
  if (memory && has(name, {"gpu", "cuda", "vram", "device"}))
    return bytes ? Column::gpu_bytes : gib ? Column::gpu_gib : Column::gpu_mib;
  if (memory && has(name, {"cpu", "host", "ram", "dram"}))
    return bytes ? Column::host_bytes : gib ? Column::host_gib : Column::host_mib;
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

/// Commas inside quotes belong to their cell (RFC 4180), whose quotes are left out.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char letter : line) {
    if (letter == '"')
      quoted = !quoted;
    else if (letter == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += letter;
  }
  for (std::string& cell : cells) cell = std::string(trimmed(cell));
  return cells;
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
    case Column::gpu_bytes:
      run.gpu_bytes = value;
      break;
    case Column::gpu_mib:
      run.gpu_bytes = value * mib;
      break;
    case Column::gpu_gib:
      run.gpu_bytes = value * 1024 * mib;
      break;
    case Column::host_bytes:
      run.host_bytes = value;
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
  const double steps = std::max(0.0, number_of(document, "global_step").value_or(0));
  const auto history = document.find("log_history");
  if (history != document.end() && history->is_array()) {
    for (const json& entry : *history) {
      if (!entry.is_object() || !entry.contains("train_runtime")) continue;
      take(number_of(entry, "train_samples_per_second"), number_of(entry, "train_steps_per_second"),
           number_of(entry, "train_runtime"), steps, run);
    }
    run.logged = static_cast<std::uint64_t>(steps);
  }
  put(std::move(run), into, "name the output of the training, or a log of DeepSpeed");
}

void read_trainer_log(std::string_view text, Evidence& into) {
  into.kind = "output of Hugging Face's Trainer";
  LoggedRun run;
  Header header;
  std::vector<double> through;
  for (const std::string_view line : lines_of(text)) {
    header.add(line);
    if (const double steps = steps_of_progress(line); steps > 0) through.push_back(steps);
  }
  if (header.steps) through.push_back(*header.steps);
  run.batch = header.batch;
  run.micro_batch = header.micro_batch;
  run.accumulation = header.accumulation;
  for (const std::string_view line : lines_of(text)) {
    if (line.find("'loss'") != std::string_view::npos) ++run.logged;
    if (line.find("'train_runtime'") == std::string_view::npos) continue;
    take(number_after(line, "'train_samples_per_second'"),
         number_after(line, "'train_steps_per_second'"), number_after(line, "'train_runtime'"),
         steps_of_training(line, through), run);
  }
  put(std::move(run), into, "name trainer_state.json, which has the run time and the steps");
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
