#pragma once

#include <QBrush>
#include <QColor>
#include <QFont>
#include <QPalette>
#include <QString>

namespace spillway::gui {

/// Whether text is lighter than what it stands on.
bool is_dark(const QPalette& palette);

/// Colours that colour-blind people tell apart (Okabe and Ito, Color Universal Design, 2008), made
/// to stand on light and dark ground.
QColor series_colour(int index, bool dark);

/// Of a buffer's purpose, the same in every chart.
QColor purpose_colour(const QString& purpose, bool dark);
/// Lines over that colour, for those who see few hues; of no style where it is plain.
QBrush purpose_hatch(const QString& purpose, bool dark);
/// Of a phase of the step.
QColor phase_colour(const QString& phase, bool dark);
/// Of text on such a colour.
QColor text_on(const QColor& ground);

QColor good_colour(bool dark);
QColor bad_colour(bool dark);

/// Between text and ground: captions, axis labels.
QColor quiet_text(const QPalette& palette);
/// Lines of a grid and of frames.
QColor hairline(const QPalette& palette);

/// The window's font, smaller by a step, for captions and axes.
QFont small_font(const QFont& font);
QFont large_font(const QFont& font, double factor, bool bold = false);

/// Light and dark palettes of the program.
QPalette program_palette(bool dark);

}  // namespace spillway::gui
