#pragma once

#include "gui/model/flip.hpp"
#include "gui/model/session.hpp"

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

#include <map>
#include <optional>
#include <string>

namespace spillway::gui {

/// Finds where the verdict of the session's question flips, one knob after another, after a pause.
/// Has a worker of its own, so that no other answer waits for it: it asks for bounds first, which
/// say what is too small, then for simulations; and `spillway fit` where a search found no way.
/// A change of the question ends all that and forgets what was found.
class FlipFinder : public QObject {
  Q_OBJECT

 public:
  explicit FlipFinder(Session& session, QObject* parent = nullptr);

  /// Nothing is asked while nobody looks.
  void set_active(bool active);
  /// Of a knob's field; unknown until it is found.
  Flip flip_of(const std::string& field) const;
  bool busy() const;

 Q_SIGNALS:
  /// A flip was found, or all are forgotten.
  void changed();

 private:
  void look();
  void begin();
  void forget();
  void next_knob();
  void end_knob();
  void probe();
  void answered(Worker::Id id, const nlohmann::json& line);
  void take(std::optional<bool> fits);

  Session& session_;
  Worker worker_;
  Command fit_;
  QElapsedTimer fit_took_;
  QTimer soon_;
  bool active_ = false;
  std::optional<Question> asked_;  ///< that flips are looked for, or were found of
  bool one_way_ = false;
  std::size_t knob_ = 0;
  std::optional<FlipSearch> search_;
  Worker::Id bound_id_ = 0, result_id_ = 0;
  nlohmann::json probed_;
  std::map<std::string, Flip> found_;
};

}  // namespace spillway::gui
