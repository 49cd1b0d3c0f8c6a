#include "gui/page/run_card.hpp"

#include <QHBoxLayout>

namespace spillway::gui {

RunCard::RunCard(AskedRun& run, const QString& agree, const QString& before, QWidget* parent)
    : Card(parent), run_(run), before_(before) {
  auto* row = new QHBoxLayout(this);
  said_ = new QLabel;
  said_->setWordWrap(true);
  said_->setTextFormat(Qt::PlainText);
  said_->setAccessibleName("What it will take and write");
  said_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  agree_ = new QPushButton(agree);
  stop_ = new QPushButton("Sto&p");
  stop_->setToolTip("As Ctrl-C does");
  row->addWidget(said_, 1);
  row->addWidget(stop_);
  row->addWidget(agree_);
  connect(agree_, &QPushButton::clicked, &run_, &AskedRun::agree);
  connect(stop_, &QPushButton::clicked, &run_, &AskedRun::stop);
  connect(&run_, &AskedRun::changed, this, &RunCard::refresh);
  refresh();
}

void RunCard::set_last_words(const QString& words) {
  last_words_ = words;
  refresh();
}

void RunCard::refresh() {
  using State = AskedRun::State;
  const State state = run_.state();
  QStringList lines;
  if (const QString said = run_.said().trimmed(); !said.isEmpty()) lines << said;
  if (state == State::preparing && lines.isEmpty()) lines << before_;
  if (state == State::running)
    lines << (run_.progress().isEmpty() ? "Running ..." : run_.progress());
  if (state == State::stopping) lines << "Stopping ...";
  const QString text = state == State::none ? last_words_ : lines.join('\n');
  setVisible(!text.isEmpty());
  said_->setText(text);
  agree_->setVisible(state == State::asking);
  stop_->setVisible(state != State::none);
  stop_->setEnabled(state != State::stopping);
  if (state == State::asking && !agree_->hasFocus() && isVisible()) agree_->setFocus();
}

QPushButton* browse_button(const QString& name) {
  auto* button = new QPushButton("...");
  button->setAccessibleName(name);
  button->setToolTip(name);
  button->setFixedWidth(34);
  return button;
}

QLabel* label_of(const QString& text, QWidget* field) {
  auto* label = new QLabel(text);
  label->setBuddy(field);
  return label;
}

}  // namespace spillway::gui
