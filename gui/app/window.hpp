#pragma once

#include "gui/page/page.hpp"

#include <QLabel>
#include <QListWidget>
#include <QMainWindow>
#include <QStackedWidget>

#include <functional>
#include <vector>

namespace spillway::gui {

/// The window: the list of pages at the left, the page, menus whose actions the command palette
/// knows too, and a line that says what goes on.
class Window : public QMainWindow {
  Q_OBJECT

 public:
  explicit Window(Session& session, QWidget* parent = nullptr);

  /// False where there is no page of that name.
  bool show_page(const QString& name);
  Page* page() const;
  /// The page of that name; null without one.
  Page* page_named(const QString& name) const;
  bool idle() const;
  /// Every action of the menus, for the palette.
  QList<QAction*> all_actions() const;

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void make_pages();
  void make_menus();
  QAction* add(QMenu* menu, const QString& text, const QKeySequence& key, const QString& hint,
               const std::function<void()>& act);
  void go_to(int index);
  void open_dialog();
  void save_scenario();
  void save_report();
  void save_picture();
  void copy(const QString& text, const QString& what);
  void show_palette();
  void show_status();
  void show_keys();

  Session& session_;
  QListWidget* list_;
  QStackedWidget* stack_;
  std::vector<Page*> pages_;
  QLabel* status_;
};

/// Shows the window, opens the files, and runs until it is closed; or writes a picture of a page.
///   Result  0; 2 where a file or an option is wrong, which it says on standard error
int run(int argc, char** argv);

}  // namespace spillway::gui
