#include "gui/page/explore.hpp"

#include "gui/model/text.hpp"
#include "gui/page/parts.hpp"
#include "reports/run/remedy_report.hpp"

#include <QCoreApplication>
#include <QDateTime>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QPointer>
#include <QSplitter>
#include <QThreadPool>
#include <QVBoxLayout>

#include <cmath>

namespace spillway::gui {

namespace {

constexpr int look_again_ms = 1000;
constexpr int brush_ms = 40;

/// When the database was last written to: its file, or the journal beside it.
qint64 written_at(const QString& database) {
  qint64 latest = 0;
  for (const char* suffix : {"", "-wal"})
    if (const QFileInfo file(database + suffix); file.exists())
      latest = std::max(latest, file.lastModified().toMSecsSinceEpoch() + file.size());
  return latest;
}

}  // namespace

ExplorePage::ExplorePage(Session& session, QWidget* parent) : Page(session, parent) {
  auto* rows = new QVBoxLayout(this);
  rows->setContentsMargins(16, 12, 16, 12);
  rows->addWidget(heading("Search a space"));
  search_ = new SearchForm;
  rows->addWidget(search_);
  empty_ = empty_words(
      "Searches a space for its best points and shows them while it does.\n"
      "Stop keeps all that was found; Resume goes on.\n\n"
      "Or open a database, also while it is filled: spillway explore SPACE --db FILE");
  rows->addWidget(empty_, 1);
  whole_ = new QWidget;
  auto* inside = new QVBoxLayout(whole_);
  inside->setContentsMargins(0, 0, 0, 0);
  inside->addWidget(tools());
  words_ = caption("");
  inside->addWidget(words_);
  auto* split = new QSplitter(Qt::Vertical);
  chart_ = new Scatter;
  split->addWidget(chart_);
  parallel_ = new Parallel;
  split->addWidget(parallel_);
  view_ = table_view(&table_, "Points of the space");
  view_->setSortingEnabled(true);
  view_->horizontalHeader()->setSortIndicator(0, Qt::AscendingOrder);
  split->addWidget(view_);
  inside->addWidget(split, 1);
  rows->addWidget(whole_, 1);
  again_.setInterval(look_again_ms);
  connect(&again_, &QTimer::timeout, this, &ExplorePage::read_again);
  brushed_.setInterval(brush_ms);
  brushed_.setSingleShot(true);
  connect(parallel_, &Parallel::brushed, this, [this] {
    if (!brushed_.isActive()) brushed_.start();
  });
  connect(&brushed_, &QTimer::timeout, this, [this] {
    show_points();
    show_chart();
  });
  connect(&session_, &Session::database_changed, this, &ExplorePage::open);
  connect(chart_, &Scatter::chosen, this, &ExplorePage::select_row);
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& row) { choose(row.siblingAtColumn(0).data().toULongLong()); });
  connect(view_, &QTableView::activated, this, &ExplorePage::open_current);
  connect(chart_, &Scatter::opened, this, &ExplorePage::open_point);
  connect(search_, &SearchForm::searching, &session_, &Session::watch_database);
  connect(search_, &SearchForm::changed, &session_, &Session::status_changed);
  open();
}

QWidget* ExplorePage::tools() {
  auto* bar = new QWidget;
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(0, 0, 0, 0);
  row->addWidget(heading("Points"));
  x_ = new QComboBox;
  y_ = new QComboBox;
  for (QComboBox* one : {x_, y_}) one->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  x_->setAccessibleName("Across");
  y_->setAccessibleName("Upwards");
  row->addWidget(y_);
  row->addWidget(new QLabel("over"));
  row->addWidget(x_);
  only_front_ = new QCheckBox("&Front alone");
  row->addWidget(only_front_);
  filter_ = new QLineEdit;
  filter_->setPlaceholderText("Filter: a system, a verdict, a reason");
  filter_->setAccessibleName("Filter");
  filter_->setClearButtonEnabled(true);
  row->addWidget(filter_, 1);
  open_ = new QPushButton("&Open in What-if");
  open_->setToolTip("Also by a double click on a point, or Return in the table");
  open_->setEnabled(false);
  row->addWidget(open_);
  connect(open_, &QPushButton::clicked, this, &ExplorePage::open_current);
  connect(x_, &QComboBox::activated, this, &ExplorePage::show_chart);
  connect(y_, &QComboBox::activated, this, &ExplorePage::show_chart);
  connect(only_front_, &QCheckBox::toggled, this, &ExplorePage::show_points);
  connect(filter_, &QLineEdit::textChanged, this, &ExplorePage::show_points);
  return bar;
}

void ExplorePage::open() {
  const bool there = !session_.database().empty();
  empty_->setVisible(!there);
  whole_->setVisible(there);
  read_at_ = 0;
  SpacePoints nothing;
  nothing.trouble = session_.database() + " has no points yet";
  show_space(std::move(nothing));
  if (!there) return again_.stop();
  again_.start();
  read_again();
}

void ExplorePage::read_again() {
  const QString file = qt(session_.database());
  const qint64 now = written_at(file);
  if (reading_ || now == read_at_) return;
  read_at_ = now;
  reading_ = true;
  const QPointer<ExplorePage> self(this);
  QThreadPool::globalInstance()->start([self, path = file.toStdString()] {
    auto space = std::make_shared<SpacePoints>(read_space_points(path));
    QMetaObject::invokeMethod(
        qApp,
        [self, path, space] {
          if (!self) return;
          self->reading_ = false;
          if (path == self->session_.database()) self->show_space(std::move(*space));
          Q_EMIT self->session_.status_changed();
        },
        Qt::QueuedConnection);
  });
}

void ExplorePage::show_space(SpacePoints space) {
  space_ = std::move(space);
  QStringList titles, shown;
  for (const Dimension& one : space_.dimensions) titles << one.title;
  for (int i = 0; i < x_->count(); ++i) shown << x_->itemText(i);
  if (shown != titles) {
    for (QComboBox* one : {x_, y_}) {
      one->clear();
      one->addItems(titles);
    }
    x_->setCurrentIndex(titles.size() > 1 ? 1 : 0);
    y_->setCurrentIndex(0);
  }
  search_->show_database(qt(session_.database()), qt(space_.space.name), space_.space.finished);
  words_->setText(counts_words(space_));
  show_parallel();
  show_points();
  show_chart();
}

/// In the order that was asked for, and the point that was chosen stays.
void ExplorePage::show_points() {
  const QVariant chosen = view_->currentIndex().siblingAtColumn(0).data();
  put_points(space_, filter_->text(), only_front_->isChecked(), table_, parallel_->ranges());
  const QHeaderView* const header = view_->horizontalHeader();
  const bool by_number =  // as they come
      header->sortIndicatorSection() == 0 && header->sortIndicatorOrder() == Qt::AscendingOrder;
  if (!by_number) table_.sort(header->sortIndicatorSection(), header->sortIndicatorOrder());
  open_->setEnabled(false);
  if (chosen.isValid()) select_row(chosen.toULongLong());
}

void ExplorePage::select_row(quint64 number) {
  for (int row = 0; row < table_.rowCount(); ++row)
    if (table_.index(row, 0).data().toULongLong() == number) return view_->selectRow(row);
}

void ExplorePage::show_parallel() {
  std::vector<Parallel::Line> lines;
  lines.reserve(space_.points.size());
  for (std::size_t i = 0; i < space_.points.size(); ++i) {
    Parallel::Line line{{}, space_.points[i].front, space_.points[i].number};
    for (const std::vector<double>& values : space_.values) line.values.push_back(values[i]);
    lines.push_back(std::move(line));
  }
  parallel_->set(space_.dimensions, lines);
}

void ExplorePage::show_chart() {
  const auto x = static_cast<std::size_t>(x_->currentIndex());
  const auto y = static_cast<std::size_t>(y_->currentIndex());
  if (x >= space_.values.size() || y >= space_.values.size()) return chart_->set({}, {}, {});
  const std::vector<char> in = within(space_, parallel_->ranges());
  std::vector<Scatter::Point> points;
  for (std::size_t i = 0; i < space_.points.size(); ++i) {
    const double across = space_.values[x][i], upwards = space_.values[y][i];
    if (in[i] && std::isfinite(across) && std::isfinite(upwards))
      points.push_back({across, upwards, space_.points[i].front, space_.points[i].number});
  }
  chart_->set(space_.dimensions[x], space_.dimensions[y], std::move(points));
}

void ExplorePage::choose(quint64 number) {
  chart_->select(number);
  parallel_->select(number);
  open_->setEnabled(point_of(space_, number));
}

void ExplorePage::open_current() {
  const QModelIndex row = view_->currentIndex();
  if (row.isValid()) open_point(row.siblingAtColumn(0).data().toULongLong());
}

void ExplorePage::open_point(quint64 number) {
  const auto point = point_of(space_, number);
  if (!point) return;
  ++opening_;
  const QPointer<ExplorePage> self(this);
  const QString name = QString("point %1 of %2").arg(number).arg(qt(space_.space.name));
  QThreadPool::globalInstance()->start([self, name, path = session_.database(),
                                        space = space_.space.space, row = *point,
                                        before = session_.question()] {
    nlohmann::json scenario;
    QString refusal;
    try {
      scenario = scenario_of_point(path, space, row);
    } catch (const std::exception& error) {
      refusal = qt(one_sentence(error));
    }
    QMetaObject::invokeMethod(
        qApp,
        [self, name, scenario, refusal, before] {
          if (!self) return;
          --self->opening_;
          if (self->session_.question() != before) return;  // something else is asked by now
          if (scenario.is_object())
            self->session_.open_scenario(scenario, name);
          else
            Q_EMIT self->session_.refused(name + ": " + refusal);
        },
        Qt::QueuedConnection);
  });
}

/// The table, once there is one.
QWidget* ExplorePage::first_field() { return whole_->isHidden() ? search_->first_field() : view_; }

/// A search may run for hours, while everything else is done.
bool ExplorePage::busy() const {
  using State = AskedRun::State;
  const State state = search_->run().state();
  return reading_ || opening_ > 0 || brushed_.isActive() || state == State::preparing ||
         state == State::stopping;
}

QString ExplorePage::command() const {
  SearchRequest request = search_->request();
  if (!session_.database().empty()) request.database = qt(session_.database());
  QString command = "spillway";
  for (const QString& word : words_of(request))
    command += " " + qt(reports::shell_word(word.toStdString()));
  return command;
}

}  // namespace spillway::gui
