#pragma once

#include "gui/model/trace.hpp"
#include "gui/model/worker.hpp"
#include "reports/result/result.hpp"

#include <QObject>

#include <memory>
#include <vector>

namespace spillway::gui {

/// The timeline of one run, which counts from the beginning of its last step.
struct RunTrace {
  nlohmann::json scenario;
  std::shared_ptr<const Trace> trace;  ///< none: not there yet, or `failure` says why not
  QString failure;
};

/// Timelines of several runs, worked out from the scenarios in their results by a worker of its
/// own: each scenario once, however many results have it, as long as one of them is there.
class RunTraces : public QObject {
  Q_OBJECT

 public:
  explicit RunTraces(QString program = spillway_program(), QObject* parent = nullptr);

  /// A result that holds no scenario, as of an older program, has no timeline.
  static bool has_scenario(const result::Result& result);

  /// Forgets and cancels all that none of `results` has.
  void keep_only(const std::vector<const result::Result*>& results);
  /// Works out what is not there yet.
  void ask(const std::vector<const result::Result*>& results);
  /// nullptr where nobody asked.
  const RunTrace* of(const nlohmann::json& scenario) const;
  bool busy() const;

 Q_SIGNALS:
  /// A timeline arrived, or why there is none.
  void changed();

 private:
  struct Asked {
    RunTrace run;
    Worker::Id id = 0;
    bool done = false;
    std::uint64_t gpu_bytes = 0, host_bytes = 0;
  };
  Asked* asked_as(Worker::Id id);
  void answered(Worker::Id id, const Line& line);
  void take(Worker::Id id, std::shared_ptr<const Trace> trace, const QString& failure);

  Worker worker_;
  std::vector<Asked> all_;
};

}  // namespace spillway::gui
