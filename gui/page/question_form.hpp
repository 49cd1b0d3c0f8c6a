#pragma once

#include "gui/model/session.hpp"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QSlider>
#include <QSpinBox>

#include <span>

class QGridLayout;

namespace spillway::gui {

/// The fields of the question: model, box, training, system. Each change is one step of undo.
class QuestionForm : public QScrollArea {
  Q_OBJECT

 public:
  explicit QuestionForm(Session& session, QWidget* parent = nullptr);

  QWidget* first_field() { return model_; }

 private:
  void add_model(QGridLayout* form);
  void add_box(QGridLayout* form);
  void connect_box();
  void add_training(QGridLayout* form);
  void add_system(QGridLayout* form);
  void load();
  /// Changes the question by what `edit` does to it.
  template <class Edit>
  void change(const QString& words, const QString& field, const Edit& edit);
  void read_tokens();
  /// What the search chose, in the fields that it leaves nobody to set.
  void show_chosen();
  void show_box(bool of_parts);

  Session& session_;
  bool loading_ = false;
  QComboBox *model_, *machine_, *gpu_, *board_, *drive_, *precision_, *system_;
  QSpinBox *gpus_, *memory_, *drives_, *sequence_, *micro_batch_, *accumulation_;
  QSlider* memory_slider_;
  QLineEdit* tokens_;
  QLabel* box_words_;
  QGridLayout* box_form_ = nullptr;
};

/// The sizes that a slider of memory steps through, GiB.
std::span<const int> memory_sizes();

}  // namespace spillway::gui
