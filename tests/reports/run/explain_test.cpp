#include "reports/run/explain.hpp"

#include "tests/reports/samples.hpp"

#include <gmock/gmock.h>

namespace spillway::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Explain, ListsSettingsWithTheirSources) {
  const std::vector<Setting> settings = {{"training.micro_batch", "4", "scenario"},
                                         {"strategy.pinned", "exact", "default"}};
  EXPECT_THAT(explain({}, settings, {100}), HasSubstr("setting               value  from\n"
                                                      "-------------------------------------\n"
                                                      "training.micro_batch  4      scenario\n"
                                                      "strategy.pinned       exact  default\n"));
}

TEST(Explain, SaysWhereEachGigabyteComesFrom) {
  // 2 ranks x 1 x 15 GiB, each charged 16 GiB: 30 of 64 GiB = 46.9 %, rounding 2 GiB
  EXPECT_THAT(explain(sample_that_fits(), {}, {100}),
              HasSubstr("gradient_flat_buffer             30.0 GiB  46.9 %\n"
                        "  ranks 0-1: each 1 x 15.0 GiB   30.0 GiB  46.9 %  + 2.00 GiB  pinned\n"
                        "parameter_pool                   20.0 GiB  31.2 %\n"
                        "  ranks 0-1: each 10 x 1.00 GiB  20.0 GiB  31.2 %              pinned\n"
                        "optimizer_swap_buffers           6.00 GiB   9.4 %\n"
                        "  rank 0: 2 x 3.00 GiB           6.00 GiB   9.4 %  + 2.00 GiB  pinned\n"));
}

TEST(Explain, SaysWhatEachRankTakes) {
  // rank 0: 16 + 10 + 2 x 4 + 4, rank 1: 16 + 10; rounding included
  EXPECT_THAT(explain(sample_that_fits(), {}, {100}),
              HasSubstr("Of it: rank 0 38.0 GiB, rank 1 26.0 GiB.\n"));
  result::Result one = sample_that_fits();
  std::erase_if(one.host.entries, [](const result::PeakEntry& entry) { return entry.rank == 1; });
  EXPECT_THAT(explain(one, {}, {100}), Not(HasSubstr("Of it:")));
}

TEST(Explain, NamesTheSettingBehindAPurposeAndHowItShrinks) {
  result::Result result = sample_that_fits();
  result.scenario["strategy"] = {{"pinned", "power_of_two"},
                                 {"optimizer", {{"buffers", "auto"}, {"subgroup", "1e8 params"}}}};
  const std::string text = explain(result, {}, {140});
  EXPECT_THAT(text,
              HasSubstr("6.00 GiB   9.4 %  + 2.00 GiB  pinned\n"
                        "    set by strategy.optimizer.buffers = 2 (auto), "
                        "strategy.optimizer.subgroup = 1e8 params; shrinks with fewer buffers, "
                        "smaller sub-groups\n"));
  EXPECT_THAT(text, HasSubstr("    set by strategy.pinned = power_of_two; shrinks with the exact "
                              "allocator\n"));
}

TEST(Explain, TellsWhenABufferWasBornAndWhetherItIsOnlyKept) {
  result::Result result;
  result.host.total = 3;
  result.host.by_purpose = {{"host_pool", 3}};
  result.host.entries = {{0, "host_pool", 1, 2, 2, true, "init", false},
                         {0, "host_pool", 1, 1, 1, true, "backward", true}};
  EXPECT_THAT(explain(result, {}, {100}),
              HasSubstr("  rank 0: 1 x 2 B    2 B   66.7 %  pinned        init\n"
                        "  rank 0: 1 x 1 B    1 B   33.3 %  kept, unused  backward\n"));
}

TEST(Explain, SaysWhatIsSlowerTogetherThanAlone) {
  result::Result result = sample_that_fits();
  EXPECT_THAT(explain(result, {}, {200}, Topic::time), Not(HasSubstr("(mixed_efficiency)")));
  result.scenario["machine"] = {
      {"gpu", {{"peer_access", false}}},
      {"host", {{"team_rates", {{"2", 0.8}}}, {"socket_rate", "16 GB/s"}}},
      {"storage", {{{"name", "nvme"}, {"mixed_efficiency", 0.87}}}}};
  result.scenario["run"]["jitter"] = 0.01;
  result.io.network = 1;
  result.io.by_storage["nvme"] = {1, 0};
  EXPECT_THAT(explain(result, {}, {200}, Topic::time), Not(HasSubstr("(mixed_efficiency)")));
  result.io.by_storage["nvme"] = {1, 1};
  const std::string text = explain(result, {}, {1000}, Topic::time);
  EXPECT_THAT(
      text,
      HasSubstr(
          "Reads and writes at once reach 87 % of nvme where each takes half "
          "of its time (mixed_efficiency). What GPUs send each other goes by "
          "way of host memory (gpu.peer_access). What GPUs of one socket send "
          "to those of another shares 16 GB/s (host.socket_rate). CPU work of 2 ranks at once "
          "reaches 80 % of one's rate (host.team_rates). Each operation lasts "
          "up to 1 % longer or shorter (run.jitter).\n"));
}

TEST(Explain, ExplainsTheColumnsThatItsTableHas) {
  result::Result result = sample_that_fits();
  result.phase_busy = {{"forward", {.gpu = 1}}, {"backward", {.gpu = 2}}};
  const std::string alone = explain(result, {}, {1000}, Topic::time);
  EXPECT_THAT(alone, HasSubstr("\nGPU: kernels.\n"));
  result.phase_busy["backward"] = {.gpu = 2, .gpu_recompute = 1, .cpu = 1, .other_gpus = 1};
  EXPECT_THAT(explain(result, {}, {1000}, Topic::time),
              HasSubstr("more than 100 %. GPU: kernels; recomputing: of the forward pass, once "
                        "more in backward; CPU: optimizer, conversions and checks; other "
                        "GPUs: exchanges with them, and waiting for those that compute.\n"));
}

TEST(Explain, SaysInASentenceThatNothingMoves) {
  result::Result result = sample_that_fits();
  result.phase_bytes = {{"forward", {}}, {"update", {}}};
  const std::string none = explain(result, {}, {100}, Topic::time);
  EXPECT_THAT(none, HasSubstr("No phase of a step moves bytes to or from host memory or "
                              "drives.\n"));
  EXPECT_THAT(none, Not(HasSubstr("sends off")));
  result.phase_bytes["update"].h2d = 1;
  const std::string some = explain(result, {}, {100}, Topic::time);
  EXPECT_THAT(some, HasSubstr("sends off"));
  EXPECT_THAT(some, Not(HasSubstr("No phase")));
}

TEST(Explain, SaysHowDrivesUpdateAndThatNobodyWaitsForTheCpu) {
  result::Result result = sample_that_fits();
  result.scenario["machine"]["storage"] = {
      {{"name", "nvme"}, {"near_storage", {{"read", "3 GB/s"}, {"start", "2 ms"}}}}};
  result.scenario["strategy"]["optimizer"]["wait"] = true;
  EXPECT_THAT(explain(result, {}, {1000}, Topic::time), Not(HasSubstr("near_storage.start")));
  result.near_storage = result::StorageBytes{12, 12};
  EXPECT_THAT(explain(result, {}, {1000}, Topic::time),
              HasSubstr("Each drive of nvme reads, computes and writes a sub-group one after the "
                        "other, 2.00 ms after the one before it has ended on all drives "
                        "(near_storage.start).\n"));
  result.scenario["strategy"]["optimizer"]["wait"] = false;
  EXPECT_THAT(explain(result, {}, {1000}, Topic::time),
              HasSubstr("Nobody waits for Adam on the CPU: what it takes is in no step "
                        "(optimizer.wait).\n"));
}

TEST(Explain, OfOneTopicIsAboutNothingElse) {
  const std::vector<Setting> settings = {{"strategy.pinned", "exact", "default"}};
  const auto text = [&](Topic topic) {
    return explain(sample_that_fits(), settings, {140}, topic);
  };
  EXPECT_THAT(text(Topic::memory), HasSubstr("of host memory come from"));
  EXPECT_THAT(text(Topic::memory), Not(HasSubstr("of a step go")));
  EXPECT_THAT(text(Topic::memory), Not(HasSubstr("strategy.pinned  exact")));
  EXPECT_THAT(text(Topic::time), HasSubstr("of a step go"));
  EXPECT_THAT(text(Topic::time), Not(HasSubstr("come from")));
  EXPECT_THAT(text(Topic::settings), HasSubstr("strategy.pinned  exact"));
  EXPECT_THAT(text(Topic::settings), Not(HasSubstr("come from")));
}

TEST(Explain, NamesRanksThatAreNotInARow) {
  result::Result result;
  result.host.total = 3;
  result.host.by_purpose = {{"host_pool", 3}};
  for (const std::uint64_t rank : {0, 2, 3})
    result.host.entries.push_back({rank, "host_pool", 1, 1, 1, false});
  EXPECT_THAT(explain(result, {}, {100}), HasSubstr("  ranks 0, 2, 3: each 1 x 1 B"));
}

TEST(Explain, KeepsEqualBuffersOfOneRankApart) {
  result::Result result;
  result.host.total = 2;
  result.host.by_purpose = {{"host_pool", 2}};
  result.host.entries = {{0, "host_pool", 1, 1, 1, false}, {0, "host_pool", 1, 1, 1, false}};
  EXPECT_THAT(explain(result, {}, {100}),
              HasSubstr("  rank 0: 1 x 1 B    1 B   50.0 %  pageable\n"
                        "  rank 0: 1 x 1 B    1 B   50.0 %  pageable\n"));
}

TEST(Explain, SumsWhatIsTooMuchToList) {
  // sizes 1 .. 11 KiB: the eight largest are listed, 1 + 2 + 3 = 6 KiB are not
  result::Result result;
  for (std::uint64_t size = 1; size <= 11; ++size)
    result.gpu.entries.push_back({0, "activations", 1, size << 10, size << 10, false});
  result.gpu.total = 66 << 10;
  result.gpu.by_purpose = {{"activations", 66 << 10}};
  const std::string text = explain(result, {}, {100});
  EXPECT_THAT(text, HasSubstr("  rank 0: 1 x 4.00 KiB"));
  EXPECT_THAT(text, Not(HasSubstr("1 x 3.00 KiB")));
  EXPECT_THAT(text, HasSubstr("  3 smaller lines       6.00 KiB    9.1 %\n"));
  const std::string in_full = explain(result, {}, {100}, Topic::memory);
  EXPECT_THAT(in_full, HasSubstr("  rank 0: 1 x 1.00 KiB"));
  EXPECT_THAT(in_full, Not(HasSubstr("smaller lines")));
}

TEST(Explain, PrintsWhatThePlannerDecided) {
  result::Result result = sample_that_fits();
  EXPECT_THAT(explain(result, {}, {100}), Not(HasSubstr("planner")));
  result.plan = {{"swap_bytes", 3 * gib}, {"stall_s", 0.25}, {"case", "gpu bound"}, {"moved", 12}};
  EXPECT_THAT(explain(result, {}, {100}), HasSubstr("the planner decided\n"
                                                    "------------------------------\n"
                                                    "case                 gpu bound\n"
                                                    "moved                       12\n"
                                                    "stall_s                 250 ms\n"
                                                    "swap_bytes            3.00 GiB\n"));
}

TEST(Explain, SaysWhereEachSecondGoes) {
  const std::string text = explain(sample_that_fits(), {}, {140});
  EXPECT_THAT(text, HasSubstr("Where the 40.0 s of a step go"));
  EXPECT_THAT(text, HasSubstr("backward          20.0 s  15.0 s (75 %)      5.00 s (25 %)  2.00 s "
                              "(10 %)  4.00 s (20 %)   18.0 s (90 %)   1.00 s (5 %)\n"));
  EXPECT_THAT(text, HasSubstr("update     90.0 GB      90.0 GB            -            -\n"));
}

TEST(Explain, SaysWhatStaysFreeForTheSystem) {
  // 160 + 4 of 128 GiB
  EXPECT_THAT(explain(sample_that_does_not_fit(), {}, {140}),
              HasSubstr("4.00 GiB more stay free for the system (machine.host.reserve): 164.0 GiB "
                        "of 128.0 GiB.\n"));
  EXPECT_THAT(explain(sample_that_fits(), {}, {140}), Not(HasSubstr("stay free")));
}

TEST(Explain, SaysWhatTheWordsForMemoryMean) {
  const std::string text = explain(sample_that_fits(), {}, {140}, Topic::memory);
  EXPECT_THAT(text, HasSubstr("The words:\n"));
  EXPECT_THAT(text, HasSubstr("  process_base: a training process itself: interpreter, libraries, "
                              "context.\n"));
  EXPECT_THAT(text, HasSubstr("  pinned_rounding: what rounding to powers of two"));
  EXPECT_THAT(text, Not(HasSubstr("reduce_buckets:"))) << "it is not in the tables";
}

TEST(Glossary, HasEveryPurpose) {
  for (std::size_t i = 0; i < result::purpose_count; ++i) {
    const std::string_view purpose = to_string(static_cast<result::Purpose>(i));
    EXPECT_NE(result::meaning_of("host", purpose), "") << purpose;
  }
  EXPECT_EQ(result::meaning_of("host", "nonsense"), "");
}

TEST(Explain, OfARunThatDoesNotFitIsAboutMemory) {
  const std::string text = explain(sample_that_does_not_fit(), {}, {100});
  EXPECT_THAT(text, HasSubstr("Where the 160.0 GiB of host memory come from"));
  EXPECT_THAT(text, Not(HasSubstr("of a step")));
}

}  // namespace
}  // namespace spillway::reports
