#include "gui/page/search_form.hpp"

#include "gui/model/text.hpp"
#include "scenarios/json/shipped.hpp"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QVBoxLayout>

#include <utility>

namespace spillway::gui {

namespace {

QHBoxLayout* row_in(QWidget* whole) {
  auto* row = new QHBoxLayout(whole);
  row->setContentsMargins(0, 0, 0, 0);
  return row;
}

}  // namespace

SearchForm::SearchForm(QWidget* parent) : QWidget(parent) {
  auto* rows = new QVBoxLayout(this);
  rows->setContentsMargins(0, 0, 0, 0);
  rows->addWidget(what());
  rows->addWidget(how());
  card_ = new RunCard(run_, "&Write and search", "Counting and estimating ...");
  rows->addWidget(card_);
  connect(&run_, &AskedRun::changed, this, &SearchForm::refresh);
  connect(&run_, &AskedRun::failed, card_, &RunCard::set_last_words);
  connect(&run_, &AskedRun::stopped, this, [this] {
    const bool agreed = run_.resumable();
    card_->set_last_words(agreed ? "Stopped; everything that was found is in " +
                                       run_.request().database + ", and Resume goes on."
                                 : QString());
  });
  connect(&run_, &AskedRun::finished, this, [this](const QByteArray& output) {
    card_->set_last_words(QString::fromUtf8(output).section("\n\n", 0, 0));  // before the table
  });
  connect(&run_, &AskedRun::partly, this, [this](const QByteArray& output, const QString& why) {
    card_->set_last_words(QString::fromUtf8(output).section("\n\n", 0, 0) + "\n" + why);
  });
  propose_database();
  refresh();
}

QWidget* SearchForm::what() {
  auto* whole = new QWidget;
  auto* row = row_in(whole);
  space_ = new QComboBox;
  space_->setEditable(true);
  space_->setInsertPolicy(QComboBox::NoInsert);
  space_->setAccessibleName("Space to search");
  space_->setToolTip("One that ships, or a file of your own");
  space_->lineEdit()->setAccessibleName(space_->accessibleName());
  for (const std::string& name : scenarios::shipped_names("scenarios/spaces"))
    space_->addItem(qt(name));
  space_->lineEdit()->setPlaceholderText("A name, or the file that the database was made from");
  database_ = new QLineEdit;
  database_->setAccessibleName("Database to write");
  database_->setPlaceholderText(
      "File that keeps the results; what it knows is not simulated again");
  auto* choose_space_file = browse_button("Choose a space file");
  auto* choose_database_file = browse_button("Choose a database file");
  row->addWidget(label_of("Spa&ce", space_));
  row->addWidget(space_, 2);
  row->addWidget(choose_space_file);
  row->addWidget(label_of("&Database", database_));
  row->addWidget(database_, 3);
  row->addWidget(choose_database_file);
  connect(space_, &QComboBox::editTextChanged, this, &SearchForm::propose_database);
  connect(database_, &QLineEdit::textChanged, this, &SearchForm::refresh);
  connect(choose_space_file, &QPushButton::clicked, this, &SearchForm::choose_space);
  connect(choose_database_file, &QPushButton::clicked, this, &SearchForm::choose_database);
  return whole;
}

void SearchForm::add_kinds(QHBoxLayout* row) {
  kind_ = new QComboBox;
  kind_->setAccessibleName("Kind of search");
  kind_->addItem("every point", "");
  kind_->addItem("a spread", "sobol");
  kind_->addItem("genetic", "nsga2");
  kind_->setToolTip(
      "Every point, coarse first; a spread of points (Sobol); a genetic search (NSGA-II)");
  samples_ = new QSpinBox;
  samples_->setRange(0, 10'000'000);
  samples_->setSingleStep(100);
  samples_->setSpecialValueText("default");
  samples_->setAccessibleName("Points to look at");
  samples_->setEnabled(false);
  samples_->findChild<QLineEdit*>()->setAccessibleName(samples_->accessibleName());
  row->addWidget(label_of("&Kind", kind_));
  row->addWidget(kind_);
  row->addWidget(label_of("Poi&nts", samples_));
  row->addWidget(samples_);
  connect(kind_, &QComboBox::currentIndexChanged, this,
          [this](int at) { samples_->setEnabled(at > 0); });
}

QWidget* SearchForm::how() {
  auto* whole = new QWidget;
  auto* row = row_in(whole);
  jobs_ = new QSpinBox;
  jobs_->setRange(0, 1024);
  jobs_->setSpecialValueText("one for each core");
  jobs_->setAccessibleName("Simulations at a time");
  jobs_->findChild<QLineEdit*>()->setAccessibleName(jobs_->accessibleName());
  budget_ = new QLineEdit;
  budget_->setAccessibleName("Time limit");
  budget_->setPlaceholderText("none; 10min");
  budget_->setMaximumWidth(120);
  hosts_ = new QLineEdit;
  hosts_->setAccessibleName("Hosts");
  hosts_->setPlaceholderText("this machine");
  hosts_->setToolTip(
      "Names of machines, with commas between them: mpirun starts workers there; slurm: all nodes "
      "of the Slurm job that this window is in");
  search_ = new QPushButton("&Search ...");
  search_->setToolTip("Says first what it will write, and where");
  resume_ = new QPushButton("&Resume");
  resume_->setToolTip("The same command goes on where it stopped");
  add_kinds(row);
  row->addWidget(label_of("&Jobs", jobs_));
  row->addWidget(jobs_);
  row->addWidget(label_of("Time &limit", budget_));
  row->addWidget(budget_);
  row->addWidget(label_of("Hos&ts", hosts_));
  row->addWidget(hosts_, 1);
  row->addWidget(resume_);
  row->addWidget(search_);
  connect(search_, &QPushButton::clicked, this, [this] {
    finished_ = false;
    card_->set_last_words("");
    run_.start(request());
  });
  connect(resume_, &QPushButton::clicked, this, [this] { run_.resume(); });
  return whole;
}

void SearchForm::choose_space() {
  const QString chosen =
      QFileDialog::getOpenFileName(this, "Space to search", QString(), "Space (*.json)");
  if (!chosen.isEmpty()) space_->setEditText(chosen);
}

/// One that is there is gone on with, so nobody is asked about it.
void SearchForm::choose_database() {
  const QString chosen =
      QFileDialog::getSaveFileName(this, "Database to write", database_->text(), "Database (*.db)",
                                   nullptr, QFileDialog::DontConfirmOverwrite);
  if (!chosen.isEmpty()) database_->setText(chosen);
}

/// Named as the space, unless somebody named another.
void SearchForm::propose_database() {
  const QString name = QFileInfo(space_->currentText().trimmed()).completeBaseName();
  const bool own = !database_->text().isEmpty() && database_->text() != proposed_;
  proposed_ = name.isEmpty() ? QString() : QDir::current().filePath(name + ".db");
  if (!own) database_->setText(proposed_);
  refresh();
}

SearchRequest SearchForm::request() const {
  return {space_->currentText().trimmed(), database_->text().trimmed(),     jobs_->value(),
          budget_->text().trimmed(),       kind_->currentData().toString(), samples_->value(),
          hosts_->text().trimmed()};
}

void SearchForm::show_database(const QString& file, const QString& space, bool finished) {
  finished_ = finished && file == run_.request().database;
  const bool other = !file.isEmpty() && file != database_->text();
  if (other && run_.state() == AskedRun::State::none) {
    space_->setEditText(space_->findText(space) >= 0 ? space : QString());
    database_->setText(file);
  }
  refresh();
}

void SearchForm::refresh() {
  using State = AskedRun::State;
  const bool idle = run_.state() == State::none;
  search_->setEnabled(idle && !request().space.isEmpty() && !request().database.isEmpty());
  resume_->setVisible(run_.resumable() && !finished_);
  const State before = std::exchange(shown_, run_.state());
  if (run_.state() == State::running && before != State::running)
    Q_EMIT searching(run_.request().database);
  Q_EMIT changed();
}

}  // namespace spillway::gui
