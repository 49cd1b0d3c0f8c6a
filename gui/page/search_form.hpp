#pragma once

#include "gui/model/search_run.hpp"
#include "gui/page/run_card.hpp"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>

namespace spillway::gui {

/// What to search and where to keep it; starts a search, stops and resumes it.
class SearchForm : public QWidget {
  Q_OBJECT

 public:
  explicit SearchForm(QWidget* parent = nullptr);

  SearchRequest request() const;
  /// The database that the page shows, its space, and whether all of that is known.
  void show_database(const QString& file, const QString& space, bool finished);
  QWidget* first_field() { return space_; }
  const SearchRun& run() const { return run_; }

 Q_SIGNALS:
  /// Somebody agreed, and the program writes this file.
  void searching(const QString& database);
  /// The run's state or words.
  void changed();

 private:
  QWidget* what();
  QWidget* how();
  void add_kinds(QHBoxLayout* row);
  void choose_space();
  void choose_database();
  void propose_database();
  void refresh();

  SearchRun run_;
  QComboBox *space_, *kind_;
  QLineEdit *database_, *budget_, *hosts_;
  QSpinBox *jobs_, *samples_;
  QPushButton *search_, *resume_;
  RunCard* card_;
  QString proposed_;
  AskedRun::State shown_ = AskedRun::State::none;
  bool finished_ = false;
};

}  // namespace spillway::gui
