#pragma once

#include "gui/chart/timeline.hpp"
#include "gui/model/text_table.hpp"
#include "gui/page/page.hpp"
#include "gui/page/parts.hpp"
#include "gui/page/track_button.hpp"

#include <QLineEdit>
#include <QTabWidget>

class QStackedLayout;

namespace spillway::gui {

/// Lanes by resource over memory over time, with search; below, what a marked time span holds, and
/// the selected operation in words.
class TimelinePage : public Page {
  Q_OBJECT

 public:
  explicit TimelinePage(Session& session, QWidget* parent = nullptr);

  QString command() const override;
  QString text() const override;
  void shown() override;
  QWidget* first_field() override { return timeline_; }
  Timeline* timeline() { return timeline_; }

 private:
  QWidget* tools();
  void show_trace();
  void show_area();
  void show_selection();
  void show_matches();
  void show_count();

  Timeline* timeline_;
  QLineEdit* search_;
  TrackButton* tracks_;
  QLabel *title_, *matches_, *words_, *area_words_, *empty_;
  TextTable area_;
  QTableView* area_view_;
  QWidget* whole_;
};

}  // namespace spillway::gui
