#include "answers/server/probe.hpp"

#include "cli/common.hpp"
#include "cli/verbs.hpp"
#include "hw_backend/device/interrupt.hpp"
#include "hw_backend/probe/smart_log.hpp"
#include "hw_backend/storage/disk_counts.hpp"
#include "reports/inputs/probe_report.hpp"
#include "reports/words/human.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <memory>

namespace spillway::cli {

namespace {

struct ProbeVerbOptions {
  hw_backend::ProbeOptions probe;
  std::vector<std::string> directories;
  std::string out, device = "auto";
  bool json = false, yes = false;
};

/// A line that is drawn over again on standard error, where that is a terminal.
class ProgressBar {
 public:
  explicit ProgressBar(bool shown) : shown_(shown && isatty(STDERR_FILENO)) {}
  ~ProgressBar() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
  }
  ProgressBar(const ProgressBar&) = delete;

  void show(double share, const std::string& what) const {
    if (!shown_) return;
    constexpr int width = 30;
    const int full = static_cast<int>(share * width);
    std::fputs(fmt::format("\r[{:#<{}}{:<{}}] {:3.0f} %  {}\x1b[K", "", full, "", width - full,
                           100 * share, what)
                   .c_str(),
               stderr);
  }

 private:
  bool shown_;
};

std::string wear_of(const std::string& directory, std::uint64_t bytes) {
  const auto disk = hw_backend::read_disk_counts(directory);
  const auto log = disk ? hw_backend::read_smart_log(disk->disk) : std::nullopt;
  const auto rated = log ? hw_backend::rated_bytes(*log) : std::nullopt;
  const double share = static_cast<double>(bytes) / rated.value_or(600e12);
  return fmt::format("  {}: {:.3f} % of {}\n", directory, 100 * share,
                     rated ? "what the drive is rated for by its own log"
                           : "600 TB, which a consumer drive of 1 TB is rated for");
}

/// What is written is stated first; much of it needs a yes.
void announce(const ProbeVerbOptions& options) {
  const std::uint64_t bytes = hw_backend::probe_writes(options.probe);
  std::string text = "Measures this machine without a directory: no storage.\n";
  if (!options.directories.empty())
    text = fmt::format("At most {} are written to {}, and removed again.\n",
                       reports::human_bytes(static_cast<double>(bytes)),
                       options.directories.size() == 1
                           ? options.directories.front()
                           : fmt::format("each of {} directories", options.directories.size()));
  if (options.probe.thorough)
    for (const std::string& directory : options.directories) text += wear_of(directory, bytes);
  std::fputs(text.c_str(), stderr);
  if (!options.probe.thorough || options.yes || options.directories.empty()) return;
  if (!isatty(STDIN_FILENO))
    refuse("--thorough", "writes much, and there is no terminal to ask", "add --yes");
  std::fputs("Go on? [y/N] ", stderr);
  const int letter = std::getchar();
  if (letter != 'y' && letter != 'Y')
    refuse("--thorough", "not confirmed", "answer y, or leave --thorough out");
}

std::string next_command(const std::string& out, bool storage) {
  return storage ? "  spillway simulate scenarios/examples/tiny.json --set machine=" + out + "\n"
                 : "  spillway machine " + out + "\n";
}

void probe(ProbeVerbOptions options) {
  for (const std::string& directory : options.directories)
    options.probe.directories.emplace_back(directory);
  const bool keeps = !options.json || !options.out.empty();
  if (options.out.empty()) options.out = "this_machine.json";
  if (keeps) require_writable("--out", options.out);
  const answers::DeviceChoice device = answers::choose_probe_device(options.device, options.probe);
  announce(options);
  const hw_backend::InterruptGuard interruptible(hw_backend::InterruptGuard::Reader::may_go);
  const answer::Probe answer = [&] {
    const ProgressBar bar(true);
    return answers::probe(options.probe, device,
                          [&](double share, const std::string& what) { bar.show(share, what); });
  }();
  for (const text::Text& warning : answer.warnings) warn(words(warning));
  if (keeps) write_file(options.out, answer.machine.dump(2) + "\n");
  if (options.json) return print_json(answer);
  print(reports::probe_report(answer, reports::screen_of(stdout)) + "\n");
  print(
      "Machine file: " + options.out + ". Try it:\n" +
      next_command(options.out, !answer.machine.value("storage", nlohmann::json::array()).empty()));
}

}  // namespace

void add_probe(CLI::App& app) {
  auto options = std::make_shared<ProbeVerbOptions>();
  CLI::App* verb =
      app.add_subcommand("probe", "measures this machine and writes a machine file for it");
  verb->add_option("directories", options->directories, "a directory on each drive to measure")
      ->type_name("DIR");
  verb->add_option("-o,--out", options->out,
                   "machine file (default: this_machine.json; with --json: none)");
  verb->add_option("--name", options->probe.name, "name of the machine (default: the computer's)");
  add_device(*verb, options->device);
  verb->add_option("--devices", options->probe.devices, "GPUs that the file is to have")
      ->check(CLI::Range(1, 64));
  verb->add_flag("--quick", options->probe.quick, "some 20 s, fewer bytes written, more spread");
  verb->add_flag("--thorough", options->probe.thorough,
                 "also write until a drive slows down: its SLC cache");
  verb->add_flag("--yes", options->yes, "with --thorough: do not ask");
  verb->add_flag("--strict", options->probe.strict,
                 "refuse a directory without O_DIRECT, whose rates would be the page cache's");
  add_shared_folders(*verb);
  verb->add_flag("--json", options->json, "everything that was measured as JSON");
  verb->footer("Example:\n  spillway probe . --quick --out this_machine.json");
  verb->callback([options] { probe(*options); });
}

}  // namespace spillway::cli
