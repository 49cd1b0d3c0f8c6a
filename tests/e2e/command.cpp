#include "tests/e2e/command.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <cstdlib>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace spillway::e2e {

namespace fs = std::filesystem;

namespace {
const std::vector<std::string> shown{"scenarios", "tests"};
}

Workplace::Workplace() {
  std::string name = (fs::temp_directory_path() / "spillway_e2e_XXXXXX").string();
  if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
  path_ = name;
  for (const std::string& folder : shown)
    fs::create_directory_symlink(fs::path(SPILLWAY_SOURCE_DIR) / folder, path_ / folder);
}

Workplace::~Workplace() {
  std::error_code error;  // a folder that stays behind fails no test
  fs::remove_all(path_, error);
}

void Workplace::write(const std::string& name, const std::string& text) const {
  fs::create_directories((path_ / name).parent_path());
  std::ofstream(path_ / name) << text;
}

bool Workplace::has(const std::string& name) const { return fs::exists(path_ / name); }

std::vector<std::string> Workplace::files() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path_)) {
    const std::string name = entry.path().filename().string();
    if (std::find(shown.begin(), shown.end(), name) == shown.end()) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Ended shell(const Workplace& place, const std::string& line, const std::string& input) {
  Workplace aside;  // the streams lie apart from what the command may write
  aside.write("in", input);
  aside.write("line", line + "\n");
  const std::string bin = fs::path(SPILLWAY_PROGRAM).parent_path().string();
  const std::string at = aside.path().string();
  const std::string command = "unset COLUMNS; cd '" + place.path().string() +
                              "' && export SPILLWAY_TODAY=2026-11-22 && PATH='" + bin +
                              "':\"$PATH\" sh '" + at + "/line' <'" + at + "/in' >'" + at +
                              "/out' 2>'" + at + "/err'";
  const int status = std::system(command.c_str());
  Ended ended;
  ended.exit = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  ended.out = file_text(aside.path() / "out");
  ended.err = file_text(aside.path() / "err");
  return ended;
}

Ended spillway(const std::string& arguments) { return shell(Workplace(), "spillway " + arguments); }

std::string file_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string line_of(const std::string& text, const std::string& beginning) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(' '));
    if (line.starts_with(beginning)) return line;
  }
  return "";
}

}  // namespace spillway::e2e
