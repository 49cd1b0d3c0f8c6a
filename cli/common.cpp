#include "cli/common.hpp"

#include "hw_backend/device/interrupt.hpp"
#include "hw_backend/storage/descriptor.hpp"
#include "reports/words/table.hpp"
#include "scenarios/description/bugs.hpp"
#include "scenarios/description/complaint_json.hpp"
#include "scenarios/description/quantity.hpp"
#include "scenarios/description/text.hpp"
#include "scenarios/reading/own_parts.hpp"
#include "sim/plugin.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>
#include <string_view>

namespace spillway::cli {

nlohmann::json errors_json(const std::vector<description::Complaint>& complaints) {
  return {{"errors", complaints}};
}

const explore::Backend& simulator() {
  static const explore::Backend backend{.name = "sim",
                                        .open = sim::open_sim_machine,
                                        .prepare = sim::prepare_sim,
                                        .on_bug = notice_bug,
                                        .on_unanswered = notice_unanswered,
                                        .open_folded = sim::open_folded_sim_machine};
  return backend;
}

namespace {
std::vector<Bug>& bugs() {
  static std::vector<Bug> all;
  return all;
}
}  // namespace

void notice_bug(const std::string& failure, const std::string& scenario) {
  const bool known = std::any_of(bugs().begin(), bugs().end(),
                                 [&](const Bug& bug) { return bug.failure == failure; });
  if (!known) bugs().push_back({failure, scenario});
}

const std::vector<Bug>& noticed_bugs() { return bugs(); }

namespace {
std::map<std::string, std::size_t>& unanswered() {
  static std::map<std::string, std::size_t> all;
  return all;
}
}  // namespace

void notice_unanswered(const std::string& failure) {
  if (!description::is_bug(failure)) ++unanswered()[failure];
}

const std::map<std::string, std::size_t>& noticed_unanswered() { return unanswered(); }

void warn(const std::string& text) {
  const reports::Screen screen = reports::screen_of(stderr).for_keys();
  std::fputs(reports::paragraph("warning: " + text, screen).c_str(), stderr);
}

scenarios::Resolved read(const std::string& file, const std::vector<std::string>& overrides) {
  scenarios::Resolved resolved =
      scenarios::read_scenario(std::filesystem::path(file), overrides, explore::known_systems(),
                               scenarios::Refuse::what_cannot_run);
  print_warnings(resolved);
  return resolved;
}

void print_warnings(const scenarios::Resolved& resolved) {
  static std::set<std::string> said;  // a comparison reads one file many times
  for (const std::string& warning : resolved.warnings)
    if (said.insert(warning).second) warn(warning);
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

std::string scenario_text(const nlohmann::json& scenario) {
  return scenarios::with_own_parts(scenario, explore::known_systems()).dump(2) + "\n";
}

void print_json(const nlohmann::json& json) { print(description::json_text(json, 2) + "\n"); }

void add_set(CLI::App& verb, std::vector<std::string>& overrides, const std::string& help) {
  verb.add_option("--set", overrides, help + " (repeatable)")
      ->allow_extra_args(false)
      ->type_name("PATH=VALUE");
}

void add_device(CLI::App& verb, std::string& wish) {
  verb.add_option("--device", wish,
                  "what computes: cuda, or host, which plays GPUs on the processor (default: "
                  "auto, cuda where there is one)")
      ->check(CLI::IsMember({"auto", "cuda", "host"}))
      ->type_name("auto|cuda|host");
}

CLI::Validator positive_number() {
  return CLI::Validator(
      [](std::string& text) {
        char* end = nullptr;
        const double number = std::strtod(text.c_str(), &end);
        if (text.empty() || *end != '\0') return "Value " + text + " is no number";
        const bool fine = std::isfinite(number) && number > 0;
        return fine ? std::string() : "Value " + text + " is not above 0";
      },
      "POSITIVE");
}

CLI::Validator count_with_suffix() {
  return CLI::Validator(
      [](std::string& text) {
        const std::size_t at =
            text.empty() ? std::string::npos : std::string_view("KkMBGT").find(text.back());
        if (at == std::string::npos) return std::string();
        constexpr const char* powers[] = {"e3", "e3", "e6", "e9", "e9", "e12"};
        const std::string digits = text.substr(0, text.size() - 1);
        if (digits.find_first_not_of("0123456789.") == std::string::npos)
          text = digits + powers[at];
        return std::string();
      },
      "NUMBER[K|M|B|T]");
}

CLI::Validator seconds_with_unit() {
  return CLI::Validator(
      [](std::string& text) {
        const auto time = description::parse_quantity(description::Dimension::seconds, text);
        if (time.problem.empty()) text = fmt::format("{}", static_cast<double>(time.value));
        return std::string();
      },
      "TIME");
}

void require_yes(std::FILE* to) {
  std::fputs("Type yes to start: ", to);
  std::fflush(to);
  std::string typed;
  std::getline(std::cin, typed);
  hw_backend::stop_if_interrupted();
  if (typed != "yes") refuse("--ask", "nothing was run, since nobody typed yes", "");
}

namespace {

constexpr auto allow_raw = "--allow-raw";

std::string read_line(int terminal) {
  std::string line;
  char letter = 0;
  while (::read(terminal, &letter, 1) == 1) {
    if (letter == '\n') return line;
    line += letter;
  }
  hw_backend::stop_if_interrupted();
  refuse(allow_raw, "nobody typed the serial number", "nothing was written; run again and type it");
}

}  // namespace

std::string ask_at_terminal(const std::string& text) {
  const bool is_terminal = isatty(STDIN_FILENO) == 1;
  const hw_backend::Descriptor terminal(is_terminal ? dup(STDIN_FILENO)
                                                    : open("/dev/tty", O_RDWR | O_CLOEXEC));
  if (!terminal)
    refuse(allow_raw, "the serial number has to be typed at a terminal, and there is none",
           "run it in a terminal; nothing was written");
  if (write(terminal.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    refuse(allow_raw, "the terminal cannot show what would be overwritten",
           "run it in another terminal");
  return read_line(terminal.get());
}

}  // namespace spillway::cli
