#include "gui/app/palette_dialog.hpp"

#include <QKeyEvent>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>

namespace spillway::gui {

int match_of(const QString& typed, const QString& name) {
  int cost = 0;
  qsizetype from = 0;
  for (const QChar letter : typed) {
    if (letter.isSpace()) continue;
    const qsizetype at = name.indexOf(letter, from, Qt::CaseInsensitive);
    if (at < 0) return -1;
    const bool begins_word = at == 0 || !name[at - 1].isLetterOrNumber();
    cost += begins_word ? 0 : static_cast<int>(at - from);
    from = at + 1;
  }
  return cost;
}

PaletteDialog::PaletteDialog(QList<QAction*> actions, QWidget* parent)
    : QDialog(parent), actions_(std::move(actions)) {
  setWindowTitle("Commands");
  auto* rows = new QVBoxLayout(this);
  typed_ = new QLineEdit;
  typed_->setPlaceholderText("Type a command");
  typed_->setAccessibleName("Command");
  typed_->installEventFilter(this);
  list_ = new QListWidget;
  list_->setAccessibleName("Commands");
  list_->setFocusPolicy(Qt::NoFocus);
  rows->addWidget(typed_);
  rows->addWidget(list_);
  resize(460, 380);
  connect(typed_, &QLineEdit::textChanged, this, &PaletteDialog::filter);
  connect(typed_, &QLineEdit::returnPressed, this, &PaletteDialog::act);
  connect(list_, &QListWidget::itemActivated, this, &PaletteDialog::act);
  connect(list_, &QListWidget::itemClicked, this, &PaletteDialog::act);
  filter();
}

void PaletteDialog::filter() {
  std::vector<std::pair<int, int>> found;
  for (int i = 0; i < actions_.size(); ++i)
    if (const int cost = match_of(typed_->text(), actions_[i]->text().remove('&'));
        cost >= 0 && actions_[i]->isEnabled())
      found.emplace_back(cost, i);
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  list_->clear();
  for (const auto& [cost, i] : found) {
    const QString key = actions_[i]->shortcut().toString();
    auto* item = new QListWidgetItem(
        actions_[i]->text().remove('&') + (key.isEmpty() ? "" : "    " + key), list_);
    item->setData(Qt::UserRole, i);
    item->setToolTip(actions_[i]->toolTip());
  }
  list_->setCurrentRow(0);
}

void PaletteDialog::act() {
  const QListWidgetItem* item = list_->currentItem();
  if (!item) return;
  QAction* action = actions_[item->data(Qt::UserRole).toInt()];
  accept();
  QTimer::singleShot(0, action, &QAction::trigger);
}

bool PaletteDialog::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Down || key == Qt::Key_Up) {
      const int step = key == Qt::Key_Down ? 1 : -1;
      list_->setCurrentRow(std::clamp(list_->currentRow() + step, 0, list_->count() - 1));
      return true;
    }
  }
  return QDialog::eventFilter(watched, event);
}

}  // namespace spillway::gui
