#include "gui/app/window.hpp"
#include "gui/page/explore.hpp"
#include "tests/gui/small_space.hpp"
#include "tests/gui/until.hpp"
#include "tests/long_test.hpp"

#include <gtest/gtest.h>
#include <QTemporaryDir>
#include <QTest>

namespace spillway::gui {
namespace {

/// The page, whose fields name a small space and a database in a folder of its own.
class SearchPage : public testing::Test {
 public:
  void SetUp() override {
    window_.show();
    ASSERT_TRUE(window_.show_page("explore"));
    field<QComboBox>("Space to search")->setEditText(folder_.filePath("small.json"));
    type("Database to write", folder_.filePath("small.db"));
    field<QSpinBox>("Simulations at a time")->setValue(1);
  }
  template <class Widget>
  Widget* field(const char* name) const {
    for (auto* one : window_.page_named("explore")->findChildren<Widget*>())
      if (one->accessibleName() == name) return one;
    return nullptr;
  }
  void type(const char* name, const QString& text) const {
    auto* line = field<QLineEdit>(name);
    line->selectAll();
    QTest::keyClicks(line, text);
  }
  QPushButton* button(const QString& text) const {
    for (auto* one : window_.page_named("explore")->findChildren<QPushButton*>())
      if (one->text().remove('&') == text) return one;
    return nullptr;
  }
  bool appears(const QString& text) const {
    return until([&] { return button(text)->isVisible(); });
  }
  void click(const QString& text) const { QTest::mouseClick(button(text), Qt::LeftButton); }
  QString said() const { return field<QLabel>("What it will take and write")->text(); }
  QTableView* table() const { return window_.page_named("explore")->findChild<QTableView*>(); }
  int rows() const { return table()->model()->rowCount(); }

  QTemporaryDir folder_;
  Session session_;
  Window window_{session_};
};

TEST_F(SearchPage, StartsShowsStopsResumesAndFinishes) {
  LONG_TEST();
  write_small_space(folder_.filePath("small.json"), 200);
  EXPECT_FALSE(button("Resume")->isVisible());
  click("Search ...");
  ASSERT_TRUE(appears("Write and search")) << said().toStdString();
  EXPECT_TRUE(said().contains("Writes " + folder_.filePath("small.db"))) << said().toStdString();
  EXPECT_FALSE(button("Search ...")->isEnabled());
  QTest::keyClick(button("Write and search"), Qt::Key_Space);
  ASSERT_TRUE(until([&] { return rows() > 0; })) << said().toStdString();
  EXPECT_TRUE(button("Stop")->isVisible()) << "points are seen while they are found";
  ASSERT_TRUE(until([&] { return said().contains(" left, front "); })) << said().toStdString();
  click("Stop");
  ASSERT_TRUE(appears("Resume")) << said().toStdString();
  EXPECT_TRUE(said().contains("Resume goes on")) << said().toStdString();
  ASSERT_TRUE(until([&] { return window_.idle(); }));
  const int kept = rows();
  EXPECT_LT(kept, 400);
  click("Resume");
  EXPECT_TRUE(button("Stop")->isVisible());
  ASSERT_TRUE(until([&] { return rows() == 400 && !button("Stop")->isVisible(); }, 100'000))
      << rows() << " of " << kept << said().toStdString();
  EXPECT_TRUE(until([&] { return !button("Resume")->isVisible(); })) << "nothing is left";
  EXPECT_TRUE(button("Search ...")->isEnabled());
  EXPECT_FALSE(button("Write and search")->isVisible());
  EXPECT_TRUE(said().startsWith("small: 400 points; ")) << said().toStdString();
}

TEST_F(SearchPage, ShowsWhatIsWrongWithTheSpace) {
  click("Search ...");
  ASSERT_TRUE(until([&] { return said().contains("small.json"); })) << said().toStdString();
  EXPECT_TRUE(until([&] { return !button("Stop")->isVisible(); }));
  EXPECT_TRUE(button("Search ...")->isEnabled());
  EXPECT_FALSE(button("Resume")->isVisible());
}

TEST_F(SearchPage, OpensAPointThatIsNotOnTheFront) {
  write_small_space(folder_.filePath("small.json"), 2);
  click("Search ...");
  ASSERT_TRUE(appears("Write and search")) << said().toStdString();
  click("Write and search");
  ASSERT_TRUE(until([&] { return rows() == 4 && !button("Stop")->isVisible(); }))
      << said().toStdString();
  int other = 0;
  while (table()->model()->index(other, 1).data() == "front") ++other;
  ASSERT_LT(other, rows());
  const QString system = table()->model()->index(other, 4).data().toString();
  table()->selectRow(other);
  QTest::keyClick(table(), Qt::Key_Return);
  ASSERT_TRUE(until([&] { return window_.page() == window_.page_named("what-if"); }));
  EXPECT_EQ(session_.question().system, system.toStdString());
  EXPECT_EQ(session_.question().model, "gpt2");
}

TEST_F(SearchPage, ProposesADatabaseForASpaceAndKeepsOneThatWasNamed) {
  EXPECT_EQ(field<QLineEdit>("Database to write")->text(), folder_.filePath("small.db"));
  field<QComboBox>("Space to search")->setEditText("dram_or_ssd");
  EXPECT_EQ(field<QLineEdit>("Database to write")->text(), folder_.filePath("small.db"));
  field<QLineEdit>("Database to write")->clear();
  EXPECT_FALSE(button("Search ...")->isEnabled());
  field<QComboBox>("Space to search")->setEditText("million_boxes");
  EXPECT_TRUE(field<QLineEdit>("Database to write")->text().endsWith("/million_boxes.db"));
  EXPECT_TRUE(button("Search ...")->isEnabled());
}

/// Or the next search would put one space's points into the database of another.
TEST_F(SearchPage, ADatabaseThatIsOpenedLeavesTheSpaceToItsReader) {
  write_small_space(folder_.filePath("small.json"), 1);
  click("Search ...");
  ASSERT_TRUE(appears("Write and search")) << said().toStdString();
  click("Write and search");
  ASSERT_TRUE(until([&] { return rows() > 0 && button("Search ...")->isEnabled(); }));
  const QString other = folder_.filePath("other.db");
  ASSERT_TRUE(QFile::copy(folder_.filePath("small.db"), other));
  session_.watch_database(other);
  EXPECT_TRUE(until([&] { return field<QLineEdit>("Database to write")->text() == other; }));
  EXPECT_EQ(field<QComboBox>("Space to search")->currentText(), "");
  EXPECT_FALSE(button("Search ...")->isEnabled());
}

TEST_F(SearchPage, IsReachedByKeysInItsOrder) {
  auto* at = static_cast<QWidget*>(field<QComboBox>("Space to search"));
  QStringList order;
  for (int i = 0; i < 12 && !order.contains("Search ..."); ++i) {
    at = at->nextInFocusChain();
    while (!(at->focusPolicy() & Qt::TabFocus) || !at->isVisible()) at = at->nextInFocusChain();
    auto* pressed = qobject_cast<QPushButton*>(at);
    order << (at->accessibleName().isEmpty() && pressed ? pressed->text().remove('&')
                                                        : at->accessibleName());
  }
  EXPECT_TRUE(order.contains("Choose a space file")) << order.join(", ").toStdString();
  EXPECT_TRUE(order.contains("Choose a database file")) << order.join(", ").toStdString();
  EXPECT_TRUE(order.contains("Time limit")) << order.join(", ").toStdString();
  EXPECT_TRUE(order.contains("Search ...")) << order.join(", ").toStdString();
  EXPECT_FALSE(order.contains("")) << order.join(", ").toStdString();
}

}  // namespace
}  // namespace spillway::gui
