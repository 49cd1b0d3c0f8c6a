#include "gui/page/memory.hpp"

#include "gui/page/parts.hpp"
#include "reports/explain.hpp"
#include "reports/verdict.hpp"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QVBoxLayout>

namespace spillway::gui {

MemoryPage::MemoryPage(Session& session, QWidget* parent) : Page(session, parent) {
  auto* rows = new QVBoxLayout(this);
  rows->setContentsMargins(16, 12, 16, 12);
  auto* top = new QHBoxLayout;
  top->addWidget(heading("Memory at its fullest"));
  top->addStretch(1);
  which_ = new QComboBox;
  which_->setAccessibleName("Result");
  which_->setMinimumContentsLength(28);
  top->addWidget(which_);
  rows->addLayout(top);
  verdict_ = new QLabel;
  verdict_->setWordWrap(true);
  rows->addWidget(verdict_);
  bars_ = new TierBars;
  bars_->set_model(&tree_);
  rows->addWidget(bars_);
  view_ = new QTreeView;
  view_->setModel(&tree_);
  view_->setAccessibleName("Buffers by tier and purpose");
  view_->setAlternatingRowColors(true);
  view_->setUniformRowHeights(true);
  view_->setFrameShape(QFrame::NoFrame);
  view_->header()->setStretchLastSection(true);
  rows->addWidget(view_, 1);
  connect(&session_, &Session::answer_changed, this, [this] {
    if (isVisible()) show_result();
  });
  connect(&session_, &Session::contenders_changed, this, &MemoryPage::list_results);
  connect(which_, &QComboBox::currentIndexChanged, this, &MemoryPage::show_result);
  list_results();
}

void MemoryPage::list_results() {
  const QSignalBlocker quiet(which_);
  which_->clear();
  which_->addItem("The answer of What-if");
  for (const Contender& one : session_.contenders())
    which_->addItem(QString::fromStdString(one.label));
  which_->setCurrentIndex(which_->count() - 1);
  show_result();
}

const result::Result* MemoryPage::shown_result() const {
  const int at = which_->currentIndex();
  if (at <= 0) return session_.answer().result ? &*session_.answer().result : nullptr;
  const auto index = static_cast<std::size_t>(at - 1);
  return index < session_.contenders().size() ? &session_.contenders()[index].result : nullptr;
}

void MemoryPage::show_result() {
  const result::Result* result = shown_result();
  tree_.set(result);
  bars_->set_approximate(which_->currentIndex() <= 0 && session_.answer().approximate());
  verdict_->setText(result ? QString::fromStdString(reports::headline(*result))
                           : QString("No answer yet."));
  view_->expandToDepth(0);
  for (int i = 0; i < MemoryTree::columns - 1; ++i) view_->resizeColumnToContents(i);
  view_->setColumnWidth(MemoryTree::setting,
                        std::min(view_->columnWidth(MemoryTree::setting), 420));
}

void MemoryPage::shown() { show_result(); }

QString MemoryPage::text() const {
  const result::Result* result = shown_result();
  if (!result) return {};
  return QString::fromStdString(
      reports::explain(*result, {}, reports::Screen{}, reports::Topic::memory));
}

}  // namespace spillway::gui
