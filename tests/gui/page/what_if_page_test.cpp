// The page of What-if while one answer follows another.
#include "gui/app/window.hpp"
#include "gui/page/sentence_button.hpp"
#include "gui/page/tile_layout.hpp"
#include "tests/gui/until.hpp"
#include "tests/long_test.hpp"

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
        all << one->accessibleName();
    return all;
  }

  Session session_;
  Window window_{session_};
};

TEST_F(WhatIf, OffersNothingOfTheQuestionBefore) {
  LONG_TEST();
  session_.ask();
  ASSERT_TRUE(answered());
  ASSERT_FALSE(offers().isEmpty());
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

TEST(SentenceButton, TakesAsManyLinesAsItsWidthNeeds) {
  const QString sentence = "What helps most: a sentence of many words, A & B among them, in lines";
  SentenceButton button(sentence);
  button.resize(900, button.heightForWidth(900));
  button.show();
  EXPECT_FALSE(button.text().contains('\n'));
  const int one_line = button.height();
  button.resize(200, button.heightForWidth(200));
  EXPECT_TRUE(button.text().contains('\n'));
  EXPECT_GT(button.height(), one_line);
  EXPECT_EQ(QString(button.text()).replace('\n', ' ').replace("&&", "&"), sentence);
  EXPECT_EQ(button.accessibleName(), sentence);
  EXPECT_LE(button.minimumSizeHint().width(), 200);
}

TEST(TileLayout, TakesRowsWhereOneHasNoRoom) {
  QWidget whole;
  auto* layout = new TileLayout(10);
  whole.setLayout(layout);
  std::vector<QWidget*> tiles;
  for (int i = 0; i < 5; ++i) {
    tiles.push_back(new QWidget);
    tiles.back()->setMinimumSize(100, 40);
    layout->addWidget(tiles.back());
  }
  EXPECT_EQ(layout->heightForWidth(540), 40);   // 5 x 100 + 4 x 10
  EXPECT_EQ(layout->heightForWidth(539), 90);   // rows of three
  EXPECT_EQ(layout->heightForWidth(319), 140);  // of two
  whole.resize(320, 90);
  whole.show();
  EXPECT_EQ(tiles[2]->geometry(), QRect(220, 0, 100, 40));
  EXPECT_EQ(tiles[3]->geometry(), QRect(0, 50, 100, 40));
}

}  // namespace
}  // namespace spillway::gui
