#include "strategies/memory/ledger.hpp"
#include "scenarios/description/errors.hpp"

#include <gtest/gtest.h>

namespace spillway::strategies {
namespace {

using result::Phase;

Ledger::Entry entry(std::uint64_t charged, Purpose purpose = Purpose::weights,
                    std::uint32_t rank = 0, std::uint32_t tier = 0) {
  Ledger::Entry made;
  made.tier = tier;
  made.rank = Rank{rank};
  made.purpose = purpose;
  made.asked = charged - charged / 10;
  made.charged = charged;
  made.phase = Phase::forward;
  return made;
}

Ledger one_tier() {
  Ledger ledger;
  ledger.add_tier("gpu 0", 1000);
  return ledger;
}

TEST(Ledger, UseIsTheSumOfWhatIsAlive) {
  Ledger ledger = one_tier();
  ledger.add_tier("host", 0);
  const auto a = ledger.add(entry(100), 0);
  const auto b = ledger.add(entry(50), 1);
  ledger.add(entry(7, Purpose::host_pool, 0, 1), 1);
  EXPECT_EQ(ledger.used(0), 150u);
  EXPECT_EQ(ledger.used(1), 7u);
  ledger.remove(a, 2);
  EXPECT_EQ(ledger.used(0), 50u);
  ledger.remove(b, 3);
  EXPECT_EQ(ledger.used(0), 0u);
  EXPECT_EQ(ledger.capacity(0), 1000u);
  EXPECT_EQ(ledger.name(1), "host");
  EXPECT_EQ(ledger.tiers(), 2u);
}

TEST(Ledger, ThePeakHasTheEntriesThatWereAliveThen) {
  Ledger ledger = one_tier();
  const auto a = ledger.add(entry(100, Purpose::weights), 0);
  ledger.remove(a, 1);
  ledger.add(entry(60, Purpose::gradients), 2);
  auto late = entry(80, Purpose::activations);
  late.phase = Phase::backward;
  const auto c = ledger.add(late, 3);  // 140: the peak
  ledger.remove(c, 4);
  ledger.add(entry(79, Purpose::workspace), 5);  // 139: not a new one
  const Peak peak = ledger.peak(0);
  EXPECT_EQ(peak.charged, 140u);
  EXPECT_EQ(peak.phase, Phase::backward);
  EXPECT_EQ(peak.at_s, 3);
  ASSERT_EQ(peak.entries.size(), 2u);
  EXPECT_EQ(peak.entries[0].purpose, "activations");  // the largest first
  EXPECT_EQ(peak.entries[0].charged_bytes, 80u);
  EXPECT_EQ(peak.entries[0].asked_bytes, 72u);
  EXPECT_EQ(peak.entries[1].purpose, "gradients");
}

TEST(Ledger, AnEqualHeightIsNoNewPeak) {
  Ledger ledger = one_tier();
  const auto a = ledger.add(entry(100, Purpose::weights), 0);
  ledger.remove(a, 1);
  ledger.add(entry(100, Purpose::gradients), 2);
  const Peak peak = ledger.peak(0);
  EXPECT_EQ(peak.at_s, 0);
  ASSERT_EQ(peak.entries.size(), 1u);
  EXPECT_EQ(peak.entries[0].purpose, "weights");
}

TEST(Ledger, ThePeakMayBeNowAndBeAskedForAtAnyTime) {
  Ledger ledger = one_tier();
  ledger.add(entry(10), 0);
  EXPECT_EQ(ledger.peak(0).entries.at(0).count, 1u);
  const auto b = ledger.add(entry(10), 1);
  EXPECT_EQ(ledger.peak(0).entries.at(0).count, 2u);
  ledger.remove(b, 2);
  EXPECT_EQ(ledger.peak(0).entries.at(0).count, 2u);
  EXPECT_EQ(ledger.peak_bytes(0), 20u);
}

TEST(Ledger, EqualBuffersOfARankAndPurposeAreCountedTogether) {
  Ledger ledger = one_tier();
  for (int i = 0; i < 3; ++i) ledger.add(entry(20, Purpose::weights, 0), 0);
  ledger.add(entry(20, Purpose::weights, 1), 0);
  ledger.add(entry(30, Purpose::weights, 0), 0);
  auto pinned = entry(20, Purpose::weights, 0);
  pinned.pinned = true;
  ledger.add(pinned, 0);
  const Peak peak = ledger.peak(0);
  ASSERT_EQ(peak.entries.size(), 4u);
  EXPECT_EQ(peak.entries[0].count, 3u);  // 60 bytes, before 30, 20 and 20
  EXPECT_EQ(peak.entries[0].charged_bytes, 20u);
  EXPECT_FALSE(peak.entries[0].pinned);
  EXPECT_EQ(peak.entries[1].charged_bytes, 30u);
}

TEST(Ledger, RechargingChangesThePurposeAndNotTheUse) {
  Ledger ledger = one_tier();
  const auto a = ledger.add(entry(100, Purpose::weights), 0);
  ledger.recharge(a, entry(100, Purpose::gradients), 1);
  EXPECT_EQ(ledger.used(0), 100u);
  EXPECT_EQ(ledger.peak(0).entries.at(0).purpose, "weights");  // the peak was before
  ledger.add(entry(1), 2);
  EXPECT_EQ(ledger.peak(0).entries.at(0).purpose, "gradients");
  EXPECT_THROW(ledger.recharge(a, entry(99), 3), description::InternalError);
  ledger.remove(a, 4);
  EXPECT_EQ(ledger.used(0), 1u);
}

TEST(Ledger, EntriesAreRemovedInAnyOrder) {
  Ledger ledger = one_tier();
  std::vector<std::uint32_t> ids;
  for (std::uint64_t i = 1; i <= 5; ++i) ids.push_back(ledger.add(entry(i), 0));
  for (const std::size_t i : {2u, 0u, 4u, 1u}) ledger.remove(ids[i], 1);
  EXPECT_EQ(ledger.used(0), 4u);
  const auto again = ledger.add(entry(100, Purpose::gradients), 2);  // a number used before
  EXPECT_EQ(ledger.used(0), 104u);
  EXPECT_EQ(ledger.peak(0).entries.at(0).purpose, "gradients");
  ledger.remove(again, 3);
  ledger.remove(ids[3], 3);
  EXPECT_EQ(ledger.used(0), 0u);
}

TEST(Ledger, TellsEveryChange) {
  Ledger ledger = one_tier();
  std::vector<std::uint64_t> seen;
  ledger.on_change = [&](std::uint32_t tier, double now_s, std::uint64_t used) {
    EXPECT_EQ(tier, 0u);
    EXPECT_EQ(now_s, static_cast<double>(seen.size()));
    seen.push_back(used);
  };
  const auto a = ledger.add(entry(5), 0);
  ledger.add(entry(6), 1);
  ledger.remove(a, 2);
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{5, 11, 6}));
}

TEST(Ledger, ATierThatNeverHeldAnythingHasAnEmptyPeak) {
  Ledger ledger = one_tier();
  ledger.add(entry(0), 0);
  EXPECT_EQ(ledger.peak(0).charged, 0u);
  EXPECT_TRUE(ledger.peak(0).entries.empty());
}

}  // namespace
}  // namespace spillway::strategies
