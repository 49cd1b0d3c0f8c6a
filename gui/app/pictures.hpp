#pragma once

#include <QString>
#include <QWidget>

namespace spillway::gui {

/// Writes what a widget shows as PNG, SVG or PDF, by the ending of `path`.
///   Result  "", or a sentence on why not
QString write_picture(QWidget& widget, const QString& path);

}  // namespace spillway::gui
