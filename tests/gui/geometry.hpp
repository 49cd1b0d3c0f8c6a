#pragma once

#include <QPaintDevice>
#include <QPaintEngine>
#include <QSize>
#include <QStringList>

#include <memory>

namespace spillway::gui {

/// What a painter draws, as text: a shape a line, with its corners in whole pixels and its colours.
/// Letters are left out, since fonts differ.
class Geometry : public QPaintDevice {
 public:
  explicit Geometry(const QSize& size);
  ~Geometry() override;

  QPaintEngine* paintEngine() const override;
  /// "rect 0 0 168 28 #f4f5f7", in the order of painting.
  const QStringList& shapes() const;

 protected:
  int metric(PaintDeviceMetric which) const override;

 private:
  class Engine;
  QSize size_;
  std::unique_ptr<Engine> engine_;
};

/// How two pictures differ: "" where they have the same shapes in the same colours, none of whose
/// corners is more than a pixel away; else the first that differs.
QString difference(const QStringList& expected, const QStringList& painted);

}  // namespace spillway::gui
