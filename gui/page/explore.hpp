#pragma once

#include "gui/chart/parallel.hpp"
#include "gui/chart/scatter.hpp"
#include "gui/model/space.hpp"
#include "gui/page/page.hpp"
#include "gui/page/search_form.hpp"

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>
#include <QTimer>

namespace spillway::gui {

/// Searches a space, and shows the points of its database, read again while it is filled: the
/// front, parallel coordinates whose brushes select for all, a table, and why a point is not on the
/// front. Each point opens in What-if.
class ExplorePage : public Page {
  Q_OBJECT

 public:
  explicit ExplorePage(Session& session, QWidget* parent = nullptr);

  QString command() const override;
  QString text() const override { return table_.as_text(); }
  QWidget* first_field() override;
  bool busy() const override;

 private:
  QWidget* tools();
  void open();
  void read_again();
  void show_space(SpacePoints space);
  void show_points();
  void show_chart();
  void show_parallel();
  void select_row(quint64 number);
  void choose(quint64 number);
  void open_point(quint64 number);
  void open_current();

  SpacePoints space_;
  TextTable table_;
  SearchForm* search_;
  QTableView* view_;
  Scatter* chart_;
  Parallel* parallel_;
  QComboBox *x_, *y_;
  QLineEdit* filter_;
  QCheckBox* only_front_;
  QPushButton* open_;
  QLabel *words_, *empty_;
  QWidget* whole_;
  QTimer again_;
  QTimer brushed_;  ///< waits for the end of a drag's burst
  bool reading_ = false;
  int opening_ = 0;  ///< points whose scenarios are being read
  qint64 read_at_ = 0;
};

}  // namespace spillway::gui
