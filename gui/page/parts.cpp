#include "gui/page/parts.hpp"

#include "gui/chart/palette.hpp"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QPainter>
#include <QShortcut>
#include <QStyledItemDelegate>

#include <algorithm>

namespace spillway::gui {

namespace {

/// Paints a bar behind cells that have a share, and moods as colours of the text.
class CellDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    const double share = index.data(TextTable::share_role).toDouble();
    const bool chosen = option.state & QStyle::State_Selected;
    if (share > 0 && !chosen) {
      QColor colour = option.palette.color(QPalette::Highlight);
      colour.setAlphaF(0.22F);
      QRect bar = option.rect.adjusted(0, 3, 0, -3);
      bar.setWidth(static_cast<int>(std::min(share, 1.0) * bar.width()));
      painter->fillRect(bar, colour);
    }
    QStyledItemDelegate::paint(painter, option, index);
  }

  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    option->state &= ~QStyle::State_HasFocus;
    const bool dark = is_dark(option->palette);
    switch (static_cast<Cell::Mood>(index.data(TextTable::mood_role).toInt())) {
      case Cell::Mood::good:
        option->palette.setColor(QPalette::Text, good_colour(dark));
        break;
      case Cell::Mood::bad:
        option->palette.setColor(QPalette::Text, bad_colour(dark));
        break;
      case Cell::Mood::quiet:
        option->palette.setColor(QPalette::Text, quiet_text(option->palette));
        break;
      case Cell::Mood::plain:
        break;
    }
  }
};

}  // namespace

QLabel* heading(const QString& text, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  label->setFont(large_font(label->font(), 1.08, true));
  label->setContentsMargins(0, 0, 0, 2);
  return label;
}

QLabel* caption(const QString& text, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  label->setFont(small_font(label->font()));
  label->setForegroundRole(QPalette::PlaceholderText);
  label->setWordWrap(true);
  return label;
}

QTableView* table_view(TextTable* model, const QString& accessible_name, QWidget* parent) {
  auto* view = new QTableView(parent);
  view->setModel(model);
  view->setItemDelegate(new CellDelegate(view));
  view->setAccessibleName(accessible_name);
  view->setFrameShape(QFrame::NoFrame);
  view->setShowGrid(false);
  view->setAlternatingRowColors(true);
  view->setSelectionBehavior(QAbstractItemView::SelectRows);
  view->setWordWrap(false);
  view->setSortingEnabled(false);
  view->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  view->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  view->setTabKeyNavigation(false);
  view->verticalHeader()->hide();
  view->verticalHeader()->setDefaultSectionSize(view->fontMetrics().height() + 8);
  view->horizontalHeader()->setHighlightSections(false);
  view->horizontalHeader()->setStretchLastSection(true);
  view->horizontalHeader()->setSectionResizeMode(QHeaderView::Interactive);
  view->horizontalHeader()->setFont(small_font(view->font()));
  QObject::connect(model, &QAbstractItemModel::modelReset, view, [view] {
    const int last = view->model()->columnCount() - 1;
    const auto alignment = view->model()->headerData(last, Qt::Horizontal, Qt::TextAlignmentRole);
    view->horizontalHeader()->setStretchLastSection(
        last >= 0 && !(alignment.value<Qt::Alignment>() & Qt::AlignRight));
    view->resizeColumnsToContents();
    for (int i = 0; i < view->model()->columnCount(); ++i)
      view->setColumnWidth(i, std::clamp(view->columnWidth(i) + 14, 60, 420));
  });
  auto* copy = new QShortcut(QKeySequence::Copy, view);
  copy->setContext(Qt::WidgetShortcut);
  QObject::connect(copy, &QShortcut::activated, view, [view, model] {
    QApplication::clipboard()->setText(model->as_text(view->selectionModel()->selectedIndexes()));
  });
  return view;
}

void fit_height(QTableView* view, int most) {
  const int all = view->model()->rowCount();
  view->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  view->setVerticalScrollBarPolicy(all > most ? Qt::ScrollBarAsNeeded : Qt::ScrollBarAlwaysOff);
  const int height = view->horizontalHeader()->sizeHint().height() +
                     std::min(all, most) * view->verticalHeader()->defaultSectionSize() + 6;
  view->setFixedHeight(height);
}

Tile::Tile(const QString& name, QWidget* parent) : QFrame(parent), name_(name) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName(name);
}

void Tile::set(const QString& value, const QString& below, Cell::Mood mood) {
  value_ = value;
  below_ = below;
  mood_ = mood;
  setAccessibleDescription(value + (below.isEmpty() ? "" : ", " + below));
  setToolTip(name_ + ": " + value + (below.isEmpty() ? "" : "\n" + below));
  updateGeometry();
  update();
}

QRect Tile::inside() const { return rect().adjusted(10, 8, -6, -7); }

/// As large as the value has room for.
QFont Tile::value_font() const {
  QFont large = large_font(font(), 1.55, true);
  while (large.pointSizeF() > font().pointSizeF() &&
         QFontMetrics(large).horizontalAdvance(value_) + 6 > inside().width())
    large.setPointSizeF(large.pointSizeF() - 0.5);
  return large;
}

QSize Tile::minimumSizeHint() const {
  const QFontMetrics small(small_font(font())), large(large_font(font(), 1.55, true));
  const QFontMetrics least(large_font(font(), 1.2, true));  // the value may shrink so far
  const int text = std::max({small.horizontalAdvance(name_), small.horizontalAdvance(below_),
                             least.horizontalAdvance(value_)});
  return {std::max(100, text + 20), 2 * small.height() + large.height() + 16};
}

QString Tile::cut() const {
  const QFontMetrics small(small_font(font()));
  for (const QString& text : {name_, below_})
    if (small.horizontalAdvance(text) > inside().width()) return text;
  return QFontMetrics(value_font()).horizontalAdvance(value_) > inside().width() ? value_
                                                                                 : QString();
}

void Tile::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(hairline(palette()));
  painter.setBrush(palette().color(QPalette::Base));
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
  const QRect inside = this->inside();
  const QFont small = small_font(font());
  const auto line = [&](const QFont& with, const QColor& colour, int flags, const QString& text) {
    painter.setFont(with);
    painter.setPen(colour);
    painter.drawText(inside, flags | Qt::AlignLeft,
                     painter.fontMetrics().elidedText(text, Qt::ElideRight, inside.width()));
  };
  line(small, quiet_text(palette()), Qt::AlignTop, name_);
  line(value_font(), palette().color(QPalette::WindowText), Qt::AlignVCenter, value_);
  const bool dark = is_dark(palette());
  const QColor colour = mood_ == Cell::Mood::good  ? good_colour(dark)
                        : mood_ == Cell::Mood::bad ? bad_colour(dark)
                                                   : quiet_text(palette());
  line(small, colour, Qt::AlignBottom, below_);
}

Card::Card(QWidget* parent) : QFrame(parent) {}

void Card::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(hairline(palette()));
  painter.setBrush(palette().color(QPalette::Base));
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
}

QToolButton* tool_button(const QString& text, const QString& hint) {
  auto* button = new QToolButton;
  button->setText(text);
  button->setToolTip(hint);
  button->setAutoRaise(true);
  return button;
}

QLabel* empty_words(const QString& text, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  label->setAlignment(Qt::AlignCenter);
  label->setForegroundRole(QPalette::PlaceholderText);
  label->setWordWrap(true);
  return label;
}

}  // namespace spillway::gui
