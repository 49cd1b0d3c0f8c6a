#pragma once

#include <QPushButton>

namespace spillway::gui {

/// A button that says a sentence, in as many lines as it needs; aloud it is one sentence.
class SentenceButton : public QPushButton {
  Q_OBJECT

 public:
  explicit SentenceButton(const QString& sentence, QWidget* parent = nullptr);

  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  QString in_lines(int width) const;
  QSize size_of(const QString& text) const;

  QString sentence_;
};

}  // namespace spillway::gui
