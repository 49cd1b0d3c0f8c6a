#include "cli/program.hpp"

#include "cli/common.hpp"
#include "cli/verbs.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace spillway::cli {

namespace {

enum Exit { answer = 0, users_input = 2, device = 3, our_bug = 4 };

constexpr const char* description_text =
    "Predicts what training a model larger than the GPU needs when weights, activations, gradients "
    "and optimizer "
    "states are spilled to DRAM and SSD: memory, traffic, wear and time.";
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

int usage_error(const CLI::App& app, const CLI::ParseError& error, bool json) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help
  const std::string message = error.what();
  report({{"command line", 0, 0, "", message, "see spillway --help"}}, json);
  return users_input;
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  CLI::App app(description_text, "spillway");
  app.footer(footer_text);
  app.require_subcommand(1);
  app.set_version_flag("--version", "spillway 0.1");
  for (const auto add : {add_simulate, add_compare, add_model, add_machine, add_systems, add_import,
                         add_export, add_worker})
    add(app);
  const bool json = std::any_of(
      argv + 1, argv + argc, [](const char* word) { return std::string_view(word) == "--json"; });
  try {
    app.parse(argc, argv);
    return std::fflush(stdout) == 0 ? answer : device;
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error, json);
  } catch (const description::ScenarioError& error) {
    report(error.complaints(), json);
    return users_input;
  } catch (const description::DeviceError& error) {
    report({{"", 0, 0, "", error.what(), ""}}, json);
    return device;
  } catch (const std::exception& error) {
    report({{"", 0, 0, "", std::string("a bug of spillway: ") + error.what(),
             "please report it with the scenario"}},
           json);
    return our_bug;
  }
}

}  // namespace spillway::cli
