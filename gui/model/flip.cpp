#include "gui/model/flip.hpp"

#include "gui/model/text.hpp"

#include <algorithm>

namespace spillway::gui {

QString short_words(const Flip& flip, const Knob& knob) {
  switch (flip.kind) {
    case Flip::Kind::from:
      return "fits from " + qt(knob.words(flip.at));
    case Flip::Kind::up_to:
      return "fits up to " + qt(knob.words(flip.at));
    case Flip::Kind::always:
      return "fits at each step";
    case Flip::Kind::never:
      return "fits at no step";
    case Flip::Kind::unknown:
      break;
  }
  return {};
}

QString sentence_of(const Flip& flip, const Knob& knob) {
  const QString what = flip.of_one_way ? "The way that was found" : "It";
  const QString lower = qt(knob.words(static_cast<std::uint64_t>(knob.steps.front())));
  const QString upper = qt(knob.words(static_cast<std::uint64_t>(knob.steps.back())));
  switch (flip.kind) {
    case Flip::Kind::from:
      return QString("%1 fits from %2 on, not with %3")
          .arg(what, qt(knob.words(flip.at)), qt(knob.words(flip.other)));
    case Flip::Kind::up_to:
      return QString("%1 fits up to %2, not with %3")
          .arg(what, qt(knob.words(flip.at)), qt(knob.words(flip.other)));
    case Flip::Kind::always:
      return QString("%1 fits wherever this slider stands, %2 to %3").arg(what, lower, upper);
    case Flip::Kind::never:
      return QString("%1 does not fit wherever this slider stands, %2 to %3")
          .arg(what, lower, upper);
    case Flip::Kind::unknown:
      break;
  }
  return {};
}

FlipSearch::FlipSearch(const Knob& knob, std::uint64_t present, bool fits)
    : knob_(knob), present_(present), fits_(fits), sides_left_(knob.both_ways ? 2 : 1) {
  begin_side(knob.more_helps != fits);
}

int FlipSearch::index() const {
  return changed_ < 0 ? static_cast<int>(values_.size()) - 1 : (same_ + changed_) / 2;
}

std::optional<std::uint64_t> FlipSearch::next() const {
  if (done_) return std::nullopt;
  return values_.at(static_cast<std::size_t>(index()));
}

void FlipSearch::begin_side(bool upwards) {
  upwards_ = upwards;
  values_.clear();
  same_ = changed_ = -1;
  for (const int step : knob_.steps) {
    const auto value = static_cast<std::uint64_t>(step);
    if (upwards ? value > present_ : value < present_) values_.push_back(value);
  }
  if (!upwards) std::reverse(values_.begin(), values_.end());
  if (values_.empty()) end_side();
}

void FlipSearch::end_side() {
  if (--sides_left_ > 0) return begin_side(!upwards_);
  done_ = true;
  if (!cut_) flip_.kind = fits_ ? Flip::Kind::always : Flip::Kind::never;
}

void FlipSearch::found(std::uint64_t same, std::uint64_t changed) {
  done_ = true;
  flip_.at = fits_ ? same : changed;
  flip_.other = fits_ ? changed : same;
  flip_.kind = flip_.at > flip_.other ? Flip::Kind::from : Flip::Kind::up_to;
}

void FlipSearch::take(std::optional<bool> fits) {
  if (done_) return;
  const int at = index();
  if (!fits) {  // nearer steps are quicker to try
    cut_ = true;
    if (changed_ < 0 && at > 0) return values_.resize(static_cast<std::size_t>(at + 1) / 2);
    return end_side();
  }
  if (*fits != fits_)
    changed_ = at;
  else if (changed_ < 0)
    return end_side();
  else
    same_ = at;
  if (changed_ - same_ == 1)
    found(same_ < 0 ? present_ : values_[static_cast<std::size_t>(same_)],
          values_[static_cast<std::size_t>(changed_)]);
}

}  // namespace spillway::gui
