#include "gui/model/run_traces.hpp"

#include "gui/model/answer.hpp"
#include "gui/model/trace_aside.hpp"
#include "gui/model/trace_file.hpp"
#include "gui/model/trace_words.hpp"

#include <algorithm>

namespace spillway::gui {

using nlohmann::json;

namespace {

constexpr double trace_limit_s = 120;

}  // namespace

RunTraces::RunTraces(QString program, QObject* parent)
    : QObject(parent), worker_(std::move(program)) {
  connect(&worker_, &Worker::answered, this, &RunTraces::answered);
  connect(&worker_, &Worker::failed, this,
          [this](Worker::Id id, const QString& why) { take(id, nullptr, why); });
}

bool RunTraces::has_scenario(const result::Result& result) {
  return result.scenario.is_object() && result.scenario.contains("strategy");
}

void RunTraces::keep_only(const std::vector<const result::Result*>& results) {
  std::erase_if(all_, [&](const Asked& asked) {
    const bool wanted = std::any_of(results.begin(), results.end(), [&](const auto* one) {
      return one->scenario == asked.run.scenario;
    });
    if (!wanted && !asked.done) worker_.cancel(asked.id);
    return !wanted;
  });
}

void RunTraces::ask(const std::vector<const result::Result*>& results) {
  for (const result::Result* one : results) {
    if (!has_scenario(*one) || of(one->scenario)) continue;
    Asked asked;
    asked.run.scenario = one->scenario;
    asked.gpu_bytes = one->gpu.capacity;
    asked.host_bytes = one->host.capacity;
    asked.id = worker_.ask({one->scenario, {"trace"}, trace_limit_s});
    all_.push_back(std::move(asked));
  }
}

const RunTrace* RunTraces::of(const json& scenario) const {
  for (const Asked& asked : all_)
    if (asked.run.scenario == scenario) return &asked.run;
  return nullptr;
}

bool RunTraces::busy() const {
  return std::any_of(all_.begin(), all_.end(), [](const Asked& one) { return !one.done; });
}

RunTraces::Asked* RunTraces::asked_as(Worker::Id id) {
  const auto found =
      std::find_if(all_.begin(), all_.end(), [&](const Asked& one) { return one.id == id; });
  return found == all_.end() ? nullptr : &*found;
}

void RunTraces::answered(Worker::Id id, const Line& line) {
  const Asked* asked = asked_as(id);
  if (!asked) return;
  if (!line->contains("trace")) {
    Answer why;
    take_answer(*line, why);
    return take(id, nullptr,
                why.failure.empty() ? "the program is older than timelines of a worker"
                                    : QString::fromStdString(why.failure));
  }
  const auto make = [line, gpu = asked->gpu_bytes, host = asked->host_bytes] {
    Trace trace = read_trace(line->at("trace"));
    put_capacities(trace, gpu, host);
    count_from(trace, steady_step(trace).first);
    return trace;
  };
  make_trace_aside(this, make,
                   [this, id](std::shared_ptr<const Trace> trace, const QString& failure) {
                     take(id, std::move(trace), failure);
                   });
}

void RunTraces::take(Worker::Id id, std::shared_ptr<const Trace> trace, const QString& failure) {
  Asked* asked = asked_as(id);
  if (!asked) return;
  asked->run.trace = std::move(trace);
  asked->run.failure = failure;
  asked->done = true;
  Q_EMIT changed();
}

}  // namespace spillway::gui
