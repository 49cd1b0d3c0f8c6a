#pragma once

#include "gui/chart/timeline.hpp"
#include "gui/model/text_table.hpp"
#include "gui/model/validation_run.hpp"
#include "gui/page/page.hpp"
#include "gui/page/run_card.hpp"
#include "gui/page/track_button.hpp"

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>

namespace spillway::gui {

/// A validation: predicted beside measured, what was real, and what explains the largest errors;
/// and one of the answer of What-if, which says what it will write before it starts.
class ValidatePage : public Page {
  Q_OBJECT

 public:
  explicit ValidatePage(Session& session, QWidget* parent = nullptr);

  QString command() const override;
  QString text() const override;
  void shown() override;
  QWidget* first_field() override { return directories_; }
  bool busy() const override;

 private:
  QWidget* form();
  ValidationRequest request() const;
  void prepare();
  void show_run();
  void take(const QByteArray& output);
  void show_validation();
  void show_trace();

  TextTable table_;
  ValidationRun run_;
  RunCard* card_;
  QTableView* view_;
  Timeline* timeline_;
  TrackButton* tracks_;
  QLineEdit *directories_, *profile_;
  QComboBox* pace_;
  QCheckBox* synthetic_;
  QPushButton* prepare_;
  QLabel *words_, *suspects_, *empty_;
};

}  // namespace spillway::gui
