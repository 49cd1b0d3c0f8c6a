#include "gui/page/run_timelines.hpp"

#include "gui/model/text.hpp"
#include "gui/page/parts.hpp"

#include <QHBoxLayout>
#include <QScrollArea>

namespace spillway::gui {

namespace {

/// A few lanes and the ruler.
constexpr int least_height = 170;

}  // namespace

RunTimelines::RunTimelines(QWidget* parent) : QWidget(parent) {
  auto* rows = new QVBoxLayout(this);
  rows->setContentsMargins(0, 0, 0, 0);
  rows->addWidget(tools());
  auto* inside = new QWidget;
  column_ = new QVBoxLayout(inside);
  column_->setContentsMargins(0, 0, 0, 0);
  column_->addStretch();
  auto* area = new QScrollArea;
  area->setFrameShape(QFrame::NoFrame);
  area->setWidgetResizable(true);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  area->setFocusPolicy(Qt::NoFocus);
  area->setWidget(inside);
  rows->addWidget(area, 1);
  connect(&traces_, &RunTraces::changed, this, [this] {
    show_traces();
    Q_EMIT changed();
  });
}

QWidget* RunTimelines::tools() {
  auto* bar = new QWidget;
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(0, 2, 0, 2);
  hint_ = caption("");
  row->addWidget(hint_, 1);
  tracks_ = new TrackButton;
  row->addWidget(tracks_);
  auto* step = tool_button("Step", "The longest step (F: that of one)");
  auto* all = tool_button("All", "The whole of the longest run");
  row->addWidget(step);
  row->addWidget(all);
  connect(step, &QToolButton::clicked, &linked_, &LinkedTimelines::fit_step);
  connect(all, &QToolButton::clicked, &linked_, &LinkedTimelines::fit);
  show_marked();
  return bar;
}

RunTimelines::Row RunTimelines::new_row() {
  Row row;
  row.whole = new QWidget;
  auto* inside = new QVBoxLayout(row.whole);
  inside->setContentsMargins(0, 0, 0, 6);
  inside->setSpacing(2);
  row.name = heading("");
  row.words = caption("");
  row.timeline = new Timeline;
  row.timeline->setMinimumHeight(least_height);
  inside->addWidget(row.name);
  inside->addWidget(row.words);
  inside->addWidget(row.timeline, 1);
  column_->insertWidget(column_->count() - 1, row.whole);
  linked_.add(row.timeline);
  tracks_->add(row.timeline);
  connect(row.timeline, &Timeline::marked_changed, this, &RunTimelines::show_marked);
  return row;
}

void RunTimelines::show_runs(const std::vector<Run>& runs, bool ask) {
  std::vector<const result::Result*> results;
  for (const Run& run : runs) results.push_back(run.second);
  traces_.keep_only(results);
  if (ask) traces_.ask(results);
  while (rows_.size() < runs.size()) rows_.push_back(new_row());
  for (; rows_.size() > runs.size(); rows_.pop_back()) delete rows_.back().whole;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& [name, result] = runs[i];
    rows_[i].scenario = RunTraces::has_scenario(*result) ? result->scenario : nlohmann::json();
    rows_[i].name->setText(name + ": " +
                           (result->feasible()
                                ? text_of(Quantity::seconds, result->step_time_s) + " per step"
                                : "does not fit; as it would run if every tier had room"));
    rows_[i].timeline->setAccessibleName("Timeline of " + name);
  }
  show_traces();
}

void RunTimelines::show_traces() {
  for (const Row& row : rows_) {
    const RunTrace* run = row.scenario.is_null() ? nullptr : traces_.of(row.scenario);
    const auto trace = run ? run->trace : nullptr;
    if (row.timeline->trace() != trace) linked_.set_trace(row.timeline, trace);
    QString words;
    if (row.scenario.is_null())
      words = "No timeline: this result was opened without its scenario. Open the scenario itself.";
    else if (run && !run->failure.isEmpty())
      words = "No timeline: " + run->failure;
    else if (!trace)
      words = "Working out the timeline ...";
    row.words->setText(words);
    row.words->setVisible(!trace);
    row.timeline->setVisible(trace != nullptr);
    column_->setStretchFactor(row.whole, trace ? 1 : 0);
  }
}

void RunTimelines::show_marked() {
  QString words =
      "Time counts from the beginning of each run's last step; pan, zoom and marks move all";
  for (const Row& row : rows_)
    if (const auto& marked = row.timeline->marked())
      words = QString("Marked: %1, from %2 to %3 of the step; Escape lets go")
                  .arg(text_of(Quantity::seconds, seconds(marked->second - marked->first)),
                       text_of(Quantity::seconds, seconds(marked->first)),
                       text_of(Quantity::seconds, seconds(marked->second)));
  hint_->setText(words);
}

QString RunTimelines::text() const {
  QStringList lines;
  for (const Row& row : rows_)
    lines << row.name->text() + "; " +
                 (row.timeline->trace() ? row.timeline->accessibleDescription()
                                        : row.words->text());
  return lines.join('\n');
}

}  // namespace spillway::gui
