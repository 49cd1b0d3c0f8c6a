#include "cli/program.hpp"

#include "cli/common.hpp"
#include "cli/gui.hpp"
#include "cli/option_formatter.hpp"
#include "cli/verbs.hpp"
#include "cli/version.hpp"
#include "hw_backend/device/interrupt.hpp"
#include "hw_backend/storage/descriptor.hpp"
#include "scenarios/description/bugs.hpp"
#include "scenarios/description/text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <string_view>
#include <system_error>

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
    std::fprintf(stderr, "%s\n", description::printable(to_string(complaint)).c_str());
}

std::vector<std::string> verbs_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb :
       app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); }))
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
  if (range == std::string::npos) return message;
  const std::string start = message.substr(0, range);
  const std::string word = start.substr(start.find_last_of(' ') + 1);
  char* end = nullptr;
  std::strtod(word.c_str(), &end);
  return start + (end == word.c_str() + word.size() ? " is not above 0" : " is no number");
}

/// `spillway help VERB`: what `spillway VERB --help` says.
void help(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* verb = &app;
  std::string before;
  for (const std::string& word : words) {
    const auto next =
        verb->get_subcommands([&word](const CLI::App* one) { return one->get_name() == word; });
    if (next.empty()) {
      const std::vector<std::string> known = verbs_of(*verb);
      refuse("help", "no verb \"" + word + "\"",
             did_you_mean(word, known) + (known.empty() ? "" : "known: ") +
                 fmt::format("{}", fmt::join(known, ", ")));
    }
    before += (before.empty() ? "" : " ") + verb->get_name();
    verb = next.front();
  }
  // help() of a program speaks of the verb that was parsed, which is this one
  print(words.empty() ? app.get_formatter()->make_help(&app, app.get_name(), {})
                      : verb->help(before));
}

void add_help(CLI::App& app) {
  auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* verb = app.add_subcommand("help", "what a verb does: help plan drives");
  verb->add_option("verb", *words, "its words; none: all verbs");
  verb->footer("Example:\n  spillway help plan drives");
  verb->callback([&app, words] { help(app, *words); });
}

void add_version(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("version", "the version of the program");
  verb->footer("Example:\n  spillway version");
  verb->callback([] { print(version_text() + "\n"); });
}

/// What is wrong with the words of the command, and the nearest ones that are right.
description::Complaint usage_complaint(const CLI::App& app, const CLI::ParseError& error) {
  description::Complaint complaint{"command line",       0, 0, "", plainer(error.what()),
                                   "see spillway --help"};
  const CLI::App* verb = &app;
  std::string words = "spillway";
  while (!verb->get_subcommands().empty()) {
    verb = verb->get_subcommands().front();
    words += " " + verb->get_name();
  }
  complaint.hint = "see " + words + " --help";
  const std::vector<std::string> verbs = verbs_of(*verb);
  const std::vector<std::string> extra = app.remaining(true);
  if (extra.empty()) {
    if (!verbs.empty())
      complaint.message = fmt::format("a verb is missing: {}", fmt::join(verbs, ", "));
    return complaint;
  }
  const auto is_option = [](const std::string& word) { return word.starts_with("-"); };
  const auto option = std::find_if(extra.begin(), extra.end(), is_option);
  if (option == extra.end() && verbs.empty()) return complaint;
  const bool no_option = option != extra.end();
  const std::string& word = no_option ? *option : extra.front();
  complaint.message = (no_option ? "no option \"" : "no verb \"") + word + "\"";
  complaint.hint = did_you_mean(word, no_option ? options_of(*verb) : verbs) + complaint.hint;
  return complaint;
}

int usage_error(const CLI::App& app, const CLI::ParseError& error, bool json) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help
  report({usage_complaint(app, error)}, json);
  return users_input;
}

constexpr const char* please_report = "please report it with the scenario";

/// Where the scenario was written in which a bug shows: of a question that tries many, people do
/// not have it. "" where it cannot be.
std::string file_of(const Bug& bug) {
  if (bug.scenario.empty()) return "";
  std::error_code none;
  std::string name = (std::filesystem::temp_directory_path(none) / "spillway_bug_XXXXXX.json");
  const int file = none ? -1 : ::mkstemps(name.data(), 5);
  if (file < 0) return "";
  const hw_backend::Descriptor owned(file);
  const auto written = ::write(file, bug.scenario.data(), bug.scenario.size());
  return written == static_cast<ssize_t>(bug.scenario.size()) ? name : "";
}

/// Bugs that stand in the answer in the place of what they kept from it, and simulations that it
/// does without.
int bugs_met() {
  for (const Bug& bug : noticed_bugs()) {
    const std::string file = file_of(bug);
    std::fprintf(stderr, "%s; %s%s\n", description::printable(bug.failure).c_str(), please_report,
                 file.empty() ? "" : (", " + file).c_str());
  }
  for (const auto& [why, times] : noticed_unanswered())
    std::fprintf(stderr, "not known: %s%s; the same command tries again\n",
                 description::printable(why).c_str(),
                 times > 1 ? fmt::format(", {} times", times).c_str() : "");
  if (!noticed_bugs().empty()) return our_bug;
  if (!noticed_unanswered().empty()) return no_answer;
  return answer;
}

/// What was printed reaches its reader, or the device that took it is at fault.
int delivered() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return bugs_met();
  // of a write long before, what asked since whether something is a terminal has the last word
  const bool unknown = errno == 0 || errno == ENOTTY;
  std::fprintf(stderr, "standard output: %s\n",
               unknown ? "it did not take all, as a full device does" : std::strerror(errno));
  return device;
}

/// A standard stream that came closed is opened as what cannot be used, so that no file of ours
/// gets its number and with it what is written to the stream.
void keep_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    while (::fcntl(fd, F_GETFD) < 0 && errno == EBADF)
      if (::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  keep_standard_descriptors();
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit fails, and says which one it was
  CLI::App app(description_text, "spillway");
  app.footer(footer_text);
  app.formatter(std::make_shared<OptionFormatter>());
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text, "Display program version information and exit");
  for (const auto add :
       {add_fit,    add_new,      add_describe, add_simulate, add_compare,   add_report,
        add_model,  add_machine,  add_systems,  add_import,   add_export,    add_lifetimes,
        add_worker, add_fidelity, add_probe,    add_validate, add_calibrate, add_explore,
        add_plan,   add_gui,      add_help,     add_version,  add_generate})
    add(app);
  const bool json = std::any_of(
      argv + 1, argv + argc, [](const char* word) { return std::string_view(word) == "--json"; });
  try {
    app.parse(argc, argv);
    return delivered();
  } catch (const CLI::RuntimeError& error) {
    const int printed = delivered();
    return printed == answer || error.get_exit_code() > signalled ? error.get_exit_code() : printed;
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
  } catch (const std::bad_alloc&) {
    report({{"", 0, 0, "", "the system gives no more memory", "end other programs"}}, json);
    return device;
  } catch (const std::filesystem::filesystem_error& error) {
    report({{error.path1().string(), 0, 0, "", error.code().message(), ""}}, json);
    return users_input;
  } catch (const std::system_error& error) {
    report({{"", 0, 0, "", error.code().message(), "end other programs, or try again"}}, json);
    return device;
  } catch (const std::exception& error) {
    report({{"", 0, 0, "", description::as_bug(error.what()), please_report}}, json);
    return our_bug;
  }
}

}  // namespace spillway::cli
