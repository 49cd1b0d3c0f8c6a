#include "gui/page/validate.hpp"

#include "gui/model/text.hpp"
#include "gui/model/validation_table.hpp"
#include "gui/page/parts.hpp"
#include "scenarios/json/shipped.hpp"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QVBoxLayout>

namespace spillway::gui {

namespace {

constexpr const char* not_paced = "not paced";
constexpr const char* trace_title = "Measured and predicted";
constexpr const char* trace_name = "validation.trace.json";

}  // namespace

ValidatePage::ValidatePage(Session& session, QWidget* parent) : Page(session, parent) {
  auto* rows = new QVBoxLayout(this);
  rows->setContentsMargins(16, 12, 16, 12);
  rows->addWidget(heading("Predicted beside measured"));
  rows->addWidget(form());
  card_ = new RunCard(run_, "Write and &run", "Predicting ...");
  rows->addWidget(card_);
  empty_ = empty_words(
      "Runs the answer of What-if for real on this machine, and the prediction beside it;\n"
      "it says what it will take and write, and waits for a yes.\n\n"
      "Or open one: spillway validate SCENARIO --on DIR --json > FILE");
  rows->addWidget(empty_, 1);
  words_ = new QLabel;
  words_->setWordWrap(true);
  rows->addWidget(words_);
  view_ = table_view(&table_, "Predicted beside measured");
  rows->addWidget(view_, 1);
  suspects_ = caption("");
  auto* below = new QHBoxLayout;
  below->addWidget(suspects_, 1);
  timeline_ = new Timeline;
  tracks_ = new TrackButton;
  tracks_->add(timeline_);
  below->addWidget(tracks_, 0, Qt::AlignBottom);
  rows->addLayout(below);
  timeline_->setAccessibleName("Timelines of both runs on one axis");
  rows->addWidget(timeline_, 2);
  connect(&session_, &Session::trace_changed, this, &ValidatePage::show_trace);
  connect(&session_, &Session::validation_changed, this, &ValidatePage::show_validation);
  connect(&session_, &Session::answer_changed, this, [this] {
    if (isVisible()) show_run();
  });
  connect(&run_, &ValidationRun::changed, this, &ValidatePage::show_run);
  connect(&run_, &ValidationRun::finished, this, &ValidatePage::take);
  connect(&run_, &ValidationRun::partly, this,
          [this](const QByteArray& output, const QString& why) {
            take(output);
            card_->set_last_words(why);
          });
  connect(&run_, &ValidationRun::failed, this,
          [this](const QString& why) { card_->set_last_words(why); });
  show_validation();
  show_run();
}

QWidget* ValidatePage::form() {
  auto* whole = new QWidget;
  auto* rows = new QVBoxLayout(whole);
  rows->setContentsMargins(0, 0, 0, 0);
  auto *first = new QHBoxLayout, *second = new QHBoxLayout;
  rows->addLayout(first);
  rows->addLayout(second);
  directories_ = new QLineEdit;
  directories_->setAccessibleName("Directories to write to");
  directories_->setPlaceholderText("Directory to write to; one for each storage, with ; between");
  profile_ = new QLineEdit;
  profile_->setAccessibleName("Machine file of this machine");
  profile_->setPlaceholderText("Machine file that probe wrote; else measured first");
  pace_ = new QComboBox;
  pace_->setAccessibleName("Pace");
  pace_->setToolTip("Kernels and copies take the time that this machine needs");
  pace_->addItem(not_paced);
  for (const std::string& name : scenarios::shipped_names("scenarios/machines"))
    pace_->addItem(qt(name));
  pace_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  synthetic_ = new QCheckBox("S&ynthetic");
  synthetic_->setToolTip("The same transfers, nothing computed");
  auto* choose_directory = browse_button("Choose a directory");
  auto* choose_profile = browse_button("Choose a machine file");
  prepare_ = new QPushButton("&Validate ...");
  prepare_->setToolTip("Says first what it will take and write");
  first->addWidget(label_of("&On", directories_));
  first->addWidget(directories_, 1);
  first->addWidget(choose_directory);
  first->addWidget(prepare_);
  second->addWidget(label_of("&Machine", profile_));
  second->addWidget(profile_, 1);
  second->addWidget(choose_profile);
  second->addWidget(label_of("Pace", pace_));
  second->addWidget(pace_);
  second->addWidget(synthetic_);
  connect(directories_, &QLineEdit::textChanged, this, &ValidatePage::show_run);
  connect(choose_directory, &QPushButton::clicked, this, [this] {
    const QString chosen = QFileDialog::getExistingDirectory(this, "Directory to write to");
    if (chosen.isEmpty()) return;
    const QString before = directories_->text().trimmed();
    directories_->setText(before.isEmpty() ? chosen : before + ";" + chosen);
  });
  connect(choose_profile, &QPushButton::clicked, this, [this] {
    const QString chosen =
        QFileDialog::getOpenFileName(this, "Machine file", QString(), "Machine (*.json)");
    if (!chosen.isEmpty()) profile_->setText(chosen);
  });
  connect(prepare_, &QPushButton::clicked, this, &ValidatePage::prepare);
  return whole;
}

void ValidatePage::shown() { show_run(); }

bool ValidatePage::busy() const {
  return run_.state() != ValidationRun::State::none && run_.state() != ValidationRun::State::asking;
}

ValidationRequest ValidatePage::request() const {
  ValidationRequest request;
  for (const QString& one : directories_->text().split(';', Qt::SkipEmptyParts))
    request.directories << one.trimmed();
  if (pace_->currentIndex() > 0) request.pace = pace_->currentText();
  request.synthetic = synthetic_->isChecked();
  request.profile = profile_->text().trimmed();
  return request;
}

void ValidatePage::prepare() {
  ValidationRequest wanted = request();
  wanted.scenario =
      session_.write_scenario(session_.answered_scenario(), "scenario_to_validate.json");
  wanted.trace = session_.own_path(trace_name);
  card_->set_last_words("");
  run_.start(wanted);
}

void ValidatePage::show_run() {
  prepare_->setEnabled(run_.state() == ValidationRun::State::none &&
                       session_.answer().result.has_value() &&
                       !directories_->text().trimmed().isEmpty());
  Q_EMIT session_.status_changed();
}

void ValidatePage::take(const QByteArray& output) {
  auto validation = nlohmann::json::parse(output.begin(), output.end(), nullptr, false);
  if (!validation.is_object()) return card_->set_last_words("spillway validate gave no JSON");
  session_.take_validation(std::move(validation));
  if (QFile::exists(session_.own_path(trace_name)))
    session_.read_trace_of(session_.own_path(trace_name), trace_title);
}

/// Another trace of the session leaves the one here alone.
void ValidatePage::show_trace() {
  const bool of_own_run = session_.trace() && session_.trace_title() == trace_title;
  if (!of_own_run && !session_.trace_of_validation()) return;
  timeline_->set_trace(session_.trace());
  timeline_->fit();  // one side's last step may come after all of the other
  timeline_->setVisible(session_.validation().is_object());
  tracks_->setVisible(session_.validation().is_object());
}

/// The trace of a validation comes after it, unless it was opened before it.
void ValidatePage::show_validation() {
  timeline_->set_trace(nullptr);
  timeline_->hide();
  tracks_->hide();
  const nlohmann::json& validation = session_.validation();
  const bool there = validation.is_object();
  empty_->setVisible(!there);
  for (QWidget* one : {static_cast<QWidget*>(words_), static_cast<QWidget*>(view_),
                       static_cast<QWidget*>(suspects_)})
    one->setVisible(there);
  put_validation(validation, table_);
  if (!there) return;
  QStringList words;
  if (validation.contains("device") && validation["device"].is_string())
    words << qt(validation["device"].get<std::string>());
  if (const QStringList real = words_in(validation, "real"); !real.isEmpty())
    words << "Real: " + real.join(", ");
  if (const QStringList played = words_in(validation, "emulated"); !played.isEmpty())
    words << "Emulated: " + played.join(", ");
  words_->setText(words.join(". ") + ".");
  suspects_->setText((words_in(validation, "suspects") + words_in(validation, "notes")).join("\n"));
  if (session_.trace_of_validation()) show_trace();
}

QString ValidatePage::command() const {
  ValidationRequest wanted = request();
  wanted.scenario = "SCENARIO";
  if (wanted.directories.isEmpty()) wanted.directories << "DIR";
  return "spillway " + words_of(wanted).join(' ');
}

QString ValidatePage::text() const { return words_->text() + "\n" + table_.as_text(); }

}  // namespace spillway::gui
