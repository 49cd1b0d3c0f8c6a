#include "gui/page/step_slider.hpp"

#include "gui/chart/palette.hpp"
#include "gui/model/text.hpp"

#include <QPainter>
#include <QStyle>
#include <QStyleOptionSlider>

#include <algorithm>

namespace spillway::gui {

namespace {

constexpr int mark_height = 5;

}  // namespace

StepSlider::StepSlider(const Knob& knob, QWidget* parent) : QWidget(parent), knob_(knob) {
  slider_ = new QSlider(Qt::Horizontal, this);
  slider_->setRange(0, static_cast<int>(knob.steps.size()) - 1);
  slider_->setPageStep(1);
  slider_->setFocusPolicy(Qt::ClickFocus);
  slider_->setAccessibleName(QString("%1, slider").arg(knob.name));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  connect(slider_, &QSlider::valueChanged, this, [this](int at) {
    Q_EMIT moved(static_cast<std::uint64_t>(knob_.steps[static_cast<std::size_t>(at)]));
  });
  connect(slider_, &QSlider::sliderReleased, this, &StepSlider::released);
}

void StepSlider::set_value(std::uint64_t value) {
  const QSignalBlocker quiet(slider_);
  slider_->setValue(knob_.nearest(value));
}

void StepSlider::set_flip(const Flip& flip) {
  flip_ = flip;
  const QString sentence = sentence_of(flip, knob_);
  slider_->setAccessibleDescription(sentence);
  setToolTip(sentence);
  update();
}

QSize StepSlider::sizeHint() const {
  const QFontMetrics small(small_font(font()));
  const QString longest = "fits up to 1,048,576";
  return {small.horizontalAdvance(longest) + 6, slider_->sizeHint().height() + small.height()};
}

void StepSlider::resizeEvent(QResizeEvent*) {
  slider_->setGeometry(0, 0, width(), slider_->sizeHint().height());
}

int StepSlider::x_of(std::uint64_t value) const {
  QStyleOptionSlider option;
  option.initFrom(slider_);
  option.orientation = Qt::Horizontal;
  option.minimum = slider_->minimum();
  option.maximum = slider_->maximum();
  const int handle = style()->pixelMetric(QStyle::PM_SliderLength, &option, slider_);
  return handle / 2 + QStyle::sliderPositionFromValue(option.minimum, option.maximum,
                                                      knob_.nearest(value),
                                                      slider_->width() - handle);
}

void StepSlider::paintEvent(QPaintEvent*) {
  const QString text = words();
  if (text.isEmpty()) return;
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const int below = slider_->height();
  const bool has_mark = flip_.kind == Flip::Kind::from || flip_.kind == Flip::Kind::up_to;
  const int middle = has_mark ? x_of(flip_.at) : width() / 2;
  const QColor colour = has_mark ? good_colour(is_dark(palette())) : quiet_text(palette());
  if (has_mark) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(colour);
    const QPoint mark[] = {{middle, below - mark_height}, {middle - 4, below}, {middle + 4, below}};
    painter.drawPolygon(mark, 3);
  }
  painter.setFont(small_font(font()));
  const int wide = painter.fontMetrics().horizontalAdvance(text);
  const int left = std::clamp(middle - wide / 2, 0, std::max(0, width() - wide));
  painter.setPen(isEnabled() ? colour : quiet_text(palette()));
  painter.drawText(QRect(left, below, wide + 1, height() - below), Qt::AlignLeft | Qt::AlignTop,
                   text);
}

}  // namespace spillway::gui
