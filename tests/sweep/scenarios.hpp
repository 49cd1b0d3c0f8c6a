#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace spillway::sweep {

/// A scenario as a person might write it: a base and overrides ("path=value").
struct Draft {
  nlohmann::json base;
  std::vector<std::string> overrides;
  std::string words() const;
};

/// Scenario `number` of a seed: any system, models of 0.1 to 700B, contexts of 128 tokens to 1 M,
/// batches of 1 to 64, cards of 8 to 192 GiB, one to four of them, hosts of 16 GiB to 2 TiB, one to
/// sixteen drives. Half of the models have up to 20B, half of the contexts up to 8,192: more fits.
///   attempt  what contradicts itself is refused when it is read; the next one may not
///   Result   the same for the same arguments, whatever was drawn before
Draft draft(std::uint64_t seed, std::uint64_t number, std::uint64_t attempt = 0);

/// One number of a machine made better.
struct Upgrade {
  std::string axis;  ///< "gpu.memory"
  std::vector<std::string> overrides;
};

/// Of a resolved machine, each kind of number once: memory of the GPU and of the host, rates of the
/// GPU, links, processor and memory, its cores, rates and number of drives, each twice as much.
std::vector<Upgrade> upgrades(const nlohmann::json& machine);

}  // namespace spillway::sweep
