#include "tests/sim/fixture.hpp"

namespace spillway::sim::test {
namespace {

using description::Bytes;

/// When the requests of a rank end: two reads of 6 GB, a write of 3 GB.
std::vector<double> ends_of_three(description::IoEngine engine) {
  description::Scenario scenario = one_gpu();
  scenario.strategy.io_engine = engine;
  std::vector<double> ends;
  run(scenario, [&ends](Machine& machine, Rank rank) -> Task<> {
    const std::uint64_t bytes = sectors(6 * GB), half = sectors(3 * GB);
    Stored stored = co_await machine.store(ssd, rank, Bytes(2 * bytes), Purpose::optimizer_states);
    Stored free = co_await machine.store(ssd, rank, Bytes(half), Purpose::optimizer_states);
    Buffer a = pinned(machine, rank, bytes), b = pinned(machine, rank, bytes);
    Buffer c = pinned(machine, rank, half);
    Op first = machine.read(rank, stored, {0, bytes}, a.view());
    Op second = machine.read(rank, stored, {bytes, bytes}, b.view());
    Op write = machine.write(rank, free, {0, half}, c.view());
    co_await first;
    co_await second;
    co_await write;
    for (const Op& one : {first, second, write}) ends.push_back(one.timing().finished_s);
  });
  return ends;
}

TEST(SimRequests, AHandleOfDeepSpeedServesOneRequestAtATime) {
  // a read and a write at once: r/6 + w/3 = 1, 2 GB/s each. The write ends after 1.5 s, when the
  // first read has 3 GB left, .5 s alone; the second takes another second
  const std::vector<double> in_turn = ends_of_three(description::IoEngine::file);
  EXPECT_NEAR(in_turn[2], 1.5, 1e-5);
  EXPECT_NEAR(in_turn[0], 2.0, 1e-5);
  EXPECT_NEAR(in_turn[1], 3.0, 1e-5);
  // all three at once: 2r/6 + w/3 = 1, 1.5 GB/s each; the write ends after 2 s, both reads with
  // 3 GB left each, another second
  const std::vector<double> at_once = ends_of_three(description::IoEngine::gds);
  EXPECT_NEAR(at_once[2], 2.0, 1e-5);
  EXPECT_NEAR(at_once[0], 3.0, 1e-5);
  EXPECT_NEAR(at_once[1], 3.0, 1e-5);
}

TEST(SimRequests, CopiesOfOneWayFollowOneAnother) {
  run(one_gpu(), [](Machine& machine, Rank rank) -> Task<> {
    Buffer a = on_gpu(machine, rank, 8 * GB), b = on_gpu(machine, rank, 4 * GB);
    Buffer c = pinned(machine, rank, 8 * GB), d = pinned(machine, rank, 4 * GB);
    Buffer e = on_gpu(machine, rank, 4 * GB), f = pinned(machine, rank, 4 * GB);
    Op first = machine.copy(rank, c.view(), a.view());
    Op second = machine.copy(rank, d.view(), b.view());
    Op other_way = machine.copy(rank, e.view(), f.view());
    co_await first;
    co_await second;
    co_await other_way;
    EXPECT_NEAR(first.timing().finished_s, 0.4, 1e-6);  // 8 GB at 20 GB/s
    EXPECT_NEAR(second.timing().started_s, 0.4, 1e-6);
    EXPECT_NEAR(second.timing().finished_s, 0.6, 1e-6);
    EXPECT_NEAR(other_way.timing().finished_s, 0.2, 1e-6);
  });
}

}  // namespace
}  // namespace spillway::sim::test
