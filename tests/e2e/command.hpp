#pragma once

#include <nlohmann/json.hpp>

#include <sys/types.h>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace spillway::e2e {

/// A folder of its own for one test, with the project's `scenarios` and `tests` in it, so that what
/// the documentation shows can be pasted there and what it writes disturbs nobody.
class Workplace {
 public:
  Workplace();
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  ~Workplace();

  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const;
  bool has(const std::string& name) const;
  /// The names that a test or the program put there, sorted.
  std::vector<std::string> files() const;

 private:
  std::filesystem::path path_;
};

/// What a finished command left.
struct Ended {
  int exit = -1;  ///< 128 + the signal's number when a signal ended it
  std::string out;
  std::string err;

  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

/// Runs one line of shell in `place`, with `spillway` in the path.
Ended shell(const Workplace& place, const std::string& line, const std::string& input = "");

/// Runs `spillway` with `arguments`, as a shell reads them, in a Workplace of its own.
Ended spillway(const std::string& arguments);

/// A file of the project.
std::string file_text(const std::filesystem::path& path);

/// The line of `text` that starts with `beginning`, spaces in front of it dropped; "" when there is
/// none.
std::string line_of(const std::string& text, const std::string& beginning);

}  // namespace spillway::e2e
