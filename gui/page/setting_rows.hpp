#pragma once

#include "gui/model/session.hpp"
#include "gui/model/setting_field.hpp"
#include "gui/page/field_undo.hpp"

#include <QLabel>
#include <QToolButton>
#include <QWidget>

#include <vector>

namespace spillway::gui {

/// A row for each setting that has no field of its own, below a button that unfolds them. What the
/// question says itself is bold; left empty, or as "Default", it is said no more.
class SettingRows : public QWidget {
  Q_OBJECT

 public:
  SettingRows(Session& session, FieldUndo& undo, SettingKind kind, const QString& title,
              QWidget* parent = nullptr);

  /// Shows the settings of the question and its answer.
  void load();
  QToolButton* button() const { return button_; }

 private:
  struct Row {
    SettingField shown;
    QLabel* label = nullptr;
    QWidget* editor = nullptr;
  };

  void rebuild(const std::vector<SettingField>& fields);
  QWidget* editor_of(const SettingField& field);
  void put(Row& row, const SettingField& field);
  void take(const std::string& path, const QString& typed);

  Session& session_;
  FieldUndo& undo_;
  const SettingKind kind_;
  QToolButton* button_;
  QWidget* inside_ = nullptr;
  std::vector<Row> rows_;
};

}  // namespace spillway::gui
