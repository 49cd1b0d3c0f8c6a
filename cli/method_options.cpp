#include "cli/method_options.hpp"

#include "scenarios/deepspeed/import_adapter.hpp"

namespace spillway::cli {

void add_method(CLI::App& verb, MethodOptions& options) {
  verb.add_option("--method", options.method,
                  "what is trained: full, lora, qlora; --set training.lora.rank=64 says more");
  verb.add_option("--adapter", options.adapter,
                  "adapters as an adapter_config.json of PEFT has them");
}

std::vector<std::string> method_overrides(const MethodOptions& options) {
  std::vector<std::string> overrides;
  if (!options.adapter.empty()) {
    const auto imported = scenarios::import_adapter(scenarios::read_located(options.adapter));
    for (const auto& [key, value] : imported.training.items())
      overrides.push_back("training." + key + "=" + value.dump());
  }
  if (!options.method.empty()) overrides.push_back("training.method=" + options.method);
  return overrides;
}

}  // namespace spillway::cli
