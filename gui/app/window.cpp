#include "gui/app/window.hpp"

#include "gui/app/palette_dialog.hpp"
#include "gui/app/pictures.hpp"

#include <QApplication>
#include <QClipboard>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QMenuBar>
#include <QMessageBox>
#include <QMimeData>
#include <QSaveFile>
#include <QStatusBar>

namespace spillway::gui {

Window::Window(Session& session, QWidget* parent) : QMainWindow(parent), session_(session) {
  setWindowTitle("spillway");
  setAcceptDrops(true);
  auto* whole = new QWidget;
  auto* columns = new QHBoxLayout(whole);
  columns->setContentsMargins(0, 0, 0, 0);
  columns->setSpacing(0);
  list_ = new QListWidget;
  list_->setObjectName("pages");
  list_->setAccessibleName("Pages");
  list_->setFrameShape(QFrame::NoFrame);
  list_->setFixedWidth(116);
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  stack_ = new QStackedWidget;
  columns->addWidget(list_);
  auto* line = new QFrame;
  line->setFrameShape(QFrame::VLine);
  line->setForegroundRole(QPalette::Mid);
  columns->addWidget(line);
  columns->addWidget(stack_, 1);
  setCentralWidget(whole);
  status_ = new QLabel;
  statusBar()->addWidget(status_, 1);
  statusBar()->setSizeGripEnabled(false);
  make_pages();
  make_menus();
  connect(&session_, &Session::opened, this, [this](const QString& page, const QString& what) {
    show_page(page);
    statusBar()->showMessage("Opened " + what, 4000);
  });
  connect(&session_, &Session::refused, this,
          [this](const QString& sentence) { statusBar()->showMessage(sentence, 15000); });
  connect(&session_, &Session::told, this,
          [this](const QString& sentence) { statusBar()->showMessage(sentence, 8000); });
  connect(&session_, &Session::status_changed, this, &Window::show_status);
  resize(1280, 860);
  go_to(0);
  show_status();
}

void Window::make_pages() {
  for (const PageEntry& entry : pages()) {
    auto* item = new QListWidgetItem(entry.title, list_);
    item->setToolTip(entry.summary);
    item->setSizeHint(QSize(100, fontMetrics().height() + 16));
    Page* page = entry.make(session_, stack_);
    page->setAccessibleName(entry.title);
    pages_.push_back(page);
    stack_->addWidget(page);
  }
  connect(list_, &QListWidget::currentRowChanged, this, &Window::go_to);
}

void Window::go_to(int index) {
  if (index < 0 || index >= stack_->count()) return;
  if (list_->currentRow() != index) list_->setCurrentRow(index);
  if (stack_->currentIndex() != index) stack_->setCurrentIndex(index);
  pages_[static_cast<std::size_t>(index)]->shown();
  if (!list_->hasFocus())
    pages_[static_cast<std::size_t>(index)]->first_field()->setFocus(Qt::ShortcutFocusReason);
}

bool Window::show_page(const QString& name) {
  for (std::size_t i = 0; i < pages().size(); ++i)
    if (name == pages()[i].name) {
      go_to(static_cast<int>(i));
      return true;
    }
  return false;
}

Page* Window::page() const { return pages_[static_cast<std::size_t>(stack_->currentIndex())]; }

Page* Window::page_named(const QString& name) const {
  for (std::size_t i = 0; i < pages().size(); ++i)
    if (name == pages()[i].name) return pages_[i];
  return nullptr;
}

bool Window::idle() const {
  bool idle = session_.idle();
  for (const Page* one : pages_) idle = idle && !one->busy();
  return idle;
}

QAction* Window::add(QMenu* menu, const QString& text, const QKeySequence& key, const QString& hint,
                     const std::function<void()>& act) {
  QAction* action = menu->addAction(text);
  action->setShortcut(key);
  action->setStatusTip(hint);
  action->setToolTip(hint);
  connect(action, &QAction::triggered, this, act);
  return action;
}

void Window::make_menus() {
  QMenu* file = menuBar()->addMenu("&File");
  add(file, "&Open ...", QKeySequence::Open, "A scenario, result, trace, validation or database",
      [this] { open_dialog(); });
  add(file, "&Save the scenario ...", QKeySequence::Save, "What is asked, as a scenario file",
      [this] { save_scenario(); });
  add(file, "Save a &picture ...", QKeySequence("Ctrl+Shift+S"), "The page as PNG, SVG or PDF",
      [this] { save_picture(); });
  add(file, "Write a &report ...", QKeySequence("Ctrl+R"), "One page of HTML about the answer",
      [this] { save_report(); });
  file->addSeparator();
  add(file, "&Quit", QKeySequence::Quit, "Closes the window", [this] { close(); });
  QMenu* edit = menuBar()->addMenu("&Edit");
  QAction* undo = session_.undo_stack().createUndoAction(this, "&Undo");
  undo->setShortcut(QKeySequence::Undo);
  QAction* redo = session_.undo_stack().createRedoAction(this, "&Redo");
  redo->setShortcut(QKeySequence("Ctrl+Shift+Z"));
  undo->setStatusTip("Takes the last change of the question back");
  redo->setStatusTip("Makes the change again that was taken back");
  edit->addAction(undo);
  edit->addAction(redo);
  edit->addSeparator();
  add(edit, "Copy as &command", QKeySequence("Ctrl+Shift+C"), "What people would type for this",
      [this] { copy(page()->command(), "the command"); });
  add(edit, "Copy as &scenario", QKeySequence("Ctrl+Shift+J"), "The question as JSON", [this] {
    const nlohmann::json answered = session_.answered_scenario();
    const nlohmann::json asked = session_.question().searches() && answered.is_object()
                                     ? answered
                                     : scenario_of(session_.question());
    copy(QString::fromStdString(asked.dump(2)), "the scenario");
  });
  add(edit, "Copy as &text", QKeySequence("Ctrl+Shift+T"), "What the page says",
      [this] { copy(page()->text(), "the page"); });
  QMenu* answer = menuBar()->addMenu("&Answer");
  add(answer, "&Pin", QKeySequence("Ctrl+P"), "Compare what comes with this answer",
      [this] { session_.pin(); });
  add(answer, "&Unpin", QKeySequence(), "Compares with nothing any more",
      [this] { session_.unpin(); });
  add(answer, "&Timeline of this answer", QKeySequence("Ctrl+T"), "What happens when", [this] {
    session_.ask_trace();
    show_page("timeline");
  });
  add(answer, "&Ask again", QKeySequence::Refresh, "As after a start", [this] { session_.ask(); });
  QMenu* go = menuBar()->addMenu("&Go");
  for (std::size_t i = 0; i < pages().size(); ++i)
    add(go, pages()[i].title, QKeySequence(QString("Ctrl+%1").arg(i + 1)), pages()[i].summary,
        [this, i] { go_to(static_cast<int>(i)); });
  QMenu* help = menuBar()->addMenu("&Help");
  add(help, "&Every command ...", QKeySequence("Ctrl+K"), "Find a command by typing",
      [this] { show_palette(); });
  add(help, "&Keys", QKeySequence(Qt::Key_F1), "Every key of the window", [this] { show_keys(); });
}

QList<QAction*> Window::all_actions() const {
  QList<QAction*> all;
  for (const QAction* menu : menuBar()->actions())
    for (QAction* action : menu->menu()->actions())
      if (!action->isSeparator()) all << action;
  return all;
}

void Window::show_palette() {
  PaletteDialog dialog(all_actions(), this);
  dialog.exec();
}

void Window::show_keys() {
  QString text = "<table cellspacing=6>";
  for (const QAction* action : all_actions())
    if (!action->shortcut().isEmpty())
      text += QString("<tr><td><b>%1</b></td><td>%2</td></tr>")
                  .arg(action->shortcut().toString(), action->text().remove('&'));
  text +=
      "<tr><td><b>W S A D</b></td><td>Timeline: zoom, pan</td></tr>"
      "<tr><td><b>F</b></td><td>Timeline: the step, the whole</td></tr>"
      "<tr><td><b>Ctrl+F</b></td><td>Timeline: search</td></tr>"
      "<tr><td><b>Alt+T</b></td><td>Timelines: which tracks are shown</td></tr></table>";
  QMessageBox::information(this, "Keys", text);
}

void Window::open_dialog() {
  const QStringList files = QFileDialog::getOpenFileNames(
      this, "Open", QString(), "All kinds (*.json *.json.gz *.db *.sqlite);;All files (*)");
  session_.open(files);
}

void Window::save_scenario() {
  const QString path =
      QFileDialog::getSaveFileName(this, "Save the scenario", "scenario.json", "Scenario (*.json)");
  if (path.isEmpty()) return;
  const nlohmann::json answered = session_.answered_scenario();
  const nlohmann::json scenario = session_.question().searches() && answered.is_object()
                                      ? answered
                                      : scenario_of(session_.question());
  QSaveFile file(path);
  const QByteArray text = QByteArray::fromStdString(scenario.dump(2) + "\n");
  const bool written =
      file.open(QIODevice::WriteOnly) && file.write(text) == text.size() && file.commit();
  statusBar()->showMessage(written ? "Wrote " + path : path + ": " + file.errorString(), 8000);
}

void Window::save_report() {
  const QString path =
      QFileDialog::getSaveFileName(this, "Write a report", "report.html", "Page (*.html)");
  if (!path.isEmpty()) session_.write_report(path);
}

void Window::save_picture() {
  const QString path = QFileDialog::getSaveFileName(this, "Save a picture", "spillway.png",
                                                    "Pictures (*.png *.svg *.pdf)");
  if (path.isEmpty()) return;
  const QString trouble = write_picture(*page(), path);
  statusBar()->showMessage(trouble.isEmpty() ? "Wrote " + path : trouble, 8000);
}

void Window::copy(const QString& text, const QString& what) {
  QApplication::clipboard()->setText(text);
  statusBar()->showMessage("Copied " + what, 4000);
}

void Window::show_status() {
  const Answer& answer = session_.answer();
  QString text = "Ready";
  if (!session_.idle())
    text = answer.approximate() ? "Working it out; ~ is not exact yet" : "Working";
  if (answer.state == Answer::State::failed && session_.idle()) text = "No answer";
  status_->setText(text);
  status_->setAccessibleName("State: " + text);
}

void Window::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void Window::dropEvent(QDropEvent* event) {
  QStringList files;
  for (const QUrl& url : event->mimeData()->urls())
    if (url.isLocalFile()) files << url.toLocalFile();
  event->acceptProposedAction();
  session_.open(files);
}

}  // namespace spillway::gui
