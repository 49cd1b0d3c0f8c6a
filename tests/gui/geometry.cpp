#include "tests/gui/geometry.hpp"

#include <QBrush>
#include <QPainterPath>
#include <QPen>

#include <algorithm>
#include <cmath>

namespace spillway::gui {

class Geometry::Engine : public QPaintEngine {
 public:
  Engine() : QPaintEngine(QPaintEngine::AllFeatures) {}

  bool begin(QPaintDevice*) override { return true; }
  bool end() override { return true; }
  Type type() const override { return QPaintEngine::User; }

  void updateState(const QPaintEngineState& now) override {
    if (now.state() & QPaintEngine::DirtyPen) pen_ = now.pen();
    if (now.state() & QPaintEngine::DirtyBrush) brush_ = now.brush();
  }
  void drawRects(const QRectF* rects, int count) override {
    for (int i = 0; i < count; ++i)
      add("rect", {rects[i].topLeft(), {rects[i].width(), rects[i].height()}}, true);
  }
  void drawLines(const QLineF* lines, int count) override {
    for (int i = 0; i < count; ++i) add("line", {lines[i].p1(), lines[i].p2()}, false);
  }
  void drawEllipse(const QRectF& rect) override {
    add("ellipse", {rect.topLeft(), {rect.width(), rect.height()}}, true);
  }
  void drawPolygon(const QPointF* points, int count, PolygonDrawMode mode) override {
    add(mode == PolylineMode ? "polyline" : "polygon", {points, points + count},
        mode != PolylineMode);
  }
  void drawPath(const QPainterPath& path) override {
    const QRectF box = path.boundingRect();
    add("path", {box.topLeft(), {box.width(), box.height()}}, true);
  }
  void drawPixmap(const QRectF& rect, const QPixmap&, const QRectF&) override {
    add("picture", {rect.topLeft(), {rect.width(), rect.height()}}, false);
  }
  void drawTextItem(const QPointF&, const QTextItem&) override {}

  QStringList shapes;

 private:
  /// In whole pixels, without what lies on the way from one corner to the next.
  static std::vector<QPoint> corners(const std::vector<QPointF>& points) {
    std::vector<QPoint> all;
    for (const QPointF& point : points) {
      const QPoint next = point.toPoint();
      if (!all.empty() && all.back() == next) continue;
      if (all.size() > 1) {
        const QPoint one = all.back() - all[all.size() - 2], other = next - all.back();
        const bool straight =
            one.x() * other.y() == one.y() * other.x() && QPoint::dotProduct(one, other) > 0;
        if (straight) all.pop_back();
      }
      all.push_back(next);
    }
    return all;
  }

  void add(const char* kind, const std::vector<QPointF>& points, bool filled) {
    QStringList words = {kind};
    const bool outline = points.size() > 2;
    for (const QPoint& point : outline ? corners(points) : std::vector<QPoint>{})
      words << QString::number(point.x()) << QString::number(point.y());
    if (!outline)
      for (const QPointF& point : points)
        words << QString::number(std::lround(point.x())) << QString::number(std::lround(point.y()));
    if (filled && brush_.style() != Qt::NoBrush) words << brush_.color().name(QColor::HexArgb);
    if (filled && brush_.style() > Qt::SolidPattern) words << "hatched";
    if (pen_.style() != Qt::NoPen) words << "pen" << pen_.color().name(QColor::HexArgb);
    shapes << words.join(' ');
  }

  QPen pen_;
  QBrush brush_;
};

Geometry::Geometry(const QSize& size) : size_(size), engine_(std::make_unique<Engine>()) {}

Geometry::~Geometry() = default;

QPaintEngine* Geometry::paintEngine() const { return engine_.get(); }

const QStringList& Geometry::shapes() const { return engine_->shapes; }

int Geometry::metric(PaintDeviceMetric which) const {
  switch (which) {
    case PdmWidth:
      return size_.width();
    case PdmHeight:
      return size_.height();
    case PdmDpiX:
    case PdmDpiY:
    case PdmPhysicalDpiX:
    case PdmPhysicalDpiY:
      return 96;
    case PdmDevicePixelRatio:
      return 1;
    case PdmDevicePixelRatioScaled:
      return static_cast<int>(devicePixelRatioFScale());
    default:
      return QPaintDevice::metric(which);
  }
}

QString difference(const QStringList& expected, const QStringList& painted) {
  const auto same = [](const QString& one, const QString& other) {
    const QStringList a = one.split(' '), b = other.split(' ');
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
      bool number = false, both = false;
      const int left = x.toInt(&number), right = y.toInt(&both);
      return number && both ? std::abs(left - right) <= 1 : x == y;
    });
  };
  const qsizetype most = std::max(expected.size(), painted.size());
  for (qsizetype i = 0; i < most; ++i)
    if (i >= expected.size() || i >= painted.size() || !same(expected[i], painted[i]))
      return QString("shape %1 of %2: expected \"%3\", painted \"%4\"")
          .arg(i + 1)
          .arg(most)
          .arg(expected.value(i).left(200), painted.value(i).left(200));
  return {};
}

}  // namespace spillway::gui
