#include "gui/page/timeline.hpp"

#include "gui/model/text.hpp"
#include "gui/model/trace_words.hpp"
#include "reports/words/human.hpp"

#include <QHBoxLayout>
#include <QShortcut>
#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>

namespace spillway::gui {

namespace {

/// The area table's rows for people.
std::vector<std::vector<Cell>> cells_of(const std::vector<AreaRow>& rows, Instant span) {
  std::vector<std::vector<Cell>> cells;
  for (const AreaRow& row : rows) {
    const double time = seconds(row.time), bytes = static_cast<double>(row.bytes);
    const double share = span > 0 ? time / seconds(span) : 0;
    Cell mean = number_cell(QString::number(share, 'f', 2), share);
    mean.share = share;
    cells.push_back(
        {text_cell(qt(row.track)), text_cell(qt(row.kind)),
         number_cell(qt(reports::human_count(row.count)), double(row.count)),
         number_cell(qt(reports::human_time(time)), time), mean,
         row.bytes > 0 ? number_cell(qt(reports::human_bytes(bytes)), bytes) : text_cell(""),
         row.bytes > 0 && time > 0
             ? number_cell(qt(reports::human_rate(bytes / time)), bytes / time)
             : text_cell("")});
  }
  return cells;
}

}  // namespace

TimelinePage::TimelinePage(Session& session, QWidget* parent) : Page(session, parent) {
  auto* rows = new QVBoxLayout(this);
  rows->setContentsMargins(0, 0, 0, 0);
  rows->setSpacing(0);
  empty_ = empty_words(
      "Here is what happens when, once there is an answer in What-if,\n"
      "or a trace is opened: spillway simulate SCENARIO --trace FILE");
  rows->addWidget(empty_, 1);
  whole_ = new QWidget;
  auto* inside = new QVBoxLayout(whole_);
  inside->setContentsMargins(0, 0, 0, 0);
  inside->setSpacing(0);
  timeline_ = new Timeline;
  inside->addWidget(tools());
  auto* split = new QSplitter(Qt::Vertical);
  split->addWidget(timeline_);
  auto* below = new QWidget;
  auto* columns = new QVBoxLayout(below);
  columns->setContentsMargins(10, 6, 10, 6);
  words_ = new QLabel;
  words_->setWordWrap(true);
  words_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  words_->setAccessibleName("Selected operation");
  area_words_ = caption("");
  area_view_ = table_view(&area_, "Time and bytes by kind of operation");
  area_view_->setSortingEnabled(true);
  area_view_->horizontalHeader()->setSortIndicator(3, Qt::DescendingOrder);
  columns->addWidget(words_);
  columns->addWidget(area_words_);
  columns->addWidget(area_view_, 1);
  split->addWidget(below);
  split->setStretchFactor(0, 4);
  split->setStretchFactor(1, 1);
  split->setSizes({520, 190});
  inside->addWidget(split, 1);
  rows->addWidget(whole_, 1);
  connect(&session_, &Session::trace_changed, this, &TimelinePage::show_trace);
  connect(timeline_, &Timeline::marked_changed, this, [this] {
    session_.mark(timeline_->marked());
    show_area();
  });
  connect(&session_, &Session::marked_changed, this,
          [this] { timeline_->mark(session_.marked()); });
  connect(timeline_, &Timeline::rows_changed, this, [this] {
    show_count();
    show_area();
  });
  connect(timeline_, &Timeline::selection_changed, this, &TimelinePage::show_selection);
  connect(timeline_, &Timeline::axis_changed, this, [this] {
    if (!timeline_->marked()) show_area();
  });
  connect(&session_, &Session::answer_changed, this, [this] {
    if (isVisible()) shown();
  });
  auto* find = new QShortcut(QKeySequence::Find, this);
  find->setContext(Qt::WidgetWithChildrenShortcut);
  connect(find, &QShortcut::activated, this, [this] {
    search_->setFocus();
    search_->selectAll();
  });
  show_trace();
}

QWidget* TimelinePage::tools() {
  auto* bar = new QWidget;
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(10, 5, 10, 5);
  title_ = heading("");
  row->addWidget(title_, 1);
  matches_ = caption("");
  matches_->setWordWrap(false);
  row->addWidget(matches_);
  search_ = new QLineEdit;
  search_->setPlaceholderText("Search operations");
  search_->setAccessibleName("Search operations");
  search_->setClearButtonEnabled(true);
  search_->setMaximumWidth(220);
  row->addWidget(search_);
  tracks_ = new TrackButton;
  tracks_->add(timeline_);
  row->addWidget(tracks_);
  auto* step = tool_button("Step", "The last step (F)");
  auto* all = tool_button("All", "The whole run (F again)");
  auto* in = tool_button("+", "Zoom in (W)");
  auto* out = tool_button("-", "Zoom out (S)");
  for (QToolButton* one : {step, all, in, out}) row->addWidget(one);
  in->setAccessibleName("Zoom in");
  out->setAccessibleName("Zoom out");
  connect(step, &QToolButton::clicked, timeline_, &Timeline::fit_step);
  connect(all, &QToolButton::clicked, timeline_, &Timeline::fit);
  const auto zoom = [this](double factor) {
    const Axis axis = timeline_->axis();
    timeline_->set_axis(axis.zoomed((axis.from() + axis.to()) / 2, factor));
  };
  connect(in, &QToolButton::clicked, this, [zoom] { zoom(1.4); });
  connect(out, &QToolButton::clicked, this, [zoom] { zoom(1 / 1.4); });
  connect(search_, &QLineEdit::textChanged, this, &TimelinePage::show_matches);
  connect(search_, &QLineEdit::returnPressed, this, [this] { timeline_->find_next(); });
  return bar;
}

void TimelinePage::show_matches() {
  timeline_->search(search_->text());
  show_count();
}

void TimelinePage::show_count() {
  matches_->setText(search_->text().isEmpty()
                        ? QString()
                        : qt(reports::human_count(timeline_->matches())) + " found");
}

void TimelinePage::show_trace() {
  const auto& trace = session_.trace();
  whole_->setVisible(trace != nullptr);
  empty_->setVisible(trace == nullptr);
  timeline_->set_trace(trace);
  if (!trace) return;
  title_->setText(session_.trace_title());
  show_matches();
  show_selection();
}

void TimelinePage::show_area() {
  const auto& trace = timeline_->trace();
  if (!trace) return;
  constexpr std::size_t most_live = 300'000;  // slices; beyond, only what is marked is counted
  const auto& marked = timeline_->marked();
  if (!marked && trace->slices > most_live) {
    area_words_->setText("Mark a time span with Shift and the mouse to see what it holds.");
    return area_.set({}, {});
  }
  const Axis axis = timeline_->axis();
  const Instant from = marked ? marked->first : static_cast<Instant>(axis.from() * 1e9);
  const Instant to = marked ? marked->second : static_cast<Instant>(axis.to() * 1e9);
  area_words_->setText((marked ? "Marked: " : "In what is shown: ") +
                       text_of(Quantity::seconds, seconds(to - from)) +
                       (marked ? "; Memory shows what was held in it, Escape lets go"
                               : "; Shift and the mouse mark a time span"));
  area_.set({"Resource", "Operation", "Count", "Time", "Mean at once", "Bytes", "Rate"},
            cells_of(area_rows(*trace, from, to, timeline_->shown_tracks()), to - from));
}

void TimelinePage::show_selection() {
  const auto& trace = timeline_->trace();
  QStringList words;
  if (trace && timeline_->selected())
    for (const std::string& line : words_of(*trace, *timeline_->selected())) words << qt(line);
  words_->setText(words.join("  \u00b7  "));
  words_->setVisible(!words.isEmpty());
}

void TimelinePage::shown() {
  if (!session_.trace() || session_.trace_is_old()) session_.ask_trace();
}

QString TimelinePage::command() const {
  return QString::fromStdString(command_of(session_.question())) +
         (session_.question().searches() ? "" : "  # with --trace FILE");
}

QString TimelinePage::text() const { return area_words_->text() + "\n" + area_.as_text(); }

}  // namespace spillway::gui
