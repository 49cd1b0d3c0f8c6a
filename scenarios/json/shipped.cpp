#include "scenarios/json/shipped.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "scenarios/description/data_files.hpp"
#include "scenarios/description/errors.hpp"
#include "scenarios/json/schema_check.hpp"

namespace spillway::scenarios {

std::vector<std::string> shipped_names(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> names;
  std::error_code error;  // a folder that is not there ships nothing
  for (const fs::directory_entry& entry :
       fs::directory_iterator(description::data_root() / folder, error))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string shipped_file(const std::string& folder, const std::string& name) {
  return (description::data_root() / folder / (name + ".json")).string();
}

namespace {

bool is_file(const std::filesystem::path& file) {
  std::error_code error;  // what cannot be looked at cannot be read
  return std::filesystem::exists(file, error) && !std::filesystem::is_directory(file, error);
}

}  // namespace

std::string own_or_shipped(const std::string& path) {
  if (is_file(path) || std::filesystem::path(path).is_absolute()) return path;
  const std::filesystem::path shipped = description::data_root() / path;
  return is_file(shipped) ? shipped.string() : path;
}

std::string named_file(const std::string& word, const std::string& folder,
                       const std::string& path) {
  if (is_file(word) || std::filesystem::path(word).is_absolute()) return word;
  if (const std::string file = shipped_file(folder, word); is_file(file)) return file;
  if (word.find('/') != std::string::npos || word.ends_with(".json")) return own_or_shipped(word);
  throw description::ScenarioError({unknown_name({}, path, word, shipped_names(folder))});
}

}  // namespace spillway::scenarios
