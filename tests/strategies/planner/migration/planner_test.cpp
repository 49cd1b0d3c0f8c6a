#include "strategies/planner/migration/pressure.hpp"
#include "strategies/planner/migration/relief.hpp"
#include "strategies/planner/migration/walk.hpp"
#include "tests/strategies/planner/migration/planner_profiles.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace spillway::strategies::planner {
namespace {

constexpr std::uint64_t MB = 1'000'000;

/// Ten kernels of 10 ms; x, 100 MB, is used by the first and the last; y, 100 MB, by 4 and 5.
Lifetimes two_tensors() {
  Lifetimes lifetimes;
  for (int i = 0; i < 10; ++i) lifetimes.kernels.push_back({"k", i * 0.01, 0.01, 0});
  lifetimes.tensors.push_back(
      {1, 100 * MB, TensorKind::activation, false, {{0, 0, false, true}, {9, 9, true, false}}});
  lifetimes.tensors.push_back({2, 100 * MB, TensorKind::activation, false, {{4, 5, false, true}}});
  return lifetimes;
}

PlanSettings settings_of(double rate, std::uint64_t capacity) {
  PlanSettings settings;
  settings.channels.ssd_read = settings.channels.ssd_write = rate;
  settings.destinations = {Destination::ssd};
  settings.capacity = capacity;
  return settings;
}

bool same(const std::vector<Booking>& one, const std::vector<Booking>& other) {
  return std::equal(
      one.begin(), one.end(), other.begin(), other.end(),
      [](const Booking& a, const Booking& b) { return a.slot == b.slot && a.bytes == b.bytes; });
}

void expect_same_moves(std::vector<Move> one, std::vector<Move> other) {
  ASSERT_EQ(one.size(), other.size());
  const auto order = [](const Move& a, const Move& b) {
    return std::pair(a.tensor, a.first) < std::pair(b.tensor, b.first);
  };
  std::sort(one.begin(), one.end(), order);
  std::sort(other.begin(), other.end(), order);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].tensor, other[i].tensor);
    EXPECT_EQ(one[i].first, other[i].first);
    EXPECT_EQ(one[i].end, other[i].end);
    EXPECT_EQ(one[i].destination, other[i].destination);
    EXPECT_EQ(one[i].away, other[i].away);
    EXPECT_EQ(one[i].back, other[i].back);
    EXPECT_TRUE(same(one[i].out, other[i].out));
    EXPECT_TRUE(same(one[i].in, other[i].in));
  }
}

TEST(Planner, MovesWhatIsIdleWhileThereIsTooMuch) {
  // 100 MB at 10 GB/s take 10 ms each way: x leaves in slot 1, comes back in slot 8
  const Plan plan = plan_migrations(two_tensors(), settings_of(10e9, 150 * MB));
  ASSERT_EQ(plan.moves.size(), 1u);
  EXPECT_EQ(plan.moves[0].tensor, 0u);
  EXPECT_EQ(plan.moves[0].away, 2u);
  EXPECT_EQ(plan.moves[0].back, 8u);
  EXPECT_EQ(plan.pressure[4], 100 * MB);
  EXPECT_TRUE(plan.fits);
  EXPECT_DOUBLE_EQ(plan.step_s, 0.1);
}

TEST(Planner, ExactlyFullNeedsNothingAndOneByteLessDoes) {
  EXPECT_TRUE(plan_migrations(two_tensors(), settings_of(10e9, 200 * MB)).moves.empty());
  EXPECT_EQ(plan_migrations(two_tensors(), settings_of(10e9, 200 * MB - 1)).moves.size(), 1u);
}

TEST(Planner, KernelsWaitWhereTheWayIsTooLong) {
  // At 2 GB/s the way takes 50 ms. x leaves from 10 ms on and is gone at 60 ms, so kernel 4 waits
  // 20 ms; y is done at 80 ms, when kernel 6 begins; x is asked back in time for kernel 9
  // (at 110 ms): from 80 ms on there is room, it is back at 130 ms.
  const Plan plan = plan_migrations(two_tensors(), settings_of(2e9, 150 * MB));
  EXPECT_FALSE(plan.shortage);
  EXPECT_EQ(*std::max_element(plan.pressure.begin(), plan.pressure.end()), 100 * MB);
  EXPECT_NEAR(plan.step_s, 0.14, 1e-9);
}

TEST(Planner, SaysWhatDoesNotFitAtAll) {
  const Plan plan = plan_migrations(two_tensors(), settings_of(2e9, 99 * MB));
  ASSERT_TRUE(plan.shortage);
  EXPECT_EQ(plan.shortage->tier, Shortage::Tier::gpu);
  EXPECT_EQ(plan.shortage->asked, 100 * MB);
  EXPECT_EQ(plan.shortage->free, 99 * MB);
}

TEST(Planner, SaysThatTheFileIsFull) {
  PlanSettings settings = settings_of(10e9, 150 * MB);
  settings.file_limit = 50 * MB;
  const Plan plan = plan_migrations(two_tensors(), settings);
  ASSERT_TRUE(plan.shortage);
  EXPECT_EQ(plan.shortage->tier, Shortage::Tier::ssd);
}

TEST(Planner, WithoutUrgentMovesAPlanThatDoesNotFitIsNone) {
  PlanSettings settings = settings_of(2e9, 150 * MB);
  settings.urgent = false;
  EXPECT_TRUE(plan_migrations(two_tensors(), settings).shortage);
}

TEST(Planner, GoesToTheHostWhereTheArrayIsTaken) {
  // Two tensors leave in the same slots; the array has time for one, the host takes the other.
  Lifetimes lifetimes = two_tensors();
  lifetimes.tensors.push_back(
      {3, 100 * MB, TensorKind::activation, false, {{0, 0, false, true}, {9, 9, true, false}}});
  PlanSettings settings = settings_of(10e9, 150 * MB);
  settings.channels.host_in = settings.channels.host_out = 10e9;
  settings.destinations = {Destination::ssd, Destination::host};
  // one leaves in slot 1; for the other the array has no time in the slot that it would need
  settings.capacity = 120 * MB;
  settings.saturation = Saturation::ideal_finish;
  const Plan plan = plan_greedily(lifetimes, settings, slot_ticks(lifetimes));
  ASSERT_EQ(plan.moves.size(), 2u);
  EXPECT_NE(plan.moves[0].destination, plan.moves[1].destination);
}

TEST(Planner, UrgentMovesGoWhereTheyAreAwayFirst) {
  // 100 MB at 1 GB/s take as long as the step: no way is out and back in time. For w all of x, y
  // and z leave. Host: away at 0.1 s. Host 0.2 s, array 0.1 s. Host 0.2 s, array 0.3 s, as it also
  // reads what it wrote.
  Lifetimes lifetimes = two_tensors();
  lifetimes.tensors[1].bytes = 300 * MB;
  for (const std::uint64_t id : {3u, 4u})
    lifetimes.tensors.push_back(
        {id, 100 * MB, TensorKind::activation, false, {{0, 0, false, true}, {9, 9, true, false}}});
  PlanSettings settings = settings_of(1e9, 330 * MB);
  settings.channels.host_in = settings.channels.host_out = 1e9;
  settings.destinations = {Destination::ssd, Destination::host};
  settings.stall_rounds = 0;  // in a step that has waited there would be time
  const auto to_host = [&] {
    const Plan plan = plan_migrations(lifetimes, settings);
    EXPECT_EQ(plan.urgent_moves(), 3u);
    return plan.bytes_to(Destination::host, lifetimes);
  };
  EXPECT_EQ(to_host(), 200 * MB);
  // where both go over one link that is no faster, the array brings nothing
  settings.channels.link_out = settings.channels.link_in = 1e9;
  EXPECT_EQ(to_host(), 300 * MB);
}

TEST(Planner, WaitsForTheArrayAsLongAsATensorCanBeOutAndBack) {
  // the same two tensors: out one after the other in slots 1 and 2, both are back in time
  Lifetimes lifetimes = two_tensors();
  lifetimes.tensors.push_back(
      {3, 100 * MB, TensorKind::activation, false, {{0, 0, false, true}, {9, 9, true, false}}});
  PlanSettings settings = settings_of(10e9, 120 * MB);
  settings.channels.host_in = settings.channels.host_out = 10e9;
  settings.destinations = {Destination::ssd, Destination::host};
  const Plan plan = plan_greedily(lifetimes, settings, slot_ticks(lifetimes));
  ASSERT_EQ(plan.moves.size(), 2u);
  for (const Move& move : plan.moves) EXPECT_EQ(move.destination, Destination::ssd);
}

TEST(Planner, PrefetchesEarlyWhereThereIsRoom) {
  // y is gone from slot 6 on: x may be back from then
  PlanSettings settings = settings_of(10e9, 150 * MB);
  settings.eager_prefetch = true;
  const Plan plan = plan_migrations(two_tensors(), settings);
  ASSERT_EQ(plan.moves.size(), 1u);
  EXPECT_EQ(plan.moves[0].back, 6u);
  EXPECT_DOUBLE_EQ(plan.step_s, 0.1);
}

/// A weight that two passes read and the update writes: of its two absences in the step and the one
/// behind the update only the last follows a write.
Lifetimes read_twice_and_written() {
  Lifetimes lifetimes;
  for (int i = 0; i < 30; ++i) lifetimes.kernels.push_back({"k", i * 0.01, 0.01, 0});
  lifetimes.tensors.push_back({1,
                               100 * MB,
                               TensorKind::weight,
                               true,
                               {{2, 2, true, false}, {12, 12, true, false}, {22, 22, true, true}}});
  for (std::uint32_t i = 0; i < 3; ++i)
    lifetimes.tensors.push_back({2 + i,
                                 100 * MB,
                                 TensorKind::activation,
                                 false,
                                 {{(6 + 10 * i), 7 + 10 * i, false, true}}});
  return lifetimes;
}

TEST(Planner, WritesNothingThatTheFileHolds) {
  const Lifetimes lifetimes = read_twice_and_written();
  PlanSettings settings = settings_of(10e9, 150 * MB);
  const Plan writes = plan_migrations(lifetimes, settings);
  settings.drop_clean = true;
  const Plan drops = plan_migrations(lifetimes, settings);
  EXPECT_EQ(writes.moves.size(), 3u);
  EXPECT_EQ(writes.bytes_to(Destination::ssd, lifetimes), 300 * MB);
  EXPECT_EQ(drops.bytes_to(Destination::ssd, lifetimes), 100 * MB);
  EXPECT_DOUBLE_EQ(drops.step_s, 0.3);
}

TEST(Planner, TheHostKeepsWhatNothingWritesWhileItHasRoom) {
  Lifetimes lifetimes = read_twice_and_written();
  lifetimes.tensors.push_back(
      {9, 80 * MB, TensorKind::activation, false, {{14, 15, false, true}, {26, 27, true, false}}});
  PlanSettings settings = settings_of(10e9, 150 * MB);
  settings.channels.host_in = settings.channels.host_out = 10e9;
  settings.destinations = {Destination::host};
  settings.drop_clean = true;
  const auto clean = [&](std::uint64_t limit) {
    settings.host_limit = limit;
    const Plan plan = plan_greedily(lifetimes, settings, slot_ticks(lifetimes));
    return std::count_if(plan.moves.begin(), plan.moves.end(),
                         [](const Move& move) { return move.clean; });
  };
  EXPECT_EQ(clean(300 * MB), 2);
  // beside the other tensor, which leaves while the weight is back, there is no room to keep it
  EXPECT_LT(clean(110 * MB), 2);
}

TEST(Planner, ProfilesWithFaultsAreNone) {
  Lifetimes lifetimes = two_tensors();
  EXPECT_TRUE(faults_of(lifetimes).empty());
  lifetimes.tensors[0].bytes = 0;
  lifetimes.tensors[1].active = {{4, 6, true, false}, {6, 10, true, false}};
  lifetimes.tensors[1].id = 1;
  lifetimes.kernels[3].start_s = 0.001;
  std::string all;
  for (const LifetimeFault& fault : faults_of(lifetimes)) all += fault.message + "\n";
  EXPECT_THAT(all, testing::HasSubstr("no bytes"));
  EXPECT_THAT(all, testing::HasSubstr("overlaps"));
  EXPECT_THAT(all, testing::HasSubstr("6-10 names a kernel that does not exist: there are 10"));
  EXPECT_THAT(all, testing::HasSubstr("same id"));
  EXPECT_THAT(all, testing::HasSubstr("before the one above"));
}

TEST(Planner, IdleIntervalsGoRoundTheEndOfTheStep) {
  Lifetimes lifetimes = two_tensors();
  lifetimes.tensors[0].persistent = true;
  lifetimes.tensors[0].active = {{2, 3, true, false}, {6, 9, true, true}};
  const auto idle = idle_intervals(lifetimes);
  ASSERT_EQ(idle.size(), 2u);
  EXPECT_EQ(idle[0].first, 4u);
  EXPECT_EQ(idle[0].end, 6u);
  EXPECT_EQ(idle[1].first, 0u);  // after the last kernel, until kernel 2
  EXPECT_EQ(idle[1].end, 2u);
}

TEST(PressureTree, KnowsTheFullestSlot) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 50; ++round) {
    const std::uint32_t slots = 1 + random() % 40;
    std::vector<std::int64_t> excess;
    for (std::uint32_t i = 0; i < slots; ++i)
      excess.push_back(static_cast<std::int64_t>(random() % 200) - 100);
    PressureTree tree(excess);
    for (int i = 0; i < 20; ++i) {
      const std::uint32_t first = random() % slots;
      const std::uint32_t end = first + random() % slots;
      const auto bytes = static_cast<std::int64_t>(random() % 150) - 75;
      tree.add(first, end, bytes);
      for (std::uint32_t k = first; k < end; ++k) excess[k % slots] += bytes;
      EXPECT_EQ(tree.max(), *std::max_element(excess.begin(), excess.end()));
      EXPECT_EQ(tree.at(first), excess[first]);
      std::int64_t most = std::numeric_limits<std::int64_t>::min();
      for (std::uint32_t k = first; k < end; ++k) most = std::max(most, excess[k % slots]);
      if (first == end) continue;
      EXPECT_TRUE(tree.at_most(first, end, most));
      EXPECT_FALSE(tree.at_most(first, end, most - 1));
    }
  }
}

// Up to 150 slots: nine blocks of 16 and a part of one; most exceed the capacity at first.
TEST(Relief, SumsWhatAnAbsenceTakesAway) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    const std::uint32_t slots = 1 + random() % 150;
    std::vector<std::int64_t> excess, ticks;
    for (std::uint32_t i = 0; i < slots; ++i) {
      excess.push_back(static_cast<std::int64_t>(random() % 200) - 50);
      ticks.push_back(static_cast<std::int64_t>(random() % 9));
    }
    Relief relief(excess, ticks);
    for (int i = 0; i < 20; ++i) {
      const std::uint32_t first = random() % slots;
      const std::uint32_t end = first + random() % (slots + 1);
      const auto bytes = static_cast<std::int64_t>(random() % 60);
      std::int64_t sum = 0;
      for (std::uint32_t k = first; k < end; ++k)
        sum += std::min(bytes, std::max<std::int64_t>(0, excess[k % slots])) * ticks[k % slots];
      EXPECT_EQ(static_cast<std::int64_t>(relief.of(first, end, bytes)), sum);
      relief.take(first, end, bytes);
      for (std::uint32_t k = first; k < end; ++k) excess[k % slots] -= bytes;
    }
  }
}

constexpr int seeds = 300;

class RandomPlan {
 public:
  explicit RandomPlan(int seed) : random_(static_cast<std::uint64_t>(seed)) {
    const auto slots = static_cast<std::uint32_t>(4 + random_() % 60);
    lifetimes_ = random_lifetimes(random_, slots, static_cast<std::uint32_t>(2 + random_() % 40));
    settings_ = random_settings(random_, lifetimes_);
    ticks_ = slot_ticks(lifetimes_);
  }

  std::uint64_t bytes(const Move& move) const { return lifetimes_.tensors[move.tensor].bytes; }
  /// Only SSD and no link: queues by due time meet all that the ledgers can.
  void only_drives() {
    settings_.destinations = {Destination::ssd};
    settings_.channels.link_in.reset();
    settings_.channels.link_out.reset();
  }

  std::mt19937_64 random_;
  Lifetimes lifetimes_;
  PlanSettings settings_;
  std::vector<std::int64_t> ticks_;
};

class RandomPlans : public testing::TestWithParam<int>, protected RandomPlan {
 protected:
  RandomPlans() : RandomPlan(GetParam()) {}
};

// Some of the tests below say something of one kind alone.
TEST(RandomPlan, ThereAreManyOfEachKind) {
  int limited = 0, fit = 0, fit_on_drives = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    RandomPlan one(seed);
    const bool fits = !plan_migrations(one.lifetimes_, one.settings_).shortage;
    fit += fits;
    limited += fits && one.settings_.host_limit;
    one.only_drives();
    one.settings_.eager_prefetch = seed % 2 == 0;
    fit_on_drives += plan_greedily(one.lifetimes_, one.settings_, one.ticks_).fits;
  }
  EXPECT_GT(fit, seeds / 2);
  EXPECT_GT(limited, seeds / 4);
  EXPECT_GT(fit_on_drives, seeds / 10);
}

TEST_P(RandomPlans, LazyEvaluationChoosesAsFullEvaluationDoes) {
  expect_same_moves(plan_greedily(lifetimes_, settings_, ticks_).moves,
                    plan_slowly(lifetimes_, settings_, ticks_).moves);
}

TEST_P(RandomPlans, NoLedgerIsBookedOverCapacity) {
  settings_.eager_prefetch = GetParam() % 3 == 0;
  settings_.drop_clean = GetParam() % 4 == 0;
  const Plan plan = plan_greedily(lifetimes_, settings_, ticks_);
  const Channels& channels = settings_.channels;
  const std::size_t slots = ticks_.size();
  std::vector<double> array(slots), host_out(slots), host_in(slots), out(slots), in(slots);
  std::vector<double> written(slots), read(slots);  // seconds of the array's own ways
  for (const Move& move : plan.moves) {
    const bool ssd = move.destination == Destination::ssd;
    for (const Booking& booking : move.out) {
      const auto amount = static_cast<double>(booking.bytes);
      out[booking.slot] += amount;
      (ssd ? array : host_out)[booking.slot] += ssd ? amount / channels.ssd_write : amount;
      if (ssd) written[booking.slot] += amount / channels.ssd_write;
    }
    for (const Booking& booking : move.in) {
      const auto amount = static_cast<double>(booking.bytes);
      in[booking.slot] += amount;
      (ssd ? array : host_in)[booking.slot] += ssd ? amount / channels.ssd_read : amount;
      if (ssd) read[booking.slot] += amount / channels.ssd_read;
    }
  }
  for (std::size_t i = 0; i < slots; ++i) {
    const double seconds = static_cast<double>(ticks_[i]) / ticks_per_second;
    EXPECT_LE(array[i], channels.mixed_efficiency * seconds + 1e-9);
    EXPECT_LE(std::max(written[i], read[i]), seconds + 1e-9);
    EXPECT_LE(host_out[i], channels.host_out * seconds + 1);
    EXPECT_LE(host_in[i], channels.host_in * seconds + 1);
    EXPECT_LE(out[i], channels.link_out.value_or(1e18) * seconds + 1);
    EXPECT_LE(in[i], channels.link_in.value_or(1e18) * seconds + 1);
  }
}

TEST_P(RandomPlans, EveryOffloadHasItsPrefetchInsideOneIdleInterval) {
  settings_.eager_prefetch = GetParam() % 2 == 0;
  const Plan plan = plan_greedily(lifetimes_, settings_, ticks_);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> idle;
  for (const IdleInterval& i : idle_intervals(lifetimes_)) idle[{i.tensor, i.first}] = i.end;
  for (const Move& move : plan.moves) {
    const auto found = idle.find({move.tensor, move.first});
    ASSERT_NE(found, idle.end());  // erased below: an interval moves once
    EXPECT_EQ(found->second, move.end);
    EXPECT_LT(move.first, move.away);
    EXPECT_LT(move.away, move.back);
    EXPECT_LT(move.back, move.end);
    std::int64_t out = 0, in = 0;
    for (const Booking& booking : move.out) out += booking.bytes;
    for (const Booking& booking : move.in) in += booking.bytes;
    EXPECT_EQ(static_cast<std::uint64_t>(out), bytes(move));
    EXPECT_EQ(in, out);
    idle.erase(found);
  }
}

TEST_P(RandomPlans, PressureIsWhatTheMovesLeave) {
  settings_.eager_prefetch = GetParam() % 2 == 0;
  settings_.drop_clean = GetParam() % 3 == 0;
  const Plan greedy = plan_greedily(lifetimes_, settings_, ticks_);
  EXPECT_EQ(greedy.pressure, pressure_of(lifetimes_, greedy.moves));
  const Plan plan = plan_migrations(lifetimes_, settings_);
  EXPECT_EQ(plan.pressure, pressure_of(lifetimes_, plan.moves));
  if (!plan.shortage) {
    EXPECT_LE(*std::max_element(plan.pressure.begin(), plan.pressure.end()), settings_.capacity);
  }
}

// In the slot whose kernel waits for a tensor, others may leave before it is back.
TEST_P(RandomPlans, HostBytesStayInTheirLimit) {
  settings_.drop_clean = GetParam() % 2 == 0;
  const Plan plan = plan_migrations(lifetimes_, settings_);
  if (!settings_.host_limit || plan.shortage) return;
  std::vector<std::uint64_t> host(ticks_.size());
  for (const Move& move : plan.moves)
    if (move.destination == Destination::host)
      for (std::uint32_t i = move.first; i < host_end(move); ++i)
        host[i % host.size()] += (bytes(move) + 4095) / 4096 * 4096;
  EXPECT_LE(*std::max_element(host.begin(), host.end()), *settings_.host_limit);
}

TEST_P(RandomPlans, AnAcceptedCandidateNeverRaisesThePeak) {
  const Plan plan = plan_slowly(lifetimes_, settings_, ticks_);
  std::vector<Move> moves;
  std::uint64_t before = ~std::uint64_t{0};
  for (std::size_t i = 0; i <= plan.moves.size(); ++i) {
    const auto pressure = pressure_of(lifetimes_, moves);
    const std::uint64_t peak = *std::max_element(pressure.begin(), pressure.end());
    EXPECT_LE(peak, before);
    before = peak;
    if (i < plan.moves.size()) moves.push_back(plan.moves[i]);
  }
}

TEST_P(RandomPlans, AJobThatFitsMovesNothing) {
  const auto alive = alive_bytes(lifetimes_);
  settings_.capacity = *std::max_element(alive.begin(), alive.end());
  const Plan plan = plan_migrations(lifetimes_, settings_);
  EXPECT_TRUE(plan.moves.empty());
  EXPECT_EQ(plan.step_s, plan.ideal_s);
}

TEST_P(RandomPlans, WithInfiniteBandwidthEveryFeasibleJobTakesIdealTime) {
  settings_.channels = {};
  settings_.channels.ssd_read = settings_.channels.ssd_write = 1e30;
  settings_.channels.host_in = settings_.channels.host_out = 1e30;
  settings_.host_limit.reset();
  settings_.file_limit.reset();
  settings_.min_tensor = 1;
  const Plan plan = plan_migrations(lifetimes_, settings_);
  ASSERT_FALSE(plan.shortage);
  EXPECT_NEAR(plan.step_s, plan.ideal_s, 1e-9 * plan.ideal_s);
}

TEST_P(RandomPlans, TheSameProfileGivesTheSamePlan) {
  const Plan one = plan_migrations(lifetimes_, settings_);
  const Plan other = plan_migrations(lifetimes_, settings_);
  expect_same_moves(one.moves, other.moves);
  EXPECT_EQ(one.step_s, other.step_s);
  EXPECT_EQ(one.ticks, other.ticks);
}

TEST_P(RandomPlans, NothingWaitsWhereThePlanFits) {
  only_drives();
  settings_.eager_prefetch = GetParam() % 2 == 0;
  if (settings_.channels.mixed_efficiency > 1) return;  // a walk's array does one thing at a time
  const Plan plan = plan_greedily(lifetimes_, settings_, ticks_);
  if (!plan.fits) return;
  const Walk walk = walk_plan(lifetimes_, settings_, plan);
  double ideal = 0;
  for (const std::int64_t length : ticks_) ideal += static_cast<double>(length) / ticks_per_second;
  EXPECT_NEAR(walk.step_s, ideal, 1e-9 * ideal);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPlans, testing::Range(1, seeds + 1));

}  // namespace
}  // namespace spillway::strategies::planner
