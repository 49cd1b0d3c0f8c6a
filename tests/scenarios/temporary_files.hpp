#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace spillway::scenarios {

/// Owns a directory for the files of one test.
class TemporaryFiles {
 public:
  TemporaryFiles() {
    std::string name = (std::filesystem::temp_directory_path() / "spillway_XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary directory");
    directory_ = name;
  }
  TemporaryFiles(const TemporaryFiles&) = delete;
  TemporaryFiles& operator=(const TemporaryFiles&) = delete;
  ~TemporaryFiles() {
    std::error_code error;  // a directory that stays behind fails no test
    std::filesystem::remove_all(directory_, error);
  }

  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name) << text;
    return (directory_ / name).string();
  }
  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  /// `text` without the directory's path.
  std::string relative(std::string text) const {
    const std::string prefix = directory_.string() + "/";
    for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix))
      text.erase(at, prefix.size());
    return text;
  }

 private:
  std::filesystem::path directory_;
};

}  // namespace spillway::scenarios
