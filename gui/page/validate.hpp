#pragma once

#include "gui/model/text_table.hpp"
#include "gui/page/page.hpp"

#include <QLabel>
#include <QTableView>

namespace spillway::gui {

/// A validation: predicted beside measured, what was real, and what explains the largest errors.
class ValidatePage : public Page {
  Q_OBJECT

 public:
  explicit ValidatePage(Session& session, QWidget* parent = nullptr);

  QString command() const override { return "spillway validate SCENARIO --on DIR --json"; }
  QString text() const override;
  QWidget* first_field() override { return view_; }

 private:
  void show_validation();

  TextTable table_;
  QTableView* view_;
  QLabel *words_, *suspects_, *empty_;
};

}  // namespace spillway::gui
