#pragma once

#include "gui/model/session.hpp"

#include <QAction>
#include <QWidget>

#include <memory>
#include <span>

namespace spillway::gui {

/// One page of the window: widgets over models of the session.
class Page : public QWidget {
  Q_OBJECT

 public:
  Page(Session& session, QWidget* parent = nullptr) : QWidget(parent), session_(session) {}

  /// What people would type for what the page shows.
  virtual QString command() const {
    return QString::fromStdString(command_of(session_.question()));
  }
  /// What the page says, as plain text for the clipboard and for those who hear it.
  virtual QString text() const { return {}; }
  /// The page was brought to the front.
  virtual void shown() {}
  /// Where typing goes when the page is shown.
  virtual QWidget* first_field() { return this; }
  virtual bool busy() const { return false; }

 protected:
  Session& session_;
};

/// A line of the list of pages.
struct PageEntry {
  const char* name;     ///< for --page: "what-if"
  const char* title;    ///< "What-if"
  const char* summary;  ///< one line
  Page* (*make)(Session& session, QWidget* parent);
};

/// All pages in their order: the first is shown at the start.
std::span<const PageEntry> pages();

}  // namespace spillway::gui
