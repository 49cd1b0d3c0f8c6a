#include "tests/hw_backend/faulty_device.hpp"
#include "tests/hw_backend/rig.hpp"

#include <gmock/gmock.h>
#include <cstring>
#include <numeric>

/// What only a machine with real bytes can show, beside the contract that all machines have.
namespace spillway::hw_backend {
namespace {

using description::Bytes;
using description::DeviceError;
using description::ElementType;
using strategies::Access;
using strategies::Buffer;
using strategies::Collective;
using strategies::extent;
using strategies::gpu_buffer;
using strategies::host_buffer;
using strategies::Machine;
using strategies::message_of;
using strategies::mib;
using strategies::Op;
using strategies::Purpose;
using strategies::Rank;
using strategies::rank0;
using strategies::rank1;
using strategies::small_box;
using strategies::Stored;
using strategies::Task;
using strategies::TierId;
using strategies::View;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace description::literals;

description::Scenario box_of(std::uint64_t ranks) {
  description::Scenario box = small_box();
  box.parallel.data = box.machine.gpu.count = ranks;
  return box;
}

// ---- Collectives

constexpr std::size_t line = 16;  ///< fp32 numbers of 64 bytes, the smallest view

void set_numbers(const View& view, const std::vector<float>& values) {
  std::memcpy(view.data(), values.data(), values.size() * sizeof(float));
}

std::vector<float> numbers(const View& view) {
  std::vector<float> out(view.bytes / sizeof(float));
  std::memcpy(out.data(), view.data(), view.bytes);
  return out;
}

std::vector<float> counted(std::size_t count, float first) {
  std::vector<float> out(count);
  std::iota(out.begin(), out.end(), first);
  return out;
}

/// One collective by all ranks: rank r brings `in[r]` and ends with `out[r]`.
struct Round {
  Collective what = Collective::all_reduce;
  std::size_t out_numbers = line;
  std::vector<std::vector<float>> in, out;
};

Task<> take_part(Machine& m, Rank rank, Round* round) {
  const auto& in = round->in[rank.index];
  Buffer from = gpu_buffer(m, rank, in.size() * sizeof(float));
  Buffer into = gpu_buffer(m, rank, round->out_numbers * sizeof(float));
  set_numbers(from.view(), in);
  co_await m.collective(rank, m.topology().world(), round->what, from.view(), into.view());
  round->out[rank.index] = numbers(into.view());
}

void run_round(Round& round) {
  round.out.resize(round.in.size());
  Rig rig(box_of(round.in.size()));
  std::vector<Task<>> ranks;
  for (std::uint32_t rank = 0; rank < round.in.size(); ++rank)
    ranks.push_back(take_part(rig.machine(), {rank}, &round));
  rig.machine().run_ranks(std::move(ranks));
}

TEST(RealCollectives, GatherShardsInRankOrder) {
  Round round{Collective::all_gather, 2 * line, {counted(line, 0), counted(line, 16)}, {}};
  run_round(round);
  EXPECT_THAT(round.out, Each(counted(2 * line, 0)));
}

TEST(RealCollectives, ReduceAndScatterTheSum) {
  Round round{Collective::reduce_scatter, line, {counted(2 * line, 0), counted(2 * line, 100)}, {}};
  run_round(round);
  // i + (100 + i): 100, 102, ... 130 for rank 0, 132, ... 162 for rank 1
  for (std::size_t i = 0; i < line; ++i) {
    EXPECT_EQ(round.out[0][i], 100 + 2 * static_cast<float>(i));
    EXPECT_EQ(round.out[1][i], 132 + 2 * static_cast<float>(i));
  }
}

TEST(RealCollectives, ExchangePartsInRankOrder) {
  Round round{Collective::all_to_all, 2 * line, {counted(2 * line, 0), counted(2 * line, 100)}, {}};
  run_round(round);
  // rank 0 keeps 0 .. 15 and gets 100 .. 115, rank 1 gets 16 .. 31 and keeps 116 .. 131
  for (std::size_t i = 0; i < line; ++i) {
    const auto at = static_cast<float>(i);
    EXPECT_EQ(round.out[0][i], at);
    EXPECT_EQ(round.out[0][line + i], 100 + at);
    EXPECT_EQ(round.out[1][i], 16 + at);
    EXPECT_EQ(round.out[1][line + i], 116 + at);
  }
}

TEST(RealCollectives, AddInRankOrder) {
  // fp32 numbers near 1e8 are 8 apart: (1e8 + 1) - 1e8 = 0, but (1e8 - 1e8) + 1 = 1
  const auto sum = [](float a, float b, float c) {
    Round round;
    for (const float value : {a, b, c}) round.in.emplace_back(line, value);
    run_round(round);
    EXPECT_EQ(round.out[0], round.out[1]);
    EXPECT_EQ(round.out[0], round.out[2]);
    return round.out[0][0];
  };
  EXPECT_EQ(sum(1e8F, 1, -1e8F), 0);
  EXPECT_EQ(sum(1e8F, -1e8F, 1), 1);
}

Task<> add_halves(Machine& m, Rank rank, Element* sum) {
  Buffer own = gpu_buffer(m, rank, 64);
  for (std::size_t i = 0; i < 32; ++i)
    store({own.view().data(), *sum}, i, rank == rank0 ? 2048.0F : 1.0F);
  co_await m.collective(rank, m.topology().world(), Collective::all_reduce, own.view(), own.view(),
                        {}, static_cast<ElementType>(*sum));
  // fp16 above 2048 has even numbers only: 2048 + 1 rounds to 2048 and so does that + 1, but
  // 2048 + (1 + 1), rounded once, is 2050
  EXPECT_EQ(load(ConstArray(own.view().data(), *sum), 31), 2050);
}

TEST(RealCollectives, RoundOnce) {
  Rig rig(box_of(3));
  Element half = Element::fp16;
  Machine& m = rig.machine();
  rig.run(add_halves(m, rank0, &half), add_halves(m, rank1, &half), add_halves(m, Rank{2}, &half));
}

Task<> in_place(Machine& m, Rank rank, Collective what, std::vector<float>* out) {
  Buffer whole = gpu_buffer(m, rank, 2 * line * sizeof(float));
  const std::uint64_t half = line * sizeof(float);
  const View shard = whole.view(rank.index * half, half);
  const bool gathers = what == Collective::all_gather;
  const View in = gathers ? shard : whole.view();
  const View into = gathers ? whole.view() : shard;
  set_numbers(in, gathers ? counted(line, static_cast<float>(rank.index * line))
                          : std::vector<float>(2 * line, static_cast<float>(rank.index + 1)));
  co_await m.collective(rank, m.topology().world(), what, in, into);
  *out = numbers(into);
}

TEST(RealCollectives, WorkInPlace) {
  Rig rig(box_of(2));
  Machine& m = rig.machine();
  std::vector<float> first, second;
  rig.run(in_place(m, rank0, Collective::all_gather, &first),
          in_place(m, rank1, Collective::all_gather, &second));
  EXPECT_EQ(first, counted(2 * line, 0));
  EXPECT_EQ(second, counted(2 * line, 0));
  rig.run(in_place(m, rank0, Collective::reduce_scatter, &first),
          in_place(m, rank1, Collective::reduce_scatter, &second));
  EXPECT_THAT(first, Each(3));  // 1 + 2
  EXPECT_THAT(second, Each(3));
}

// ---- Bytes on storage

std::byte pattern(std::uint64_t at) { return static_cast<std::byte>(at * 2654435761u >> 13); }

void fill(const View& view, std::uint64_t first) {
  for (std::uint64_t i = 0; i < view.bytes; ++i) view.data()[i] = pattern(first + i);
}

std::uint64_t wrong_bytes(const View& view, std::uint64_t first) {
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < view.bytes; ++i) wrong += view.data()[i] != pattern(first + i);
  return wrong;
}

constexpr std::uint64_t sector = 4096;

/// Writes an extent in two parts, reads it whole, in parts, and at ranges across every boundary.
Task<> there_and_back(Machine& m, std::uint64_t bytes) {
  // what others have there must not be touched
  Stored before =
      co_await m.store(m.topology().home(rank0), rank0, Bytes(3 * sector), Purpose::weights);
  Stored stored =
      co_await m.store(m.topology().home(rank0), rank0, Bytes(bytes), Purpose::optimizer_states);
  Stored after =
      co_await m.store(m.topology().home(rank0), rank0, Bytes(5 * sector), Purpose::weights);
  const std::uint64_t whole = stored.block()->charged;
  const std::uint64_t first = 37 * sector;
  Buffer buffer = host_buffer(m, whole), small = host_buffer(m, 5 * sector);
  fill(buffer.view(), 0);
  fill(small.view(), 1000);
  co_await m.write(rank0, before, {0, 3 * sector}, small.view(0, 3 * sector));
  co_await m.write(rank0, after, {0, 5 * sector}, small.view());
  Op one = m.write(rank0, stored, {first, whole - first}, buffer.view(first, whole - first));
  co_await m.write(rank0, stored, {0, first}, buffer.view(0, first));
  co_await one;
  Buffer back = host_buffer(m, whole);
  co_await m.read(rank0, stored, {0, whole}, back.view());
  EXPECT_EQ(wrong_bytes(back.view(), 0), 0u);
  for (std::uint64_t at = 0; at < whole; at += 11 * sector) {
    const std::uint64_t part = std::min(13 * sector, whole - at);
    co_await m.read(rank0, stored, {at, part}, back.view(64, part));
    EXPECT_EQ(wrong_bytes(back.view(64, part), at), 0u) << at;
  }
  co_await m.read(rank0, before, {0, 3 * sector}, back.view(0, 3 * sector));
  EXPECT_EQ(wrong_bytes(back.view(0, 3 * sector), 1000), 0u);
  co_await m.read(rank0, after, {0, 5 * sector}, back.view(0, 5 * sector));
  EXPECT_EQ(wrong_bytes(back.view(0, 5 * sector), 1000), 0u);
}

struct Layout {
  const char* name;
  description::IoEngine engine;
  std::uint64_t drives, storages;
};

class RealStorages : public ::testing::TestWithParam<Layout> {};

TEST_P(RealStorages, GiveBackWhatWasWritten) {
  description::Scenario box = small_box();
  box.strategy.io_engine = GetParam().engine;
  box.machine.storage[0].count = GetParam().drives;
  box.machine.storage[0].capacity = 16_MiB;
  for (std::uint64_t i = 1; i < GetParam().storages; ++i) {
    box.machine.storage.push_back(box.machine.storage[0]);
    box.machine.storage[i].name = "slower";
    box.machine.storage[i].read = 1_GBps;
  }
  // blocks of three sectors: most transfers are several requests, which end in any order
  Rig rig(box, {.engine = {.uring = {.queue_depth = 4, .block_size = 3 * sector}}});
  // 1,000,000 B are 245 sectors: 123 and 122 of two drives
  rig.run(there_and_back(rig.machine(), 1'000'000));
  std::uint64_t written = 0;
  for (std::size_t i = 0; i < GetParam().storages; ++i) {
    EXPECT_GT(rig.machine().moved(i).second, 0u);
    written += rig.machine().moved(i).second;
  }
  EXPECT_EQ(written, (245u + 3 + 5) * sector);
  EXPECT_THAT(rig.left_behind(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    All, RealStorages,
    ::testing::Values(Layout{"file", description::IoEngine::file, 1, 1},
                      Layout{"file_on_two_drives", description::IoEngine::file, 2, 1},
                      Layout{"direct", description::IoEngine::direct, 1, 1},
                      Layout{"direct_on_two_drives", description::IoEngine::direct, 2, 1},
                      Layout{"file_stripe", description::IoEngine::file, 1, 2},
                      Layout{"direct_stripe_of_four_drives", description::IoEngine::direct, 2, 2}),
    [](const auto& layout) { return layout.param.name; });

// ---- Ends

/// The only file of that size below `directory`.
std::filesystem::path file_of(const std::filesystem::path& directory, std::uint64_t bytes) {
  std::filesystem::path found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
    if (entry.is_regular_file() && entry.file_size() == bytes) found = entry.path();
  return found;
}

Task<> read_after_a_flip(Machine& m, std::filesystem::path directory) {
  Stored stored = co_await extent(m, mib);
  Buffer buffer = host_buffer(m, mib);
  fill(buffer.view(), 0);
  co_await m.write(rank0, stored, {0, mib}, buffer.view());
  const std::filesystem::path file = file_of(directory, mib);
  const std::byte flipped = contents(file)[500'000] ^ std::byte{1};
  overwrite(file, 500'000, {&flipped, 1});
  co_await m.read(rank0, stored, {0, 122 * sector}, buffer.view(0, 122 * sector));
  // byte 500,000 lies in sector 122, which begins at 499,712
  co_await m.read(rank0, stored, {122 * sector, sector}, buffer.view(0, sector));
  ADD_FAILURE() << "a changed bit was read";
}

TEST(RealEnds, ABitThatChangesOnStorageIsCaughtWhenItIsRead) {
  Rig rig(small_box(), {.engine = {.checked = true}});
  EXPECT_THAT(
      message_of<DeviceError>([&] { rig.run(read_after_a_flip(rig.machine(), rig.directory())); }),
      AllOf(HasSubstr("read check: "), HasSubstr("at 499712: generation 1 expected")));
  EXPECT_THAT(rig.left_behind(), IsEmpty());
}

Task<> writes(Machine& m, Rank rank, bool catches) {
  Stored stored = co_await extent(m, mib);
  Buffer buffer = host_buffer(m, mib);
  try {
    co_await m.write(rank, stored, {0, mib}, buffer.view());
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("EIO"));
    if (!catches) throw;
  }
}

TEST(RealEnds, AnErrorOfADriveIsRethrownWhereItIsAwaited) {
  Rig rig(small_box(), {.engine = {.faults = FaultPlan{.seed = 3, .eio = 1}}});
  EXPECT_NO_THROW(rig.run(writes(rig.machine(), rank0, true)));
  EXPECT_THAT(message_of<DeviceError>([&] { rig.run(writes(rig.machine(), rank1, false)); }),
              AllOf(HasSubstr("write: "), HasSubstr("EIO"), HasSubstr("injected, seed 3")));
  EXPECT_EQ(rig.machine().usage(TierId::pinned, rank0).used, 0u);
  EXPECT_THAT(rig.left_behind(), IsEmpty());
}

Task<> copies(Machine& m, Rank rank, int times) {
  Buffer host = host_buffer(m, mib);
  Buffer gpu = gpu_buffer(m, rank, mib);
  for (int i = 0; i < times; ++i) co_await m.copy(rank, gpu.view(), host.view());
}

TEST(RealEnds, ADeviceThatThrowsEndsTheRunWithItsError) {
  Rig rig(small_box(), {.device_faults = {.seed = 5, .throws = 0.1}});
  EXPECT_THAT(message_of<DeviceError>([&] { rig.run(copies(rig.machine(), rank0, 1000)); }),
              HasSubstr("copy: injected, seed 5"));
  EXPECT_EQ(rig.machine().usage(TierId::gpu, rank0).used, 0u);
}

TEST(RealEnds, ADeviceThatReportsAFailureEndsTheRunWithItsError) {
  Rig rig(small_box(), {.device_faults = {.seed = 6, .fails = 0.1}});
  EXPECT_THAT(message_of<DeviceError>([&] { rig.run(copies(rig.machine(), rank1, 1000)); }),
              HasSubstr("copy: injected, seed 6"));
}

TEST(RealEnds, ADeviceThatStopsAnsweringIsNamedInTime) {
  Rig rig(small_box(), {.answer_s = 0.2, .device_faults = {.seed = 7, .silent = 0.1}});
  EXPECT_THAT(message_of<DeviceError>([&] { rig.run(copies(rig.machine(), rank1, 1000)); }),
              AllOf(HasSubstr("nothing ended for 0.2 s"), HasSubstr("a copy to the GPU of rank 1"),
                    HasSubstr("rank 1")));
  EXPECT_EQ(rig.machine().usage(TierId::gpu, rank1).used, 0u);
  EXPECT_THAT(rig.left_behind(), IsEmpty());
}

// A death test: only the end of the process ends the thread that hangs.
TEST(RealEnds, AJobThatNeverReturnsEndsTheProcessAndIsNamed) {
#ifdef SPILLWAY_SANITIZED
  GTEST_SKIP() << "SKIP a process that ends like this one reports leaks";
#endif
  const ScratchDirectory files;  // what the process leaves behind
  const auto hang = [&] {
    setenv("TMPDIR", files.path().c_str(), 1);
    Rig rig(small_box(), {.answer_s = 0.1, .rest_s = 0.2, .device_faults = {.hangs = 1}});
    rig.run(copies(rig.machine(), rank1, 1));
  };
  EXPECT_EXIT(hang(), ::testing::ExitedWithCode(3),
              "host device, .* its stream to_device \\(a copy to the GPU of rank 1 is the first "
              "under way\\) hangs: no end within 0.2 s");
}

Task<> much_in_flight(Machine& m, Rank rank) {
  Stored stored = co_await extent(m, 32 * mib);
  Buffer host = host_buffer(m, 32 * mib), other = host_buffer(m, 32 * mib);
  Buffer gpu = gpu_buffer(m, rank, 32 * mib);
  Op write = m.write(rank, stored, {0, 32 * mib}, host.view());
  Op up = m.copy(rank, gpu.view(), host.view());
  Op beside = m.copy(rank, other.view(0, mib), host.view(0, mib));
  throw std::runtime_error("enough");
}

TEST(RealEnds, WhatIsInFlightWhenARunFailsTouchesNoMemoryAfterwards) {
  Rig rig(small_box());
  for (int again = 0; again < 5; ++again)
    EXPECT_EQ(message_of<std::runtime_error>([&] {
                rig.run(much_in_flight(rig.machine(), rank0), much_in_flight(rig.machine(), rank1));
              }),
              "enough");
  EXPECT_EQ(rig.machine().usage(TierId::pinned, rank0).used, 0u);
  EXPECT_EQ(rig.engine().in_flight(), 0u);
  EXPECT_THAT(rig.left_behind(), IsEmpty());
}

}  // namespace
}  // namespace spillway::hw_backend
