#include "gui/model/session.hpp"

#include "gui/model/trace_file.hpp"
#include "reports/words/verdict.hpp"

#include <QFile>
#include <QTemporaryDir>

#include <algorithm>

namespace spillway::gui {

using nlohmann::json;

namespace {

/// Quiet time after a change before a search, and after an answer before what would change it.
constexpr int search_after_ms = 120, details_after_ms = 250;

}  // namespace

/// One change of the question; changes of one field while it is dragged become one.
class QuestionChange : public QUndoCommand {
 public:
  QuestionChange(Session& session, Question after, const QString& words, int id)
      : QUndoCommand(words),
        session_(session),
        before_(session.question()),
        after_(std::move(after)),
        id_(id) {}
  int id() const override { return id_; }
  bool mergeWith(const QUndoCommand* other) override {
    after_ = static_cast<const QuestionChange*>(other)->after_;
    setObsolete(after_ == before_);
    return true;
  }
  void undo() override { session_.set_question(before_); }
  void redo() override { session_.set_question(after_); }

 private:
  Session& session_;
  Question before_, after_;
  int id_;
};

Session::Session(QObject* parent) : QObject(parent), folder_(std::make_unique<QTemporaryDir>()) {
  search_soon_.setSingleShot(true);
  details_soon_.setSingleShot(true);
  connect(&search_soon_, &QTimer::timeout, this, &Session::search);
  connect(&details_soon_, &QTimer::timeout, this, &Session::ask_details);
  connect(&worker_, &Worker::answered, this, &Session::answered);
  connect(&worker_, &Worker::failed, this, [this](Worker::Id id, const QString& why) {
    if (id == result_id_) failed(why);
    if (id == trace_id_) trace_id_ = 0;
    take_entrant(id, {{"failure", why.toStdString()}});
    Q_EMIT status_changed();
  });
  connect(&fit_, &Command::finished, this, &Session::fit_answered);
  connect(&fit_, &Command::partly, this, &Session::fit_partly_answered);
  connect(&fit_, &Command::failed, this, &Session::failed);
  connect(&details_, &Command::finished, this, &Session::details_arrived);
  connect(&details_, &Command::partly, this, [this](const QByteArray& output, const QString& why) {
    answer_.notes.push_back(why.toStdString());
    details_arrived(output);
  });
  connect(&details_, &Command::failed, this, [this] { Q_EMIT status_changed(); });
  connect(&reporter_, &Command::finished, this, [this] {
    Q_EMIT told("Wrote " + report_path_);
    Q_EMIT status_changed();
  });
  connect(&reporter_, &Command::partly, this, [this](const QByteArray&, const QString& why) {
    Q_EMIT told("Wrote " + report_path_ + ". " + why);
    Q_EMIT status_changed();
  });
  connect(&reporter_, &Command::failed, this,
          [this](const QString& why) { Q_EMIT refused("no report: " + why); });
  connect(&tracer_, &Command::failed, this, [this](const QString& why) {
    Q_EMIT refused("no timeline: " + why);
    Q_EMIT status_changed();
  });
  const auto read_own_trace = [this] {
    const std::string path = folder_->filePath("run.trace.json").toStdString();
    read_aside([path] { return read_trace_file(path); });
  };
  connect(&tracer_, &Command::finished, this, read_own_trace);
  connect(&tracer_, &Command::partly, this, read_own_trace);  // of the run itself nothing is missed
}

Session::~Session() = default;

void Session::write_report(const QString& path) {
  if (!answer_.result) return Q_EMIT refused("no report: there is no answer yet");
  report_path_ = path;
  reporter_.run({"report", write_scenario(asked_, "report.json"), "--out", path});
  Q_EMIT status_changed();
}

void Session::change(const Question& question, const QString& words, const QString& field) {
  if (question == question_) return;
  const bool joins = !field.isEmpty() && field == dragged_;
  static int next_id = 0;
  if (!joins) ++next_id;
  dragged_ = field;
  undo_.push(new QuestionChange(*this, question, words, field.isEmpty() ? -1 : next_id));
}

void Session::end_drag() { dragged_.clear(); }

void Session::set_question(const Question& question) {
  question_ = question;
  Q_EMIT question_changed();
  ask();
}

void Session::ask() {
  make_stale(answer_);
  details_.stop();
  details_soon_.stop();
  if (details_id_ != 0) worker_.cancel(std::exchange(details_id_, 0));
  if (question_.searches()) {
    fit_.stop();
    search_soon_.start(search_after_ms);
    if (last_found_.is_object()) ask_worker();
  } else {
    search_soon_.stop();
    fit_.stop();
    ask_worker();
  }
  Q_EMIT answer_changed();
  Q_EMIT status_changed();
}

json Session::scenario_for(const Question& question) const {
  if (!question.searches()) return scenario_of(question);
  if (!last_found_.is_object()) return nullptr;
  json scenario = scenario_of(question);
  scenario["strategy"] = last_found_.at("strategy");
  scenario["training"]["micro_batch"] = last_found_.at("training").at("micro_batch");
  json& parallel = scenario["parallel"] = last_found_.at("parallel");
  const bool data_only = parallel.value("tensor", 1) == 1 && parallel.value("pipeline", 1) == 1;
  const bool of_parts = question.machine.empty() && question.machine_file.is_null();
  if (data_only && of_parts) parallel["data"] = question.box.gpus;
  return scenario;
}

void Session::ask_worker() {
  if (bound_id_ != 0) worker_.cancel(bound_id_);
  if (result_id_ != 0) worker_.cancel(result_id_);
  asked_ = scenario_for(question_);
  bound_id_ = worker_.ask({asked_, {"bound"}, 10});
  result_id_ = worker_.ask({asked_, {"result"}, 60});
}

QStringList Session::fit_words(const Question& question, const QString& name) {
  Question named = question;
  std::string file;
  if (const json machine = machine_file_of(question); !machine.is_null())
    file = write_scenario(machine, name + "machine.json").toStdString();
  if (!named.model_config.is_null())
    named.model = write_scenario(named.model_config, name + "config.json").toStdString();
  QStringList words;
  for (const std::string& word : fit_arguments(named, file)) words << QString::fromStdString(word);
  return words << "--json";
}

void Session::search() {
  fit_.run(fit_words(question_, ""));
  Q_EMIT status_changed();
}

void Session::fit_answered(const QByteArray& output) {
  if (!question_.searches()) return;
  if (bound_id_ != 0) worker_.cancel(std::exchange(bound_id_, 0));
  if (result_id_ != 0) worker_.cancel(std::exchange(result_id_, 0));
  answer_ = answer_of_fit(json::parse(output.begin(), output.end(), nullptr, false));
  last_found_ = answer_.result && answer_.result->scenario.contains("strategy")
                    ? answer_.result->scenario
                    : json();
  asked_ = answered_scenario();
  if (answer_.result) details_soon_.start(details_after_ms);
  Q_EMIT answer_changed();
  Q_EMIT status_changed();
}

/// Nothing that was found is no "does not fit" where not all could be tried.
void Session::fit_partly_answered(const QByteArray& output, const QString& why) {
  const Answer found = answer_of_fit(json::parse(output.begin(), output.end(), nullptr, false));
  if (!found.result) return failed("It is not known whether it fits. " + why);
  fit_answered(output);
  answer_.notes.push_back(why.toStdString());
  Q_EMIT answer_changed();
}

void Session::answered(Worker::Id id, const Line& line) {
  if (id == bound_id_) {
    bound_id_ = 0;
    if (result_id_ == 0 || !take_bound(*line, answer_)) return Q_EMIT status_changed();
    answer_.way_before = way_before();
    Q_EMIT answer_changed();
  } else if (id == result_id_) {
    result_id_ = 0;
    result_answered(*line);
  } else if (id == details_id_) {
    details_id_ = 0;
    take_details(*line);
  } else if (id == trace_id_) {
    trace_id_ = 0;
    trace_answered(line);
  } else {
    take_entrant(id, *line);
  }
  Q_EMIT status_changed();
}

std::string Session::way_before() const {
  return question_.searches() ? asked_.at("strategy").at("system").get<std::string>() : "";
}

void Session::result_answered(const json& line) {
  // the way that was found last may be none on another box: the search says more
  if (question_.searches() && !line.contains("result")) return;
  take_answer(line, answer_);
  answer_.way_before = way_before();  // until the search has looked for a better way
  if (!question_.searches() && answer_.result) details_soon_.start(details_after_ms);
  Q_EMIT answer_changed();
}

json Session::answered_scenario() const {
  return answer_.result ? answer_.result->scenario : json();
}

void Session::ask_details() {
  if (!answer_.result) return;
  std::vector<std::string> want = {"settings", "what_if"};
  if (!answer_.fits())
    want.emplace_back("remedy");
  else if (!question_.searches())
    want.emplace_back("faster");  // a search has looked for them
  details_id_ = worker_.ask({asked_, want, 60});
  Q_EMIT status_changed();
}

/// A worker that does not know what was wanted sends the result alone; then the program is asked.
void Session::take_details(const json& line) {
  const bool told = line.contains("what_if") || line.contains("settings");
  if (line.contains("errors") || line.contains("failure")) return;
  if (!told && line.contains("result"))
    return details_.run({"simulate", write_scenario(asked_, "details.json"), "--json"});
  if (!told || !answer_.result) return;
  json parts = line;
  parts.erase("result");
  take_answer(parts, answer_);
  for (const Step& step : answer_.steps) {
    result::WhatIf& next = answer_.result->next[step.name];
    next.step_time_s = step.step_time_s;
    next.why = step.why;
  }
  Q_EMIT answer_changed();
}

void Session::details_arrived(const QByteArray& output) {
  const Answer details =
      answer_of_simulation(json::parse(output.begin(), output.end(), nullptr, false));
  if (details.result && answer_.result) {
    if (!details.steps.empty()) answer_.steps = details.steps;
    if (!details.changes.empty()) answer_.changes = details.changes;
    answer_.settings = details.settings;
    answer_.result->next = details.result->next;
    if (answer_.result->range.empty()) answer_.result->range = details.result->range;
    Q_EMIT answer_changed();
  }
  Q_EMIT status_changed();
}

void Session::failed(const QString& why) {
  answer_ = Answer();
  answer_.state = Answer::State::failed;
  answer_.failure = why.toStdString();
  result_id_ = bound_id_ = 0;
  Q_EMIT answer_changed();
  Q_EMIT status_changed();
}

void Session::apply(const Change& change) {
  try {
    Question next = question_;
    if (question_.searches() && answer_.result && !answer_.fits())
      next = question_of(answer_.result->scenario);
    this->change(with_overrides(next, change.overrides), QString::fromStdString(change.words));
  } catch (const std::exception& error) {
    Q_EMIT refused(QString::fromStdString(one_sentence(error)));
  }
}

void Session::pin() {
  if (!answer_.result) return;
  pinned_ = answer_;
  pinned_words_ = QString::fromStdString(reports::scenario_title(*answer_.result));
  Q_EMIT pinned_changed();
}

void Session::unpin() {
  pinned_.reset();
  Q_EMIT pinned_changed();
}

void Session::add_contender(const std::string& label, const result::Result& result) {
  contenders_.push_back({label, result});
  Q_EMIT contenders_changed();
}

void Session::remove_contender(std::size_t index) {
  if (index >= contenders_.size()) return;
  contenders_.erase(contenders_.begin() + static_cast<std::ptrdiff_t>(index));
  Q_EMIT contenders_changed();
}

bool Session::idle() const {
  return reading_ == 0 && !reading_trace_ && worker_.waiting() == 0 && !fit_.running() &&
         !details_.running() && !tracer_.running() && !reporter_.running() &&
         !search_soon_.isActive() && !details_soon_.isActive();
}

QString Session::own_path(const QString& name) const { return folder_->filePath(name); }

QString Session::write_scenario(const json& scenario, const QString& name) {
  const QString path = own_path(name);
  QFile file(path);
  if (file.open(QIODevice::WriteOnly)) file.write(QByteArray::fromStdString(scenario.dump(1)));
  return path;
}

}  // namespace spillway::gui
