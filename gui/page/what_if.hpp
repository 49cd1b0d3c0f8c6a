#pragma once

#include "gui/chart/tier_bars.hpp"
#include "gui/model/memory_tree.hpp"
#include "gui/model/text_table.hpp"
#include "gui/page/page.hpp"
#include "gui/page/parts.hpp"

#include <QVBoxLayout>

class QPushButton;

namespace spillway::gui {

class QuestionForm;

/// The question at the left; the answer at the right: verdict, figures, memory by tier, phases, and
/// what would help.
class WhatIfPage : public Page {
  Q_OBJECT

 public:
  explicit WhatIfPage(Session& session, QWidget* parent = nullptr);

  QString text() const override;
  QWidget* first_field() override;
  bool busy() const override;

 private:
  QWidget* answer_side();
  void show_answer();
  void show_changes(const Answer& answer);

  QuestionForm* form_;
  QLabel *verdict_, *second_, *notes_, *pinned_;
  std::vector<Tile*> tiles_;
  MemoryTree memory_;
  TierBars* bars_;
  TextTable phases_, steps_, traffic_;
  QTableView *phases_view_, *steps_view_, *traffic_view_;
  QWidget *details_, *steps_part_;
  QVBoxLayout* changes_;
  QWidget* changes_part_;
  QPushButton *pin_, *unpin_;
};

}  // namespace spillway::gui
