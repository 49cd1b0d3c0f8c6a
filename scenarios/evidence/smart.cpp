#include "scenarios/evidence/formats.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <cstdlib>

namespace spillway::evidence {

using nlohmann::json;

namespace {

/// A data unit is 1,000 times 512 bytes.
///   Source  NVM Express Base Specification, SMART / Health Information
constexpr double data_unit = 512'000;

constexpr auto* without_section =
    "no NVMe drive: what a disk behind SATA or SAS has written is told in fields that differ from "
    "maker to maker";

/// Of its namespaces, bytes that there are and bytes that something was written to.
struct Use {
  std::optional<double> size, used;

  void add(std::optional<double> size_of_one, std::optional<double> used_of_one) {
    if (!size_of_one || !used_of_one) return;
    size = size.value_or(0) + *size_of_one;
    used = used.value_or(0) + *used_of_one;
  }
};

/// A drive that keeps no account of what is written says that all of it is.
///   Source  NVM Express Base Specification, Identify Namespace: Namespace Utilization
void put_use(const Use& use, Evidence& into) {
  if (!use.size || !use.used || *use.used <= 0 || *use.used >= *use.size) return;
  into.readings.push_back(
      {"storage.endurance.held", "bytes", *use.used, "what the drive says is in use"});
  into.notes.push_back(text::filled(
      "{} of it are in use: all of them count as others', which a run does not have "
      "(endurance.held); what an earlier training left there, or nobody trimmed, is in them: "
      "remove it first, or write a smaller number",
      {text::bytes(*use.used, text::Origin::measured)}));
}

void found(Evidence& into, DriveWear drive, std::optional<double> capacity) {
  if (capacity)
    into.readings.push_back({"storage.capacity", "bytes", *capacity, "what the drive says"});
  into.readings.push_back(
      {"storage.endurance.written", "bytes", drive.bytes_written, "what the drive says"});
  into.drive = std::move(drive);
}

/// What smartctl says of its own failure; "": nothing.
std::string complaint_of(const json& document) {
  const json::json_pointer status("/smartctl/exit_status"), messages("/smartctl/messages");
  if (!document.contains(status) || document.at(status) == 0 || !document.contains(messages))
    return "";
  for (const json& message : document.at(messages))
    if (message.is_object()) return text_of(message, "string");
  return "";
}

/// Of a drive, as far as its log says.
struct Health {
  std::optional<double> critical_warning, spare, spare_threshold, media_errors;
};

DriveWear wear_of(const json& log, const std::string& file) {
  const auto units = number_of(log, "data_units_written");
  const auto used =
      number_of(log, log.contains("percent_used") ? "percent_used" : "percentage_used");
  if (!units || !used || *units < 0 || *used < 0 || *used > 255)
    refuse_file(file, "a SMART log without data_units_written and percentage_used",
                "write it with smartctl --json -a /dev/nvmeN, as root");
  return {"", *units * data_unit, static_cast<unsigned>(*used), number_of(log, "power_on_hours")};
}

/// What the drive says of its own end.
///   Source  NVM Express Base Specification, SMART / Health Information: Critical Warning
void warn(const DriveWear& drive, const Health& health, Evidence& into) {
  constexpr const char* bits[] = {
      "spare blocks are below their threshold", nullptr,
      "its media or electronics are degraded",  "it is read-only",
      "its backup of volatile memory failed",   "its persistent memory is read-only"};
  constexpr unsigned temperature = 1;
  const std::string name = drive.model.empty() ? "the drive" : drive.model;
  std::vector<std::string> signs;
  const auto warning = static_cast<unsigned>(health.critical_warning.value_or(0));
  for (std::size_t bit = 0; bit < std::size(bits); ++bit)
    if (bits[bit] && warning >> bit & 1) signs.emplace_back(bits[bit]);
  if (warning >> temperature & 1)
    into.notes.push_back(
        name +
        " says that it is beyond its temperature limits, where drives slow down: cool it, and "
        "measure its rates again");
  if (health.spare && health.spare_threshold && *health.spare < *health.spare_threshold)
    signs.push_back(fmt::format("{:.0f} % of its spare blocks are left, below {:.0f} %",
                                *health.spare, *health.spare_threshold));
  if (health.media_errors.value_or(0) > 0)
    signs.push_back(fmt::format("it lost data {:.0f} times (media errors)", *health.media_errors));
  if (!signs.empty())
    into.notes.push_back(
        fmt::format("{} says that it fails, whatever is left of its endurance: {}; "
                    "replace it before a training writes to it",
                    name, fmt::join(signs, "; ")));
}

}  // namespace

void read_smart(const json& document, Evidence& into) {
  into.kind = document.contains("smartctl") ? "smartctl" : "nvme smart-log";
  const auto section = document.find("nvme_smart_health_information_log");
  const json& log = section != document.end() ? *section : document;
  if (section == document.end() && !document.contains("data_units_written")) {
    if (const std::string said = complaint_of(document); !said.empty())
      refuse_file(into.file, "smartctl could not read the drive: " + said,
                  "run smartctl --json -a /dev/nvmeN as root");
    const auto device = document.find("device");
    const std::string name = device != document.end() ? text_of(*device, "name") : "";
    refuse_file(into.file, fmt::format("{}{}", name.empty() ? "" : name + ": ", without_section),
                "name the log of an NVMe drive");
  }
  DriveWear drive = wear_of(log, into.file);
  drive.model = text_of(document, "model_name");
  if (!drive.hours) {
    const auto time = document.find("power_on_time");
    if (time != document.end()) drive.hours = number_of(*time, "hours");
  }
  std::optional<double> capacity = number_of(document, "nvme_total_capacity");
  const auto user = document.find("user_capacity");
  if (user != document.end()) capacity = number_of(*user, "bytes");
  const char* const spare = log.contains("avail_spare") ? "avail_spare" : "available_spare";
  const char* const least =
      log.contains("spare_thresh") ? "spare_thresh" : "available_spare_threshold";
  warn(drive,
       {number_of(log, "critical_warning"), number_of(log, spare), number_of(log, least),
        number_of(log, "media_errors")},
       into);
  Use use;
  if (const auto spaces = document.find("nvme_namespaces");
      spaces != document.end() && spaces->is_array())
    for (const json& space : *spaces) {
      const auto bytes = [&](const char* of) {
        const auto part = space.is_object() ? space.find(of) : space.end();
        return space.is_object() && part != space.end() ? number_of(*part, "bytes")
                                                        : std::optional<double>();
      };
      use.add(bytes("size"), bytes("utilization"));
    }
  found(into, std::move(drive), capacity);
  put_use(use, into);
}

namespace {

/// Bytes of what stands between groups of three digits, in any locale: a comma, a point, an
/// apostrophe, a space, or one that does not break; 0: nothing of these does.
std::size_t separator(std::string_view text) {
  if (text.starts_with("\u202f")) return 3;
  if (text.starts_with("\u00a0")) return 2;
  return !text.empty() && std::string_view(",.' ").find(text.front()) != std::string_view::npos;
}

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

/// The whole number with which `text` begins.
///   Source  smartmontools, utility.cpp, format_with_thousands_sep, which asks the locale
std::optional<double> whole_number(std::string_view text) {
  std::string digits;
  while (!text.empty() && is_digit(text.front())) {
    digits += text.front();
    text.remove_prefix(1);
    const std::size_t gap = separator(text);
    if (gap == 0) continue;
    const std::string_view group = text.substr(gap);
    const bool is_group = group.size() >= 3 &&
                          std::all_of(group.begin(), group.begin() + 3, is_digit) &&
                          (group.size() == 3 || !is_digit(group[3]));
    if (!is_group) break;
    text = group;
  }
  return digits.empty() ? std::optional<double>() : std::stod(digits);
}

}  // namespace

void read_smart_text(std::string_view text, Evidence& into) {
  into.kind = text.find("smartctl") != std::string_view::npos ? "smartctl" : "nvme smart-log";
  std::optional<double> units, used, hours, capacity, size, in_use;
  Health health;
  std::string model;
  for (const std::string_view line : lines_of(text)) {
    const auto number = [&](std::optional<double>& into_this, std::string_view key) {
      const std::string_view value = value_of(line, key);
      if (!value.empty()) into_this = whole_number(value);
    };
    number(units, "Data Units Written");
    number(units, "data_units_written");
    number(used, "Percentage Used");
    number(used, "percentage_used");
    number(health.spare, "Available Spare");
    number(health.spare, "available_spare");
    number(health.spare_threshold, "Available Spare Threshold");
    number(health.spare_threshold, "available_spare_threshold");
    number(health.media_errors, "Media and Data Integrity Errors");
    number(health.media_errors, "media_errors");
    if (const auto value = value_of(line, "Critical Warning"); value.starts_with("0x"))
      health.critical_warning = static_cast<double>(std::strtoul(value.data() + 2, nullptr, 16));
    number(health.critical_warning, "critical_warning");
    number(hours, "Power On Hours");
    number(hours, "power_on_hours");
    number(capacity, "Namespace 1 Size/Capacity");
    number(size, "Namespace 1 Size");
    number(in_use, "Namespace 1 Utilization");
    if (const auto value = value_of(line, "Model Number"); !value.empty()) model = value;
  }
  if (!units || !used) refuse_file(into.file, without_section, "name the log of an NVMe drive");
  const json log = {{"data_units_written", *units}, {"percentage_used", *used}};
  DriveWear drive = wear_of(log, into.file);
  drive.model = model;
  drive.hours = hours;
  warn(drive, health, into);
  found(into, std::move(drive), capacity);
  Use use;
  use.add(capacity ? capacity : size, in_use);
  put_use(use, into);
}

}  // namespace spillway::evidence
