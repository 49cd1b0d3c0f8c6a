// A time span that is marked on the timeline, and what was held in it.
#include "gui/model/memory_tree.hpp"
#include "gui/page/timeline.hpp"
#include "tests/gui/full_window.hpp"
#include "tests/gui/sample_trace.hpp"

#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QPushButton>
#include <QTest>
#include <QTreeView>

namespace spillway::gui {
namespace {

std::uint64_t bytes(const QModelIndex& index) {
  return index.data(MemoryTree::bytes_role).toULongLong();
}

TEST(Series, FindsWhereItIsLargestInASpan) {
  const Series series{"a", {{10, 3}, {20, 7}, {30, 5}}, 7};
  EXPECT_EQ(series.most(0, 10).value, 0u);
  EXPECT_EQ(series.most(0, 11).value, 3u);
  EXPECT_EQ(series.most(0, 100).at, 20);
  EXPECT_EQ(series.most(25, 30).value, 7u);  // still held from before
  EXPECT_EQ(series.most(35, 40).value, 5u);
}

TEST(MemoryTree, HoldsWhatTiersHadInASpan) {
  const Trace trace = two_ranks();
  MemoryTree tree;
  const QAbstractItemModelTester checker(&tree,
                                         QAbstractItemModelTester::FailureReportingMode::Fatal);
  tree.set(trace, one_second, one_second + one_second / 4);
  ASSERT_EQ(tree.rowCount(), 2);
  const QModelIndex gpu = tree.index(0, 0), host = tree.index(1, 0);
  EXPECT_EQ(gpu.data().toString(), "GPU 0");  // the fullest of two
  EXPECT_EQ(bytes(gpu), 400u);
  EXPECT_EQ(tree.index(0, 0, gpu).data().toString(), "weights");
  EXPECT_EQ(bytes(tree.index(1, 0, gpu)), 100u);
  EXPECT_EQ(bytes(host), 800u);
  tree.set(trace, 0, one_second / 2);  // before any activations
  EXPECT_EQ(bytes(tree.index(0, 0)), 300u);
  EXPECT_EQ(tree.rowCount(tree.index(0, 0)), 1);
}

class MarkedSpan : public FullWindow {
 public:
  Timeline* timeline() { return window_.page_named("timeline")->findChild<Timeline*>(); }
  QString verdict() {
    show("memory");
    return window_.page()->text();
  }
};

TEST_F(MarkedSpan, OfTheWholeRunHoldsWhatItsResultSays) {
  const result::Result& result = *session_.answer().result;
  const Trace& trace = *session_.trace();
  MemoryTree tree;
  tree.set(trace, trace.begin, trace.end + 1);
  std::map<std::string, std::uint64_t> totals;
  for (int i = 0; i < tree.rowCount(); ++i)
    totals[tree.index(i, 0).data(MemoryTree::key_role).toString().toStdString()] +=
        bytes(tree.index(i, 0));
  EXPECT_EQ(totals["gpu"], result.gpu.total);
  EXPECT_EQ(totals["host"], result.host.total);
  EXPECT_EQ(totals["ssd"], result.ssd.total);
  EXPECT_EQ(tree.index(0, MemoryTree::phase).data().toString().toStdString(), result.gpu.phase);
}

TEST_F(MarkedSpan, IsWhatMemoryShowsUntilItIsLetGo) {
  const QString whole = verdict();
  show("timeline");
  const Instant from = session_.trace()->begin, to = from + 1000;  // nothing but the start is held
  timeline()->mark(std::make_pair(from, to));
  EXPECT_EQ(session_.marked(), timeline()->marked());
  EXPECT_TRUE(window_.page()->text().contains("Memory shows what was held in it"));
  EXPECT_TRUE(verdict().contains("within the marked")) << verdict().toStdString();
  auto* which = window_.page()->findChild<QComboBox*>();
  EXPECT_EQ(which->currentText(), "The marked time span");
  which->setCurrentIndex(0);  // another result may be looked at meanwhile
  EXPECT_FALSE(window_.page()->text().contains("within the marked"));
  which->setCurrentIndex(which->count() - 1);
  for (auto* button : window_.page()->findChildren<QPushButton*>())
    if (button->text() == "Show the &whole run") button->click();
  EXPECT_FALSE(session_.marked());
  EXPECT_FALSE(timeline()->marked());
  EXPECT_EQ(verdict().toStdString(), whole.toStdString());
}

TEST_F(MarkedSpan, EndsWithItsTrace) {
  show("timeline");
  timeline()->mark(std::make_pair(Instant{0}, one_second));
  QTest::keyClick(timeline(), Qt::Key_Escape);
  EXPECT_FALSE(session_.marked());
  timeline()->mark(std::make_pair(Instant{0}, one_second));
  Question next = session_.question();
  next.sequence = 2 * next.sequence;
  session_.change(next, "a longer sequence");
  ASSERT_TRUE(until([&] { return window_.idle() && !session_.trace_is_old(); }));
  EXPECT_FALSE(session_.marked());
  EXPECT_FALSE(verdict().contains("within the marked"));
}

}  // namespace
}  // namespace spillway::gui
