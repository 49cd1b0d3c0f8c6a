#include "gui/page/explore.hpp"

#include "gui/model/text.hpp"
#include "gui/page/parts.hpp"

#include <QCoreApplication>
#include <QDateTime>
#include <QFileInfo>
#include <QHBoxLayout>
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
  empty_ = empty_words(
      "Open a database of an exploration, also while it is filled:\n"
      "spillway explore SPACE --db FILE");
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
  connect(chart_, &Scatter::chosen, this, [this](quint64 number) {
    for (int row = 0; row < table_.rowCount(); ++row)
      if (table_.index(row, 0).data().toULongLong() == number) return view_->selectRow(row);
  });
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& row) { choose(row.siblingAtColumn(0).data().toULongLong()); });
  connect(view_, &QTableView::activated, this, [this](const QModelIndex& row) {
    open_point(row.siblingAtColumn(0).data().toULongLong());
  });
  connect(chart_, &Scatter::opened, this, &ExplorePage::open_point);
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
  open_->setToolTip("Also by a double click on a point; points of the front keep their scenario");
  open_->setEnabled(false);
  row->addWidget(open_);
  connect(open_, &QPushButton::clicked, this,
          [this] { open_point(view_->currentIndex().siblingAtColumn(0).data().toULongLong()); });
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
  x_->clear();
  y_->clear();
  if (!there) return again_.stop();
  again_.start();
  read_again();
}

void ExplorePage::read_again() {
  const QString file = QString::fromStdString(session_.database());
  const qint64 now = written_at(file);
  if (reading_ || now == read_at_) return;
  read_at_ = now;
  reading_ = true;
  const QPointer<ExplorePage> self(this);
  QThreadPool::globalInstance()->start([self, path = file.toStdString()] {
    auto space = std::make_shared<SpacePoints>(read_space_points(path));
    QMetaObject::invokeMethod(
        qApp,
        [self, space] {
          if (self) self->take(std::move(*space));
        },
        Qt::QueuedConnection);
  });
}

void ExplorePage::take(SpacePoints space) {
  reading_ = false;
  space_ = std::move(space);
  if (x_->count() != static_cast<int>(space_.numbers.size())) {
    x_->clear();
    y_->clear();
    for (const std::string& name : space_.numbers) {
      x_->addItem(QString::fromStdString(name));
      y_->addItem(QString::fromStdString(name));
    }
    x_->setCurrentIndex(space_.numbers.size() > 1 ? 1 : 0);
    y_->setCurrentIndex(0);
  }
  words_->setText(counts_words(space_));
  show_parallel();
  show_points();
  show_chart();
  Q_EMIT session_.status_changed();
}

void ExplorePage::show_points() {
  put_points(space_, filter_->text(), only_front_->isChecked(), table_, parallel_->ranges());
}

void ExplorePage::show_parallel() {
  std::vector<Parallel::Line> lines;
  lines.reserve(space_.points.size());
  for (const explore::PointRow& point : space_.points) {
    Parallel::Line line{{}, point.front, point.number};
    for (const std::string& name : space_.numbers)
      line.values.push_back(number_of(point, name).value_or(std::nan("")));
    lines.push_back(std::move(line));
  }
  parallel_->set(space_.numbers, std::move(lines));
}

void ExplorePage::show_chart() {
  const std::string x = x_->currentText().toStdString(), y = y_->currentText().toStdString();
  std::vector<Scatter::Point> points;
  for (const explore::PointRow& point : space_.points) {
    if (!within(point, parallel_->ranges())) continue;
    const auto across = number_of(point, x), upwards = number_of(point, y);
    if (across && upwards) points.push_back({*across, *upwards, point.front, point.number});
  }
  chart_->set(x_->currentText(), y_->currentText(), std::move(points));
}

void ExplorePage::choose(quint64 number) {
  chart_->select(number);
  parallel_->select(number);
  const auto point = point_of(space_, number);
  open_->setEnabled(point && point->front);
}

void ExplorePage::open_point(quint64 number) {
  const auto point = point_of(space_, number);
  if (!point) return;
  if (!point->front) return Q_EMIT session_.refused("only points of the front keep their scenario");
  ++opening_;
  const QPointer<ExplorePage> self(this);
  const QString name = QString("point %1 of %2").arg(number).arg(qt(space_.space.name));
  QThreadPool::globalInstance()->start([self, name, path = session_.database(), key = point->key] {
    nlohmann::json scenario;
    QString refusal = "its scenario is not in the database";
    try {
      scenario = scenario_of_point(path, key);
    } catch (const std::exception& error) {
      refusal = qt(one_sentence(error));
    }
    QMetaObject::invokeMethod(
        qApp,
        [self, name, scenario, refusal] {
          if (!self) return;
          --self->opening_;
          if (scenario.is_object())
            self->session_.open_scenario(scenario, name);
          else
            Q_EMIT self->session_.refused(name + ": " + refusal);
        },
        Qt::QueuedConnection);
  });
}

QString ExplorePage::command() const {
  return "spillway explore SPACE --db " + QString::fromStdString(session_.database());
}

}  // namespace spillway::gui
