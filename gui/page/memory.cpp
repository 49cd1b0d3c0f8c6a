#include "gui/page/memory.hpp"

#include "gui/page/parts.hpp"
#include "reports/run/explain.hpp"
#include "reports/words/verdict.hpp"

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
  let_go_ = new QPushButton("Show the &whole run");
  let_go_->setToolTip("Lets go of the marked time span");
  auto* line = new QHBoxLayout;
  line->addWidget(verdict_, 1);
  line->addWidget(let_go_, 0, Qt::AlignTop);
  rows->addLayout(line);
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
  connect(&session_, &Session::marked_changed, this, [this] {
    if (isVisible()) list_results();
  });
  connect(let_go_, &QPushButton::clicked, this, [this] { session_.mark(std::nullopt); });
  connect(which_, &QComboBox::currentIndexChanged, this, &MemoryPage::show_result);
  list_results();
}

void MemoryPage::list_results() {
  const QSignalBlocker quiet(which_);
  which_->clear();
  which_->addItem("The answer of What-if");
  for (const Contender& one : session_.contenders())
    which_->addItem(QString::fromStdString(one.label));
  listed_span_ = session_.trace() ? session_.marked() : std::nullopt;
  if (listed_span_) which_->addItem("The marked time span");
  which_->setCurrentIndex(which_->count() - 1);
  show_result();
}

const result::Result* MemoryPage::shown_result() const {
  const int at = which_->currentIndex();
  if (at <= 0) return session_.answer().result ? &*session_.answer().result : nullptr;
  const auto index = static_cast<std::size_t>(at - 1);
  return index < session_.contenders().size() ? &session_.contenders()[index].result : nullptr;
}

bool MemoryPage::shows_span() const {
  return listed_span_ && session_.trace() && which_->currentIndex() == which_->count() - 1;
}

void MemoryPage::show_result() {
  const result::Result* result = shown_result();
  if (shows_span())
    tree_.set(*session_.trace(), listed_span_->first, listed_span_->second);
  else
    tree_.set(result);
  let_go_->setVisible(shows_span());
  bars_->set_approximate(which_->currentIndex() <= 0 && session_.answer().approximate());
  verdict_->setText(shows_span() ? span_words()
                    : result     ? QString::fromStdString(reports::headline(*result))
                                 : QString("No answer yet."));
  view_->expandToDepth(0);
  for (int i = 0; i < MemoryTree::columns - 1; ++i) view_->resizeColumnToContents(i);
  view_->setColumnWidth(MemoryTree::setting,
                        std::min(view_->columnWidth(MemoryTree::setting), 420));
}

QString MemoryPage::span_words() const {
  const auto& [from, to] = *listed_span_;
  return QString(
             "The most that each tier held within the marked %1, from %2 to %3 on the timeline "
             "of %4; rounding counts to each purpose, of the cards the fullest is shown.")
      .arg(text_of(Quantity::seconds, seconds(to - from)),
           text_of(Quantity::seconds, seconds(from)), text_of(Quantity::seconds, seconds(to)),
           session_.trace_title());
}

void MemoryPage::shown() {
  if (listed_span_ != session_.marked())
    list_results();
  else
    show_result();
}

QString MemoryPage::text() const {
  if (shows_span()) return span_words() + "\n" + bars_->accessibleDescription();
  const result::Result* result = shown_result();
  if (!result) return {};
  return QString::fromStdString(
      reports::explain(*result, {}, reports::Screen{}, reports::Topic::memory));
}

}  // namespace spillway::gui
