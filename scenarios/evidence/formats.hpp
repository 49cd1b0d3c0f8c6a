#pragma once

#include "scenarios/description/text.hpp"
#include "scenarios/evidence/evidence.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

// One reader a kind of file. Each fills what it finds into an Evidence that has its file's name.
//   Throws  ScenarioError: the file is of this kind, and holds nothing that can be used

namespace spillway::evidence {

using description::trimmed;

/// The one line that refuses a file.
[[noreturn]] void refuse_file(const std::string& file, const std::string& message,
                              const std::string& hint);

/// Views of the lines of `text`, without line ends.
std::vector<std::string_view> lines_of(std::string_view text);
/// The number that stands first behind `key` in `line`, after blanks, ':', '=' and '|'; thousands
/// may be set apart by commas.
std::optional<double> number_after(std::string_view line, std::string_view key);
/// What stands behind "key :" in a line that begins with `key`; "" where it does not.
std::string_view value_of(std::string_view line, std::string_view key);
/// Of at least one number.
double median(std::vector<double> numbers);
/// An object's number, or a text that is one; nothing else is.
std::optional<double> number_of(const nlohmann::json& object, const char* key);
std::string text_of(const nlohmann::json& object, const char* key);

/// fio's JSON, versions 2 and 3. Groups of jobs that ran together are added.
void read_fio(const nlohmann::json& document, Evidence& into);

/// smartctl --json or nvme smart-log -o json.
void read_smart(const nlohmann::json& document, Evidence& into);
/// The same as text.
void read_smart_text(std::string_view text, Evidence& into);

/// nvidia-smi -q: text, or XML (-x).
void read_gpu_query(std::string_view text, Evidence& into);
void read_gpu_query_xml(std::string_view text, Evidence& into);

/// lscpu: text, or JSON (-J).
void read_cpu_query(std::string_view text, Evidence& into);
void read_cpu_query(const nlohmann::json& document, Evidence& into);

/// dmidecode -t memory.
void read_memory_query(std::string_view text, Evidence& into);

/// lstopo --of xml.
void read_topology(std::string_view text, Evidence& into);

/// Logs of trainings by DeepSpeed.
void read_deepspeed_log(std::string_view text, Evidence& into);
/// ... by Megatron-LM.
void read_megatron_log(std::string_view text, Evidence& into);
/// trainer_state.json of Hugging Face's Trainer.
void read_trainer_state(const nlohmann::json& document, Evidence& into);
/// What that Trainer prints: Python's dictionaries, a line each.
void read_trainer_log(std::string_view text, Evidence& into);
/// A table of runs, a line each, with a line of names.
void read_run_table(std::string_view text, Evidence& into);

/// A Chrome trace of PyTorch's profiler: rates of matrix products and of copies.
void read_kernel_trace(const std::string& text, Evidence& into);

}  // namespace spillway::evidence
