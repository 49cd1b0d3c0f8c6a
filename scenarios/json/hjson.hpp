#pragma once

#include <string>
#include <string_view>

#include "scenarios/json/located_json.hpp"

namespace spillway::scenarios {

/// Reads Hjson, which DeepSpeed takes its configurations in and of which JSON is a part: comments
/// (`#`, `//`, `/* */`), commas that are missing or too many, keys and words without quotes, single
/// quotes and `'''` around several lines, no braces around the whole. A word without quotes ends at
/// a comma, a closing bracket or the end of its line.
///   Source  https://hjson.github.io/syntax.html; DeepSpeed runtime/config.py (hjson.load)
///   Throws  ScenarioError: the first thing that cannot be read, with its line and column; every
///           key that an object has twice, as DeepSpeed does; 64 levels and 64 MiB at most
LocatedJson parse_hjson(std::string_view text, const std::string& file);

/// parse_hjson of a file's content.
///   Throws  ScenarioError also when the file cannot be read
LocatedJson read_hjson(const std::string& path);

}  // namespace spillway::scenarios
