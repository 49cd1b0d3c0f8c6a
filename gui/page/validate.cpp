#include "gui/page/validate.hpp"

#include "gui/model/validation_table.hpp"
#include "gui/page/parts.hpp"

#include <QVBoxLayout>

namespace spillway::gui {

ValidatePage::ValidatePage(Session& session, QWidget* parent) : Page(session, parent) {
  auto* rows = new QVBoxLayout(this);
  rows->setContentsMargins(16, 12, 16, 12);
  rows->addWidget(heading("Predicted beside measured"));
  empty_ = empty_words(
      "Open a validation here:\nspillway validate SCENARIO --on DIR --json > FILE\n\n"
      "The command says what it will write before it starts.");
  rows->addWidget(empty_, 1);
  words_ = new QLabel;
  words_->setWordWrap(true);
  rows->addWidget(words_);
  view_ = table_view(&table_, "Predicted beside measured");
  rows->addWidget(view_, 1);
  suspects_ = caption("");
  rows->addWidget(suspects_);
  connect(&session_, &Session::validation_changed, this, &ValidatePage::show_validation);
  show_validation();
}

void ValidatePage::show_validation() {
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
    words << QString::fromStdString(validation["device"].get<std::string>());
  if (const QStringList real = words_in(validation, "real"); !real.isEmpty())
    words << "Real: " + real.join(", ");
  if (const QStringList played = words_in(validation, "emulated"); !played.isEmpty())
    words << "Emulated: " + played.join(", ");
  words_->setText(words.join(". ") + ".");
  suspects_->setText((words_in(validation, "suspects") + words_in(validation, "notes")).join("\n"));
}

QString ValidatePage::text() const { return words_->text() + "\n" + table_.as_text(); }

}  // namespace spillway::gui
