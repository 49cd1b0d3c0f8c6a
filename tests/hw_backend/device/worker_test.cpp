#include "hw_backend/device/worker.hpp"

#include "hw_backend/device/host_memory.hpp"

#include <gmock/gmock.h>
#include <future>

namespace spillway::hw_backend {
namespace {

using ::testing::ElementsAre;

TEST(Worker, SaysThatAJobDoesNotEndInTimeAndRestsOnceItHas) {
  std::promise<void> begun, go;
  Worker worker;
  worker.add(
      0,
      [&] {
        begun.set_value();
        go.get_future().wait();
      },
      [](const JobEnd&) { ADD_FAILURE() << "nobody wants to know"; });
  begun.get_future().wait();
  EXPECT_FALSE(worker.quiesce(0.02));
  go.set_value();
  EXPECT_TRUE(worker.quiesce(60));
}

TEST(Worker, LetsWhatPassesAheadOfJobsPassForAllThatWait) {
  using Clock = std::chrono::steady_clock;
  Worker worker;
  std::promise<void> last;
  const Clock::time_point began = Clock::now();
  for (int i = 0; i < 4; ++i)
    worker.add(
        0.3, [] {},
        [&, i](const JobEnd&) {
          if (i == 3) last.set_value();
        },
        0.29);
  last.get_future().wait();
  const double took = std::chrono::duration<double>(Clock::now() - began).count();
  EXPECT_GE(took, 0.33);  // 0.29 s for all of them, 0.01 s for each
  EXPECT_LT(took, 0.9);   // one after the other: 1.2 s
}

TEST(Worker, NeedsNoLongerThanAJobsTimeWhenAllOfItPassesAhead) {
  using Clock = std::chrono::steady_clock;
  Worker worker;
  std::promise<void> ended;
  const Clock::time_point began = Clock::now();
  worker.add(
      0.05, [] {}, [&](const JobEnd&) { ended.set_value(); }, 7);
  ended.get_future().wait();
  EXPECT_GE(Clock::now() - began, std::chrono::milliseconds(50));
  EXPECT_LT(Clock::now() - began, std::chrono::seconds(5));
}

TEST(HostMemory, IsShownToItsWatchOnceHoweverOftenItIsTaken) {
  std::vector<std::uint64_t> came;
  int gone = 0;
  MemoryBudget budget;
  {
    HostMemory memory(budget, false,
                      {[&](std::byte*, std::uint64_t bytes) { came.push_back(bytes); },
                       [&](std::byte*) { ++gone; }});
    for (int i = 0; i < 3; ++i) memory.give_back(memory.take(5000), 5000);
    EXPECT_THAT(came, ElementsAre(8192u));  // two pages
    EXPECT_EQ(gone, 0);
    // the budget's most is two pages: three more take their place
    memory.give_back(memory.take(3 * 4096), 3 * 4096);
    EXPECT_THAT(came, ElementsAre(8192u, 12288u));
    EXPECT_EQ(gone, 1);
  }
  EXPECT_EQ(gone, 2);
}

TEST(HostMemory, ThatItsWatchRefusesIsGivenBack) {
  MemoryBudget budget;
  HostMemory memory(budget, false,
                    {[](std::byte*, std::uint64_t) { throw std::runtime_error("no"); }, {}});
  EXPECT_THROW(memory.take(4096), std::runtime_error);
}

}  // namespace
}  // namespace spillway::hw_backend
