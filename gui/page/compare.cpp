#include "gui/page/compare.hpp"

#include "gui/model/summary.hpp"
#include "gui/page/parts.hpp"
#include "reports/words/verdict.hpp"

#include <QHBoxLayout>
#include <QPushButton>
#include <QVBoxLayout>

namespace spillway::gui {

ComparePage::ComparePage(Session& session, QWidget* parent) : Page(session, parent) {
  auto* rows = new QVBoxLayout(this);
  rows->setContentsMargins(16, 12, 16, 12);
  auto* top = new QHBoxLayout;
  top->addWidget(heading("Side by side"));
  top->addStretch(1);
  auto* keep = new QPushButton("&Keep the answer of What-if");
  auto* drop = new QPushButton("&Remove the last");
  top->addWidget(drop);
  top->addWidget(keep);
  rows->addLayout(top);
  why_ = new QLabel;
  why_->setWordWrap(true);
  rows->addWidget(why_);
  empty_ = empty_words(
      "Keep an answer here, change the question, and see both side by side;\n"
      "or open results: spillway simulate SCENARIO --json > FILE");
  rows->addWidget(empty_, 1);
  view_ = table_view(&table_, "Results side by side");
  timelines_ = new RunTimelines;
  split_ = new QSplitter(Qt::Vertical);
  split_->setChildrenCollapsible(false);
  split_->addWidget(view_);
  split_->addWidget(timelines_);
  split_->setStretchFactor(1, 2);
  split_->setSizes({240, 480});
  rows->addWidget(split_, 1);
  connect(keep, &QPushButton::clicked, this, [this] {
    if (!session_.answer().result) return;
    const result::Result& result = *session_.answer().result;
    session_.add_contender(QString("%1 %2")
                               .arg(session_.contenders().size() + 1)
                               .arg(result.system.c_str())
                               .toStdString(),
                           result);
  });
  connect(drop, &QPushButton::clicked, this,
          [this] { session_.remove_contender(session_.contenders().size() - 1); });
  const auto show = [this] { show_results(isVisible()); };
  connect(&session_, &Session::contenders_changed, this, show);
  connect(&session_, &Session::answer_changed, this, [this] {
    if (isVisible()) show_results(true);
  });
  connect(&session_, &Session::pinned_changed, this, show);
  connect(timelines_, &RunTimelines::changed, &session_, &Session::status_changed);
  show_results(false);
}

void ComparePage::show_results(bool ask) {
  std::vector<RunTimelines::Run> all;
  for (const Contender& one : session_.contenders())
    all.emplace_back(QString::fromStdString(one.label), &one.result);
  if (session_.pinned() && session_.pinned()->result)
    all.emplace_back("pinned", &*session_.pinned()->result);
  if (all.size() < 2 && !all.empty() && session_.answer().result)
    all.emplace_back("What-if now", &*session_.answer().result);
  empty_->setVisible(all.empty());
  split_->setVisible(!all.empty());
  timelines_->show_runs(all, ask);
  put_differences(all, table_);
  why_->setText(all.size() == 2
                    ? why_slower(all[0].first, *all[0].second, all[1].first, *all[1].second)
                    : QString());
  why_->setAccessibleName("Why one is slower: " + why_->text());
  why_->setVisible(!why_->text().isEmpty());
}

void ComparePage::shown() { show_results(true); }

QString ComparePage::command() const { return "spillway compare SCENARIO SCENARIO"; }

QString ComparePage::text() const {
  return why_->text() + "\n" + table_.as_text() + "\n" + timelines_->text();
}

}  // namespace spillway::gui
