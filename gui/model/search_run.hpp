#pragma once

#include "gui/model/asked_run.hpp"

namespace spillway::gui {

/// Which space to search, and where its points are kept.
struct SearchRequest {
  QString space;       ///< a file, or the name of one that ships
  QString database;    ///< a file
  int jobs = 0;        ///< simulations at a time; 0: one for each core
  QString budget;      ///< time for all of it: "10min"; "": as long as it takes
  QString kind = {};   ///< sobol or nsga2; "": every point
  int samples = 0;     ///< points that those two look at; 0: as many as the program takes
  QString hosts = {};  ///< "a,b": by mpirun; "slurm": all nodes of this job; "": this machine
};

/// Arguments of the program for it, "explore" first.
QStringList words_of(const SearchRequest& request);

/// One run of `spillway explore`, which can be resumed when it was stopped, or its time was over:
/// by the same words.
class SearchRun : public AskedRun {
  Q_OBJECT

 public:
  explicit SearchRun(QString program = spillway_program(), QObject* parent = nullptr);

  /// It says first what it will write.
  void start(const SearchRequest& request);
  /// Starts the search that was agreed to last, without asking again.
  void resume();
  /// Whether somebody agreed to a search, and none runs now.
  bool resumable() const { return !agreed_.isEmpty() && state() == State::none; }
  /// What is being searched, or was last.
  const SearchRequest& request() const { return request_; }

 private:
  SearchRequest request_;
  QStringList agreed_;
};

}  // namespace spillway::gui
