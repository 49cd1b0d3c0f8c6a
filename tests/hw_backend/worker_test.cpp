#include "hw_backend/worker.hpp"

#include "hw_backend/host_memory.hpp"

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
      [](std::exception_ptr) { ADD_FAILURE() << "nobody wants to know"; });
  begun.get_future().wait();
  EXPECT_FALSE(worker.quiesce(0.02));
  go.set_value();
  EXPECT_TRUE(worker.quiesce(60));
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
