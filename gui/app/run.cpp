#include "gui/app/pictures.hpp"
#include "gui/app/window.hpp"
#include "gui/chart/palette.hpp"

#include <QApplication>
#include <QCommandLineParser>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QIcon>
#include <QStyleFactory>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace spillway::gui {

namespace {

constexpr int longest_wait_ms = 90'000;

constexpr int device_is_missing = 3;  // as the exit codes of spillway are

/// What Qt says of a platform without windows is of no use to anybody. Where it finds no display it
/// would abort, and advise to install it anew.
void without_platform_chatter(QtMsgType kind, const QMessageLogContext&, const QString& text) {
  for (const char* chatter : {"propagateSizeHints", "XDG_RUNTIME_DIR", "connect to display",
                              "Could not load the Qt platform plugin"})
    if (text.contains(chatter)) return;
  if (kind == QtFatalMsg && text.contains("no Qt platform plugin could be initialized")) {
    std::fprintf(stderr,
                 "spillway-gui: there is no display to open a window on. With --page NAME "
                 "--screenshot FILE it makes a picture without one, \"spillway report\" a page "
                 "for a browser; over ssh, -X brings the display.\n");
    std::_Exit(device_is_missing);
  }
  if (kind != QtDebugMsg) std::fprintf(stderr, "spillway-gui: %s\n", qUtf8Printable(text));
}

/// A picture needs no display; Qt asks before it reads options.
bool wants_picture(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (std::strncmp(argv[i], "--screenshot", 12) == 0) return true;
  return false;
}

QString page_names() {
  QStringList names;
  for (const PageEntry& entry : pages()) names << entry.name;
  return names.join(", ");
}

int refuse(const QString& sentence) {
  std::fprintf(stderr, "spillway-gui: %s\n", qUtf8Printable(sentence));
  return 2;
}

/// Lets events happen until nothing is worked out or read any more.
bool wait_until_idle(const Window& window) {
  QElapsedTimer clock;
  clock.start();
  int quiet = 0;
  while (clock.elapsed() < longest_wait_ms) {
    QApplication::processEvents(QEventLoop::AllEvents, 20);
    quiet = window.idle() ? quiet + 1 : 0;
    if (quiet > 3) return true;
    if (window.idle())
      QApplication::processEvents();
    else
      QApplication::processEvents(QEventLoop::WaitForMoreEvents, 20);
  }
  return false;
}

void set_style(const QString& theme) {
  QApplication::setStyle(QStyleFactory::create("Fusion"));
  const bool dark = theme == "dark" || (theme != "light" && is_dark(QApplication::palette()));
  QApplication::setPalette(program_palette(dark));
  qApp->setStyleSheet(
      "QListWidget#pages { background: palette(window); outline: 0; padding-top: 8px; }"
      "QListWidget#pages::item { padding-left: 12px; border: 0; }"
      "QListWidget#pages::item:selected { background: palette(highlight);"
      " color: palette(highlighted-text); }");
}

struct Options {
  QString page, picture, theme;
  QSize size;  ///< invalid: as it comes
  QStringList files;
};

/// "1280x860"; nothing for what is no size of a window.
std::optional<QSize> size_in(const QString& text) {
  constexpr int most = 16'384;  // what a picture of it can be
  const QStringList sides = text.split('x');
  if (sides.size() != 2) return std::nullopt;
  const QSize size(sides[0].toInt(), sides[1].toInt());
  const bool possible =
      size.width() > 0 && size.height() > 0 && size.width() <= most && size.height() <= most;
  return possible ? std::optional(size) : std::nullopt;
}

/// What is wrong with the options; "" for nothing.
QString complaint_about(const Options& options, const QString& size) {
  QStringList names;
  for (const PageEntry& entry : pages()) names << entry.name;
  if (!options.page.isEmpty() && !names.contains(options.page))
    return QString("no page \"%1\"; known: %2").arg(options.page, page_names());
  if (!QStringList({"", "light", "dark"}).contains(options.theme))
    return QString("no theme \"%1\"; known: light, dark").arg(options.theme);
  if (!size.isEmpty() && !size_in(size))
    return QString("\"%1\" is no size of a window; write 1280x860").arg(size);
  return {};
}

int take_picture(Window& window, Session& session, const Options& options) {
  QString refusal;
  QObject::connect(&session, &Session::refused, &window,
                   [&refusal](const QString& sentence) { refusal = sentence; });
  window.show();
  wait_until_idle(window);
  if (!refusal.isEmpty()) return refuse(refusal);
  if (!options.page.isEmpty()) window.show_page(options.page);
  wait_until_idle(window);
  if (!refusal.isEmpty()) return refuse(refusal);
  const QString trouble = write_picture(window, options.picture);
  return trouble.isEmpty() ? 0 : refuse(trouble);
}

}  // namespace

int run(int argc, char** argv) {
  qInstallMessageHandler(without_platform_chatter);
  if (wants_picture(argc, argv) && qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM"))
    qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication app(argc, argv);
  QApplication::setApplicationName("spillway-gui");
  QApplication::setApplicationDisplayName("spillway");
  QApplication::setDesktopFileName("spillway-gui");
  QApplication::setWindowIcon(QIcon::fromTheme("spillway"));
  QCommandLineParser parser;
  parser.setApplicationDescription(
      "Will a model train on a box, how fast, when do the drives wear out.");
  parser.addPositionalArgument("FILE", "scenario, result, trace, validation or database",
                               "[FILE...]");
  parser.addOption({"page", "shows that page: " + page_names(), "NAME"});
  parser.addOption({"screenshot", "writes a picture (PNG, SVG, PDF) and ends", "FILE"});
  parser.addOption({"size", "of the window, as 1280x860", "WxH"});
  parser.addOption({"theme", "light or dark; else as the desktop", "NAME"});
  parser.addHelpOption();
  parser.process(app);
  Options options{parser.value("page"),
                  parser.value("screenshot"),
                  parser.value("theme"),
                  {},
                  parser.positionalArguments()};
  if (const QString wrong = complaint_about(options, parser.value("size")); !wrong.isEmpty())
    return refuse(wrong);
  if (const auto size = size_in(parser.value("size"))) options.size = *size;
  set_style(options.theme);
  Session session;
  Window window(session);
  if (options.size.isValid()) window.resize(options.size);
  if (!options.files.isEmpty())
    session.open(options.files);
  else
    session.ask();
  if (!options.page.isEmpty()) window.show_page(options.page);
  if (!options.picture.isEmpty()) return take_picture(window, session, options);
  window.show();
  return QApplication::exec();
}

}  // namespace spillway::gui
