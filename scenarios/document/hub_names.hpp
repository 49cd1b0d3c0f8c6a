#pragma once

#include <string>

namespace spillway::scenarios {

/// Whether this may be a name of the Hub: "owner/name" or "name", and no path.
bool is_hub_name(const std::string& text);

/// The shipped model that a name of the Hugging Face Hub, "Qwen/Qwen3-8B" or its last part, stands
/// for; empty: none. What an entry stands for is in its `_hub`; endings that change no shape, such
/// as "-Instruct" and "-AWQ", may follow.
std::string shipped_model(const std::string& hub_name);

/// How the weights of a release are quantized, by the end of its name: "gptq-int4" of
/// "Qwen/Qwen3-8B-GPTQ-Int4"; empty: they are not.
std::string quantization_of(const std::string& hub_name);

}  // namespace spillway::scenarios
