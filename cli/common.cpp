#include "cli/common.hpp"

#include "sim/plugin.hpp"
#include "strategies/catalogue.hpp"

#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace spillway::cli {

nlohmann::json errors_json(const std::vector<description::Complaint>& complaints) {
  nlohmann::json errors = nlohmann::json::array();
  for (const description::Complaint& complaint : complaints)
    errors.push_back({{"file", complaint.file},
                      {"line", complaint.line},
                      {"column", complaint.column},
                      {"path", complaint.path},
                      {"message", complaint.message},
                      {"hint", complaint.hint}});
  return {{"errors", std::move(errors)}};
}

const explore::Backend& simulator() {
  static const explore::Backend backend{"sim", sim::open_sim_machine, sim::prepare_sim};
  return backend;
}

scenarios::Resolved read(const std::string& file, const std::vector<std::string>& overrides) {
  scenarios::Resolved resolved = scenarios::read_scenario(
      std::filesystem::path(file), overrides, explore::known_systems(), strategies::unsupported);
  for (const std::string& warning : resolved.warnings)
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
  return resolved;
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_json(const nlohmann::json& json) { print(json.dump(2) + "\n"); }

void add_set(CLI::App& verb, std::vector<std::string>& overrides, const std::string& help) {
  verb.add_option("--set", overrides, help + " (repeatable)")
      ->allow_extra_args(false)
      ->type_name("PATH=VALUE");
}

void write_file(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".part" + std::to_string(::getpid());
  {
    std::ofstream out(temporary, std::ios::binary);
    out << text;
    out.flush();
    if (!out) {
      const std::string reason = std::strerror(errno);
      std::remove(temporary.c_str());
      throw description::ScenarioError({{path, 0, 0, "", "cannot be written: " + reason,
                                         "name a file in a folder that you may write to"}});
    }
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    std::remove(temporary.c_str());
    throw description::ScenarioError({{path, 0, 0, "", "cannot be written: " + reason, ""}});
  }
}

}  // namespace spillway::cli
