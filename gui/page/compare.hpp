#pragma once

#include "gui/model/text_table.hpp"
#include "gui/page/page.hpp"
#include "gui/page/run_timelines.hpp"

#include <QLabel>
#include <QSplitter>
#include <QTableView>

namespace spillway::gui {

/// Results side by side, how far they are from the first, a sentence on why one is slower, and the
/// timelines of their last steps on one axis.
class ComparePage : public Page {
  Q_OBJECT

 public:
  explicit ComparePage(Session& session, QWidget* parent = nullptr);

  QString command() const override;
  QString text() const override;
  void shown() override;
  QWidget* first_field() override { return view_; }
  bool busy() const override { return timelines_->busy(); }

 private:
  /// `ask`: works out timelines that are not there yet.
  void show_results(bool ask);

  TextTable table_;
  QTableView* view_;
  RunTimelines* timelines_;
  QSplitter* split_;
  QLabel *why_, *empty_;
};

}  // namespace spillway::gui
