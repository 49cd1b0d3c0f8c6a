#include "explore/team.hpp"

#include <fmt/format.h>

#include <chrono>

namespace spillway::explore {

namespace {

constexpr double look_every_s = 0.001;
constexpr std::chrono::seconds sign_of_life{1};

}  // namespace

void relay(Outpost& outpost, Messenger& messenger, const ExploreOptions& options) {
  using Clock = std::chrono::steady_clock;
  auto heard = Clock::now(), told = heard;
  while (!options.stop()) {
    std::string lines;
    for (const std::string& line : outpost.collect(look_every_s)) lines += line + "\n";
    if (!outpost.alive()) lines += "{\"lost\": \"its process was ended\"}\n";
    if (!lines.empty() || Clock::now() - told > sign_of_life) {
      messenger.send(0, lines);
      told = Clock::now();
    }
    while (const auto letter = messenger.receive()) {
      heard = Clock::now();
      if (letter->text.starts_with("{\"leave\"")) {
        if (letter->text.find("true") != std::string::npos) messenger.leave();
        return;
      }
      if (!letter->text.empty()) outpost.send(letter->text);
    }
    const std::chrono::duration<double> silent = Clock::now() - heard;
    if (silent.count() > options.silence_s)
      throw description::DeviceError(
          fmt::format("rank 0 has been silent for {:.0f} s: rank {} ends; what it found is in its "
                      "shard, and the same command goes on",
                      silent.count(), messenger.rank()));
    if (!outpost.alive()) return;
  }
}

}  // namespace spillway::explore
