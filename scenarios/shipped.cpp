#include "scenarios/shipped.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "scenarios/description/data_files.hpp"

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

}  // namespace spillway::scenarios
