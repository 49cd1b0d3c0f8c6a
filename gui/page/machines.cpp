#include "gui/page/machines.hpp"

#include "gui/model/machine_table.hpp"
#include "gui/page/parts.hpp"
#include "scenarios/document/read_machine.hpp"
#include "scenarios/json/shipped.hpp"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QPushButton>
#include <QSaveFile>
#include <QVBoxLayout>

namespace spillway::gui {

using nlohmann::json;

namespace {

constexpr const char* of_question = "The box of What-if";

}  // namespace

MachinesPage::MachinesPage(Session& session, QWidget* parent) : Page(session, parent) {
  auto* rows = new QVBoxLayout(this);
  rows->setContentsMargins(16, 12, 16, 12);
  auto* top = new QHBoxLayout;
  which_ = new QComboBox;
  which_->setAccessibleName("Machine");
  which_->setMinimumContentsLength(28);
  top->addWidget(heading("Machine"));
  top->addWidget(which_);
  filter_ = new QLineEdit;
  filter_->setPlaceholderText("Filter: storage, assumed, price");
  filter_->setAccessibleName("Filter");
  filter_->setClearButtonEnabled(true);
  top->addWidget(filter_, 1);
  auto* use = new QPushButton("&Use in What-if");
  top->addWidget(use);
  auto* save_as = new QPushButton("&Save as...");
  save_as->setToolTip("Writes the machine as a machine file");
  top->addWidget(save_as);
  rows->addLayout(top);
  words_ = caption("");
  rows->addWidget(words_);
  view_ = table_view(&table_, "Numbers of the machine with their sources");
  view_->setEditTriggers(QAbstractItemView::DoubleClicked | QAbstractItemView::EditKeyPressed);
  rows->addWidget(view_, 1);
  list();
  connect(which_, &QComboBox::currentIndexChanged, this, &MachinesPage::show_machine);
  connect(filter_, &QLineEdit::textChanged, this, &MachinesPage::show_machine);
  connect(&session_, &Session::answer_changed, this, [this] {
    if (which_->currentIndex() == 0 && isVisible()) show_machine();
  });
  connect(&session_, &Session::question_changed, this, [this] {
    if (which_->currentIndex() == 0) show_machine();
  });
  // An editor is still open when it says what it holds, so the table changes after it.
  connect(&table_, &TextTable::edited, this, &MachinesPage::change, Qt::QueuedConnection);
  connect(save_as, &QPushButton::clicked, this, &MachinesPage::save);
  connect(use, &QPushButton::clicked, this, [this] {
    if (which_->currentIndex() == 0) return;
    Question next = session_.question();
    next.machine = which_->currentText().toStdString();
    next.machine_file = nullptr;
    session_.change(next, "Machine " + which_->currentText());
  });
  show_machine();
}

void MachinesPage::list() {
  which_->addItem(of_question);
  for (const std::string& name : scenarios::shipped_names("scenarios/machines"))
    which_->addItem(QString::fromStdString(name));
}

void MachinesPage::show_machine() {
  json machine;
  QString trouble;
  if (which_->currentIndex() == 0) {
    const json scenario = session_.answered_scenario();
    if (is_changed(session_.question().machine_file))
      machine = session_.question().machine_file;
    else if (scenario.is_object() && scenario.contains("machine"))
      machine = scenario["machine"];
    if (!machine.is_object()) trouble = "What-if has no answer yet.";
  } else {
    try {
      machine = scenarios::read_machine(which_->currentText().toStdString());
    } catch (const std::exception& error) {
      trouble = QString::fromStdString(one_sentence(error));
    }
  }
  machine_ = machine;
  const int assumed = put_machine(machine, filter_->text(), table_);
  words_->setText(!trouble.isEmpty()
                      ? trouble
                      : QString("%1 numbers shown; %2 of all are assumed: nobody states them.")
                            .arg(table_.rowCount())
                            .arg(assumed));
}

void MachinesPage::change(const QString& path, const QString& value) {
  try {
    Question next = session_.question();
    next.machine_file = changed_machine(machine_, path.toStdString(), value.toStdString());
    next.machine.clear();
    which_->setCurrentIndex(0);
    session_.change(next, "Change " + path + " to " + value);
  } catch (const std::exception& error) {
    words_->setText(QString::fromStdString(one_sentence(error)));
    Q_EMIT session_.refused(words_->text());
  }
}

void MachinesPage::save() {
  if (!machine_.is_object()) return;
  const QString path =
      QFileDialog::getSaveFileName(this, "Save as", "machine.json", "Machine (*.json)");
  if (path.isEmpty()) return;
  QSaveFile file(path);
  const bool written = file.open(QIODevice::WriteOnly) &&
                       file.write(QByteArray::fromStdString(machine_.dump(2) + "\n")) > 0 &&
                       file.commit();
  if (written)
    Q_EMIT session_.told("Wrote " + path);
  else
    Q_EMIT session_.refused(path + ": " + file.errorString());
}

void MachinesPage::shown() { show_machine(); }

QString MachinesPage::command() const {
  return which_->currentIndex() == 0 ? Page::command()
                                     : "spillway machine " + which_->currentText();
}

}  // namespace spillway::gui
