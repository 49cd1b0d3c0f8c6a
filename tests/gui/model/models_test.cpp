// Models alone, each watched by Qt's own checker.
#include "gui/model/machine_table.hpp"
#include "gui/model/memory_tree.hpp"
#include "gui/model/summary.hpp"
#include "gui/model/text_table.hpp"
#include "gui/model/validation_table.hpp"
#include "scenarios/document/read_machine.hpp"

#include <gtest/gtest.h>
#include <QAbstractItemModelTester>
#include <QDateTime>

#include <cmath>

namespace spillway::gui {
namespace {

using Checker = QAbstractItemModelTester;
using nlohmann::json;

result::Result sample() {
  result::Result result;
  result.scenario = json::object();
  result.system = "zero_infinity";
  result.step_time_s = 10;
  result.forward_s = 2;
  result.backward_s = 5;
  result.update_s = 3;
  result.tokens_per_s = 400;
  result.phase_busy["forward"].gpu = 1;
  result.host.total = 3ull << 30;
  result.host.capacity = 4ull << 30;
  result.host.phase = "update";
  result.host.by_purpose = {{"parameter_pool", 1ull << 30}, {"gradient_flat_buffer", 2ull << 30}};
  result.host.entries = {{0, "gradient_flat_buffer", 2, 1ull << 30, 1ull << 30, true, "init"}};
  return result;
}

TEST(MemoryTree, HasTiersThenPurposesByTheirSizeThenBuffers) {
  MemoryTree tree;
  const Checker checker(&tree, Checker::FailureReportingMode::Fatal);
  const result::Result result = sample();
  tree.set(&result);
  ASSERT_EQ(tree.rowCount(), 1);
  const QModelIndex host = tree.index(0, 0);
  EXPECT_EQ(tree.index(0, MemoryTree::share).data().toString(), "75.0 %");
  ASSERT_EQ(tree.rowCount(host), 2);
  const QModelIndex largest = tree.index(0, 0, host);
  EXPECT_EQ(largest.data().toString(), "gradient_flat_buffer");
  EXPECT_EQ(largest.siblingAtColumn(MemoryTree::bytes).data().toString(), "2.00 GiB");
  ASSERT_EQ(tree.rowCount(largest), 1);
  EXPECT_EQ(tree.index(0, 0, largest).data().toString(), "2 x 1.00 GiB of rank 0, pinned");
  tree.set(nullptr);
  EXPECT_EQ(tree.rowCount(), 0);
}

TEST(TextTable, SortsNumbersAsNumbersAndKeepsSelections) {
  TextTable table;
  const Checker checker(&table, Checker::FailureReportingMode::Fatal);
  table.set({"name", "size"},
            {{text_cell("a"), number_cell("10", 10)}, {text_cell("b"), number_cell("9", 9)}, {}});
  const QPersistentModelIndex nine = table.index(1, 1);
  table.sort(1, Qt::AscendingOrder);
  EXPECT_EQ(table.index(0, 0).data().toString(), "b");
  EXPECT_EQ(nine.row(), 0);
  EXPECT_EQ(nine.data().toString(), "9");
  EXPECT_EQ(table.as_text(), "name\tsize\nb\t9\na\t10\n\t\n");
}

TEST(Summary, SaysTheAnswerInAFewWords) {
  Answer answer;
  answer.result = sample();
  answer.state = Answer::State::exact;
  EXPECT_EQ(headline_of(answer), "Fits: 10.0 s per step, 400 tokens/s");
  const auto figures = figures_of(answer, nullptr);
  ASSERT_EQ(figures.size(), 5u);
  EXPECT_EQ(figures[0].value, "10.0 s");
  EXPECT_EQ(figures[4].value, "-");
}

TEST(Summary, SaysNoOfAWayThatWasFoundForAnotherQuestionAsOfThatWay) {
  Answer answer;
  answer.result = sample();
  answer.result->infeasible.emplace();
  answer.state = Answer::State::exact;
  EXPECT_EQ(headline_of(answer), "Does not fit");
  EXPECT_EQ(mood_of(answer), Cell::Mood::bad);
  answer.way_before = "zero_infinity";
  EXPECT_EQ(headline_of(answer), "not with zero_infinity; searching for another way ...");
  EXPECT_EQ(mood_of(answer), Cell::Mood::plain);
  EXPECT_EQ(figures_of(answer, nullptr)[0].below, "");
  make_stale(answer);  // the next question is asked
  EXPECT_EQ(headline_of(answer), "Working it out ...");
  EXPECT_EQ(second_line_of(answer), "");
  answer.way_before = "lohan";
  answer.state = Answer::State::bound;
  answer.too_small = "host";
  EXPECT_EQ(headline_of(answer), "not with lohan; searching for another way ...");
  EXPECT_EQ(second_line_of(answer), "host memory is too small.");
}

TEST(Summary, SaysFirstOnWhichDayTheWarrantyEnds) {
  Answer answer;
  answer.result = sample();
  answer.state = Answer::State::exact;
  result::Wear wear;
  wear.write_bytes_per_day = 1e12;
  wear.warranty_years = 10.0 / 365;
  wear.lifetime_years = 30.0 / 365;
  answer.result->wear = wear;
  const QDate in_ten_days = QDateTime::currentDateTimeUtc().date().addDays(10);
  Figure drives = figures_of(answer, nullptr)[4];
  EXPECT_LE(std::abs(QDate::fromString(drives.value, Qt::ISODate).daysTo(in_ten_days)), 1);
  EXPECT_EQ(drives.below, "10 days, flash 30 days");
  EXPECT_EQ(drives.mood, Cell::Mood::bad);
  answer.result->wear->warranty_years = 200;  // a calendar says nothing there
  drives = figures_of(answer, nullptr)[4];
  EXPECT_EQ(drives.value, "in 200.0 years");
  EXPECT_EQ(drives.mood, Cell::Mood::plain);
}

TEST(Summary, ComparesWithWhatIsPinned) {
  Answer pinned, now;
  pinned.result = now.result = sample();
  now.result->step_time_s = 8;
  now.result->tokens_per_s = 500;
  const auto figures = figures_of(now, &pinned);
  EXPECT_EQ(figures[0].below, "-20.0 % of pinned");
  EXPECT_EQ(figures[0].mood, Cell::Mood::good);
  EXPECT_EQ(figures[1].below, "+25.0 % of pinned");
}

TEST(Summary, SharesPhasesOutOverTheStep) {
  TextTable table;
  put_phases(sample(), table);
  ASSERT_EQ(table.rowCount(), 3);
  EXPECT_EQ(table.index(1, 2).data().toString(), "50.0 %");  // 5 of 10 s
  EXPECT_EQ(table.index(0, 3).data().toString(), "50.0 %");  // GPU: 1 of 2 s
}

TEST(Summary, SaysWhyTheSecondIsSlower) {
  result::Result slow = sample();
  slow.update_s = 13;
  slow.step_time_s = 20;
  slow.tokens_per_s = 200;
  const QString why = why_slower("a", sample(), "b", slow);
  EXPECT_TRUE(why.startsWith("b trains 50.0 % fewer tokens a second")) << why.toStdString();
  EXPECT_TRUE(why.contains("10.0 s more in the update")) << why.toStdString();
  EXPECT_EQ(why_slower("a", sample(), "b", sample()), "Both train as fast.");
}

TEST(Summary, PutsDifferencesBesideTheFirst) {
  const result::Result first = sample();
  result::Result second = first;
  second.step_time_s = 5;
  TextTable table;
  const Checker checker(&table, Checker::FailureReportingMode::Fatal);
  put_differences({{"a", &first}, {"b", &second}}, table);
  EXPECT_EQ(table.columnCount(), 4);
  EXPECT_EQ(table.index(2, 0).data().toString(), "step");
  EXPECT_EQ(table.index(2, 3).data().toString(), "-50.0 %");
}

TEST(MachineTable, SetsEachNumberBesideItsSource) {
  TextTable table;
  const json machine = {
      {"gpu", {{"memory", "24 GiB"}, {"count", 2}}},
      {"storage", {{{"name", "nvme"}, {"read", "7 GB/s"}}}},
      {"sources", {{"gpu.memory", "datasheet: X"}, {"storage.nvme", "assumed: y"}}}};
  EXPECT_EQ(put_machine(machine, "", table), 2);  // name and rate of the drive
  EXPECT_EQ(put_machine(machine, "gpu datasheet", table), 2);
  ASSERT_EQ(table.rowCount(), 1);
  EXPECT_EQ(table.index(0, 1).data().toString(), "24 GiB");
  EXPECT_EQ(table.index(0, 3).data().toString(), "X");
}

TEST(MachineTable, ChangesANumberOfACopyAndSaysSo) {
  const json machine = scenarios::read_machine("workstation_2gpu");
  EXPECT_FALSE(is_changed(machine));
  const json copy = changed_machine(machine, "storage.nvme.read", "3 GB/s");
  EXPECT_EQ(copy["storage"][0]["read"], "3 GB/s");
  EXPECT_EQ(copy["name"], "workstation_2gpu, changed");
  EXPECT_TRUE(is_changed(copy));
  EXPECT_EQ(changed_machine(copy, "gpu.count", "1")["name"], "workstation_2gpu, changed");
  TextTable table;
  put_machine(copy, "storage.nvme.read by hand", table);
  ASSERT_EQ(table.rowCount(), 1);
  EXPECT_EQ(table.index(0, 1).data().toString(), "3 GB/s (changed)");
  EXPECT_EQ(table.index(0, 1).data(Qt::EditRole).toString(), "3 GB/s");
  EXPECT_TRUE(table.flags(table.index(0, 1)) & Qt::ItemIsEditable);
  EXPECT_FALSE(table.flags(table.index(0, 0)) & Qt::ItemIsEditable);
}

TEST(MachineTable, WhatFollowsFromAChangedNumberFollowsFromItAgain) {
  const json machine = scenarios::read_machine("workstation_2gpu");
  const json copy = changed_machine(machine, "host.memory", "1 TiB");
  const auto reserve = [](const json& of) {
    return static_cast<double>(of.get<description::MachineFile>().host.reserve.value());
  };
  EXPECT_NEAR(reserve(copy), 4 * reserve(machine), 2);  // a twentieth of it
  const json back = changed_machine(copy, "host.memory", "256 GiB");
  EXPECT_NEAR(reserve(back), reserve(machine), 2);
  EXPECT_EQ(back["storage"], machine["storage"]);
}

TEST(MachineTable, RefusesWhatTheReaderOfMachinesRefuses) {
  const json machine = scenarios::read_machine("workstation_2gpu");
  EXPECT_ANY_THROW(changed_machine(machine, "storage.nvme.read", "3"));  // no unit
  EXPECT_ANY_THROW(changed_machine(machine, "gpu.count", "\"two\""));
  EXPECT_ANY_THROW(changed_machine(machine, "host.reserve", "4 TiB"));  // more than there is
}

TEST(ValidationTable, PutsTheLargestErrorFirst) {
  TextTable table;
  put_validation({{"errors", {{"step_time_s", 0.02}, {"phases.forward_s", -0.3}}},
                  {"predicted", {{"step_time_s", 1.02}}},
                  {"measured", {{"step_time_s", 1.0}}}},
                 table);
  ASSERT_EQ(table.rowCount(), 2);
  EXPECT_EQ(table.index(0, 3).data().toString(), "-30.0 %");
  EXPECT_EQ(table.index(1, 2).data().toString(), "1.00 s");
  EXPECT_EQ(table.index(0, 0).data().toString(), "forward");
  EXPECT_EQ(table.index(1, 0).data().toString(), "step");
  EXPECT_EQ(table.index(1, 0).data(Qt::ToolTipRole).toString(), "step_time_s");
}

}  // namespace
}  // namespace spillway::gui
