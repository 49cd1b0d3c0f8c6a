#include "hw_backend/cpu/conversion.hpp"
#include "hw_backend/cpu/overflow_check.hpp"
#include "hw_backend/probe/parts.hpp"

#include <fmt/format.h>
#include <memory>
#include <thread>

namespace spillway::hw_backend {

using description::BytesPerSecond;
using description::ParamsPerSecond;

namespace {

/// fp32 numbers of an array in these measurements: 64 MiB, beyond any cache but a server's; the
/// five arrays of Adam are beyond that too.
constexpr std::size_t elements = std::size_t{16} << 20;

/// Ordinary numbers: neither zeros nor the tiny ones that some processors are slow with.
void fill(float* values, Team& team) {
  constexpr std::size_t part = 1u << 16;
  team.run(elements / part, [&](std::size_t i) {
    for (std::size_t k = i * part; k < (i + 1) * part; ++k)
      values[k] = 1e-3f + 1e-6f * static_cast<float>(k % 1000);
  });
}

/// Three arrays of fp32 numbers and two that are half as wide.
struct Arrays {
  MemoryBudget budget;
  HostMemory memory{budget, false};
  std::vector<std::byte*> wide, narrow;

  explicit Arrays(Team& team) {
    for (int i = 0; i < 3; ++i) {
      wide.push_back(memory.take(elements * 4));
      fill(reinterpret_cast<float*>(wide.back()), team);
    }
    for (int i = 0; i < 2; ++i) {
      narrow.push_back(memory.take(elements * 2));
      convert({narrow.back(), Element::bf16}, {wide.front(), Element::fp32}, elements, team);
    }
  }
  ~Arrays() {
    for (std::byte* each : wide) memory.give_back(each, elements * 4);
    for (std::byte* each : narrow) memory.give_back(each, elements * 2);
  }
  Arrays(const Arrays&) = delete;
};

/// Adam on `count` numbers from number `first` on.
void adam_of(const Arrays& arrays, std::size_t first, std::size_t count, std::uint64_t step,
             Team& team) {
  const auto wide = [&](int i) { return arrays.wide[i] + first * 4; };
  const auto narrow = [&](int i) { return arrays.narrow[i] + first * 2; };
  adam({{wide(0), Element::fp32},
        {wide(1), Element::fp32},
        {wide(2), Element::fp32},
        {narrow(0), Element::bf16},
        Array{narrow(1), Element::bf16},
        count},
       at_step({}, step), team);
}

double probe_adam(Session& session, const Arrays& arrays, Team& team) {
  std::uint64_t step = 0;
  const double rate = session.keep(session.rate(
      "host.adam", "fp32 states, bf16 gradient and weight, 28 B a parameter, all cores",
      Unit::params_per_second, [&] {
        adam_of(arrays, 0, elements, ++step, team);
        return static_cast<double>(elements);
      }));
  session.out().machine.host.adam = ParamsPerSecond(rate);
  return rate;
}

/// As many teams at once, with equal parts of cores and numbers: of `alone`, what they reach
/// together.
Measurement teams_share(Session& session, const Arrays& arrays, std::size_t count,
                        std::size_t cores, double alone) {
  std::vector<std::unique_ptr<Team>> teams;
  for (std::size_t i = 0; i < count; ++i)
    teams.push_back(std::make_unique<Team>(std::max<std::size_t>(1, cores / count)));
  const std::size_t part = elements / count;
  std::uint64_t step = 0;
  return session.rate(
      fmt::format("host.team_rates.{}", count),
      fmt::format("Adam of {} teams of {} threads at once, over one team's", count,
                  teams.front()->threads()),
      Unit::share, [&] {
        ++step;
        std::vector<std::jthread> callers;
        for (std::size_t i = 0; i < count; ++i)
          callers.emplace_back([&, i] { adam_of(arrays, i * part, part, step, *teams[i]); });
        callers.clear();  // waits for all
        return static_cast<double>(part * count) / alone;
      });
}

void probe_teams(Session& session, const Arrays& arrays, std::size_t cores, double alone) {
  for (const std::size_t count : {2, 4}) {
    if (cores < count) return;
    session.out().machine.host.team_rates[std::to_string(count)] =
        session.keep(teams_share(session, arrays, count, cores, alone));
  }
}

}  // namespace

double host_seconds(const ProbeOptions& options) {
  return 10 * Session::intervals * (options.quick ? 0.02 : 0.12);
}

void probe_host(Session& session) {
  session.begin("host memory and cores", host_seconds(session.options()));
  Team team;
  const Arrays arrays(team);
  description::HostSpec& host = session.out().machine.host;
  const auto bytes = [&](const char* path, const std::string& what, double each,
                         const std::function<void()>& work) {
    return BytesPerSecond(session.keep(session.rate(path, what, Unit::bytes_per_second, [&] {
      work();
      return each * static_cast<double>(elements);
    })));
  };
  const std::string cores = fmt::format(", {} threads", team.threads());
  host.memory_rate = bytes("host.memory_rate", "copies of 64 MiB, read and written" + cores, 8,
                           [&] { copy(arrays.wide[1], arrays.wide[0], elements * 4, team); });
  host.convert = bytes("host.convert", "bf16 to fp32, read and written" + cores, 6, [&] {
    convert({arrays.wide[1], Element::fp32}, {arrays.narrow[0], Element::bf16}, elements, team);
  });
  host.check_fused = bytes("host.check_fused", "one pass over fp32" + cores, 4, [&] {
    ENSURE(!check_fused({arrays.wide[0], Element::fp32}, elements, team), "an overflow of 1e-3");
  });
  host.check_chained =
      bytes("host.check_chained", "five passes over fp32, 20 B an element, one thread", 20, [&] {
        check_chained({arrays.wide[0], Element::fp32}, elements, {arrays.wide[1], Element::fp32},
                      arrays.narrow[1]);
      });
  const double alone = probe_adam(session, arrays, team);
  probe_teams(session, arrays, team.threads(), alone);
  host.cores = team.threads();
  session.source("host.cores", "measured: processors in the affinity mask");
}

}  // namespace spillway::hw_backend
