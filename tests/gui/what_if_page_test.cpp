// The page of What-if while one answer follows another.
#include "gui/app/window.hpp"
#include "tests/gui/until.hpp"

#include <gtest/gtest.h>
#include <QLabel>
#include <QPushButton>

namespace spillway::gui {
namespace {

class WhatIf : public testing::Test {
 public:
  void SetUp() override { window_.show(); }
  void ask(const Question& question) { session_.change(question, "a question"); }
  bool answered() {
    return until([&] { return window_.idle() && !session_.answer().approximate(); }, 90'000);
  }
  QString label(const QString& name) {
    for (const QLabel* one : window_.page()->findChildren<QLabel*>())
      if (one->accessibleName().startsWith(name) && one->isVisible()) return one->text();
    return {};
  }
  /// What the buttons of changes say.
  QStringList offers() {
    QStringList all;
    for (const QPushButton* one : window_.page()->findChildren<QPushButton*>())
      if (one->isVisible() && one->toolTip().contains("undo takes it back"))
        all << one->text();
    return all;
  }

  Session session_;
  Window window_{session_};
};

TEST_F(WhatIf, OffersNothingOfTheQuestionBefore) {
  session_.ask();
  ASSERT_TRUE(answered());
  ASSERT_EQ(offers().size(), 1) << offers().join('\n').toStdString();
  Question next = session_.question();
  next.model = "llama-3.1-70b";
  QStringList verdicts;
  QObject::connect(&session_, &Session::answer_changed, &window_, [&] {
    if (!session_.answer().approximate()) return;
    EXPECT_EQ(offers().join('\n').toStdString(), "");
    verdicts << label("Verdict");
  });
  ask(next);
  ASSERT_TRUE(answered());
  ASSERT_FALSE(verdicts.isEmpty());
  for (const QString& verdict : verdicts)
    EXPECT_FALSE(verdict.contains("Does not fit")) << verdict.toStdString();
}

}  // namespace
}  // namespace spillway::gui
