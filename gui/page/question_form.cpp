#include "gui/page/question_form.hpp"

#include "gui/model/text.hpp"
#include "gui/page/parts.hpp"
#include "reports/human.hpp"
#include "scenarios/description/quantity.hpp"
#include "scenarios/part_catalogue.hpp"
#include "scenarios/shipped.hpp"
#include "strategies/catalogue.hpp"

#include <QCompleter>
#include <QGridLayout>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include <algorithm>
#include <array>
#include <cmath>

namespace spillway::gui {

namespace {

constexpr std::array sizes = {8,   16,  24,  32,  48,   64,   96,   128,  192,
                              256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096};

/// Turning the wheel over a field scrolls the page; it changes a field that has the focus alone.
class WheelGuard : public QObject {
 public:
  using QObject::QObject;
  bool eventFilter(QObject* watched, QEvent* event) override {
    const auto* field = qobject_cast<QWidget*>(watched);
    if (event->type() != QEvent::Wheel || !field || field->hasFocus()) return false;
    event->ignore();
    return true;
  }
};

void guard(QWidget* field) {
  field->setFocusPolicy(Qt::StrongFocus);
  field->installEventFilter(new WheelGuard(field));
}

QComboBox* picker(const std::vector<QString>& names, const QString& accessible_name) {
  auto* combo = new QComboBox;
  for (const QString& name : names) combo->addItem(name);
  combo->setAccessibleName(accessible_name);
  combo->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  combo->setMinimumContentsLength(12);
  combo->setMaxVisibleItems(20);
  guard(combo);
  return combo;
}

/// One that takes typing: part of a name is enough.
QComboBox* searched_picker(const std::vector<QString>& names, const QString& accessible_name) {
  QComboBox* combo = picker(names, accessible_name);
  combo->setEditable(true);
  combo->setInsertPolicy(QComboBox::NoInsert);
  auto* completer = new QCompleter(combo->model(), combo);
  completer->setCaseSensitivity(Qt::CaseInsensitive);
  completer->setFilterMode(Qt::MatchContains);
  completer->setCompletionMode(QCompleter::PopupCompletion);
  combo->setCompleter(completer);
  return combo;
}

QSpinBox* number_field(int least, int most, const QString& suffix, const QString& name) {
  auto* field = new QSpinBox;
  field->setRange(least, most);
  field->setSuffix(suffix);
  field->setAccessibleName(name);
  field->setKeyboardTracking(false);
  field->setGroupSeparatorShown(true);
  guard(field);
  return field;
}

/// Labels in the first column, fields in the second. No QFormLayout: with rows that are hidden, Qt
/// 6.4 writes behind its own lists when such a layout is asked how high it is.
QGridLayout* section(QVBoxLayout* below, const QString& title) {
  below->addWidget(heading(title));
  auto* form = new QGridLayout;
  form->setContentsMargins(0, 0, 0, 10);
  form->setHorizontalSpacing(10);
  form->setVerticalSpacing(5);
  form->setColumnStretch(1, 1);
  below->addLayout(form);
  return form;
}

/// A label of its own width, so that the fields of all sections stand below each other.
QLabel* label(const QString& text, QWidget* field) {
  auto* made = new QLabel(text);
  made->setBuddy(field);
  made->setMinimumWidth(96);
  return made;
}

void add_row(QGridLayout* form, const QString& text, QWidget* field) {
  const int row = form->rowCount();
  form->addWidget(label(text, field), row, 0, Qt::AlignLeft | Qt::AlignVCenter);
  form->addWidget(field, row, 1);
}

template <class Parts>
std::vector<QString> names_of(const Parts& parts) {
  std::vector<QString> names;
  for (const auto& part : parts) names.push_back(qt(part.name));
  return names;
}

std::vector<QString> shipped(const char* folder) {
  std::vector<QString> names;
  for (const std::string& name : scenarios::shipped_names(folder)) names.push_back(qt(name));
  return names;
}

/// Shows `text`, which becomes an entry where there is none.
void choose(QComboBox* combo, const QString& text) {
  const QSignalBlocker quiet(combo);
  int at = combo->findText(text);
  if (at < 0) {
    combo->addItem(text);
    at = combo->count() - 1;
  }
  combo->setCurrentIndex(at);
  if (combo->isEditable()) combo->setEditText(text);
}

void put(QSpinBox* field, std::uint64_t value) {
  const QSignalBlocker quiet(field);
  field->setValue(static_cast<int>(std::min<std::uint64_t>(value, 2'000'000'000)));
}

int nearest_size(std::uint64_t gib) {
  int best = 0;
  for (int i = 0; i < static_cast<int>(sizes.size()); ++i)
    if (std::abs(std::log2(static_cast<double>(sizes[static_cast<std::size_t>(i)]) /
                           static_cast<double>(gib))) <
        std::abs(std::log2(static_cast<double>(sizes[static_cast<std::size_t>(best)]) /
                           static_cast<double>(gib))))
      best = i;
  return best;
}

/// "1B", "500M", "2T".
QString count_text(double count) {
  if (count <= 0) return {};
  const struct {
    double size;
    const char* name;
  } units[] = {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "k"}};
  for (const auto& unit : units)
    if (count >= unit.size) return QString::number(count / unit.size, 'g', 12) + unit.name;
  return QString::number(count, 'f', 0);
}

QString name_of_file(const nlohmann::json& machine) {
  const auto name = machine.find("name");
  return name != machine.end() && name->is_string() ? qt(name->get<std::string>())
                                                    : QString("a machine file");
}

constexpr const char* best_way = "Best that fits (search)";
constexpr const char* own_box = "Parts";

}  // namespace

std::span<const int> memory_sizes() { return sizes; }

QuestionForm::QuestionForm(Session& session, QWidget* parent)
    : QScrollArea(parent), session_(session) {
  setFrameShape(QFrame::NoFrame);
  setWidgetResizable(true);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* inside = new QWidget;
  auto* rows = new QVBoxLayout(inside);
  rows->setContentsMargins(14, 12, 12, 12);
  rows->setSpacing(4);
  add_model(section(rows, "Model"));
  add_box(section(rows, "Box"));
  add_training(section(rows, "Training"));
  add_system(section(rows, "Way to train"));
  rows->addStretch(1);
  setWidget(inside);
  setFixedWidth(342);
  setAccessibleName("Question");
  connect(&session_, &Session::question_changed, this, &QuestionForm::load);
  connect(&session_, &Session::answer_changed, this, &QuestionForm::show_chosen);
  load();
}

template <class Edit>
void QuestionForm::change(const QString& words, const QString& field, const Edit& edit) {
  if (loading_) return;
  Question next = session_.question();
  edit(next);
  session_.change(next, words, field);
}

void QuestionForm::add_model(QGridLayout* form) {
  model_ = searched_picker(shipped("models/library"), "Model");
  model_->setToolTip("Type a part of the name; or drop a config.json on the window");
  add_row(form, "&Model", model_);
  const auto chosen = [this] {
    const QString name = model_->currentText().trimmed();
    if (name == qt(session_.question().model)) return;  // also one of a file, by its own name
    if (name.isEmpty() || model_->findText(name) < 0) return load();
    change("Model " + name, "", [&](Question& q) {
      q.model = name.toStdString();
      q.model_config = nullptr;
    });
  };
  connect(model_, &QComboBox::activated, this, chosen);
  connect(model_->lineEdit(), &QLineEdit::editingFinished, this, chosen);
  connect(model_->completer(), qOverload<const QString&>(&QCompleter::activated), this,
          [this, chosen](const QString& name) {
            model_->setEditText(name);
            chosen();
          });
}

void QuestionForm::add_box(QGridLayout* form) {
  box_form_ = form;
  std::vector<QString> machines = shipped("scenarios/machines");
  machines.insert(machines.begin(), own_box);
  machine_ = picker(machines, "Machine");
  add_row(form, "Mac&hine", machine_);
  connect(machine_, &QComboBox::activated, this, [this] {
    const QString name = machine_->currentText();
    const nlohmann::json& file = session_.question().machine_file;
    if (file.is_object() && name == name_of_file(file)) return;
    change("Machine " + name, "", [&](Question& q) {
      q.machine = name == own_box ? "" : name.toStdString();
      q.machine_file = nullptr;
    });
  });
  const scenarios::PriceList& list = scenarios::part_catalogue();
  gpu_ = searched_picker(names_of(list.gpus), "Card");
  gpus_ = number_field(1, 64, "", "Cards");
  gpus_->setPrefix("x ");
  memory_ = number_field(1, 8192, " GiB", "Host memory");
  memory_slider_ = new QSlider(Qt::Horizontal);
  memory_slider_->setRange(0, static_cast<int>(sizes.size()) - 1);
  memory_slider_->setPageStep(1);
  memory_slider_->setAccessibleName("Host memory, sizes that are sold");
  guard(memory_slider_);
  drive_ = searched_picker(names_of(list.drives), "Drive");
  drives_ = number_field(0, 64, "", "Drives");
  drives_->setPrefix("x ");
  std::vector<QString> boards = names_of(list.hosts);
  boards.insert(boards.begin(), "Cheapest that takes it");
  board_ = picker(boards, "Board");
  add_row(form, "&Card", gpu_);
  add_row(form, "Cards", gpus_);
  add_row(form, "Host memor&y", memory_);
  form->addWidget(memory_slider_, form->rowCount(), 1);
  add_row(form, "&Drive", drive_);
  add_row(form, "Drives", drives_);
  add_row(form, "Board", board_);
  box_words_ = caption("");
  form->addWidget(box_words_, form->rowCount(), 0, 1, 2);
  connect_box();
}

void QuestionForm::connect_box() {
  const auto card = [this] {
    const QString name = gpu_->currentText();
    if (gpu_->findText(name) < 0) return load();
    change("Card " + name, "", [&](Question& q) { q.box.gpu = name.toStdString(); });
  };
  connect(gpu_, &QComboBox::activated, this, card);
  connect(gpu_->lineEdit(), &QLineEdit::editingFinished, this, card);
  connect(gpus_, &QSpinBox::valueChanged, this, [this](int count) {
    change(QString("%1 cards").arg(count), "gpus", [&](Question& q) {
      if (q.data * q.tensor * q.pipeline == q.box.gpus && q.tensor * q.pipeline == 1)
        q.data = static_cast<std::uint64_t>(count);
      q.box.gpus = static_cast<std::uint64_t>(count);
    });
  });
  const auto memory = [this](int gib) {
    change(QString("%1 GiB of host memory").arg(gib), "memory",
           [&](Question& q) { q.box.memory_gib = static_cast<std::uint64_t>(gib); });
  };
  connect(memory_, &QSpinBox::valueChanged, this, memory);
  connect(memory_slider_, &QSlider::valueChanged, this,
          [memory](int at) { memory(sizes[static_cast<std::size_t>(at)]); });
  connect(memory_slider_, &QSlider::sliderReleased, this, [this] { session_.end_drag(); });
  const auto drive = [this] {
    const QString name = drive_->currentText();
    if (drive_->findText(name) < 0) return load();
    change("Drive " + name, "", [&](Question& q) { q.box.drive = name.toStdString(); });
  };
  connect(drive_, &QComboBox::activated, this, drive);
  connect(drive_->lineEdit(), &QLineEdit::editingFinished, this, drive);
  connect(drives_, &QSpinBox::valueChanged, this, [this](int count) {
    change(QString("%1 drives").arg(count), "drives",
           [&](Question& q) { q.box.drives = static_cast<std::uint64_t>(count); });
  });
  connect(board_, &QComboBox::activated, this, [this](int at) {
    change("Board", "",
           [&](Question& q) { q.box.board = at == 0 ? "" : board_->currentText().toStdString(); });
  });
}

void QuestionForm::add_training(QGridLayout* form) {
  sequence_ = number_field(1, 10'000'000, " tokens", "Context");
  sequence_->setStepType(QAbstractSpinBox::AdaptiveDecimalStepType);
  micro_batch_ = number_field(1, 4096, "", "Micro-batch");
  accumulation_ = number_field(1, 4096, "", "Gradient accumulation");
  precision_ = picker({"bf16_mixed", "fp16_mixed", "bf16", "fp16", "fp32"}, "Precision");
  tokens_ = new QLineEdit;
  tokens_->setAccessibleName("Tokens to train on");
  tokens_->setToolTip("Of the whole run: 1B, 500M, 2e12; empty: not asked");
  add_row(form, "Conte&xt", sequence_);
  add_row(form, "Micro-&batch", micro_batch_);
  add_row(form, "Accumulation", accumulation_);
  add_row(form, "Precision", precision_);
  add_row(form, "&Tokens", tokens_);
  connect(sequence_, &QSpinBox::valueChanged, this, [this](int value) {
    change(QString("Context %1").arg(value), "sequence",
           [&](Question& q) { q.sequence = static_cast<std::uint64_t>(value); });
  });
  connect(micro_batch_, &QSpinBox::valueChanged, this, [this](int value) {
    change(QString("Micro-batch %1").arg(value), "micro_batch",
           [&](Question& q) { q.micro_batch = static_cast<std::uint64_t>(value); });
  });
  connect(accumulation_, &QSpinBox::valueChanged, this, [this](int value) {
    change(QString("Accumulation %1").arg(value), "accumulation",
           [&](Question& q) { q.gradient_accumulation = static_cast<std::uint64_t>(value); });
  });
  connect(precision_, &QComboBox::activated, this, [this] {
    change("Precision", "",
           [&](Question& q) { q.precision = precision_->currentText().toStdString(); });
  });
  connect(tokens_, &QLineEdit::editingFinished, this, &QuestionForm::read_tokens);
}

void QuestionForm::read_tokens() {
  const QString text = tokens_->text().trimmed();
  const auto parsed = description::parse_count(text.toStdString());
  if (!text.isEmpty() && !parsed.problem.empty()) return load();
  const double tokens = text.isEmpty() ? 0 : static_cast<double>(parsed.value);
  change("Tokens " + text, "", [&](Question& q) { q.tokens = tokens; });
}

void QuestionForm::add_system(QGridLayout* form) {
  system_ = picker({best_way}, "System");
  for (const strategies::System& system : strategies::catalogue()) {
    system_->addItem(system.name);
    system_->setItemData(system_->count() - 1, QString(system.summary), Qt::ToolTipRole);
  }
  add_row(form, "&System", system_);
  connect(system_, &QComboBox::activated, this, [this](int at) {
    const QString name = system_->currentText();
    change(at == 0 ? "Search for the best way" : "System " + name, "", [&](Question& q) {
      q.system = at == 0 ? "" : name.toStdString();
      if (q.further.is_object()) q.further.erase("strategy");  // parts of another system
    });
  });
}

void QuestionForm::show_box(bool of_parts) {
  for (QWidget* field :
       {static_cast<QWidget*>(gpu_), static_cast<QWidget*>(gpus_), static_cast<QWidget*>(memory_),
        static_cast<QWidget*>(memory_slider_), static_cast<QWidget*>(drive_),
        static_cast<QWidget*>(drives_), static_cast<QWidget*>(board_)}) {
    field->setVisible(of_parts);
    for (int i = 0; i < box_form_->count(); ++i)
      if (auto* text = qobject_cast<QLabel*>(box_form_->itemAt(i)->widget());
          text && text->buddy() == field)
        text->setVisible(of_parts);
  }
}

void QuestionForm::show_chosen() {
  if (!session_.question().searches() || !session_.answer().result) return;
  const Question chosen = question_of(session_.answer().result->scenario);
  put(micro_batch_, chosen.micro_batch);
  put(accumulation_, chosen.gradient_accumulation);
  choose(precision_, qt(chosen.precision));
}

void QuestionForm::load() {
  loading_ = true;
  const Question& q = session_.question();
  choose(model_, qt(q.model));
  const bool of_file = !q.machine_file.is_null();
  const bool of_parts = q.machine.empty() && !of_file;
  choose(machine_, of_parts  ? QString(own_box)
                   : of_file ? name_of_file(q.machine_file)
                             : qt(q.machine));
  show_box(of_parts);
  choose(gpu_, qt(q.box.gpu));
  put(gpus_, q.box.gpus);
  put(memory_, q.box.memory_gib);
  {
    const QSignalBlocker quiet(memory_slider_);
    memory_slider_->setValue(nearest_size(std::max<std::uint64_t>(1, q.box.memory_gib)));
  }
  choose(drive_, qt(q.box.drive));
  put(drives_, q.box.drives);
  choose(board_, q.box.board.empty() ? board_->itemText(0) : qt(q.box.board));
  const scenarios::HostPart* board = of_parts ? board_of(q.box) : nullptr;
  box_words_->setText(!of_parts ? QString()
                      : board   ? qt("Board: " + board->name)
                              : QString("No board of the catalogue takes this; a server is taken"));
  put(sequence_, q.sequence);
  put(micro_batch_, q.micro_batch);
  put(accumulation_, q.gradient_accumulation);
  choose(precision_, qt(q.precision));
  const QSignalBlocker quiet(tokens_);
  tokens_->setText(count_text(q.tokens));
  choose(system_, q.searches() ? QString(best_way) : qt(q.system));
  for (QWidget* field : {static_cast<QWidget*>(micro_batch_), static_cast<QWidget*>(accumulation_),
                         static_cast<QWidget*>(precision_)}) {
    field->setEnabled(!q.searches());
    field->setToolTip(q.searches() ? "The search chooses it" : "");
  }
  loading_ = false;
}

}  // namespace spillway::gui
