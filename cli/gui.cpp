#include "cli/gui.hpp"

#include "cli/common.hpp"

#include <unistd.h>
#include <cstring>
#include <filesystem>
#include <memory>

namespace spillway::cli {

namespace {

constexpr const char* program = "spillway-gui";

struct GuiOptions {
  std::vector<std::string> files;
  std::string page, screenshot, size, theme;
};

/// The application takes this process over: its window is what the verb answers with.
void gui(const GuiOptions& options) {
  std::vector<std::string> words = {program};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--page", options.page);
  add("--screenshot", options.screenshot);
  add("--size", options.size);
  add("--theme", options.theme);
  if (!options.files.empty()) words.emplace_back("--");
  words.insert(words.end(), options.files.begin(), options.files.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::error_code unknown;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", unknown);
  if (!unknown) ::execv((own.parent_path() / program).c_str(), arguments.data());
  ::execvp(program, arguments.data());
  refuse("gui", std::string(program) + " cannot be started: " + std::strerror(errno),
         "install the package spillway-gui, or build with Qt 6 (qt6-base-dev, qt6-svg-dev)");
}

}  // namespace

void add_gui(CLI::App& app) {
  auto options = std::make_shared<GuiOptions>();
  CLI::App* verb = app.add_subcommand(
      "gui", "the desktop application: what if, timelines, memory, comparisons, searches");
  verb->add_option("files", options->files,
                   "scenarios, results, traces, validations, databases to open");
  verb->add_option("--page", options->page,
                   "what-if, timeline, memory, compare, explore, validate or machines");
  verb->add_option("--screenshot", options->screenshot,
                   "writes the page as PNG, SVG or PDF and ends; needs no display");
  verb->add_option("--size", options->size, "of the window: 1280x860");
  verb->add_option("--theme", options->theme, "light or dark; else as the desktop");
  verb->footer(
      "Example:\n  spillway gui scenarios/examples/tiny.json --page memory --screenshot tiny.png");
  verb->callback([options] { gui(*options); });
}

}  // namespace spillway::cli
