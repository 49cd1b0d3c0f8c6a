#pragma once

#include "reports/result/result.hpp"

namespace spillway::reports {

constexpr std::uint64_t gib = std::uint64_t{1} << 30;
constexpr std::uint64_t gigabyte = 1'000'000'000;

/// A made-up run that fits: two ranks, one array of SSDs, every field of a report filled.
inline result::Result sample_that_fits() {
  result::Result r;
  r.backend = "sim";
  r.scenario = {{"name", "7B on a small box"}, {"training", {{"micro_batch", 4}}}};
  r.system = "memascend";
  r.step_time_s = 40;
  r.forward_s = 8, r.backward_s = 20, r.update_s = 12, r.overflow_check_s = 1;
  r.tokens_per_s = 1638.4, r.samples_per_s = 0.4, r.model_tflops_per_gpu = 62.1;
  r.gpu = {18 * gib, 24 * gib, "backward", {{"weights", 6 * gib}, {"activations", 12 * gib}}, {}};
  r.gpu.entries = {{0, "weights", 3, 2 * gib, 2 * gib, false},
                   {0, "activations", 12, gib, gib, false}};
  r.host = {64 * gib, 128 * gib, "update", {}, {}};
  r.host.by_purpose = {{"gradient_flat_buffer", 30 * gib},
                       {"parameter_pool", 20 * gib},
                       {"optimizer_swap_buffers", 6 * gib},
                       {"process_base", 4 * gib},
                       {"pinned_rounding", 4 * gib}};
  r.host.entries = {{0, "gradient_flat_buffer", 1, 15 * gib, 16 * gib, true},
                    {1, "gradient_flat_buffer", 1, 15 * gib, 16 * gib, true},
                    {0, "parameter_pool", 10, gib, gib, true},
                    {1, "parameter_pool", 10, gib, gib, true},
                    {0, "optimizer_swap_buffers", 2, 3 * gib, 4 * gib, true},
                    {0, "process_base", 1, 4 * gib, 4 * gib, false}};
  r.ssd = {84 * gigabyte, 7680 * gigabyte, "", {{"optimizer_states", 84 * gigabyte}}, {}};
  r.needed = result::NeededBytes{18 * gib, 64 * gib, 84 * gigabyte};
  r.io = {120 * gigabyte, 90 * gigabyte, 45 * gigabyte, 15 * gigabyte, 0, 0, {}};
  r.io.by_storage["nvme"] = {120 * gigabyte, 90 * gigabyte};
  r.wear = result::Wear{194.4e12, 1.5,     14e15, 0.13, "nvme", 90e9,
                        2,        97.2e12, 12.6,  0.33, 9.2e15, 0.01234};
  r.utilization = {0.525, 0.1, 0.05, 0.2, {{"nvme", 0.9}}};
  r.stalls = {3.5, 0.25, 12};
  r.bottleneck = "nvme";
  r.next = {
      {"one more ssd", {30.0}}, {"twice the host memory", {40.0}}, {"half the host memory", {}}};
  r.phase_busy = {{"forward", {6, 0, 2, 0, 4, 0}},
                  {"backward", {15, 5, 2, 4, 18, 1}},
                  {"update", {0, 0, 0, 0, 12, 7}},
                  {"overflow_check", {0, 0, 0, 0, 0, 0.25}}};
  r.phase_bytes = {{"forward", {15 * gigabyte, 0, 15 * gigabyte, 0, 0, 0}},
                   {"backward", {15 * gigabyte, 0, 30 * gigabyte, 15 * gigabyte, 0, 0}},
                   {"update", {90 * gigabyte, 90 * gigabyte, 0, 0, 0, 0}}};
  r.price_usd = 8192;
  r.operations = 6400;
  r.notes = {"activations recomputed on the GPU"};
  r.simulated_in_s = 0.012, r.planned_in_s = 0.001;
  return r;
}

/// The same scenario where the host's memory ends in `init`.
inline result::Result sample_that_does_not_fit() {
  result::Result r;
  r.backend = "sim";
  r.scenario = {{"model", "qwen2.5-7b"}, {"machine", {{"name", "small_box"}}}};
  r.system = "zero_infinity";
  r.infeasible =
      result::Infeasible{"host", 1, "gradient_flat_buffer", "init", 32 * gib, 20 * gib, 128 * gib};
  r.gpu = {2 * gib, 24 * gib, "init", {{"context", 2 * gib}}, {}};
  r.host = {160 * gib, 128 * gib, "update", {{"parameter_pool", 160 * gib}}, {}, 4 * gib};
  r.needed = result::NeededBytes{2 * gib, 164 * gib, 0};
  return r;
}

/// The same, as a search leaves it, which ends with the first request that fails.
inline result::Result sample_that_stopped() {
  result::Result r = sample_that_does_not_fit();
  r.gpu = {0, 24 * gib, "", {}, {}};
  r.host = {0, 128 * gib, "", {}, {}, 4 * gib};
  r.needed.reset();
  return r;
}

}  // namespace spillway::reports
