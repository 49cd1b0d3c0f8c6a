#include "gui/page/setting_rows.hpp"

#include "gui/model/open_file.hpp"
#include "gui/model/text.hpp"
#include "gui/page/fields.hpp"
#include "gui/page/parts.hpp"

#include <QSignalBlocker>
#include <QToolTip>

#include <algorithm>

namespace spillway::gui {

namespace {

constexpr const char* by_default = "Default";

QString words_of(const SettingField& field) {
  return QString("%1: %2.\nIt may be %3. Now %4, of %5.")
      .arg(qt(field.path), qt(field.words), qt(field.values), qt(field.value), qt(field.source));
}

QString name_of(const SettingField& field) {
  return qt(field.name).replace('_', ' ');  // so that it can be wrapped
}

QString text_in(const QWidget* editor) {
  if (const auto* combo = qobject_cast<const QComboBox*>(editor)) return combo->currentText();
  return static_cast<const QLineEdit*>(editor)->text();
}

void put_text(QWidget* editor, const QString& text) {
  if (auto* combo = qobject_cast<QComboBox*>(editor)) return choose(combo, text);
  auto* line = static_cast<QLineEdit*>(editor);
  const QSignalBlocker quiet(line);
  if (line->text() != text) line->setText(text);
}

bool same_paths(const std::vector<SettingField>& fields, const std::vector<SettingField>& others) {
  return std::equal(fields.begin(), fields.end(), others.begin(), others.end(),
                    [](const auto& one, const auto& other) { return one.path == other.path; });
}

}  // namespace

SettingRows::SettingRows(Session& session, FieldUndo& undo, SettingKind kind, const QString& title,
                         QWidget* parent)
    : QWidget(parent), session_(session), undo_(undo), kind_(kind) {
  auto* rows = new QVBoxLayout(this);
  rows->setContentsMargins(0, 0, 0, 8);
  rows->setSpacing(2);
  button_ = new QToolButton;
  button_->setText(title);
  button_->setAccessibleName(QString(title).remove('&'));
  button_->setToolTip("Each setting, what it is now and who decided that");
  button_->setCheckable(true);
  button_->setAutoRaise(true);
  button_->setArrowType(Qt::RightArrow);
  button_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  button_->setFocusPolicy(Qt::StrongFocus);
  rows->addWidget(button_);
  connect(button_, &QToolButton::toggled, this, [this](bool open) {
    button_->setArrowType(open ? Qt::DownArrow : Qt::RightArrow);
    load();
  });
}

void SettingRows::load() {
  const std::vector<SettingField> fields =
      button_->isChecked() ? setting_fields(session_.question(), session_.answer().settings, kind_)
                           : std::vector<SettingField>();
  std::vector<SettingField> shown;
  for (const Row& row : rows_) shown.push_back(row.shown);
  if (!inside_ || !same_paths(fields, shown)) rebuild(fields);
  for (std::size_t i = 0; i < rows_.size(); ++i) put(rows_[i], fields[i]);
}

void SettingRows::rebuild(const std::vector<SettingField>& fields) {
  std::string focused;
  for (const Row& row : rows_)
    if (row.editor->hasFocus()) focused = row.shown.path;
  if (inside_) {
    inside_->hide();
    inside_->deleteLater();
  }
  inside_ = new QWidget;
  auto* form = new QGridLayout(inside_);
  form->setContentsMargins(0, 0, 0, 0);
  form->setHorizontalSpacing(10);
  form->setVerticalSpacing(4);
  form->setColumnStretch(1, 1);
  rows_.clear();
  std::string group;
  for (const SettingField& field : fields) {
    if (field.group != std::exchange(group, field.group) && kind_ == SettingKind::parts &&
        !group.empty())
      form->addWidget(caption(qt(group)), form->rowCount(), 0, 1, 2);
    Row row{field, nullptr, editor_of(field)};
    row.label = add_row(form, name_of(field), row.editor);
    row.label->setFixedWidth(row.label->minimumWidth());
    row.label->setWordWrap(true);
    rows_.push_back(row);
    if (field.path == focused) row.editor->setFocus();
  }
  const bool nothing = button_->isChecked() && fields.empty();
  if (nothing)
    form->addWidget(caption(kind_ == SettingKind::parts && session_.question().searches()
                                ? "The search chooses them"
                                : "Known once there is an answer"),
                    0, 0, 1, 2);
  layout()->addWidget(inside_);
  inside_->setVisible(button_->isChecked());
}

QWidget* SettingRows::editor_of(const SettingField& field) {
  std::vector<QString> choices;
  for (const std::string& choice : field.choices) choices.push_back(qt(choice));
  const QString name = qt(field.path);
  if (choices.empty()) {
    auto* line = new QLineEdit;
    line->setAccessibleName(name);
    line->setPlaceholderText(by_default);
    undo_.watch(line);
    connect(line, &QLineEdit::editingFinished, this,
            [this, line, path = field.path] { take(path, line->text()); });
    return line;
  }
  choices.insert(choices.begin(), by_default);
  QComboBox* combo = field.only_choices ? picker(choices, name) : searched_picker(choices, name);
  connect(combo, &QComboBox::activated, this,
          [this, combo, path = field.path] { take(path, combo->currentText()); });
  if (combo->isEditable()) {
    undo_.watch(combo->lineEdit());
    connect(combo->lineEdit(), &QLineEdit::editingFinished, this,
            [this, combo, path = field.path] { take(path, combo->currentText()); });
  }
  return combo;
}

/// What somebody types is theirs until they leave the field.
void SettingRows::put(Row& row, const SettingField& field) {
  const bool typing = row.editor->hasFocus() && text_in(row.editor) != qt(row.shown.value) &&
                      !text_in(row.editor).isEmpty();
  row.shown = field;
  QFont font = row.label->font();
  font.setBold(field.said);
  row.label->setFont(font);
  for (QWidget* one : {static_cast<QWidget*>(row.label), row.editor}) {
    one->setToolTip(words_of(field));
    one->setAccessibleDescription(words_of(field));
  }
  if (typing) return;
  put_text(row.editor, qt(field.value));
  auto* combo = qobject_cast<QComboBox*>(row.editor);
  undo_.take(combo ? combo->lineEdit() : static_cast<QLineEdit*>(row.editor));
}

void SettingRows::take(const std::string& path, const QString& typed) {
  const auto row = std::find_if(rows_.begin(), rows_.end(),
                                [&](const Row& one) { return one.shown.path == path; });
  const QString text = typed.trimmed();
  if (row == rows_.end() || text == qt(row->shown.value)) return;
  const bool taken_back = text.isEmpty() || text == by_default;
  QWidget* const editor = row->editor;
  put_text(editor, qt(row->shown.value));  // until the question says otherwise
  try {
    const Question& now = session_.question();
    session_.change(taken_back ? without_setting(now, path)
                               : with_overrides(now, {path + "=" + text.toStdString()}),
                    qt(path) + " " + (taken_back ? QString(by_default).toLower() : text));
  } catch (const std::exception& error) {
    const QString sentence = qt(one_sentence(error));
    Q_EMIT session_.refused(sentence);
    if (editor->isVisible())
      QToolTip::showText(editor->mapToGlobal(QPoint(0, editor->height())), sentence, editor);
  }
  load();
}

}  // namespace spillway::gui
