#include "gui/page/tile_layout.hpp"

#include <algorithm>
#include <numeric>

namespace spillway::gui {

TileLayout::TileLayout(int spacing) {
  setContentsMargins(0, 0, 0, 0);
  setSpacing(spacing);
}

TileLayout::~TileLayout() {
  for (const QLayoutItem* item : items_) delete item;
}

QLayoutItem* TileLayout::itemAt(int at) const {
  return at >= 0 && at < count() ? items_[static_cast<std::size_t>(at)] : nullptr;
}

QLayoutItem* TileLayout::takeAt(int at) {
  QLayoutItem* const item = itemAt(at);
  if (item) items_.erase(items_.begin() + at);
  return item;
}

std::vector<int> TileLayout::columns(int count) const {
  std::vector<int> widths(static_cast<std::size_t>(count), 0);
  for (std::size_t i = 0; i < items_.size(); ++i) {
    int& width = widths[i % widths.size()];
    width = std::max(width, items_[i]->minimumSize().width());
  }
  return widths;
}

int TileLayout::width_of(const std::vector<int>& columns) const {
  return std::accumulate(columns.begin(), columns.end(), 0) +
         spacing() * (static_cast<int>(columns.size()) - 1);
}

std::vector<int> TileLayout::columns_in(int width) const {
  for (int rows = 1; rows < count(); ++rows) {
    std::vector<int> widths = columns((count() + rows - 1) / rows);
    if (width_of(widths) <= width) return widths;
  }
  return columns(1);
}

int TileLayout::row_height() const {
  int height = 0;
  for (const QLayoutItem* item : items_) height = std::max(height, item->sizeHint().height());
  return height;
}

int TileLayout::heightForWidth(int width) const {
  const auto across = static_cast<int>(columns_in(width).size());
  const int rows = (count() + across - 1) / across;
  return rows * row_height() + spacing() * (rows - 1);
}

QSize TileLayout::sizeHint() const { return {width_of(columns(count())), row_height()}; }

QSize TileLayout::minimumSize() const { return {width_of(columns(1)), row_height()}; }

void TileLayout::setGeometry(const QRect& area) {
  QLayout::setGeometry(area);
  const std::vector<int> widths = columns_in(area.width());
  const auto across = static_cast<int>(widths.size());
  const int spare = std::max(0, area.width() - width_of(widths));
  int x = area.x(), y = area.y();
  for (int i = 0; i < count(); ++i) {
    const int column = i % across;
    if (i > 0 && column == 0) {
      x = area.x();
      y += row_height() + spacing();
    }
    const int more = spare * (column + 1) / across - spare * column / across;
    const int width = widths[static_cast<std::size_t>(column)] + more;
    items_[static_cast<std::size_t>(i)]->setGeometry({x, y, width, row_height()});
    x += width + spacing();
  }
}

}  // namespace spillway::gui
