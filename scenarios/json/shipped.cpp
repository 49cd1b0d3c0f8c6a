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

std::string named_file(const std::string& word, const std::string& folder,
                       const std::string& path) {
  namespace fs = std::filesystem;
  const auto is_file = [](const fs::path& file) {
    std::error_code error;  // what cannot be looked at cannot be read
    return fs::exists(file, error) && !fs::is_directory(file, error);
  };
  if (is_file(word) || fs::path(word).is_absolute()) return word;
  for (const fs::path& file :
       {fs::path(shipped_file(folder, word)), description::data_root() / word})
    if (is_file(file)) return file.string();
  const bool is_path = word.find('/') != std::string::npos || word.ends_with(".json");
  if (is_path) return word;  // whoever reads it says what is wrong
  throw description::ScenarioError({unknown_name({}, path, word, shipped_names(folder))});
}

}  // namespace spillway::scenarios
