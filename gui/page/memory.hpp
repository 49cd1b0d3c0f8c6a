#pragma once

#include "gui/chart/tier_bars.hpp"
#include "gui/model/memory_tree.hpp"
#include "gui/page/page.hpp"

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QTreeView>

namespace spillway::gui {

/// Every buffer of a result at the fullest instant of each tier, the setting behind it, and how it
/// gets smaller; of a time span that is marked on the timeline, what was held at most in it.
class MemoryPage : public Page {
  Q_OBJECT

 public:
  explicit MemoryPage(Session& session, QWidget* parent = nullptr);

  QString text() const override;
  void shown() override;
  QWidget* first_field() override { return view_; }

 private:
  void list_results();
  void show_result();
  const result::Result* shown_result() const;
  bool shows_span() const;
  QString span_words() const;

  MemoryTree tree_;
  TierBars* bars_;
  QTreeView* view_;
  QComboBox* which_;
  QLabel* verdict_;
  QPushButton* let_go_;
  std::optional<std::pair<Instant, Instant>> listed_span_;  ///< the last entry of `which_`
};

}  // namespace spillway::gui
