#include "gui/page/what_if.hpp"

#include "gui/chart/palette.hpp"
#include "gui/model/summary.hpp"
#include "gui/model/text.hpp"
#include "gui/page/question_form.hpp"
#include "gui/page/sentence_button.hpp"
#include "gui/page/tile_layout.hpp"
#include "reports/run/simulate_report.hpp"

#include <QHBoxLayout>
#include <QPushButton>
#include <QScrollArea>

namespace spillway::gui {

namespace {

constexpr const char* figure_names[] = {"Step", "Throughput", "Whole run", "Cost",
                                        "Drive warranty"};

/// A heading and what is under it, which come and go together.
QWidget* part(const QString& title, QWidget* content) {
  auto* whole = new QWidget;
  auto* rows = new QVBoxLayout(whole);
  rows->setContentsMargins(0, 8, 0, 0);
  rows->setSpacing(4);
  rows->addWidget(heading(title));
  rows->addWidget(content);
  return whole;
}

}  // namespace

WhatIfPage::WhatIfPage(Session& session, QWidget* parent) : Page(session, parent) {
  auto* columns = new QHBoxLayout(this);
  columns->setContentsMargins(0, 0, 0, 0);
  columns->setSpacing(0);
  form_ = new QuestionForm(session, this);
  columns->addWidget(form_);
  columns->addWidget(answer_side(), 1);
  connect(&session_, &Session::answer_changed, this, &WhatIfPage::show_answer);
  connect(&session_, &Session::pinned_changed, this, &WhatIfPage::show_answer);
  show_answer();
}

QWidget* WhatIfPage::answer_side() {
  auto* inside = new QWidget;
  auto* rows = new QVBoxLayout(inside);
  rows->setContentsMargins(16, 14, 18, 16);
  rows->setSpacing(6);
  auto* top = new QHBoxLayout;
  verdict_ = new QLabel;
  verdict_->setFont(large_font(font(), 1.9, true));
  verdict_->setAccessibleName("Verdict");
  verdict_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  verdict_->setWordWrap(true);
  top->addWidget(verdict_, 1);
  pin_ = new QPushButton("&Pin");
  pin_->setToolTip("Compare what comes with this answer");
  unpin_ = new QPushButton("Unpin");
  top->addWidget(unpin_, 0, Qt::AlignTop);
  top->addWidget(pin_, 0, Qt::AlignTop);
  rows->addLayout(top);
  second_ = new QLabel;
  second_->setWordWrap(true);
  second_->setAccessibleName("Why");
  second_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  rows->addWidget(second_);
  pinned_ = caption("");
  rows->addWidget(pinned_);
  changes_part_ = new QWidget;
  changes_ = new QVBoxLayout(changes_part_);
  changes_->setContentsMargins(0, 4, 0, 2);
  rows->addWidget(changes_part_);
  auto* tiles = new TileLayout(8);
  for (const char* name : figure_names) {
    tiles_.push_back(new Tile(name));
    tiles->addWidget(tiles_.back());
  }
  rows->addLayout(tiles);
  details_ = new QWidget;
  auto* below = new QVBoxLayout(details_);
  below->setContentsMargins(0, 0, 0, 0);
  bars_ = new TierBars;
  bars_->set_model(&memory_);
  below->addWidget(part("Memory at its fullest", bars_));
  phases_view_ = table_view(&phases_, "Phases of a step");
  below->addWidget(part("Where a step's time goes, and how busy each resource is", phases_view_));
  steps_view_ = table_view(&steps_, "What would make it faster");
  steps_part_ = part("What would make it faster", steps_view_);
  below->addWidget(steps_part_);
  traffic_view_ = table_view(&traffic_, "Traffic of a step");
  below->addWidget(part("Traffic", traffic_view_));
  rows->addWidget(details_);
  notes_ = caption("");
  rows->addWidget(notes_);
  rows->addStretch(1);
  connect(pin_, &QPushButton::clicked, &session_, &Session::pin);
  connect(unpin_, &QPushButton::clicked, &session_, &Session::unpin);
  auto* scroll = new QScrollArea;
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setWidgetResizable(true);
  scroll->setWidget(inside);
  scroll->setFocusPolicy(Qt::NoFocus);
  return scroll;
}

void WhatIfPage::show_changes(const Answer& answer) {
  while (QLayoutItem* item = changes_->takeAt(0)) {
    if (item->widget()) {
      item->widget()->hide();
      item->widget()->deleteLater();
    }
    delete item;
  }
  const bool remedies = !answer.fits();
  for (const Change& change : answer.changes) {
    auto* button = new SentenceButton(qt(change.sentence));
    button->setToolTip("Applies it; undo takes it back");
    button->setEnabled(!change.overrides.empty());
    if (remedies) button->setDefault(true);
    connect(button, &QPushButton::clicked, this, [this, change] { session_.apply(change); });
    changes_->addWidget(button);
  }
  changes_part_->setVisible(!answer.changes.empty());
}

void WhatIfPage::show_answer() {
  const Answer& answer = session_.answer();
  const bool dark = is_dark(palette());
  const QString mark = answer.approximate() && answer.result ? "~ " : "";
  const auto say = [](QLabel* label, const QString& name, const QString& text) {
    label->setText(text);
    label->setAccessibleName(text.isEmpty() ? name : name + ": " + text);
  };
  say(verdict_, "Verdict", mark + headline_of(answer));
  QPalette colours = palette();
  if (const Cell::Mood mood = mood_of(answer); mood != Cell::Mood::plain)
    colours.setColor(QPalette::WindowText,
                     mood == Cell::Mood::good ? good_colour(dark) : bad_colour(dark));
  verdict_->setPalette(colours);
  say(second_, "Why", second_line_of(answer));
  const Answer* base = session_.pinned() ? &*session_.pinned() : nullptr;
  pinned_->setVisible(base != nullptr);
  unpin_->setVisible(base != nullptr);
  pin_->setEnabled(answer.result.has_value());
  if (base) pinned_->setText("Compared with the pinned: " + session_.pinned_words());
  const auto figures = figures_of(answer, base);
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    if (i < figures.size())
      tiles_[i]->set((figures[i].value == "-" ? "" : mark) + figures[i].value, figures[i].below,
                     figures[i].mood);
    else
      tiles_[i]->set("-", "");
  }
  show_changes(answer);
  details_->setVisible(answer.result.has_value());
  if (answer.result) {
    memory_.set(&*answer.result);
    bars_->set_approximate(answer.approximate());
    put_phases(*answer.result, phases_);
    put_steps(answer, steps_);
    put_traffic(*answer.result, traffic_);
    for (QTableView* view : {phases_view_, steps_view_, traffic_view_}) fit_height(view, 12);
    phases_view_->parentWidget()->setVisible(answer.fits());
    traffic_view_->parentWidget()->setVisible(answer.fits());
    steps_part_->setVisible(steps_.rowCount() > 0);
  }
  QStringList notes;
  for (const text::Text& note : answer.notes) notes << qt(note);
  if (answer.result && !answer.stale)
    for (const text::Text& note : answer.result->notes) notes << qt(note);
  notes_->setText(notes.join("\n"));
  notes_->setVisible(!notes.isEmpty());
}

QString WhatIfPage::text() const {
  const Answer& answer = session_.answer();
  if (!answer.result || answer.refuses_another())
    return headline_of(answer) + "\n" + second_line_of(answer) + "\n";
  return qt(reports::simulate_report(*answer.result, reports::Screen{}));
}

QWidget* WhatIfPage::first_field() { return form_->first_field(); }

bool WhatIfPage::busy() const { return form_->flips().busy(); }

}  // namespace spillway::gui
