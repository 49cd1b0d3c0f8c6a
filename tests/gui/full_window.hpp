#pragma once

#include "gui/app/window.hpp"
#include "gui/page/setting_rows.hpp"
#include "tests/gui/sample_space.hpp"
#include "tests/gui/until.hpp"

#include <gtest/gtest.h>
#include <QTemporaryDir>

namespace spillway::gui {

/// A window whose every page has something to show.
class FullWindow : public testing::Test {
 public:
  void SetUp() override {
    window_.resize(1280, 860);
    window_.show();
    const QString database = folder_.filePath("space.db");
    write_space(database.toStdString(), 60);
    session_.open({SPILLWAY_SOURCE_DIR "/scenarios/examples/tiny.json", database});
    ASSERT_TRUE(until([&] { return window_.idle() && session_.answer().result; }));
    session_.add_contender("one", *session_.answer().result);
    session_.add_contender("other", *session_.answer().result);
    session_.ask_trace();
    ASSERT_TRUE(until([&] { return window_.idle() && session_.trace(); }));
  }
  /// Shows the settings of What-if that have no field of their own.
  void unfold() {
    show("what-if");
    for (SettingRows* one : window_.page()->findChildren<SettingRows*>())
      one->button()->setChecked(true);
    until([&] { return window_.idle() && !session_.answer().settings.empty(); }, 60'000);
    QCoreApplication::processEvents();
  }
  /// The question of somebody's own box, in which all fields are shown.
  void ask_of_parts() {
    Question question;
    question.box.gpu = "RTX PRO 6000";
    question.box.card_link = {4, 16, 0};
    question.box.further_drive = "D5-P5336 61.44TB";
    question.box.further_drives = 2;
    question.sequence = 8192;
    session_.change(question, "a box of parts");
    show("what-if");
    ASSERT_TRUE(until([&] { return window_.idle() && session_.answer().result; }, 60'000));
  }
  void show(const QString& page) {
    window_.show_page(page);
    until([&] { return window_.idle(); });
    QCoreApplication::processEvents();
  }

  QTemporaryDir folder_;
  Session session_;
  Window window_{session_};
};

}  // namespace spillway::gui
