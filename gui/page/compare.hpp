#pragma once

#include "gui/model/text_table.hpp"
#include "gui/page/page.hpp"

#include <QLabel>
#include <QListWidget>
#include <QTableView>

namespace spillway::gui {

/// Results side by side, how far they are from the first, and a sentence on why one is slower.
class ComparePage : public Page {
  Q_OBJECT

 public:
  explicit ComparePage(Session& session, QWidget* parent = nullptr);

  QString command() const override;
  QString text() const override;
  void shown() override;
  QWidget* first_field() override { return view_; }

 private:
  void show_results();

  TextTable table_;
  QTableView* view_;
  QLabel *why_, *empty_;
};

}  // namespace spillway::gui
