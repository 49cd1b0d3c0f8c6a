#include "gui/model/dimension.hpp"
#include "gui/chart/axis.hpp"

#include <gtest/gtest.h>

namespace spillway::gui {
namespace {

TEST(Dimension, OfWordsCountsThemInTheOrderOfTheSpace) {
  const Dimension axis = axis_of("strategy.system", {"lohan", "g10", "zero_infinity"});
  EXPECT_EQ(axis.title, "system");
  ASSERT_TRUE(axis.of_words());
  EXPECT_EQ(number_of(axis, "g10"), 1);
  EXPECT_EQ(number_of(axis, "teraio"), std::nullopt);
  EXPECT_EQ(number_of(axis, nullptr), std::nullopt);
  EXPECT_EQ(text_of(axis, 2), "zero_infinity");
  EXPECT_EQ(words_of(axis, {0.5, 2.5}), "system g10, zero_infinity");
  EXPECT_EQ(words_of(axis, {0.6, 0.9}), "system none");
}

TEST(Dimension, OfQuantitiesHasTheirNumbers) {
  const Dimension memory = axis_of("machine.host.memory", {"64 GiB", "1 TiB"});
  EXPECT_FALSE(memory.of_words());
  EXPECT_EQ(memory.title, "host memory");
  EXPECT_EQ(number_of(memory, "64 GiB"), 64. * (1ull << 30));
  EXPECT_EQ(text_of(memory, 64. * (1ull << 30)), "64.0 GiB");
  const Dimension drive = axis_of("machine.storage.nvme.capacity", {"2 TB", "3.84 TB"});
  EXPECT_EQ(text_of(drive, 2e12), "2.00 TB");
  // one that is no quantity makes words of all
  EXPECT_TRUE(axis_of("machine.host.memory", {"64 GiB", "all of it"}).of_words());
  EXPECT_TRUE(axis_of("drive", {"2 TB", "12 GB/s"}).of_words());
}

TEST(Dimension, OfNumbersAndWordsTogetherIsOfWords) {
  EXPECT_FALSE(axis_of("training.micro_batch", {1, 2, 4}).of_words());
  const Dimension mixed = axis_of("plan.window", {1, "auto", true});
  EXPECT_EQ(mixed.words, (std::vector<QString>{"1", "auto", "true"}));
  EXPECT_EQ(number_of(mixed, true), 2);
}

TEST(Dimension, IsCalledAsPeopleSay) {
  EXPECT_EQ(title_of("machine.storage.nvme.count"), "drives of nvme");
  EXPECT_EQ(title_of("training.gradient_accumulation"), "gradient accumulation");
  EXPECT_EQ(title_of("strategy.gradients.policy"), "gradients policy");
  EXPECT_EQ(title_of("throughput.tokens_per_s"), "tokens/s");
  EXPECT_EQ(title_of("machine.prices_usd.dram_per_gib"), "price of dram per gib");
  EXPECT_EQ(title_of("who"), "who");
}

TEST(Dimension, PricesAreDollarsAndLifetimesYears) {
  EXPECT_EQ(text_of(quantity_of("price_usd"), 4258), "$4,258");
  EXPECT_EQ(text_of(axis_of("machine.prices_usd.gpu", {900, 1600}).quantity, 1600), "$1,600");
  EXPECT_EQ(quantity_of("wear.usd_per_million_tokens"), Quantity::cents);
  EXPECT_EQ(quantity_of("wear.lifetime_years"), Quantity::years);
  EXPECT_EQ(quantity_of("peak_bytes.host.total"), Quantity::memory);
  EXPECT_EQ(quantity_of("throughput.tokens_per_s"), Quantity::number);
  EXPECT_EQ(quantity_of("step_time_s"), Quantity::seconds);
}

TEST(Axis, OfThingsHasNoTickBetweenTwoOfThem) {
  const Dimension drives = axis_of("machine.storage.nvme.count", {1, 2});
  EXPECT_EQ(drives.quantity, Quantity::whole);
  const auto ticks = ticks_of(drives, Axis(1, 2, 0, 400), 40);
  ASSERT_EQ(ticks.size(), 2u);
  EXPECT_EQ(ticks[0].text, "1");
  EXPECT_EQ(ticks[1].text, "2");
  EXPECT_EQ(axis_of("training.dropout", {0, 0.5}).quantity, Quantity::number);
}

TEST(Axis, OfWordsHasAsManyTicksAsFindRoom) {
  const Dimension words = axis_of("strategy.system", {"a", "b", "c", "d", "e"});
  // 20 pixels a word
  const Axis axis = Axis(-0.5, 4.5, 0, 100);
  EXPECT_EQ(ticks_of(words, axis, 20).size(), 5u);
  const auto few = ticks_of(words, axis, 36);
  ASSERT_EQ(few.size(), 3u);
  EXPECT_EQ(few[1].text, "c");
  EXPECT_DOUBLE_EQ(axis.pixel(few[1].value), 50);
}

}  // namespace
}  // namespace spillway::gui
