#include "cli/program.hpp"

#include "cli/common.hpp"
#include "cli/verbs.hpp"
#include "hw_backend/interrupt.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace spillway::cli {

namespace {

enum Exit { answer = 0, users_input = 2, device = 3, our_bug = 4, signalled = 128 };

constexpr const char* description_text =
    "Predicts what training a model larger than the GPU needs when weights, activations,\n"
    "gradients and optimizer states are spilled to DRAM and SSD: memory, traffic, wear and time.";
constexpr const char* footer_text =
    "Examples:\n"
    "  spillway simulate scenarios/examples/qwen7b_memascend_c1.json --explain\n"
    "  spillway compare scenarios/examples/qwen7b_memascend_c1.json --system "
    "resident,zero_offload,zero_infinity\n"
    "  spillway model qwen2.5-7b";

void report(const std::vector<description::Complaint>& complaints, bool json) {
  if (json) return print_json(errors_json(complaints));
  for (const description::Complaint& complaint : complaints)
    std::fprintf(stderr, "%s\n", to_string(complaint).c_str());
}

std::vector<std::string> verbs_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(verb->get_name());
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  const std::string nearest = description::nearest_name(word, known);
  return nearest.empty() ? "" : "did you mean \"" + nearest + "\"? ";
}

/// CLI11 names the largest number there is where any above 0 will do.
std::string plainer(const std::string& message) {
  const std::size_t range = message.find(" not in range 0.000000 to 179769");
  return range == std::string::npos ? message : message.substr(0, range) + " is not above 0";
}

/// What is wrong with the words of the command, and the nearest ones that are right.
description::Complaint usage_complaint(const CLI::App& app, const CLI::ParseError& error) {
  description::Complaint complaint{"command line",       0, 0, "", plainer(error.what()),
                                   "see spillway --help"};
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const CLI::App& verb = chosen.empty() ? app : *chosen.front();
  if (!chosen.empty()) complaint.hint = "see spillway " + verb.get_name() + " --help";
  const std::vector<std::string> extra = app.remaining(true);
  if (extra.empty()) {
    if (chosen.empty())
      complaint.message = "a verb is missing: " + fmt::format("{}", fmt::join(verbs_of(app), ", "));
    return complaint;
  }
  const std::string& word = extra.front();
  const bool option = word.starts_with("-");
  if (!option && !chosen.empty()) return complaint;
  complaint.message = (option ? "no option \"" : "no verb \"") + word + "\"";
  complaint.hint = did_you_mean(word, option ? options_of(verb) : verbs_of(app)) + complaint.hint;
  return complaint;
}

int usage_error(const CLI::App& app, const CLI::ParseError& error, bool json) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help
  report({usage_complaint(app, error)}, json);
  return users_input;
}

/// What was printed reaches its reader, or the device that took it is at fault.
int delivered() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return answer;
  std::fprintf(stderr, "standard output: %s\n", std::strerror(errno));
  return device;
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  CLI::App app(description_text, "spillway");
  app.footer(footer_text);
  app.require_subcommand(1);
  app.set_version_flag("--version", "spillway 0.1");
  for (const auto add : {add_fit, add_new, add_describe, add_simulate, add_compare, add_model,
                         add_machine, add_systems, add_import, add_export, add_lifetimes,
                         add_worker, add_fidelity, add_probe, add_validate, add_explore, add_plan})
    add(app);
  const bool json = std::any_of(
      argv + 1, argv + argc, [](const char* word) { return std::string_view(word) == "--json"; });
  try {
    app.parse(argc, argv);
    return delivered();
  } catch (const CLI::RuntimeError& error) {
    const int printed = delivered();
    return printed == answer ? error.get_exit_code() : printed;
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error, json);
  } catch (const description::ScenarioError& error) {
    report(error.complaints(), json);
    return users_input;
  } catch (const description::DeviceError& error) {
    report({{"", 0, 0, "", error.what(), ""}}, json);
    return device;
  } catch (const hw_backend::Interrupted& interrupted) {
    std::fprintf(stderr, "interrupted; nothing is left behind\n");
    return signalled + interrupted.signal();  // as a shell says it
  } catch (const std::exception& error) {
    report({{"", 0, 0, "", std::string("a bug of spillway: ") + error.what(),
             "please report it with the scenario"}},
           json);
    return our_bug;
  }
}

}  // namespace spillway::cli
