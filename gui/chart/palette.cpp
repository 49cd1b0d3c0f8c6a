#include "gui/chart/palette.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace spillway::gui {

namespace {

constexpr std::array<const char*, 8> light = {"#0072b2", "#e69f00", "#009e73", "#d55e00",
                                              "#56b4e9", "#cc79a7", "#b8a900", "#8a8f98"};
constexpr std::array<const char*, 8> night = {"#3d9be0", "#f0b13c", "#2bbd93", "#ef7b38",
                                              "#7cc8f2", "#df9cc2", "#e6da55", "#8d939d"};

/// What tells colours apart for those who see few hues: no two of the first eight are hatched
/// alike, but blue and green, which are plain.
constexpr std::array<Qt::BrushStyle, 8> hatches = {
    Qt::NoBrush,    Qt::FDiagPattern, Qt::NoBrush,          Qt::BDiagPattern,
    Qt::VerPattern, Qt::HorPattern,   Qt::DiagCrossPattern, Qt::CrossPattern};

/// Purposes that are large together have colours of their own; beyond 7 they are lighter or darker,
/// under the hatch of another.
struct Known {
  const char* purpose;
  int index;
};
constexpr Known known[] = {
    {"weights", 0},
    {"gradients", 1},
    {"activations", 2},
    {"optimizer_states", 3},
    {"gathered_weights", 4},
    {"logits", 5},
    {"reduce_buckets", 6},
    {"workspace", 7},
    {"context", 15},
    {"weight_copies", 8},
    {"gpu_rounding", 23},
    {"parameter_pool", 0},
    {"parameter_flat_buffer", 8},
    {"gradient_flat_buffer", 1},
    {"gradient_accumulation", 9},
    {"overflow_check_temporaries", 5},
    {"optimizer_swap_buffers", 3},
    {"master_weights", 4},
    {"optimizer_gradient_buffers", 11},
    {"pinned_gradient_buffer", 17},
    {"swap_out_buffer", 13},
    {"offloaded_checkpoints", 2},
    {"swapped_activations", 10},
    {"activation_staging", 18},
    {"host_pool", 12},
    {"bounce_buffers", 6},
    {"allocator_cache", 14},
    {"init_copy", 16},
    {"pinned_rounding", 7},
    {"process_base", 15},
    {"runtime_base", 23},
    {"bytes", 0},
};

QColor mixed(const QColor& one, const QColor& other, double share) {
  const auto mix = [&](int a, int b) { return static_cast<int>(a + (b - a) * share); };
  return QColor(mix(one.red(), other.red()), mix(one.green(), other.green()),
                mix(one.blue(), other.blue()));
}

int index_of(const QString& purpose) {
  const auto* found = std::find_if(std::begin(known), std::end(known),
                                   [&](const Known& one) { return purpose == one.purpose; });
  if (found != std::end(known)) return found->index;
  int index = 0;
  for (const QChar c : purpose) index = (index * 31 + c.unicode()) % 24;
  return index;
}

}  // namespace

bool is_dark(const QPalette& palette) {
  return palette.color(QPalette::WindowText).lightness() >
         palette.color(QPalette::Window).lightness();
}

QColor series_colour(int index, bool dark) {
  return QColor((dark ? night : light)[static_cast<std::size_t>(index % 8)]);
}

QColor purpose_colour(const QString& purpose, bool dark) {
  const int index = index_of(purpose);
  const QColor colour = series_colour(index, dark);
  if (index < 8) return colour;
  return index < 16 ? colour.lighter(index % 2 == 0 ? 135 : 125) : colour.darker(140);
}

QBrush purpose_hatch(const QString& purpose, bool dark) {
  const auto index = static_cast<std::size_t>(index_of(purpose));
  QColor ink = text_on(purpose_colour(purpose, dark));
  ink.setAlphaF(0.3F);
  return QBrush(ink, hatches[(index + 2 * (index / 8)) % hatches.size()]);
}

QColor phase_colour(const QString& phase, bool dark) {
  if (phase == "forward") return series_colour(0, dark);
  if (phase == "backward") return series_colour(1, dark);
  if (phase == "update") return series_colour(2, dark);
  if (phase == "overflow_check") return series_colour(5, dark);
  if (phase == "init" || phase == "none" || phase.isEmpty()) return series_colour(7, dark);
  int index = 0;
  for (const QChar c : phase) index = (index * 31 + c.unicode()) % 7;
  return series_colour(index, dark);
}

QColor text_on(const QColor& ground) {
  const double light_of = 0.299 * ground.red() + 0.587 * ground.green() + 0.114 * ground.blue();
  return light_of > 140 ? QColor("#14181d") : QColor("#ffffff");
}

QColor good_colour(bool dark) { return series_colour(2, dark); }
QColor bad_colour(bool dark) { return series_colour(3, dark); }

QColor quiet_text(const QPalette& palette) {
  return mixed(palette.color(QPalette::WindowText), palette.color(QPalette::Window), 0.38);
}

QColor hairline(const QPalette& palette) {
  return mixed(palette.color(QPalette::WindowText), palette.color(QPalette::Window), 0.84);
}

QFont small_font(const QFont& font) {
  QFont small(font);
  small.setPointSizeF(std::max(7.0, font.pointSizeF() * 0.88));
  return small;
}

QFont large_font(const QFont& font, double factor, bool bold) {
  QFont large(font);
  large.setPointSizeF(font.pointSizeF() * factor);
  if (bold) large.setWeight(QFont::DemiBold);
  return large;
}

QPalette program_palette(bool dark) {
  QPalette palette;
  const QColor text = dark ? "#e4e7eb" : "#1d2329", window = dark ? "#1f2328" : "#f5f6f8";
  const QColor base = dark ? "#181b1f" : "#ffffff", button = dark ? "#2b3037" : "#fbfbfc";
  const QColor accent = dark ? "#3d8bd4" : "#1f6fb5";
  for (const auto role :
       {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::ToolTipText})
    palette.setColor(role, text);
  palette.setColor(QPalette::Window, window);
  palette.setColor(QPalette::Base, base);
  palette.setColor(QPalette::AlternateBase, dark ? "#1d2126" : "#f7f8fa");
  palette.setColor(QPalette::Button, button);
  palette.setColor(QPalette::ToolTipBase, dark ? "#2b3037" : "#ffffff");
  palette.setColor(QPalette::Highlight, accent);
  palette.setColor(QPalette::HighlightedText, Qt::white);
  palette.setColor(QPalette::Link, dark ? "#6cb2f0" : "#1f6fb5");
  palette.setColor(QPalette::PlaceholderText, mixed(text, base, 0.5));
  palette.setColor(QPalette::Light, mixed(window, Qt::white, dark ? 0.1 : 0.7));
  palette.setColor(QPalette::Midlight, mixed(window, Qt::white, dark ? 0.05 : 0.4));
  palette.setColor(QPalette::Mid, mixed(window, Qt::black, dark ? 0.25 : 0.18));
  palette.setColor(QPalette::Dark, mixed(window, Qt::black, dark ? 0.4 : 0.3));
  palette.setColor(QPalette::Shadow, Qt::black);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    palette.setColor(QPalette::Disabled, role, mixed(text, window, 0.55));
  palette.setColor(QPalette::Disabled, QPalette::Base, window);
  palette.setColor(QPalette::Disabled, QPalette::Highlight, mixed(text, window, 0.7));
  return palette;
}

}  // namespace spillway::gui
