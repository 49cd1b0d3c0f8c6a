#pragma once

#include "scenarios/deepspeed/import_deepspeed.hpp"
#include "scenarios/json/hjson.hpp"

namespace spillway::scenarios::test {

/// A configuration for gpt2, which is 768 wide, on the two GPUs of memascend_c1.
///   version  of DeepSpeed; "": the newest
inline Imported import(const std::string& text, const std::string& version = "") {
  ImportOptions options;
  options.model = "gpt2";
  options.machine = "memascend_c1";
  options.deepspeed = version;
  return import_deepspeed(parse_hjson(text, "ds.json"), options);
}

}  // namespace spillway::scenarios::test
