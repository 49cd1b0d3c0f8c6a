// The program as people start it, without a display.
#include <gtest/gtest.h>
#include <QFileInfo>
#include <QImage>
#include <QProcess>
#include <QTemporaryDir>

#include <cstdlib>

namespace spillway::gui {
namespace {

struct Ended {
  int code = -1;
  QString said;
};

Ended run(const QStringList& words, const QString& platform) {
  QProcess program;
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"})
    environment.remove(name);
  if (!platform.isEmpty()) environment.insert("QT_QPA_PLATFORM", platform);
  program.setProcessEnvironment(environment);
  program.start(SPILLWAY_PROGRAM, QStringList{"gui"} + words);
  if (!program.waitForFinished(90'000) || program.exitStatus() != QProcess::NormalExit) return {};
  return {program.exitCode(), QString::fromUtf8(program.readAllStandardError())};
}

TEST(Program, SaysWhatToDoWithoutADisplay) {
  const Ended ended = run({}, "");
  EXPECT_EQ(ended.code, 3) << ended.said.toStdString();
  EXPECT_TRUE(ended.said.contains("no display")) << ended.said.toStdString();
  EXPECT_TRUE(ended.said.contains("--screenshot")) << ended.said.toStdString();
  EXPECT_EQ(ended.said.count('\n'), 1) << ended.said.toStdString();
}

TEST(Program, RefusesOptionsThatMeanNothing) {
  for (const QStringList& words : {QStringList{"--page", "what"}, QStringList{"--theme", "sepia"},
                                   QStringList{"--size", "big"}, QStringList{"--size", "0x100"},
                                   QStringList{"--size", "1280x860x2"}}) {
    const Ended ended = run(words, "offscreen");
    EXPECT_EQ(ended.code, 2) << words.join(' ').toStdString();
    EXPECT_TRUE(ended.said.contains(words.last())) << ended.said.toStdString();
  }
}

TEST(Program, MakesAPictureOfTheSizeThatIsAsked) {
  const QTemporaryDir folder;
  const QString picture = folder.filePath("page.png");
  const Ended ended = run({SPILLWAY_SOURCE_DIR "/scenarios/examples/tiny.json", "--page", "memory",
                           "--size", "1000x700", "--screenshot", picture},
                          "");
  EXPECT_EQ(ended.code, 0) << ended.said.toStdString();
  EXPECT_EQ(QImage(picture).width(), 1000);
}

}  // namespace
}  // namespace spillway::gui
