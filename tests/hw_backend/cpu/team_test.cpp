#include "hw_backend/cpu/team.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <set>
#include <stdexcept>

namespace spillway::hw_backend {

namespace {

TEST(Team, RunsEveryPartOnce) {
  for (const std::size_t threads : {1, 2, 4}) {
    Team team(threads);
    EXPECT_EQ(team.threads(), threads);
    for (const std::size_t parts : {0, 1, 2, 3, 1000}) {
      std::vector<std::atomic<int>> counts(parts);
      team.run(parts, [&](std::size_t part) { ++counts[part]; });
      for (const auto& count : counts) EXPECT_EQ(count, 1);
    }
  }
}

TEST(Team, WithOneThreadStaysInline) {
  Team team(0);
  EXPECT_EQ(team.threads(), 1u);
  const auto caller = std::this_thread::get_id();
  std::vector<std::size_t> order;
  team.run(3, [&](std::size_t part) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    order.push_back(part);
  });
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2}));
}

TEST(Team, UsesItsThreadsAndTheCaller) {
  Team team(3);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  std::atomic<int> arrived = 0;
  team.run(3, [&](std::size_t) {
    {
      const std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    }
    ++arrived;
    while (arrived < 3) std::this_thread::yield();  // so that no thread takes two
  });
  EXPECT_EQ(seen.size(), 3u);
  EXPECT_TRUE(seen.contains(std::this_thread::get_id()));
}

TEST(Team, RethrowsWhatAPartThrewAndWorksOn) {
  for (const std::size_t threads : {1, 3}) {
    Team team(threads);
    std::atomic<int> done = 0;
    const auto fail = [&](std::size_t part) {
      if (part == 5) throw std::runtime_error("part 5");
      ++done;
    };
    EXPECT_THROW(team.run(100000, fail), std::runtime_error);
    EXPECT_LT(done, 100000);
    team.run(10, [&](std::size_t) { ++done; });
    EXPECT_GE(done, 10);
  }
}

TEST(Team, ServesCallersOneAfterTheOther) {
  Team team(2);
  std::atomic<int> mixed = 0, done = 0;
  std::atomic<int> served = -1;
  const auto call = [&](int caller) {
    for (int round = 0; round < 200; ++round) {
      team.run(4, [&](std::size_t) {
        served = caller;
        std::this_thread::yield();
        if (served != caller) ++mixed;
        ++done;
      });
    }
  };
  std::thread other(call, 1);
  call(0);
  other.join();
  EXPECT_EQ(done, 2 * 200 * 4);
  EXPECT_EQ(mixed, 0);
}

TEST(Team, CountsTheCoresOfTheAffinityMask) {
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  EXPECT_EQ(usable_cores(), static_cast<std::size_t>(CPU_COUNT(&mask)));
  std::size_t inside = 0;
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &mask) && CPU_COUNT(&one) == 0) CPU_SET(cpu, &one);
    }
    if (sched_setaffinity(0, sizeof one, &one) == 0) inside = usable_cores();
  }).join();
  EXPECT_EQ(inside, 1u);
}

TEST(Isa, PortableIsAlwaysThereAndTheBestIsLast) {
  const std::vector<Isa> isas = available_isas();
  EXPECT_EQ(isas.front(), Isa::portable);
  EXPECT_EQ(isas.back(), best_isa());
  EXPECT_EQ(to_string(Isa::avx512), "avx512");
}

}  // namespace

}  // namespace spillway::hw_backend
