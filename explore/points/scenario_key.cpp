#include "explore/points/scenario_key.hpp"

#include <fmt/format.h>
#include <xxhash.h>

namespace spillway::explore {

std::uint64_t shard_of(std::uint64_t number, std::uint64_t shards) {
  return shards == 1 ? 0 : XXH3_64bits(&number, sizeof number) % shards;
}

std::string key_of(const std::string& text) {
  const XXH128_hash_t hash =
      XXH3_128bits_withSeed(text.data(), text.size(), static_cast<XXH64_hash_t>(model_version));
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string scenario_key(const description::Scenario& scenario) {
  nlohmann::json contents = scenario;
  contents.erase("name");
  contents["machine"].erase("name");
  contents["machine"].erase("sources");
  if (contents["model"].is_object()) contents["model"].erase("_name_or_path");
  return key_of(contents.dump());
}

}  // namespace spillway::explore
