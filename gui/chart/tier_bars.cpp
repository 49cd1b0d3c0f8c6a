#include "gui/chart/tier_bars.hpp"

#include "gui/chart/palette.hpp"
#include "gui/model/memory_tree.hpp"
#include "reports/words/verdict.hpp"

#include <QHelpEvent>
#include <QToolTip>

#include <algorithm>

namespace spillway::gui {

namespace {

constexpr int title_height = 19, bar_height = 20, line_height = 17, gap = 12;
constexpr int most_names = 6;

std::uint64_t number(const QModelIndex& index, int role) { return index.data(role).toULongLong(); }

QString bytes_text(const QModelIndex& tier, std::uint64_t bytes) {
  return QString::fromStdString(
      reports::tier_bytes(tier.data(MemoryTree::key_role).toString().toStdString(), bytes));
}

/// What a tier holds, or would have to.
std::uint64_t demand(const QModelIndex& tier) {
  return std::max(number(tier, MemoryTree::bytes_role), number(tier, MemoryTree::needed_role));
}

bool is_short(const QModelIndex& tier) {
  const std::uint64_t capacity = number(tier, MemoryTree::capacity_role);
  return capacity > 0 && demand(tier) > capacity;
}

struct Name {
  QString text, purpose;  ///< of no purpose: what there is besides
};

QString purpose_of(const QModelIndex& buffers) {
  return buffers.data(MemoryTree::key_role).toString();
}

/// Names of the largest buffers, and how many more there are.
std::vector<Name> names_of(const QModelIndex& tier) {
  std::vector<Name> names;
  const QAbstractItemModel* model = tier.model();
  const int rows = model->rowCount(tier);
  for (int i = 0; i < std::min(rows, most_names); ++i) {
    const QModelIndex one = model->index(i, 0, tier);
    names.push_back(
        {one.data().toString() + "  " + bytes_text(tier, number(one, MemoryTree::bytes_role)),
         purpose_of(one)});
  }
  if (rows > most_names) names.push_back({QString("%1 more").arg(rows - most_names), {}});
  return names;
}

}  // namespace

struct TierBars::Bar {
  QModelIndex tier;
  QRect title, bar, legend;
};

TierBars::TierBars(QWidget* parent) : QWidget(parent) {
  setAccessibleName("Memory by tier");
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
  setMinimumWidth(260);
}

void TierBars::set_model(const QAbstractItemModel* model) {
  model_ = model;
  connect(model, &QAbstractItemModel::modelReset, this, [this] {
    describe();
    updateGeometry();
    setMinimumHeight(heightForWidth(std::max(width(), 260)));
    update();
  });
  describe();
}

void TierBars::set_approximate(bool approximate) {
  approximate_ = approximate;
  update();
}

void TierBars::describe() {
  QStringList tiers;
  for (int i = 0; model_ && i < model_->rowCount(); ++i) {
    const QModelIndex tier = model_->index(i, 0);
    const std::uint64_t capacity = number(tier, MemoryTree::capacity_role);
    QString text = tier.data().toString() + " " + bytes_text(tier, demand(tier));
    if (capacity > 0) text += " of " + bytes_text(tier, capacity);
    if (is_short(tier)) text += ", too small";
    tiers << text;
  }
  setAccessibleDescription(tiers.join("; "));
}

int TierBars::legend_height(int width, int tier) const {
  const QFontMetrics metrics(small_font(font()));
  int x = 0, lines = 1;
  for (const Name& name : names_of(model_->index(tier, 0))) {
    const int needed = metrics.horizontalAdvance(name.text) + 30;
    if (x > 0 && x + needed > width) {
      ++lines;
      x = 0;
    }
    x += needed;
  }
  return lines * line_height;
}

int TierBars::heightForWidth(int width) const {
  int height = 2;
  for (int i = 0; model_ && i < model_->rowCount(); ++i)
    height += title_height + bar_height + 4 + legend_height(width, i) + gap;
  return std::max(height, 60);
}

QSize TierBars::sizeHint() const { return QSize(480, heightForWidth(480)); }

std::vector<TierBars::Bar> TierBars::bars(const QRect& area) const {
  std::vector<Bar> all;
  int y = area.top();
  for (int i = 0; model_ && i < model_->rowCount(); ++i) {
    Bar bar;
    bar.tier = model_->index(i, 0);
    bar.title = QRect(area.left(), y, area.width(), title_height);
    bar.bar = QRect(area.left(), y + title_height, area.width(), bar_height);
    bar.legend =
        QRect(area.left(), bar.bar.bottom() + 5, area.width(), legend_height(area.width(), i));
    y = bar.legend.bottom() + 1 + gap;
    all.push_back(bar);
  }
  return all;
}

namespace {

/// Bytes at pixels of the bar: the whole of it is the capacity, or the demand where that is more.
Axis scale_of(const QModelIndex& tier, const QRect& bar) {
  const double most =
      static_cast<double>(std::max(number(tier, MemoryTree::capacity_role), demand(tier)));
  return Axis(0, most > 0 ? most : 1, bar.left(), bar.right() + 1);
}

void fill(QPainter& painter, const QRectF& rect, const QString& purpose, bool dark) {
  painter.fillRect(rect, purpose_colour(purpose, dark));
  const QBrush hatch = purpose_hatch(purpose, dark);
  if (hatch.style() != Qt::NoBrush) painter.fillRect(rect, hatch);
}

void paint_stack(QPainter& painter, const QModelIndex& tier, const QRect& bar, bool dark,
                 const QPalette& palette, bool approximate) {
  const Axis scale = scale_of(tier, bar);
  painter.fillRect(bar, hairline(palette));
  double sum = 0;
  const QAbstractItemModel* model = tier.model();
  for (int i = 0; i < model->rowCount(tier); ++i) {
    const QModelIndex one = model->index(i, 0, tier);
    const double bytes = static_cast<double>(number(one, MemoryTree::bytes_role));
    const double x0 = scale.pixel(sum), x1 = scale.pixel(sum + bytes);
    sum += bytes;
    if (x1 - x0 < 0.3) continue;
    const double space = x1 - x0 > 4 ? 1 : 0;
    const QRectF rect(x0, bar.top(), x1 - x0 - space, bar.height());
    fill(painter, rect, purpose_of(one), dark);
    if (approximate)
      painter.fillRect(rect, QBrush(palette.color(QPalette::Base), Qt::BDiagPattern));
    const QString name = one.data().toString();
    if (x1 - x0 > painter.fontMetrics().horizontalAdvance(name) + 12) {
      painter.setPen(text_on(purpose_colour(purpose_of(one), dark)));
      painter.drawText(rect.adjusted(6, 0, -4, 0), Qt::AlignVCenter | Qt::AlignLeft, name);
    }
  }
  const std::uint64_t capacity = number(tier, MemoryTree::capacity_role);
  if (is_short(tier)) {
    const double x = scale.pixel(static_cast<double>(capacity));
    painter.fillRect(QRectF(x, bar.top(), bar.right() + 1 - x, bar.height()),
                     QBrush(bad_colour(dark), Qt::DiagCrossPattern));
    painter.fillRect(QRectF(x - 1, bar.top() - 3, 2, bar.height() + 6),
                     palette.color(QPalette::WindowText));
  }
}

void paint_legend(QPainter& painter, const QModelIndex& tier, const QRect& area, bool dark,
                  const QPalette& palette) {
  int x = 0, y = area.top();
  for (const Name& name : names_of(tier)) {
    const int needed = painter.fontMetrics().horizontalAdvance(name.text) + 30;
    if (x > 0 && x + needed > area.width()) {
      x = 0;
      y += line_height;
    }
    const bool has_key = !name.purpose.isEmpty();
    if (has_key) fill(painter, QRect(area.left() + x, y + 4, 9, 9), name.purpose, dark);
    painter.setPen(quiet_text(palette));
    painter.drawText(QRect(area.left() + x + (has_key ? 14 : 0), y, needed, line_height),
                     Qt::AlignVCenter | Qt::AlignLeft, name.text);
    x += needed;
  }
}

}  // namespace

void TierBars::paint(QPainter& painter, const QRect& area) const {
  const bool dark = is_dark(palette());
  for (const Bar& bar : bars(area)) {
    painter.setFont(large_font(font(), 1, true));
    painter.setPen(palette().color(QPalette::WindowText));
    painter.drawText(bar.title, Qt::AlignVCenter | Qt::AlignLeft, bar.tier.data().toString());
    const std::uint64_t capacity = number(bar.tier, MemoryTree::capacity_role);
    QString text = (is_short(bar.tier) ? "needs " : "") + bytes_text(bar.tier, demand(bar.tier));
    if (capacity > 0)
      text += (is_short(bar.tier) ? ", has " : " of ") + bytes_text(bar.tier, capacity);
    painter.setFont(font());
    painter.setPen(is_short(bar.tier) ? bad_colour(dark) : palette().color(QPalette::WindowText));
    painter.drawText(bar.title, Qt::AlignVCenter | Qt::AlignRight,
                     (approximate_ ? "~ " : "") + text);
    painter.setFont(small_font(font()));
    paint_stack(painter, bar.tier, bar.bar, dark, palette(), approximate_);
    paint_legend(painter, bar.tier, bar.legend, dark, palette());
  }
}

void TierBars::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  paint(painter, rect());
}

bool TierBars::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  QString text;
  for (const Bar& bar : bars(rect())) {
    if (!bar.bar.contains(help->pos())) continue;
    const Axis scale = scale_of(bar.tier, bar.bar);
    double sum = 0;
    for (int i = 0; i < model_->rowCount(bar.tier); ++i) {
      const QModelIndex one = model_->index(i, 0, bar.tier);
      const std::uint64_t bytes = number(one, MemoryTree::bytes_role);
      sum += static_cast<double>(bytes);
      if (scale.pixel(sum) < help->pos().x()) continue;
      text = one.data().toString() + ", " + bytes_text(bar.tier, bytes) + "\n" +
             one.data(Qt::ToolTipRole).toString();
      const QString how = one.siblingAtColumn(MemoryTree::smaller).data().toString();
      if (!how.isEmpty()) text += "\nGets smaller by: " + how;
      break;
    }
  }
  QToolTip::showText(help->globalPos(), text, this);
  return true;
}

}  // namespace spillway::gui
