#pragma once

#include "gui/chart/linked_timelines.hpp"
#include "gui/model/run_traces.hpp"
#include "gui/page/track_button.hpp"

#include <QLabel>
#include <QVBoxLayout>

#include <utility>
#include <vector>

namespace spillway::gui {

/// The timelines of runs above each other: their seconds count from the beginning of each one's
/// last step, and all show the same stretch. Words stand where a run has no timeline.
class RunTimelines : public QWidget {
  Q_OBJECT

 public:
  using Run = std::pair<QString, const result::Result*>;

  explicit RunTimelines(QWidget* parent = nullptr);

  /// `ask` false works nothing out, and forgets what is of none of `runs`.
  void show_runs(const std::vector<Run>& runs, bool ask);
  bool busy() const { return traces_.busy(); }
  /// A line for each run.
  QString text() const;

 Q_SIGNALS:
  /// A timeline arrived, or why there is none.
  void changed();

 private:
  struct Row {
    nlohmann::json scenario;  ///< null: the result had none
    QWidget* whole;
    QLabel *name, *words;
    Timeline* timeline;
  };
  QWidget* tools();
  Row new_row();
  void show_traces();
  void show_marked();

  RunTraces traces_;
  LinkedTimelines linked_;
  std::vector<Row> rows_;
  QVBoxLayout* column_;
  QLabel* hint_;
  TrackButton* tracks_;
};

}  // namespace spillway::gui
