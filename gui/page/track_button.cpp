#include "gui/page/track_button.hpp"

#include "gui/model/text.hpp"

#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QStyle>

#include <algorithm>

namespace spillway::gui {

namespace {

/// Stays open while entries with a check mark are toggled, so that several can be.
class CheckMenu : public QMenu {
 public:
  using QMenu::QMenu;

 protected:
  void mouseReleaseEvent(QMouseEvent* event) override {
    QAction* action = actionAt(event->position().toPoint());
    if (action && action->isCheckable())
      action->trigger();
    else
      QMenu::mouseReleaseEvent(event);
  }
  void keyPressEvent(QKeyEvent* event) override {
    const bool chooses = event->key() == Qt::Key_Space || event->key() == Qt::Key_Return ||
                         event->key() == Qt::Key_Enter;
    if (chooses && activeAction() && activeAction()->isCheckable())
      activeAction()->trigger();
    else
      QMenu::keyPressEvent(event);
  }
};

void add_new(std::vector<std::string>& all, const std::vector<std::string>& more) {
  for (const std::string& one : more)
    if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
}

}  // namespace

TrackButton::TrackButton(QWidget* parent) : QToolButton(parent) {
  setAutoRaise(true);
  setFocusPolicy(Qt::StrongFocus);
  setPopupMode(QToolButton::InstantPopup);
  setToolTip("Hides and shows resources, counters and ranks");
  setMenu(new CheckMenu(this));
  connect(menu(), &QMenu::aboutToShow, this, &TrackButton::fill_menu);
  show_count();
}

QSize TrackButton::sizeHint() const {
  const int arrow = style()->pixelMetric(QStyle::PM_MenuButtonIndicator, nullptr, this);
  return QToolButton::sizeHint() + QSize(arrow, 0);
}

void TrackButton::add(Timeline* timeline) {
  timelines_.emplace_back(timeline);
  timeline->set_filter(filter_);
  connect(timeline, &Timeline::rows_changed, this, &TrackButton::show_count);
  show_count();
}

void TrackButton::set_filter(const TrackFilter& filter) {
  filter_ = filter;
  for (const auto& timeline : timelines_)
    if (timeline) timeline->set_filter(filter);
  show_checks();
}

void TrackButton::fill_menu() {
  TrackNames names;
  for (const auto& timeline : timelines_) {
    if (!timeline || !timeline->trace()) continue;
    const TrackNames own = track_names(*timeline->trace());
    add_new(names.resources, own.resources);
    add_new(names.counters, own.counters);
    add_new(names.owners, own.owners);
  }
  entries_.clear();
  menu()->clear();
  connect(menu()->addAction("Show every track"), &QAction::triggered, this,
          [this] { set_filter({}); });
  add_part("Resources", "All resources", &TrackFilter::resources, names.resources);
  add_part("Ranks and nodes", "All ranks and nodes", &TrackFilter::owners, names.owners);
  add_part("Counters", "All counters", &TrackFilter::counters, names.counters);
  show_checks();
}

void TrackButton::add_part(const QString& title, const QString& all, Hidden part,
                           const std::vector<std::string>& names) {
  if (names.empty()) return;
  menu()->addSection(title);
  if (names.size() > 1) add_entry(all, part, names);
  for (const std::string& name : names)
    add_entry(name.empty() ? QString("no name") : qt(name).replace('&', "&&"), part, {name});
}

void TrackButton::add_entry(const QString& text, Hidden part,
                            const std::vector<std::string>& names) {
  QAction* action = menu()->addAction(text);
  action->setCheckable(true);
  const Entry entry{action, part, names};
  connect(action, &QAction::triggered, this, [this, entry] { toggle(entry); });
  entries_.push_back(entry);
}

bool TrackButton::shows(const Entry& entry) const {
  return std::none_of(entry.names.begin(), entry.names.end(), [&](const std::string& name) {
    return (filter_.*entry.part).contains(name);
  });
}

void TrackButton::toggle(const Entry& entry) {
  const bool hide = shows(entry);
  TrackFilter filter = filter_;
  for (const std::string& name : entry.names)
    if (hide)
      (filter.*entry.part).insert(name);
    else
      (filter.*entry.part).erase(name);
  set_filter(filter);
}

void TrackButton::show_checks() {
  for (const Entry& entry : entries_) entry.action->setChecked(shows(entry));
}

void TrackButton::show_count() {
  std::size_t hidden = 0;
  for (const auto& timeline : timelines_)
    if (timeline) hidden += timeline->shown_tracks().hidden();
  const QString count = hidden > 0 ? QString("%1 hidden").arg(hidden) : QString();
  setText(hidden > 0 ? "&Tracks: " + count : QString("&Tracks"));
  setAccessibleName(hidden > 0 ? "Tracks that are shown, " + count
                               : QString("Tracks that are shown"));
}

}  // namespace spillway::gui
