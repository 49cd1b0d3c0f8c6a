#pragma once

#include "gui/model/flip_finder.hpp"
#include "gui/model/named.hpp"
#include "gui/model/session.hpp"
#include "gui/page/field_undo.hpp"
#include "gui/page/fields.hpp"
#include "gui/page/setting_rows.hpp"
#include "gui/page/step_slider.hpp"

#include <QLineEdit>
#include <QScrollArea>

#include <map>
#include <string>

namespace spillway::gui {

/// The fields of the question: model, box, training, system and its parts. Each change is one step
/// of undo.
/// Beside a slider stands where the verdict flips.
class QuestionForm : public QScrollArea {
  Q_OBJECT

 public:
  explicit QuestionForm(Session& session, QWidget* parent = nullptr);

  QWidget* first_field() { return model_; }
  const FlipFinder& flips() const { return flips_; }

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  /// A number of the question with the slider beside it.
  struct Dragged {
    const Knob* knob = nullptr;
    NumberField* field = nullptr;
    StepSlider* slider = nullptr;
  };

  void add_model(QGridLayout* form);
  void add_box(QGridLayout* form);
  void add_further(QGridLayout* form);
  void add_training(QGridLayout* form);
  void add_system(QGridLayout* form);
  void add_box_row(QGridLayout* form, const QString& text, QWidget* field,
                   QWidget* focus = nullptr);
  /// The number field and the slider of a knob.
  QWidget* dragged(const char* field, int most);
  /// A field of a link; `edit` puts it into the question.
  QComboBox* link_field(const QString& name, std::uint64_t most_lanes, Link PartsBox::*link);
  void take_model();
  void take_card();
  void take_drive(QComboBox* combo, std::string PartsBox::*part, std::uint64_t PartsBox::*count);
  void take_link(QComboBox* combo, Link PartsBox::*link);
  /// The cards of a machine that is no box of parts get that link, in a copy of the machine.
  void change_card_link(const Link& link);
  void load();
  void load_box();
  /// Changes the question by what `edit` does to it.
  template <class Edit>
  void change(const QString& words, const QString& field, const Edit& edit);
  /// What was typed means nothing: the field shows what it showed before, and a sentence says why.
  void refuse(QWidget* field, const QString& sentence);
  void read_tokens();
  /// What the search chose, in the fields that it leaves nobody to set.
  void show_chosen();
  void show_flips();

  Session& session_;
  FlipFinder flips_;
  FieldUndo undo_;
  bool loading_ = false;
  QComboBox *model_, *machine_, *gpu_, *board_, *drive_, *precision_, *system_;
  QComboBox *card_link_, *drive_link_, *further_drive_, *further_link_;
  NumberField* further_drives_;
  std::map<std::string, Dragged> dragged_;
  QLineEdit* tokens_;
  QLabel* box_words_;
  SettingRows *more_training_, *parts_;
  std::vector<QWidget*> of_parts_;  ///< shown where the box is made of parts
};

}  // namespace spillway::gui
