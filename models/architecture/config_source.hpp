#pragma once

#include "models/architecture/config_keys.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace spillway::models {

/// The part of a config.json that describes a language model, and the reader that it is for.
struct ConfigSource {
  nlohmann::json config;  ///< the object itself or its `text_config`
  std::string file;
  std::string prefix;              ///< path of `config` in the file, with a dot behind it
  std::string type;                ///< has a reader
  std::vector<std::string> notes;  ///< what was decided, for Architecture::notes

  ConfigKeys keys() const { return ConfigKeys(config, file, prefix); }
};

/// Finds the language model of a file, and its type by `model_type`, else by `architectures`, else
/// by its keys.
///   Throws  ScenarioError: no type; a type that no reader knows, with the nearest and what that
///           would miss; blocks that cannot be described, by the key that names them
ConfigSource find_source(const nlohmann::json& config, const std::string& file);

}  // namespace spillway::models
