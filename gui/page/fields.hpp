#pragma once

#include "gui/model/knob.hpp"

#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QSpinBox>
#include <QVBoxLayout>

#include <cstdint>
#include <optional>
#include <vector>

namespace spillway::gui {

/// The wheel over the field scrolls the page, unless the field has the focus.
void guard(QWidget* field);

QComboBox* picker(const std::vector<QString>& names, const QString& accessible_name);
/// One that takes typing: part of a name is enough.
QComboBox* searched_picker(const std::vector<QString>& names, const QString& accessible_name);
/// Shows `text`, which becomes an entry where there is none.
void choose(QComboBox* combo, const QString& text);

/// A number that is typed as people write it: "64G" where it is memory, "4k" elsewhere. Arrows go
/// through the steps of its knob.
class NumberField : public QSpinBox {
  Q_OBJECT

 public:
  NumberField(int least, int most, const QString& name, const Knob* knob = nullptr);
  /// Whole GiB.
  void set_memory();
  void put(std::uint64_t value);

  void stepBy(int steps) override;

 Q_SIGNALS:
  /// What was typed means no number of this field; a sentence.
  void refused(const QString& sentence) const;

 protected:
  QValidator::State validate(QString& text, int& at) const override;
  int valueFromText(const QString& text) const override;
  void fixup(QString& text) const override;

 private:
  std::optional<int> read(const QString& text) const;

  const Knob* knob_;
  bool memory_ = false;
};

/// Labels in the first column, fields in the second. No QFormLayout: with rows that are hidden, Qt
/// 6.4 writes behind its own lists when such a layout is asked how high it is.
QGridLayout* section(QVBoxLayout* below, const QString& title);
/// A row of it; the label's letter behind & goes to `focus`.
///   Result  the label
QLabel* add_row(QGridLayout* form, const QString& text, QWidget* field, QWidget* focus = nullptr);
/// Two fields in one row.
QWidget* beside(QWidget* first, QWidget* second, int stretch_of_first = 0);

}  // namespace spillway::gui
