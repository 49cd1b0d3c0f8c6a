#include "scenarios/evidence/formats.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <map>

namespace spillway::evidence {

namespace {

/// Numbers that a log tells again and again, by what they are.
class Series {
 public:
  void add(const std::string& what, std::optional<double> value) {
    if (!value) return;
    if (!numbers_.contains(what)) order_.push_back(what);
    numbers_[what].push_back(*value);
  }
  bool has(const std::string& what) const { return numbers_.contains(what); }
  std::size_t count(const std::string& what) const {
    const auto found = numbers_.find(what);
    return found == numbers_.end() ? 0 : found->second.size();
  }
  std::optional<double> middle(const std::string& what) const {
    const auto found = numbers_.find(what);
    if (found == numbers_.end()) return {};
    return median(found->second);
  }
  std::optional<double> most(const std::string& what) const {
    const auto found = numbers_.find(what);
    if (found == numbers_.end()) return {};
    return *std::max_element(found->second.begin(), found->second.end());
  }
  /// In the order in which they were first told.
  const std::vector<std::string>& names() const { return order_; }

 private:
  std::map<std::string, std::vector<double>> numbers_;
  std::vector<std::string> order_;
};

std::optional<double> times(std::optional<double> number, double factor) {
  if (number) *number *= factor;
  return number;
}

constexpr double mebibyte = 1024 * 1024, gibibyte = 1024 * mebibyte;

/// "time (ms) | forward: 316.00 | backward: 747.31 | step: 663.59": the sums of a step, told once
/// all its micro-batches are through; lines of single micro-batches and of the optimizer's own
/// parts stand beside them.
void add_phases(std::string_view line, Series& phases) {
  const std::size_t at = line.find("time (ms) |");
  if (at == std::string_view::npos) return;
  std::string_view rest = line.substr(at + std::string_view("time (ms) |").size());
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('|'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos) continue;
    phases.add(std::string(trimmed(part.substr(0, colon))),
               times(number_after(part.substr(colon), ":"), 1e-3));
  }
}

/// The first of `names` that was told.
std::optional<double> first_of(const Series& phases, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto found = phases.middle(name)) return found;
  return {};
}

/// A step is its forward passes, backward passes and update, one after the other.
std::optional<double> step_of(const Series& phases) {
  const auto forward = first_of(phases, {"fwd", "forward"});
  const auto backward = first_of(phases, {"bwd", "backward"});
  const auto update = first_of(phases, {"step"});
  if (!forward || !backward || !update) return {};
  return *forward + *backward + *update;
}

/// Of each of the `steps` that a line of times is the sum of.
void put_phases(const Series& phases, LoggedRun& run, double steps = 1) {
  for (const std::string& name : phases.names())
    run.phases_s.emplace_back(name, *phases.middle(name) / steps);
}

/// "steps: 20 loss: 1.2 iter time (s): 1.234 samples/sec: 6.483": DeepSpeed's pipelines tell the
/// mean of the steps since they told it last, and sums of their timers.
///   Source  DeepSpeed runtime/pipe/engine.py, PipelineEngine.train_batch
struct PipelineSteps {
  double last = 0;
  std::vector<double> between;

  void add(std::string_view line, Series& told) {
    const auto mean = number_after(line, "iter time (s):");
    const auto step = number_after(line, "steps:");
    if (!mean || !step) return;
    told.add("step", mean);
    told.add("samples", number_after(line, "samples/sec:"));
    if (*step > last) between.push_back(*step - last);
    last = *step;
  }
  double each() const { return between.empty() ? 1 : median(between); }
};

/// Of a line "epoch=0/micro_step=80/global_step=10": DeepSpeed counts both from the start, and in a
/// new epoch the first one anew, so that they may have nothing to do with each other.
///   Source  DeepSpeed utils/timer.py, ThroughputTimer
std::optional<double> micro_batches_of_a_step(std::string_view line) {
  const auto micro = number_after(line, "micro_step=");
  const auto steps = number_after(line, "/global_step=");
  if (!micro || !steps || *steps <= 0 || number_after(line, "epoch=").value_or(0) > 0) return {};
  const double each = *micro / *steps;
  return each >= 1 && each == std::floor(each) ? std::optional(each) : std::nullopt;
}

/// What DeepSpeed prints of its configuration, a line a key ("train_batch_size ............. 64"),
/// and once more as JSON.
///   Source  DeepSpeed runtime/config.py, DeepSpeedConfig.print
std::optional<double> configured(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return {};
  const bool is_part = at > 0 && line[at - 1] != ' ' && line[at - 1] != '"';
  if (is_part) return {};  // "per_device_train_batch_size"
  const std::string_view rest = line.substr(at + key.size());
  const std::size_t value = rest.find_first_not_of(" .\":");
  return value == 0 || value == std::string_view::npos ? std::nullopt
                                                       : number_after(rest.substr(value), "");
}

/// "[2026-11-20 09:02:01,331]", in seconds.
std::optional<double> stamp_of(std::string_view line) {
  for (std::size_t at = line.find('['); at != std::string_view::npos; at = line.find('[', at + 1)) {
    std::tm time{};
    int thousandths = 0;
    const std::string stamp(line.substr(at, 25));
    if (std::sscanf(stamp.c_str(), "[%4d-%2d-%2d %2d:%2d:%2d,%3d]", &time.tm_year, &time.tm_mon,
                    &time.tm_mday, &time.tm_hour, &time.tm_min, &time.tm_sec, &thousandths) != 7)
      continue;
    time.tm_year -= 1900;
    time.tm_mon -= 1;
    return static_cast<double>(timegm(&time)) + 1e-3 * thousandths;
  }
  return {};
}

/// How long a step takes by the times at which lines with counts of steps were written.
class StampedSteps {
 public:
  void add(std::string_view line, Series& told) {
    const auto step = number_after(line, "global_step=");
    const auto time = step ? stamp_of(line) : std::nullopt;
    if (!time) return;
    if (time_ && *step > step_ && *time > *time_)
      told.add("stamped", (*time - *time_) / (*step - step_));
    step_ = *step;
    time_ = time;
  }

 private:
  double step_ = 0;
  std::optional<double> time_;
};

void add_batch(std::string_view line, Series& told) {
  told.add("batch", configured(line, "train_batch_size"));
  told.add("batch",
           number_after(line, "Total train batch size (w. parallel, distributed & accumulation)"));
  told.add("micro-batch", configured(line, "train_micro_batch_size_per_gpu"));
  told.add("accumulation", configured(line, "gradient_accumulation_steps"));
}

/// A pipeline tells its steps. Elsewhere rates count them whole, and timers what they are set
/// around: the forward passes, backward passes and updates.
std::optional<double> step_of_deepspeed(const Series& told, const Series& phases) {
  if (told.has("step")) return told.middle("step");
  const auto batch = told.middle("batch");
  const auto rate = told.middle("samples");
  if (!rate || *rate <= 0) return step_of(phases);
  return batch ? std::optional(*batch / *rate) : std::nullopt;
}

}  // namespace

void read_deepspeed_log(std::string_view text, Evidence& into) {
  into.kind = "log of DeepSpeed";
  Series told, phases;
  PipelineSteps pipeline;
  StampedSteps stamped;
  for (const std::string_view line : lines_of(text)) {
    pipeline.add(line, told);
    const auto running = number_after(line, "RunningAvgSamplesPerSec");
    const auto current = number_after(line, "CurrSamplesPerSec");
    told.add("samples", current   ? current
                        : running ? running
                                  : number_after(line, "SamplesPerSec"));
    // DeepSpeed's GB are 1024^3 bytes (deepspeed/utils/timer.py, see_memory_usage).
    told.add("gpu", times(number_after(line, "MaxMemAllocated"), gibibyte));
    told.add("gpu", times(number_after(line, "Max_MA"), gibibyte));
    if (line.find("CPU Virtual Memory") != std::string_view::npos)
      told.add("host", times(number_after(line, "used"), gibibyte));
    add_phases(line, phases);
    add_batch(line, told);
    stamped.add(line, told);
    told.add("micro-batches", micro_batches_of_a_step(line));
  }
  LoggedRun run;
  run.program = "DeepSpeed";
  run.batch = told.middle("batch");
  run.micro_batch = told.middle("micro-batch");
  run.accumulation = told.middle(told.has("accumulation") ? "accumulation" : "micro-batches");
  run.stamped_step_s = told.middle("stamped");
  run.samples_per_s = told.middle("samples");
  run.gpu_bytes = told.most("gpu");
  run.host_bytes = told.most("host");
  run.step_s = step_of_deepspeed(told, phases);
  run.logged = std::max({told.count("samples"), told.count("step"), phases.count("step"),
                         phases.count("step_microstep"), told.count("gpu")});
  put_phases(phases, run, pipeline.each());
  if (run.logged == 0)
    refuse_file(into.file, "a log of DeepSpeed without times and without memory",
                "set steps_per_print to 1 and wall_clock_breakdown to true");
  into.runs.push_back(std::move(run));
}

void read_megatron_log(std::string_view text, Evidence& into) {
  into.kind = "log of Megatron-LM";
  Series told, phases;
  bool in_times = false;
  for (const std::string_view line : lines_of(text)) {
    const auto step = times(number_after(line, "elapsed time per iteration (ms)"), 1e-3);
    told.add("step", step);
    if (step && *step > 0)
      if (const auto batch = number_after(line, "global batch size")) {
        told.add("samples", *batch / *step);
        told.add("batch", batch);
      }
    if (line.find("memory (MB)") != std::string_view::npos)
      told.add("gpu", times(number_after(line, "max allocated"), mebibyte));
    // "(min, max) time across ranks (ms):", then a line a timer:
    // "forward-backward ...: (1.0, 2.0)".
    if (line.find("time across ranks (ms)") != std::string_view::npos) {
      in_times = true;
      continue;
    }
    const std::size_t range = line.find(": (");
    const std::size_t comma = line.find(", ", std::min(range, line.size()));
    in_times = in_times && range != std::string_view::npos && comma != std::string_view::npos;
    if (!in_times) continue;
    std::string_view name = trimmed(line.substr(0, range));
    while (name.ends_with('.') || name.ends_with(' ')) name.remove_suffix(1);
    phases.add(std::string(name), times(number_after(line.substr(comma), ","), 1e-3));
  }
  LoggedRun run;
  run.program = "Megatron-LM";
  run.step_s = told.middle("step");
  run.samples_per_s = told.middle("samples");
  run.batch = told.middle("batch");
  run.gpu_bytes = told.most("gpu");
  run.logged = told.count("step");
  put_phases(phases, run);
  if (run.logged == 0)
    refuse_file(into.file, "a log of Megatron-LM without a time of an iteration",
                "train with --log-interval 1");
  into.runs.push_back(std::move(run));
}

}  // namespace spillway::evidence
