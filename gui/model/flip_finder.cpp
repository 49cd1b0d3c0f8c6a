#include "gui/model/flip_finder.hpp"

#include "reports/answer/bound.hpp"
#include "scenarios/description/errors.hpp"

#include <utility>

namespace spillway::gui {

using nlohmann::json;

namespace {

constexpr int pause_ms = 400;
/// Where a search found no way each probe is a search, which takes seconds: then of this alone.
const std::string searched_for = "memory";
/// A probe that takes longer says nothing; a search that is cut short may have missed a way.
constexpr double probe_limit_s = 4, search_limit_s = 20;

/// The verdict of a bound, which knows what does not fit, and not what fits.
bool is_too_small(const json& line) {
  if (!line.contains("bound")) return false;
  try {
    return !line["bound"].get<answer::Bound>().too_small.empty();
  } catch (const description::ScenarioError&) {
    return false;  // of an older or newer program; a simulation says it
  }
}

}  // namespace

FlipFinder::FlipFinder(Session& session, QObject* parent)
    : QObject(parent), session_(session), worker_(spillway_program(), {"worker", "--jobs", "1"}) {
  soon_.setSingleShot(true);
  soon_.setInterval(pause_ms);
  connect(&soon_, &QTimer::timeout, this, &FlipFinder::begin);
  connect(&session_, &Session::status_changed, this, &FlipFinder::look);
  connect(&session_, &Session::question_changed, this, &FlipFinder::forget);
  connect(&worker_, &Worker::answered, this,
          [this](Worker::Id id, const Line& line) { answered(id, *line); });
  connect(&worker_, &Worker::failed, this, [this](Worker::Id id) {
    if (id == bound_id_ || id == result_id_) forget();
  });
  connect(&fit_, &Command::finished, this, [this](const QByteArray& output) {
    const bool fits =
        answer_of_fit(json::parse(output.begin(), output.end(), nullptr, false)).fits();
    const bool cut_short = fit_took_.elapsed() >= static_cast<qint64>(1e3 * search_limit_s);
    take(fits || !cut_short ? std::optional(fits) : std::nullopt);
  });
  connect(&fit_, &Command::partly, this, [this] { take(std::nullopt); });
  connect(&fit_, &Command::failed, this, [this] { take(std::nullopt); });
}

void FlipFinder::set_active(bool active) {
  active_ = active;
  look();
}

Flip FlipFinder::flip_of(const std::string& field) const {
  const auto found = found_.find(field);
  return found == found_.end() ? Flip() : found->second;
}

bool FlipFinder::busy() const { return soon_.isActive() || search_.has_value(); }

/// Begins when there is an answer and nothing else to do; ends when there is none any more.
void FlipFinder::look() {
  const Answer& answer = session_.answer();
  const bool exact = answer.state == Answer::State::exact && !answer.approximate();
  if (!active_ || !exact) return forget();
  if (asked_ || soon_.isActive() || !session_.idle()) return;
  soon_.start();
}

void FlipFinder::forget() {
  soon_.stop();
  search_.reset();
  asked_.reset();
  fit_.stop();
  for (Worker::Id* id : {&bound_id_, &result_id_})
    if (*id != 0) worker_.cancel(std::exchange(*id, 0));
  if (found_.empty()) return;
  found_.clear();
  Q_EMIT changed();
}

void FlipFinder::begin() {
  asked_ = session_.question();
  one_way_ = asked_->searches() && session_.answer().fits();
  knob_ = 0;
  next_knob();
}

void FlipFinder::next_knob() {
  search_.reset();
  const bool searching = asked_->searches() && !one_way_;
  for (; knob_ < knobs().size(); ++knob_) {
    const Knob& one = knobs()[knob_];
    if (!one.open_in(*asked_) || (searching && one.field != searched_for)) continue;
    search_.emplace(one, one.get(*asked_), session_.answer().fits());
    return search_->next() ? probe() : end_knob();
  }
}

void FlipFinder::end_knob() {
  Flip flip = search_->flip();
  flip.of_one_way = one_way_;
  if (flip.kind != Flip::Kind::unknown) found_[knobs()[knob_].field] = flip;
  ++knob_;
  next_knob();
  Q_EMIT changed();
}

void FlipFinder::probe() {
  Question question = *asked_;
  knobs()[knob_].set(question, *search_->next());
  if (question.searches() && !one_way_)
    return fit_.run(session_.fit_words(question, "probe_")
                    << "--limit" << QString::number(search_limit_s));
  probed_ = session_.scenario_for(question);
  bound_id_ = worker_.ask({probed_, {"bound"}, probe_limit_s});
}

void FlipFinder::answered(Worker::Id id, const json& line) {
  if (id == bound_id_) {
    bound_id_ = 0;
    if (line.contains("errors") || is_too_small(line)) return take(false);
    result_id_ = worker_.ask({probed_, {"result"}, probe_limit_s});
  } else if (id == result_id_) {
    result_id_ = 0;
    Answer answer;
    take_answer(line, answer);
    take(answer.result ? std::optional(answer.fits()) : std::nullopt);
  }
}

void FlipFinder::take(std::optional<bool> fits) {
  if (!search_) return;
  search_->take(fits);
  search_->next() ? probe() : end_knob();
}

}  // namespace spillway::gui
