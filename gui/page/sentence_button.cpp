#include "gui/page/sentence_button.hpp"

#include <QStyleOptionButton>
#include <QTextLayout>

#include <algorithm>

namespace spillway::gui {

namespace {

constexpr int least_width = 160, hinted_width = 480;

}  // namespace

SentenceButton::SentenceButton(const QString& sentence, QWidget* parent)
    : QPushButton(parent), sentence_(sentence) {
  setStyleSheet("text-align: left; padding: 5px 10px;");
  setText(QString(sentence).replace('&', "&&"));
  setAccessibleName(sentence);
  QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Fixed, QSizePolicy::PushButton);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
}

/// The sentence as it is broken in a button of that width.
QString SentenceButton::in_lines(int width) const {
  QStyleOptionButton option;
  initStyleOption(&option);
  option.rect = QRect(0, 0, width, height());
  const int room = style()->subElementRect(QStyle::SE_PushButtonContents, &option, this).width();
  QTextLayout layout(sentence_, font());
  layout.beginLayout();
  QStringList lines;
  for (QTextLine line = layout.createLine(); line.isValid(); line = layout.createLine()) {
    line.setLineWidth(std::max(room - 4, 20));
    lines << sentence_.mid(line.textStart(), line.textLength()).trimmed().replace('&', "&&");
  }
  layout.endLayout();
  return lines.join('\n');
}

QSize SentenceButton::size_of(const QString& text) const {
  QStyleOptionButton option;
  initStyleOption(&option);
  option.text = text;
  const QSize inside = fontMetrics().size(Qt::TextShowMnemonic, text);
  return style()->sizeFromContents(QStyle::CT_PushButton, &option, inside, this);
}

int SentenceButton::heightForWidth(int width) const { return size_of(in_lines(width)).height(); }

QSize SentenceButton::sizeHint() const { return {hinted_width, heightForWidth(hinted_width)}; }

QSize SentenceButton::minimumSizeHint() const { return {least_width, size_of(sentence_).height()}; }

void SentenceButton::resizeEvent(QResizeEvent* event) {
  QPushButton::resizeEvent(event);
  if (const QString text = in_lines(width()); text != this->text()) setText(text);
}

}  // namespace spillway::gui
