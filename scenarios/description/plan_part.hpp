#pragma once

#include "scenarios/description/knob.hpp"
#include "scenarios/description/names.hpp"
#include "scenarios/description/units.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace spillway::description {

enum class PlanDestination { ssd, host };
template <>
inline constexpr auto names_of<PlanDestination> = in_order("ssd", "host");
enum class PlanSaturation { ideal_finish, no_window, device_time };
template <>
inline constexpr auto names_of<PlanSaturation> = in_order("ideal_finish", "no_window",
                                                          "device_time");

/// How a whole step is planned tensor by tensor. All are knobs of some systems: absent where
/// neither the system nor the scenario has them.
struct PlanPart {
  std::optional<std::vector<PlanDestination>> destinations;
  std::optional<Or<Bytes, "auto">> host_limit;
  std::optional<double> headroom;
  std::optional<PlanSaturation> saturation;
  std::optional<bool> must_hide, urgent, drop_clean, eager_prefetch;
  std::optional<Bytes> min_tensor, chunk;
  std::optional<std::uint64_t> stall_rounds;
  std::optional<Or<BytesPerSecond, "machine">> migration_rate;
  std::optional<std::uint64_t> lower_limits;
};

template <class Io, class Part>
void plan_knobs(Io& io, Part& part) {
  const auto knob = [](const char* name, const char* words) {
    return Knob{name, words, "", "teraio, g10"};
  };
  io.optional(knob("destinations", "where tensors may go"), part.destinations);
  io.optional(knob("host_limit",
                   "host memory of a node that a plan may fill; auto: what ZeRO-Infinity takes for "
                   "the job"),
              part.host_limit);
  io.optional(knob("headroom", "share of GPU memory that a plan leaves free"), part.headroom,
              {0, 1});
  io.optional(knob("saturation",
                   "when a tensor goes to the host: the drives cannot have it out and back in time "
                   "(no_window), or not at once (ideal_finish), or gaps longer than its own take "
                   "all of their time, so that its own costs more of it for the host room that it "
                   "would hold (device_time)"),
              part.saturation);
  io.optional(knob("must_hide", "only what hides under kernels moves"), part.must_hide);
  io.optional(knob("urgent", "false: kernels never wait for room"), part.urgent);
  io.optional(knob("drop_clean", "what the file holds already is not written again"),
              part.drop_clean);
  io.optional(knob("eager_prefetch", "tensors come back as early as there is room"),
              part.eager_prefetch);
  io.optional(knob("min_tensor", "smaller tensors stay"), part.min_tensor);
  io.optional(knob("chunk", "bytes of one migration"), part.chunk);
  io.optional(
      knob("stall_rounds", "plans that are made again on the step that waits have stretched"),
      part.stall_rounds, {0, 1000});
  io.optional(
      knob("migration_rate", "rate that is planned with in place of SSD and host; machine: theirs"),
      part.migration_rate);
  io.optional({"lower_limits",
               "1: plans for less memory or slower parts are tried too and the fastest is taken; "
               "0: only the plan for the whole machine"},
              part.lower_limits, {0, 1});
}

}  // namespace spillway::description
