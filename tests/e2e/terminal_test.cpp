#include "tests/e2e/command.hpp"
#include "tests/long_test.hpp"

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>

namespace spillway::e2e::terminal_test {
namespace {

/// What `spillway arguments` shows on a terminal of `columns`, which has colours unless NO_COLOR;
/// not its progress, which is on the same line as what follows it.
std::string shown(const std::string& arguments, unsigned short columns, bool colours) {
  int terminal = -1;
  winsize size{};
  size.ws_col = columns;
  size.ws_row = 50;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    const std::string line = "unset COLUMNS NO_COLOR; TERM=xterm; export TERM; " +
                             std::string(colours ? "" : "NO_COLOR=1; export NO_COLOR; ") + "'" +
                             SPILLWAY_PROGRAM + "' " + arguments + " 2>/dev/null";
    if (::chdir(SPILLWAY_SOURCE_DIR) == 0) execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = ::read(terminal, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(count));
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(terminal);
  EXPECT_EQ(status, 0) << text;
  std::erase(text, '\r');
  return text;
}

/// The widest line but for commands to paste, in bytes; all of these reports are ASCII.
std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("  spillway ")) widest = std::max(widest, line.size());
  return widest;
}

const std::vector<std::string> reports = {
    "simulate scenarios/examples/tiny.json",
    "simulate scenarios/examples/tiny.json --explain",
    "simulate scenarios/examples/llama8b_four_gpus.json --explain memory",
    "simulate scenarios/examples/qwen7b_one_box.json",
    "compare scenarios/examples/qwen7b_one_box.json scenarios/examples/tiny.json "
    "--system zero_offload,zero_infinity",
    "model qwen2.5-7b",
    "machine gaming_4090",
    "systems"};

TEST(Terminal, IsNotExceededByAnyReport) {
  LONG_TEST();
  for (const std::string& report : reports)
    for (const unsigned short columns : {80, 140})
      EXPECT_LE(widest_line(shown(report, columns, false)), columns) << report;
}

TEST(Terminal, IsFilledWhereThereIsMoreRoom) {
  EXPECT_GT(widest_line(shown("machine gaming_4090", 140, false)), 100u);
}

TEST(Terminal, HasColoursUnlessTheyAreUnwanted) {
  const std::string compare = "compare scenarios/examples/tiny.json --system resident,zero_offload";
  EXPECT_NE(shown(compare, 100, true).find("\033[1;32m"), std::string::npos);
  EXPECT_EQ(shown(compare, 100, false).find('\033'), std::string::npos);
  EXPECT_EQ(spillway(compare).out.find('\033'), std::string::npos);  // a file
}

}  // namespace
}  // namespace spillway::e2e::terminal_test
