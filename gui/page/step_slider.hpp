#pragma once

#include "gui/model/flip.hpp"

#include <QSlider>
#include <QWidget>

namespace spillway::gui {

/// A slider over the steps of a knob, with a mark and words where the verdict flips. The number
/// field beside it takes keys, so it takes none by Tab.
class StepSlider : public QWidget {
  Q_OBJECT

 public:
  explicit StepSlider(const Knob& knob, QWidget* parent = nullptr);

  void set_value(std::uint64_t value);
  void set_flip(const Flip& flip);
  const Flip& flip() const { return flip_; }
  /// What stands under the slider.
  QString words() const { return short_words(flip_, knob_); }
  QSlider* slider() { return slider_; }

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 Q_SIGNALS:
  /// Somebody moved it.
  void moved(std::uint64_t value);
  void released();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  /// Where the handle's middle stands for a value of a step.
  int x_of(std::uint64_t value) const;

  const Knob& knob_;
  QSlider* slider_;
  Flip flip_;
};

}  // namespace spillway::gui
