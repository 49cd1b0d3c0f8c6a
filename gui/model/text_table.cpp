#include "gui/model/text_table.hpp"

#include <algorithm>
#include <set>

namespace spillway::gui {

void TextTable::set(std::vector<QString> headers, std::vector<std::vector<Cell>> rows) {
  beginResetModel();
  headers_ = std::move(headers);
  rows_ = std::move(rows);
  for (auto& row : rows_) row.resize(headers_.size());
  endResetModel();
}

int TextTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int TextTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(headers_.size());
}

const Cell& TextTable::cell_at(const QModelIndex& index) const {
  return rows_[static_cast<std::size_t>(index.row())][static_cast<std::size_t>(index.column())];
}

bool TextTable::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (role != Qt::EditRole || !checkIndex(index, CheckIndexOption::IndexIsValid)) return false;
  const QString text = value.toString().trimmed();
  if (cell_at(index).edit.isEmpty() || text == cell_at(index).edit) return false;
  Q_EMIT edited(cell_at(index.siblingAtColumn(0)).text, text);
  return false;
}

Qt::ItemFlags TextTable::flags(const QModelIndex& index) const {
  const Qt::ItemFlags usual = QAbstractTableModel::flags(index);
  if (!checkIndex(index, CheckIndexOption::IndexIsValid) || cell_at(index).edit.isEmpty())
    return usual;
  return usual | Qt::ItemIsEditable;
}

QVariant TextTable::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const Cell& cell = cell_at(index);
  switch (role) {
    case Qt::DisplayRole:
      return cell.text;
    case Qt::EditRole:
      return cell.edit.isEmpty() ? cell.text : cell.edit;
    case Qt::ToolTipRole:
      return cell.hint.isEmpty() ? QVariant() : QVariant(cell.hint);
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(
          Qt::Alignment((cell.is_number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter));
    case share_role:
      return cell.share;
    case mood_role:
      return static_cast<int>(cell.mood);
    case number_role:
      return cell.is_number ? QVariant(cell.number) : QVariant();
    default:
      return {};
  }
}

QVariant TextTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
  if (role == Qt::DisplayRole) return headers_[static_cast<std::size_t>(section)];
  if (role == Qt::TextAlignmentRole) {
    const auto column = static_cast<std::size_t>(section);
    const bool right = std::any_of(rows_.begin(), rows_.end(),
                                   [column](const auto& row) { return row[column].is_number; });
    return QVariant::fromValue(
        Qt::Alignment((right ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter));
  }
  return {};
}

void TextTable::sort(int column, Qt::SortOrder order) {
  if (column < 0 || column >= columnCount()) return;
  const auto at = static_cast<std::size_t>(column);
  Q_EMIT layoutAboutToBeChanged({}, VerticalSortHint);
  std::vector<std::size_t> before(rows_.size());
  for (std::size_t i = 0; i < before.size(); ++i) before[i] = i;
  const auto less = [&](std::size_t a, std::size_t b) {
    const Cell &x = rows_[a][at], &y = rows_[b][at];
    if (x.is_number != y.is_number) return x.is_number;
    return x.is_number ? x.number < y.number : x.text.localeAwareCompare(y.text) < 0;
  };
  std::stable_sort(before.begin(), before.end(), [&](std::size_t a, std::size_t b) {
    return order == Qt::AscendingOrder ? less(a, b) : less(b, a);
  });
  std::vector<std::vector<Cell>> sorted;
  sorted.reserve(rows_.size());
  std::vector<int> row_now(rows_.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    row_now[before[i]] = static_cast<int>(i);
    sorted.push_back(std::move(rows_[before[i]]));
  }
  rows_ = std::move(sorted);
  QModelIndexList to;
  const QModelIndexList from = persistentIndexList();
  for (const QModelIndex& one : from)
    to << index(row_now[static_cast<std::size_t>(one.row())], one.column());
  changePersistentIndexList(from, to);
  Q_EMIT layoutChanged({}, VerticalSortHint);
}

QString TextTable::as_text(const QModelIndexList& chosen) const {
  std::set<int> wanted;
  for (const QModelIndex& one : chosen) wanted.insert(one.row());
  QStringList lines;
  QStringList words;
  for (const QString& header : headers_) words << header;
  lines << words.join('\t');
  for (int i = 0; i < rowCount(); ++i) {
    if (!wanted.empty() && !wanted.contains(i)) continue;
    words.clear();
    for (const Cell& cell : rows_[static_cast<std::size_t>(i)]) words << cell.text;
    lines << words.join('\t');
  }
  return lines.join('\n') + '\n';
}

}  // namespace spillway::gui
