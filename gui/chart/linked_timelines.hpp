#pragma once

#include "gui/chart/timeline.hpp"

#include <QObject>

#include <memory>
#include <vector>

namespace spillway::gui {

/// Timelines that stand above each other and show the same stretch of time: pan and zoom of one
/// moves all, and so do the marked span and the pointer's line. Their traces count from instants
/// that correspond to each other, and they are equally wide.
class LinkedTimelines : public QObject {
  Q_OBJECT

 public:
  explicit LinkedTimelines(QObject* parent = nullptr) : QObject(parent) {}

  /// It is linked for as long as it exists.
  void add(Timeline* timeline);
  /// Until somebody moved them, all show the longest step.
  void set_trace(Timeline* timeline, std::shared_ptr<const Trace> trace);
  /// The longest step, or all of the longest run.
  void fit_step();
  void fit();
  const std::vector<Timeline*>& all() const { return all_; }

 private:
  /// Does to all what happened to `leader`.
  template <class Move>
  void follow(Timeline* leader, const Move& move);
  void set_reach();

  std::vector<Timeline*> all_;
  bool moving_ = false;  ///< this class moves them, nobody else
  bool moved_ = false;   ///< by somebody
};

}  // namespace spillway::gui
