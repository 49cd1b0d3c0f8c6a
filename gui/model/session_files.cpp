// What a session reads on other threads: files that are opened, and traces.
#include "gui/model/session.hpp"
#include "gui/model/trace_aside.hpp"
#include "gui/model/trace_file.hpp"
#include "gui/model/validation_table.hpp"
#include "reports/words/verdict.hpp"

#include <QCoreApplication>
#include <QPointer>
#include <QTemporaryDir>
#include <QThreadPool>

#include <algorithm>

namespace spillway::gui {

using nlohmann::json;

QString Session::answer_title() const {
  return answer_.result ? QString::fromStdString(reports::scenario_title(*answer_.result))
                        : QString();
}

bool Session::trace_is_old() const {
  return !trace_scenario_.is_null() && answer_.result && !answer_.approximate() &&
         trace_scenario_ != asked_;
}

void Session::ask_trace() {
  if (!answer_.result) return;
  const bool coming = trace_id_ != 0 || tracer_.running() || reading_trace_;
  if (coming && asked_trace_ == asked_) return;
  if (trace_id_ != 0) worker_.cancel(trace_id_);
  tracer_.stop();
  ++trace_number_;
  reading_trace_ = false;  // of what was asked before
  asked_trace_ = asked_;
  asked_trace_title_ = answer_title();
  asked_capacities_ = {answer_.result->gpu.capacity, answer_.result->host.capacity};
  trace_id_ = worker_.ask({asked_, {"trace"}, 120});
  Q_EMIT status_changed();
}

/// A worker that does not know what was wanted sends the result alone; then the program is asked.
void Session::trace_answered(const Line& line) {
  if (line->contains("trace")) return read_aside([line] { return read_trace(line->at("trace")); });
  if (line->contains("result"))
    return tracer_.run({"simulate", write_scenario(asked_trace_, "run.json"), "--json", "--trace",
                        folder_->filePath("run.trace.json")});
  Answer why;
  take_answer(*line, why);
  Q_EMIT refused("no timeline: " + QString::fromStdString(why.failure));
}

void Session::read_aside(std::function<Trace()> read) {
  reading_trace_ = true;
  const auto make = [read = std::move(read), capacities = asked_capacities_] {
    Trace trace = read();
    put_capacities(trace, capacities.first, capacities.second);
    return trace;
  };
  make_trace_aside(
      this, make,
      [this, number = trace_number_](std::shared_ptr<const Trace> trace, const QString& refusal) {
        if (trace_number_ != number) return;
        reading_trace_ = false;
        if (trace)
          take_trace(std::move(trace), asked_trace_title_, asked_trace_);
        else
          Q_EMIT refused("no timeline: " + refusal);
        Q_EMIT status_changed();
      });
}

void Session::take_trace(std::shared_ptr<const Trace> trace, const QString& title, json scenario,
                         bool opened) {
  trace_ = std::move(trace);
  trace_title_ = title;
  trace_scenario_ = std::move(scenario);
  opened_trace_ = opened;
  mark(std::nullopt);
  Q_EMIT trace_changed();
  Q_EMIT status_changed();
}

void Session::mark(const std::optional<std::pair<Instant, Instant>>& span) {
  if (marked_ == span) return;
  marked_ = span;
  Q_EMIT marked_changed();
}

void Session::read_trace_of(const QString& path, const QString& title) {
  ++trace_number_;
  asked_trace_ = nullptr;
  asked_trace_title_ = title;
  asked_capacities_ = {0, 0};
  read_aside([file = path.toStdString()] { return read_trace_file(file); });
}

void Session::take_validation(json validation) {
  validation_ = std::move(validation);
  opened_trace_ = false;  // of what was opened before it ran
  Q_EMIT validation_changed();
}

bool Session::trace_of_validation() const {
  return opened_trace_ && trace_ && is_of(validation_, *trace_);
}

void Session::watch_database(const QString& path) {
  if (database_ == path.toStdString()) return;
  database_ = path.toStdString();
  Q_EMIT database_changed();
}

/// One after the other, so that they come in the order in which they were named.
void Session::open(const QStringList& files) {
  const QPointer<Session> self(this);
  opened_together_.clear();
  opened_trace_ = false;
  reading_ += static_cast<int>(files.size());
  const auto deliver = [self](const std::shared_ptr<Opened>& opened, const QString& refusal) {
    if (!self) return;
    --self->reading_;
    if (refusal.isEmpty())
      self->show(std::move(*opened));
    else
      Q_EMIT self->refused(refusal);
    Q_EMIT self->status_changed();
  };
  QThreadPool::globalInstance()->start([files, deliver] {
    for (const QString& file : files) {
      auto opened = std::make_shared<Opened>();
      QString refusal;
      try {
        *opened = open_file(file.toStdString());
      } catch (const std::exception& error) {
        refusal = QString::fromStdString(one_sentence(error));
      }
      QMetaObject::invokeMethod(
          qApp, [deliver, opened, refusal] { deliver(opened, refusal); }, Qt::QueuedConnection);
    }
  });
  Q_EMIT status_changed();
}

void Session::open_scenario(const json& scenario, const QString& name) {
  change(question_of(scenario), "Open " + name);
  Q_EMIT opened("what-if", name);
}

void Session::enter(const std::string& label, const json& scenario) {
  entrants_.push_back({worker_.ask({scenario, {"result"}, 60}), label});
}

/// In the order in which they were opened, whoever is answered first.
///   Result  false when nobody waits for this answer
bool Session::take_entrant(Worker::Id id, const json& line) {
  const auto found = std::find_if(entrants_.begin(), entrants_.end(),
                                  [&](const Entrant& one) { return one.id == id; });
  if (found == entrants_.end()) return false;
  Answer answer;
  take_answer(line, answer);
  found->answered = true;
  found->result = std::move(answer.result);
  if (!found->result) Q_EMIT refused(QString::fromStdString(found->label + ": " + answer.failure));
  for (; !entrants_.empty() && entrants_.front().answered; entrants_.pop_front())
    if (entrants_.front().result)
      contenders_.push_back({entrants_.front().label, std::move(*entrants_.front().result)});
  Q_EMIT contenders_changed();
  return true;
}

void Session::show(Opened file) {
  const QString name = QString::fromStdString(file.label);
  switch (file.kind) {
    case Opened::Kind::scenario:
      opened_together_.emplace_back(file.label, file.json);
      open_scenario(file.json, name);
      if (opened_together_.size() == 2)
        enter(opened_together_[0].first, opened_together_[0].second);
      if (opened_together_.size() < 2) return;
      enter(file.label, file.json);
      return Q_EMIT opened("compare", name);
    case Opened::Kind::model: {
      Question next = question_;
      next.model_config = std::move(file.json);
      next.model = file.label;
      change(next, "Model " + name);
      return Q_EMIT opened("what-if", name);
    }
    case Opened::Kind::machine: {
      Question next = question_;
      next.machine_file = std::move(file.json);
      next.machine.clear();
      change(next, "Machine " + name);
      return Q_EMIT opened("machines", name);
    }
    case Opened::Kind::results:
      for (result::Result& one : file.results) {
        const std::string label = file.results.size() == 1 ? file.label : one.system;
        contenders_.push_back({label, std::move(one)});
      }
      Q_EMIT contenders_changed();
      return Q_EMIT opened(contenders_.size() > 1 ? "compare" : "memory", name);
    case Opened::Kind::trace:
      take_trace(file.trace, name, nullptr, true);
      return Q_EMIT opened(trace_of_validation() ? "validate" : "timeline", name);
    case Opened::Kind::validation:
      validation_ = std::move(file.json);
      Q_EMIT validation_changed();
      return Q_EMIT opened("validate", name);
    case Opened::Kind::database:
      database_ = file.path;
      Q_EMIT database_changed();
      return Q_EMIT opened("explore", name);
  }
}

}  // namespace spillway::gui
