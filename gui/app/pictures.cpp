#include "gui/app/pictures.hpp"

#include <QPainter>
#include <QPdfWriter>
#include <QSvgGenerator>

namespace spillway::gui {

QString write_picture(QWidget& widget, const QString& path) {
  if (path.endsWith(".svg", Qt::CaseInsensitive)) {
    QSvgGenerator writer;
    writer.setFileName(path);
    writer.setSize(widget.size());
    writer.setViewBox(widget.rect());
    QPainter painter;
    if (!painter.begin(&writer)) return path + " cannot be written";
    widget.render(&painter);
    return {};
  }
  if (path.endsWith(".pdf", Qt::CaseInsensitive)) {
    QPdfWriter writer(path);
    writer.setPageSize(QPageSize(QSizeF(widget.size()) * 0.75, QPageSize::Point));
    writer.setPageMargins(QMarginsF());
    QPainter painter;
    if (!painter.begin(&writer)) return path + " cannot be written";
    painter.scale(static_cast<double>(writer.width()) / widget.width(),
                  static_cast<double>(writer.height()) / widget.height());
    widget.render(&painter);
    return {};
  }
  return widget.grab().save(path, path.endsWith(".png", Qt::CaseInsensitive) ? nullptr : "PNG")
             ? QString()
             : path + " cannot be written";
}

}  // namespace spillway::gui
