#include "scenarios/evidence/evidence.hpp"

#include "scenarios/description/errors.hpp"
#include "scenarios/evidence/formats.hpp"
#include "scenarios/json/input_file.hpp"
#include "scenarios/json/located_json.hpp"
#include "scenarios/json/shipped.hpp"
#include "scenarios/trace/import_trace.hpp"

#include <filesystem>

namespace spillway::evidence {

namespace {

constexpr auto* known =
    "known are output of fio, smartctl, nvidia-smi -q, lscpu, dmidecode and lstopo, logs of "
    "DeepSpeed, "
    "Megatron-LM and Hugging Face's Trainer, traces of PyTorch's profiler, and tables (CSV) of "
    "runs";

bool has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

/// The document that fio's lines of text stand around: warnings before it, --output-format=normal
/// behind it.
std::string_view json_of_fio(std::string_view text) {
  const std::size_t version = text.find("\"fio version\"");
  const std::size_t first = text.rfind('{', version);
  if (version == std::string_view::npos || first == std::string_view::npos) return {};
  int depth = 0;
  bool quoted = false;
  for (std::size_t at = first; at < text.size(); ++at) {
    const char letter = text[at];
    if (quoted) {
      if (letter == '\\') ++at;
      if (letter == '"') quoted = false;
    } else if (letter == '"') {
      quoted = true;
    } else if (letter == '{') {
      ++depth;
    } else if (letter == '}' && --depth == 0) {
      return text.substr(first, at + 1 - first);
    }
  }
  return text.substr(first);
}

nlohmann::json parsed(std::string_view text, const std::string& file) {
  return scenarios::parse_located(text, file).value;
}

void read_json(const std::string& text, Evidence& into) {
  if (scenarios::looks_like_trace(text)) return read_kernel_trace(text, into);
  const nlohmann::json document = parsed(text, into.file);
  if (document.contains("smartctl") || document.contains("data_units_written"))
    return read_smart(document, into);
  if (document.contains("lscpu")) return read_cpu_query(document, into);
  if (document.contains("log_history")) return read_trainer_state(document, into);
  const bool machine = document.contains("gpu") && document.contains("host");
  if (machine) refuse_file(into.file, "a machine file, not a measurement", known);
  if (document.contains("model") && document.contains("strategy"))
    refuse_file(into.file, "a scenario, not a measurement", "name it with --scenario");
  refuse_file(into.file, "JSON that is none of the kinds that can be read", known);
}

/// What a log has, whatever else is printed between its lines.
bool read_log(std::string_view text, Evidence& into) {
  if (has(text, "elapsed time per iteration (ms)"))
    read_megatron_log(text, into);
  else if (has(text, "SamplesPerSec=") || has(text, "Max_MA ") || has(text, "time (ms) |") ||
           has(text, "iter time (s):"))
    read_deepspeed_log(text, into);
  else if (has(text, "'train_runtime'") || has(text, "{'loss'"))
    read_trainer_log(text, into);
  else
    return false;
  return true;
}

void read_text(std::string_view text, Evidence& into) {
  if (has(text, "NVSMI LOG")) return read_gpu_query(text, into);
  if (has(text, "<nvidia_smi_log")) return read_gpu_query_xml(text, into);
  if (has(text, "Memory Device\n")) return read_memory_query(text, into);
  if (has(text, "<topology")) return read_topology(text, into);
  if (has(text, "=== START OF") || has(text, "percentage_used")) return read_smart_text(text, into);
  if (has(text, "CPU(s):") && has(text, "Architecture:")) return read_cpu_query(text, into);
  if (read_log(text, into)) return;
  const auto lines = lines_of(text.substr(0, 1 << 16));
  if (lines.size() > 1 && has(lines.front(), ",") && has(lines[1], ","))
    return read_run_table(text, into);
  if (has(text, "NVIDIA-SMI"))
    refuse_file(into.file, "the short form of nvidia-smi", "write it with nvidia-smi -q");
  refuse_file(into.file, text.empty() ? "an empty file" : "a text of a kind that is not known",
              known);
}

/// "nvme=fio.json" where no file has that name.
std::pair<std::string, std::string> named(const std::string& written) {
  const std::size_t sign = written.find('=');
  std::error_code failed;
  if (sign == std::string::npos || std::filesystem::exists(written, failed)) return {"", written};
  return {written.substr(0, sign), written.substr(sign + 1)};
}

}  // namespace

Evidence read_evidence(const std::string& written) {
  Evidence evidence;
  std::tie(evidence.storage, evidence.file) = named(written);
  const std::string text = scenarios::read_packed(scenarios::own_or_shipped(evidence.file));
  const std::string_view inside = trimmed(text);
  if (const std::string_view fio = json_of_fio(inside); !fio.empty())
    read_fio(parsed(fio, evidence.file), evidence);
  else if (inside.starts_with('{') && !inside.starts_with("{'"))
    read_json(text, evidence);
  else if (inside.starts_with('[') && scenarios::looks_like_trace(text))
    read_kernel_trace(text, evidence);
  else
    read_text(inside, evidence);
  return evidence;
}

}  // namespace spillway::evidence
