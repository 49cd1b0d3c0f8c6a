#pragma once

#include "gui/chart/timeline.hpp"

#include <QPointer>
#include <QToolButton>

#include <vector>

namespace spillway::gui {

/// A button with a menu of the resources, counters and ranks of timelines, each of which can be
/// hidden; says how many tracks are. All its timelines have one filter.
class TrackButton : public QToolButton {
  Q_OBJECT

 public:
  explicit TrackButton(QWidget* parent = nullptr);

  void add(Timeline* timeline);
  void set_filter(const TrackFilter& filter);
  const TrackFilter& filter() const { return filter_; }
  /// With room for the arrow of the menu beside the text.
  QSize sizeHint() const override;

 private:
  using Hidden = std::set<std::string> TrackFilter::*;
  /// One line of the menu.
  struct Entry {
    QAction* action;
    Hidden part;
    std::vector<std::string> names;  ///< one, or all of the part
  };
  void fill_menu();
  void add_part(const QString& title, const QString& all, Hidden part,
                const std::vector<std::string>& names);
  void add_entry(const QString& text, Hidden part, const std::vector<std::string>& names);
  void toggle(const Entry& entry);
  bool shows(const Entry& entry) const;
  void show_checks();
  void show_count();

  std::vector<QPointer<Timeline>> timelines_;
  TrackFilter filter_;
  std::vector<Entry> entries_;
};

}  // namespace spillway::gui
