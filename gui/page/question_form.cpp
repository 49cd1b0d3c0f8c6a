#include "gui/page/question_form.hpp"

#include "gui/model/machine_table.hpp"
#include "gui/model/text.hpp"
#include "gui/page/parts.hpp"
#include "scenarios/description/quantity.hpp"
#include "scenarios/document/part_catalogue.hpp"
#include "scenarios/document/read_machine.hpp"
#include "scenarios/json/shipped.hpp"
#include "strategies/systems/catalogue.hpp"

#include <QCompleter>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QToolTip>
#include <QVBoxLayout>

#include <algorithm>

namespace spillway::gui {

namespace {

constexpr const char* best_way = "Best that fits (search)";
constexpr const char* own_box = "Parts";
constexpr const char* as_parts_allow = "As parts allow";
constexpr const char* as_it_is = "As the machine has it";
constexpr const char* no_further = "None";

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

QString link_text(const Link& link) {
  return link.stated() ? qt(words_of(link)) : QString(as_parts_allow);
}

bool of_parts(const Question& question) {
  return question.machine.empty() && question.machine_file.is_null();
}

QString card_link_text(const Question& question) {
  if (of_parts(question)) return link_text(question.box.card_link);
  const nlohmann::json& machine = question.machine_file;
  const bool stated = is_changed(machine) && machine.contains("pcie");
  const auto rate = stated ? link_in(machine["pcie"].value("h2d", "")) : std::nullopt;
  return rate && rate->stated() ? qt(words_of(*rate)) : QString(as_it_is);
}

/// Calls `act` when the field is left, Enter is pressed in it, or an entry is picked.
template <class Act>
void when_chosen(QComboBox* combo, const Act& act) {
  QObject::connect(combo, &QComboBox::activated, combo, [act] { act(); });
  if (combo->isEditable())
    QObject::connect(combo->lineEdit(), &QLineEdit::editingFinished, combo, act);
}

/// A drive on PCI Express has a link that a person may state.
bool has_link(const std::string& drive) {
  const scenarios::DrivePart* part = drive_named(drive);
  return part && part->lanes > 0;
}

}  // namespace

QuestionForm::QuestionForm(Session& session, QWidget* parent)
    : QScrollArea(parent), session_(session), flips_(session), undo_(session.undo_stack()) {
  setFrameShape(QFrame::NoFrame);
  setWidgetResizable(true);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFocusPolicy(Qt::NoFocus);  // its fields take keys
  auto* inside = new QWidget;
  auto* rows = new QVBoxLayout(inside);
  rows->setContentsMargins(14, 12, 10, 12);
  rows->setSpacing(4);
  add_model(section(rows, "Model"));
  add_box(section(rows, "Box"));
  add_training(section(rows, "Training"));
  more_training_ = new SettingRows(session, undo_, SettingKind::training, "M&ore of the training");
  rows->addWidget(more_training_);
  add_system(section(rows, "Way to train"));
  parts_ = new SettingRows(session, undo_, SettingKind::parts, "Pa&rts of the system");
  rows->addWidget(parts_);
  rows->addStretch(1);
  setWidget(inside);
  setFixedWidth(inside->minimumSizeHint().width() + verticalScrollBar()->sizeHint().width());
  setAccessibleName("Question");
  for (QLineEdit* line : inside->findChildren<QLineEdit*>()) undo_.watch(line);
  connect(&session_, &Session::question_changed, this, &QuestionForm::load);
  connect(&session_, &Session::answer_changed, this, &QuestionForm::show_chosen);
  connect(&flips_, &FlipFinder::changed, this, &QuestionForm::show_flips);
  load();
  model_->lineEdit()->selectAll();  // typing replaces it from the start
}

void QuestionForm::showEvent(QShowEvent* event) {
  QScrollArea::showEvent(event);
  flips_.set_active(true);
}

void QuestionForm::hideEvent(QHideEvent* event) {
  QScrollArea::hideEvent(event);
  flips_.set_active(false);
}

template <class Edit>
void QuestionForm::change(const QString& words, const QString& field, const Edit& edit) {
  if (loading_) return;
  Question next = session_.question();
  edit(next);
  session_.change(next, words, field);
}

void QuestionForm::refuse(QWidget* field, const QString& sentence) {
  load();
  if (!field->isVisible()) return;
  Q_EMIT session_.refused(sentence);
  QToolTip::showText(field->mapToGlobal(QPoint(0, field->height())), sentence, field);
}

QWidget* QuestionForm::dragged(const char* field, int most) {
  const Knob& one = knob(field);
  const int least = std::min(1, one.steps.front());
  auto* number = new NumberField(least, most, one.name, &one);
  auto* slider = new StepSlider(one);
  guard(slider->slider());
  dragged_[field] = {&one, number, slider};
  const auto put = [this, &one](std::uint64_t value) {
    change(QString("%1 %2").arg(one.name, qt(one.words(value))), one.field,
           [&](Question& q) { one.set(q, value); });
  };
  connect(number, &QSpinBox::valueChanged, this,
          [put](int value) { put(static_cast<std::uint64_t>(value)); });
  connect(number, &NumberField::refused, this,
          [this, number](const QString& sentence) { refuse(number, sentence); });
  connect(slider, &StepSlider::moved, this, put);
  connect(slider, &StepSlider::released, this, [this] { session_.end_drag(); });
  return beside(number, slider);
}

void QuestionForm::add_model(QGridLayout* form) {
  model_ = searched_picker(shipped("models/library"), "Model");
  model_->setToolTip("Type a part of the name; or drop a config.json on the window");
  add_row(form, "&Model", model_);
  when_chosen(model_, [this] { take_model(); });
  connect(model_->completer(), qOverload<const QString&>(&QCompleter::activated), this,
          [this](const QString& name) {
            model_->setEditText(name);
            take_model();
          });
}

void QuestionForm::take_model() {
  const QString typed = model_->currentText().trimmed();
  if (loading_ || typed == qt(session_.question().model))
    return;  // also one of a file, by its name
  if (typed.isEmpty()) return load();
  const Named named = model_named(typed.toStdString());
  if (named.name.empty()) return refuse(model_, "Model: " + qt(named.problem));
  change("Model " + qt(named.name), "", [&](Question& q) {
    q.model = named.name;
    q.model_config = nullptr;
  });
  load();
}

void QuestionForm::add_box_row(QGridLayout* form, const QString& text, QWidget* field,
                               QWidget* focus) {
  of_parts_.push_back(add_row(form, text, field, focus));
  of_parts_.push_back(field);
}

void QuestionForm::add_box(QGridLayout* form) {
  std::vector<QString> machines = shipped("scenarios/machines");
  machines.insert(machines.begin(), own_box);
  machine_ = picker(machines, "Machine");
  add_row(form, "Machi&ne", machine_);
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
  gpu_->setToolTip("A part of the name, and how many: 4090x2");
  when_chosen(gpu_, [this] { take_card(); });
  add_box_row(form, "&Card", gpu_);
  QWidget* cards = dragged("gpus", 64);
  add_box_row(form, "Cards", cards, dragged_["gpus"].field);
  QWidget* memory = dragged("memory", 8192);
  dragged_["memory"].field->set_memory();
  add_box_row(form, "Host memor&y", memory, dragged_["memory"].field);
  drive_ = searched_picker(names_of(list.drives), "Drive");
  drive_->setToolTip("A name or a size, and how many: 2Tx2");
  when_chosen(drive_, [this] { take_drive(drive_, &PartsBox::drive, &PartsBox::drives); });
  add_box_row(form, "&Drive", drive_);
  QWidget* drives = dragged("drives", 64);
  add_box_row(form, "Drives", drives, dragged_["drives"].field);
  for (const char* counted : {"gpus", "drives"}) dragged_[counted].field->setPrefix("x ");
  add_further(form);
}

void QuestionForm::add_further(QGridLayout* form) {
  const scenarios::PriceList& list = scenarios::part_catalogue();
  std::vector<QString> boards = names_of(list.hosts);
  boards.insert(boards.begin(), "Cheapest that takes it");
  board_ = picker(boards, "Board");
  connect(board_, &QComboBox::activated, this, [this](int at) {
    change("Board", "",
           [&](Question& q) { q.box.board = at == 0 ? "" : board_->currentText().toStdString(); });
  });
  add_box_row(form, "Board", board_);
  card_link_ = link_field("Link of each card", 16, &PartsBox::card_link);
  drive_link_ = link_field("Link of each drive", 4, &PartsBox::drive_link);
  add_row(form, "Card &link", card_link_);
  add_box_row(form, "Drive link", drive_link_);
  std::vector<QString> drives = names_of(list.drives);
  drives.insert(drives.begin(), no_further);
  further_drive_ = searched_picker(drives, "Further drives of another kind");
  further_drive_->setToolTip("A second storage: a name or a size, and how many: 870 EVO 2TB x2");
  when_chosen(further_drive_, [this] {
    take_drive(further_drive_, &PartsBox::further_drive, &PartsBox::further_drives);
  });
  further_drives_ = new NumberField(0, 64, "Number of further drives");
  further_drives_->setPrefix("x ");
  connect(further_drives_, &QSpinBox::valueChanged, this, [this](int count) {
    change(QString("%1 further drives").arg(count), "further_drives", [&](Question& q) {
      q.box.further_drives = static_cast<std::uint64_t>(count);
      if (count == 0) q.box.further_drive.clear();
    });
  });
  connect(further_drives_, &NumberField::refused, this,
          [this](const QString& sentence) { refuse(further_drives_, sentence); });
  add_box_row(form, "F&urther drives", beside(further_drive_, further_drives_, 1), further_drive_);
  further_link_ = link_field("Link of each further drive", 4, &PartsBox::further_link);
  add_box_row(form, "Their link", further_link_);
  box_words_ = caption("");
  form->addWidget(box_words_, form->rowCount(), 0, 1, 2);
}

QComboBox* QuestionForm::link_field(const QString& name, std::uint64_t most_lanes,
                                    Link PartsBox::*link) {
  std::vector<QString> links = {as_parts_allow};
  for (const Link& one : known_links(most_lanes))
    if (most_lanes < 16 || one.lanes >= 4) links.push_back(qt(words_of(one)));
  QComboBox* combo = searched_picker(links, name);
  combo->setToolTip("PCI Express by generation and lanes, 4x8, or a rate: 12 GB/s");
  when_chosen(combo, [this, combo, link] { take_link(combo, link); });
  return combo;
}

void QuestionForm::take_link(QComboBox* combo, Link PartsBox::*link) {
  const QString typed = combo->currentText().trimmed();
  const Question& now = session_.question();
  if (loading_ || typed == (combo == card_link_ ? card_link_text(now) : link_text(now.box.*link)))
    return;
  const bool none = typed == as_parts_allow || typed == as_it_is;
  const auto read = none ? Link() : link_in(typed.toStdString());
  if (!read)
    return refuse(combo, QString("%1: \"%2\" is neither a link such as 4x8 nor a rate such as "
                                 "12 GB/s")
                             .arg(combo->accessibleName(), typed));
  if (!of_parts(now)) return read->stated() ? change_card_link(*read) : load();
  change(QString("%1 %2").arg(combo->accessibleName(), link_text(*read)), "",
         [&](Question& q) { q.box.*link = *read; });
  load();
}

void QuestionForm::change_card_link(const Link& link) {
  Question next = session_.question();
  try {
    nlohmann::json machine = next.machine_file;
    if (!next.machine.empty()) machine = scenarios::read_machine(next.machine);
    next.machine_file = with_card_link(machine, link);
    next.machine.clear();
  } catch (const std::exception& error) {
    return refuse(card_link_, qt(one_sentence(error)));
  }
  session_.change(next, "Link of each card " + link_text(link));
  load();
}

void QuestionForm::take_card() {
  const QString typed = gpu_->currentText().trimmed();
  if (loading_ || typed == qt(session_.question().box.gpu)) return;
  if (typed.isEmpty()) return load();
  const Named named = card_named(typed.toStdString());
  if (named.name.empty()) return refuse(gpu_, "Card: " + qt(named.problem));
  change("Card " + typed, "", [&](Question& q) {
    q.box.gpu = named.name;
    if (named.count) knob("gpus").set(q, *named.count);
  });
  load();
}

void QuestionForm::take_drive(QComboBox* combo, std::string PartsBox::*part,
                              std::uint64_t PartsBox::*count) {
  const QString typed = combo->currentText().trimmed();
  const PartsBox& now = session_.question().box;
  const bool further = part == &PartsBox::further_drive;
  if (loading_ || typed == qt(now.*part) || (typed == no_further && (now.*part).empty())) return;
  if (typed.isEmpty()) return load();
  const Named named = drive_in(typed.toStdString());
  if (!named.problem.empty())
    return refuse(combo, combo->accessibleName() + ": " + qt(named.problem));
  change(combo->accessibleName() + " " + typed, "", [&](Question& q) {
    PartsBox& box = q.box;
    if (!named.name.empty() || further) box.*part = named.name;
    if (named.count)
      box.*count = *named.count;
    else if (further)
      box.*count = std::max<std::uint64_t>(1, box.*count);
    Link& link = further ? box.further_link : box.drive_link;
    if (!has_link(box.*part)) link = Link();
  });
  load();
}

void QuestionForm::add_training(QGridLayout* form) {
  tokens_ = new QLineEdit;
  tokens_->setAccessibleName("Tokens to train on");
  tokens_->setToolTip("Of the whole run: 1B, 500M, 2e12; empty: not asked");
  precision_ = picker({"bf16_mixed", "fp16_mixed", "bf16", "fp16", "fp32", "fp8"}, "Precision");
  add_row(form, "&Tokens", tokens_);
  const struct {
    const char* text;
    const char* field;
    int most;
  } numbers[] = {{"Conte&xt", "sequence", 10'000'000},
                 {"Micro-&batch", "micro_batch", 4096},
                 {"Accumulation", "accumulation", 4096}};
  for (const auto& number : numbers) {
    QWidget* row = dragged(number.field, number.most);
    add_row(form, number.text, row, dragged_[number.field].field);
  }
  add_row(form, "Precision", precision_);
  connect(precision_, &QComboBox::activated, this, [this] {
    change("Precision", "",
           [&](Question& q) { q.precision = precision_->currentText().toStdString(); });
  });
  connect(tokens_, &QLineEdit::editingFinished, this, &QuestionForm::read_tokens);
}

void QuestionForm::read_tokens() {
  const QString text = tokens_->text().trimmed();
  const auto parsed = description::parse_count(text.toStdString());
  if (!text.isEmpty() && !parsed.problem.empty())
    return refuse(tokens_, "Tokens: " + qt(parsed.problem + "; " + parsed.hint));
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

void QuestionForm::show_chosen() {
  more_training_->load();
  parts_->load();
  if (!session_.question().searches() || !session_.answer().result) return;
  const Question chosen = question_of(session_.answer().result->scenario);
  for (const char* field : {"micro_batch", "accumulation"}) {
    const Dragged& one = dragged_[field];
    one.field->put(one.knob->get(chosen));
    one.slider->set_value(one.knob->get(chosen));
  }
  choose(precision_, qt(chosen.precision));
}

void QuestionForm::show_flips() {
  for (auto& [field, one] : dragged_) {
    const Flip flip = flips_.flip_of(field);
    one.slider->set_flip(flip);
    one.field->setAccessibleDescription(sentence_of(flip, *one.knob));
  }
}

void QuestionForm::load_box() {
  const Question& q = session_.question();
  const bool of_file = !q.machine_file.is_null();
  const bool parts = of_parts(q);
  choose(machine_, parts     ? QString(own_box)
                   : of_file ? name_of_file(q.machine_file)
                             : qt(q.machine));
  for (QWidget* widget : of_parts_) widget->setVisible(parts);
  choose(gpu_, qt(q.box.gpu));
  choose(drive_, qt(q.box.drive));
  choose(board_, q.box.board.empty() ? board_->itemText(0) : qt(q.box.board));
  choose(card_link_, card_link_text(q));
  choose(drive_link_, link_text(q.box.drive_link));
  drive_link_->setEnabled(has_link(q.box.drive));
  const bool further = !q.box.further_drive.empty();
  choose(further_drive_, further ? qt(q.box.further_drive) : QString(no_further));
  further_drives_->put(q.box.further_drives);
  further_drives_->setEnabled(further);
  choose(further_link_, link_text(q.box.further_link));
  further_link_->setEnabled(further && has_link(q.box.further_drive));
  const scenarios::HostPart* board = parts ? board_of(q.box) : nullptr;
  box_words_->setVisible(parts);
  box_words_->setText(!parts  ? QString()
                      : board ? qt("Board: " + board->name)
                              : QString("No board of the catalogue takes this; a server is taken"));
}

void QuestionForm::load() {
  loading_ = true;
  const Question& q = session_.question();
  choose(model_, qt(q.model));
  load_box();
  for (const auto& [field, one] : dragged_) {
    one.field->put(one.knob->get(q));
    one.slider->set_value(one.knob->get(q));
    const bool chosen = one.knob->searched && q.searches();
    one.field->setEnabled(!chosen);
    one.slider->setEnabled(!chosen);
    one.field->setToolTip(chosen ? "The search chooses it" : "");
  }
  choose(precision_, qt(q.precision));
  precision_->setEnabled(!q.searches());
  precision_->setToolTip(q.searches() ? "The search chooses it" : "");
  const QSignalBlocker quiet(tokens_);
  if (tokens_->text() != count_text(q.tokens)) tokens_->setText(count_text(q.tokens));
  choose(system_, q.searches() ? QString(best_way) : qt(q.system));
  more_training_->load();
  parts_->load();
  undo_.take();
  loading_ = false;
}

}  // namespace spillway::gui
