// Colours of purposes, as people see them who see few hues.
#include "gui/chart/palette.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace spillway::gui {
namespace {

using Three = std::array<double, 3>;
using Matrix = std::array<Three, 3>;

// Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision
// Deficiency", 2009, table 1, severity 1: of linear RGB
constexpr Matrix everybody = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
constexpr Matrix protanopia = {{{0.152286, 1.052583, -0.204868},
                                {0.114503, 0.786281, 0.099216},
                                {-0.003882, -0.048116, 1.051998}}};
constexpr Matrix deuteranopia = {{{0.367322, 0.860646, -0.227968},
                                  {0.280085, 0.672501, 0.047413},
                                  {-0.011820, 0.042940, 0.968881}}};
constexpr Matrix xyz_of_srgb = {
    {{0.4124, 0.3576, 0.1805}, {0.2126, 0.7152, 0.0722}, {0.0193, 0.1192, 0.9505}}};

Three times(const Matrix& matrix, const Three& by) {
  Three product = {};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) product[i] += matrix[i][j] * by[j];
  return product;
}

Three lab_of(const QColor& colour, const Matrix& eyes) {
  const auto linear = [](double c) {
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  const auto bent = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16. / 116; };
  const Three seen =
      times(eyes, {linear(colour.redF()), linear(colour.greenF()), linear(colour.blueF())});
  const Three xyz = times(xyz_of_srgb, seen);
  const double x = bent(xyz[0] / 0.9505), y = bent(xyz[1]), z = bent(xyz[2] / 1.089);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

double apart(const QColor& one, const QColor& other, const Matrix& eyes) {
  const Three a = lab_of(one, eyes), b = lab_of(other, eyes);
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

void expect_all_differ(const std::vector<const char*>& purposes, bool dark) {
  constexpr double told_apart = 10;  // of the lightness and hue of Lab
  for (std::size_t i = 0; i < purposes.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      for (const Matrix& eyes : {everybody, protanopia, deuteranopia}) {
        if (purpose_hatch(purposes[i], dark).style() != purpose_hatch(purposes[j], dark).style())
          continue;
        EXPECT_GE(apart(purpose_colour(purposes[i], dark), purpose_colour(purposes[j], dark), eyes),
                  told_apart)
            << purposes[i] << " and " << purposes[j] << (dark ? ", dark" : "");
      }
}

TEST(PurposeColours, TellThoseOfATierApartWithoutHues) {
  for (const bool dark : {false, true}) {
    expect_all_differ(
        {"weights", "gradients", "activations", "optimizer_states", "gathered_weights", "logits",
         "reduce_buckets", "workspace", "context", "weight_copies", "gpu_rounding"},
        dark);
    expect_all_differ({"parameter_pool",
                       "parameter_flat_buffer",
                       "gradient_flat_buffer",
                       "gradient_accumulation",
                       "overflow_check_temporaries",
                       "optimizer_swap_buffers",
                       "master_weights",
                       "optimizer_gradient_buffers",
                       "pinned_gradient_buffer",
                       "swap_out_buffer",
                       "offloaded_checkpoints",
                       "swapped_activations",
                       "activation_staging",
                       "host_pool",
                       "bounce_buffers",
                       "allocator_cache",
                       "init_copy",
                       "pinned_rounding",
                       "process_base",
                       "runtime_base"},
                      dark);
  }
}

}  // namespace
}  // namespace spillway::gui
