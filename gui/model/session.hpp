#pragma once

#include "gui/model/answer.hpp"
#include "gui/model/open_file.hpp"
#include "gui/model/question.hpp"
#include "gui/model/worker.hpp"

#include <QObject>
#include <QTimer>
#include <QUndoStack>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

class QTemporaryDir;

namespace spillway::gui {

/// A result under a name, to compare.
struct Contender {
  std::string label;
  result::Result result;
};

/// A scenario that is to stand beside others, until it is answered.
struct Entrant {
  Worker::Id id = 0;
  std::string label;
  bool answered = false;
  std::optional<result::Result> result = {};  ///< none: it was refused
};

/// What all pages look at: the question being edited and its answer, and what was opened. Owns the
/// worker and the undo stack.
class Session : public QObject {
  Q_OBJECT

 public:
  explicit Session(QObject* parent = nullptr);
  ~Session() override;

  const Question& question() const { return question_; }
  /// Changes it and asks; can be undone. Changes of one field while it is dragged are one.
  ///   field  "machine.host.memory", to join changes of it; "" never joins
  void change(const Question& question, const QString& words, const QString& field = "");
  /// The next change of the same field is one of its own.
  void end_drag();
  QUndoStack& undo_stack() { return undo_; }

  const Answer& answer() const { return answer_; }
  /// The whole scenario that the answer is of; null without one.
  nlohmann::json answered_scenario() const;
  /// What a worker is asked about a question: of a search, the way that it found last on the box of
  /// `question`; null where it found none.
  nlohmann::json scenario_for(const Question& question) const;
  /// Words of `spillway fit` for a question; files that they name are written under `name`.
  QStringList fit_words(const Question& question, const QString& name);
  /// Applies a remedy, or a next step.
  void apply(const Change& change);

  void pin();
  void unpin();
  const std::optional<Answer>& pinned() const { return pinned_; }
  const QString& pinned_words() const { return pinned_words_; }

  /// Reads files aside and shows what they hold; `opened` or `refused` for each. Scenarios that are
  /// opened together stand side by side; the last of them is the question.
  void open(const QStringList& files);
  /// Asks about a scenario that stands alone.
  void open_scenario(const nlohmann::json& scenario, const QString& name);
  /// Works out the timeline of the answer.
  void ask_trace();
  /// The trace is of an answer that was given before the present one.
  bool trace_is_old() const;
  /// One page of HTML about the answer; `told` or `refused` when it is there.
  void write_report(const QString& path);
  const std::shared_ptr<const Trace>& trace() const { return trace_; }
  const QString& trace_title() const { return trace_title_; }
  /// The time span of the trace that pages which sum over time show; none: the whole.
  const std::optional<std::pair<Instant, Instant>>& marked() const { return marked_; }
  void mark(const std::optional<std::pair<Instant, Instant>>& span);

  const std::vector<Contender>& contenders() const { return contenders_; }
  void add_contender(const std::string& label, const result::Result& result);
  void remove_contender(std::size_t index);
  const nlohmann::json& validation() const { return validation_; }
  void take_validation(nlohmann::json validation);
  /// The trace was opened beside the validation, or after it, and may be of the same run.
  bool trace_of_validation() const;
  /// Shows the trace in a file under that name.
  void read_trace_of(const QString& path, const QString& title);
  /// A path for `name` that goes with the session.
  QString own_path(const QString& name) const;
  /// Writes a scenario there.
  QString write_scenario(const nlohmann::json& scenario, const QString& name);
  const std::string& database() const { return database_; }
  /// Shows what a search writes, as soon as it is there.
  void watch_database(const QString& path);

  /// Nothing is being read or worked out.
  bool idle() const;
  /// Asks again, as after a start.
  void ask();

 Q_SIGNALS:
  void question_changed();
  void answer_changed();
  void pinned_changed();
  void trace_changed();
  void marked_changed();
  void contenders_changed();
  void validation_changed();
  void database_changed();
  /// A file was read; the page that shows it: "timeline".
  void opened(const QString& page, const QString& what);
  void refused(const QString& sentence);
  /// Something was done aside; a sentence.
  void told(const QString& sentence);
  void status_changed();

 private:
  friend class QuestionChange;
  void set_question(const Question& question);
  void search();
  void ask_worker();
  void ask_details();
  void answered(Worker::Id id, const Line& line);
  void result_answered(const nlohmann::json& line);
  /// The system that the worker was asked about while a search runs; "" without a search.
  std::string way_before() const;
  void trace_answered(const Line& line);
  /// Reads a trace on a thread of its own and shows it, unless another was asked for meanwhile.
  void read_aside(std::function<Trace()> read);
  void take_details(const nlohmann::json& line);
  void details_arrived(const QByteArray& json);
  void fit_answered(const QByteArray& json);
  void fit_partly_answered(const QByteArray& json, const QString& why);
  void failed(const QString& why);
  void show(Opened opened);
  void enter(const std::string& label, const nlohmann::json& scenario);
  bool take_entrant(Worker::Id id, const nlohmann::json& line);
  void take_trace(std::shared_ptr<const Trace> trace, const QString& title, nlohmann::json scenario,
                  bool opened = false);
  QString answer_title() const;

  Question question_;
  QUndoStack undo_;
  QString dragged_;
  Answer answer_;
  nlohmann::json asked_;       ///< the scenario of the request
  nlohmann::json last_found_;  ///< the scenario that the last search found
  std::optional<Answer> pinned_;
  QString pinned_words_;
  Worker worker_;
  Worker::Id bound_id_ = 0, result_id_ = 0, trace_id_ = 0, details_id_ = 0;
  Command fit_, details_, tracer_, reporter_;
  QString report_path_;
  QTimer search_soon_, details_soon_;
  std::unique_ptr<QTemporaryDir> folder_;
  std::shared_ptr<const Trace> trace_;
  QString trace_title_, asked_trace_title_;
  std::optional<std::pair<Instant, Instant>> marked_;
  nlohmann::json trace_scenario_;  ///< that the trace is of; null: of a file
  bool opened_trace_ = false;      ///< it is of a file, opened with the last ones
  nlohmann::json asked_trace_;     ///< that one was asked for
  std::pair<std::uint64_t, std::uint64_t> asked_capacities_;  ///< of it: GPU, host
  quint64 trace_number_ = 0;  ///< of the trace that was asked for last
  std::vector<Contender> contenders_;
  std::deque<Entrant> entrants_;  ///< in the order in which they were opened
  std::vector<std::pair<std::string, nlohmann::json>> opened_together_;  ///< scenarios
  nlohmann::json validation_;
  std::string database_;
  int reading_ = 0;
  bool reading_trace_ = false;
};

}  // namespace spillway::gui
