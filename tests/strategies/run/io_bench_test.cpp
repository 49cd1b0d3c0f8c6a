#include "tests/strategies/systems/systems.hpp"

#include "scenarios/description/data_files.hpp"
#include "strategies/rules/rules.hpp"
#include "strategies/systems/catalogue.hpp"

namespace spillway::strategies {
namespace {

using nlohmann::json;

/// A stream on one of the shipped machines, through `engine`.
description::Scenario bench(const json& ask, const std::string& machine, const std::string& engine,
                            const Overrides& overrides = {}) {
  std::vector<scenarios::SystemInfo> known;
  for (const System& system : catalogue()) known.push_back({system.name, system.defaults()});
  const json scenario = {{"machine", machine},
                         {"strategy", {{"system", "memascend"}, {"io_engine", engine}}},
                         {"run", {{"io_bench", ask}}}};
  return scenarios::read_scenario(scenario, overrides, known, scenarios::Refuse::what_cannot_run)
      .scenario;
}

double number(const result::Result& result, const char* key) {
  return result.io_bench.at(key).get<double>();
}

TEST(IoBench, MeasuresMemAscendsSmallWrites) {
  const json ask = {{"op", "write"}, {"bytes", 2097152}, {"requests", 1}};
  const result::Result direct = simulate(bench(ask, "memascend_c2", "direct"));
  const result::Result file = simulate(bench(ask, "memascend_c2", "file"));
  // 42 us + 2 MiB at 11.8 GB/s; a file costs 769 us more
  EXPECT_NEAR(number(direct, "latency_s"), 42e-6 + 2097152 / 11.8e9, 1e-9);
  EXPECT_NEAR(number(file, "latency_s"), 811e-6 + 2097152 / 11.8e9, 1e-9);
  // Fig. 14a
  EXPECT_NEAR(number(direct, "latency_s"), 219.418e-6, 0.02 * 219.418e-6);
  EXPECT_NEAR(number(file, "latency_s"), 988.222e-6, 0.02 * 988.222e-6);
  EXPECT_NEAR(number(direct, "rate_bytes_per_s"), 2097152 / number(direct, "latency_s"), 1);
  EXPECT_EQ(number(direct, "read_bytes_per_s"), 0);
  EXPECT_EQ(number(direct, "write_bytes_per_s"), number(direct, "rate_bytes_per_s"));
}

TEST(IoBench, QueueDepthHidesLatencyAndSharesTheRate) {
  const json one = {{"op", "read"}, {"bytes", "64 KiB"}, {"requests", 100}};
  json deep = one;
  deep["queue_depth"] = 8;
  const result::Result shallow = simulate(bench(one, "memascend_c1", "direct"));
  const result::Result full = simulate(bench(deep, "memascend_c1", "direct"));
  const description::StorageSpec drive = bench(one, "memascend_c1", "direct").machine.storage.at(0);
  const double alone = drive.latency.value() + 65536 / drive.read.value();
  EXPECT_NEAR(number(shallow, "latency_s"), alone, 1e-9);
  EXPECT_NEAR(number(shallow, "rate_bytes_per_s"), 65536 / alone, 1e3);
  EXPECT_GT(number(full, "rate_bytes_per_s"), 2 * number(shallow, "rate_bytes_per_s"));
  EXPECT_LE(number(full, "rate_bytes_per_s"), drive.read.value());
  EXPECT_EQ(full.io.ssd_read, 100 * 65536u);
  EXPECT_EQ(full.operations, 100u);
}

TEST(IoBench, MixesReadsAndWritesInTheirShares) {
  const json ask = {{"op", "mixed"},
                    {"bytes", "1 MiB"},
                    {"requests", 40},
                    {"queue_depth", 4},
                    {"read_share", 0.7}};
  const result::Result mixed = simulate(bench(ask, "memascend_c2", "direct"));
  EXPECT_EQ(mixed.io.ssd_read, 28u << 20);
  EXPECT_EQ(mixed.io.ssd_write, 12u << 20);
  EXPECT_NEAR(number(mixed, "read_bytes_per_s") / number(mixed, "rate_bytes_per_s"), 0.7, 1e-9);
  EXPECT_NEAR(number(mixed, "read_bytes_per_s") + number(mixed, "write_bytes_per_s"),
              number(mixed, "rate_bytes_per_s"), 1);
  for (const double share : {0.0, 1.0}) {
    json all = ask;
    all["read_share"] = share;
    const result::Result pure = simulate(bench(all, "memascend_c2", "direct"));
    EXPECT_EQ(pure.io.ssd_read, share * 40 * 1048576);
  }
}

TEST(IoBench, RequestsArePaddedAndCountedAsAsked) {
  const json ask = {{"op", "write"}, {"bytes", 1}, {"requests", 3}};
  const result::Result tiny = simulate(bench(ask, "memascend_c1", "direct"));
  EXPECT_EQ(tiny.io.ssd_write, 3 * 4096u);
  EXPECT_NEAR(number(tiny, "rate_bytes_per_s") * 3 * number(tiny, "latency_s"), 3, 1e-6);
}

TEST(IoBench, AStreamFillsTheSlcCacheAndSlowsDown) {
  // 990 PRO: 226 GB at 6.9 GB/s, then 1.4 GB/s
  const json ask = {{"op", "write"}, {"bytes", "1 GiB"}, {"requests", 400}};
  const result::Result stream = simulate(bench(ask, "gaming_4090", "direct"));
  const double bytes = 400.0 * (1 << 30);
  const double seconds = 226e9 / 6.9e9 + (bytes - 226e9) / 1.4e9 + 400 * 85e-6;
  EXPECT_NEAR(number(stream, "rate_bytes_per_s"), bytes / seconds, 1e-6 * bytes / seconds);
}

TEST(IoBench, WithoutAClockItCountsOnly) {
  const json ask = {{"op", "write"}, {"bytes", 4096}, {"requests", 5}};
  const result::Result counted = count(bench(ask, "memascend_c2", "direct")).result;
  EXPECT_EQ(counted.io.ssd_write, 5 * 4096u);
  EXPECT_EQ(number(counted, "latency_s"), 0);
  EXPECT_EQ(number(counted, "rate_bytes_per_s"), 0);
}

TEST(IoBench, BuffersThatDoNotFitAreAnAnswer) {
  const json ask = {{"op", "read"}, {"bytes", "1 TiB"}, {"requests", 4}, {"queue_depth", 4}};
  const result::Result large = simulate(bench(ask, "memascend_c1", "direct"));
  ASSERT_TRUE(large.infeasible);
  EXPECT_EQ(large.infeasible->tier, "host");
  EXPECT_EQ(large.infeasible->purpose, "bounce_buffers");
}

TEST(IoBench, NeedsAStorage) {
  const json ask = {{"op", "read"}, {"bytes", 4096}};
  description::Scenario none = bench(ask, "memascend_c1", "direct");
  none.machine.storage.clear();
  const auto complaints = unsupported(none);
  ASSERT_EQ(complaints.size(), 1u);
  EXPECT_EQ(complaints[0].path, "run.io_bench");
}

}  // namespace
}  // namespace spillway::strategies
