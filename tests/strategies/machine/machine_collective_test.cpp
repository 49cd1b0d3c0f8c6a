#include "tests/strategies/machine/machines.hpp"

#include <gmock/gmock.h>

namespace spillway::strategies {
namespace {

using ::testing::HasSubstr;

template <class Kind>
using MachineCollective = MachineContract<Kind>;
TYPED_TEST_SUITE(MachineCollective, Machines);

Task<> gather(Machine& m, Rank rank, std::uint64_t bytes, int times) {
  Buffer shard = gpu_buffer(m, rank, bytes / 2);
  Buffer whole = gpu_buffer(m, rank, bytes);
  for (int i = 0; i < times; ++i)
    co_await m.collective(rank, m.topology().world(), Collective::all_gather, shard.view(),
                          whole.view());
}

TYPED_TEST(MachineCollective, EndsWhenEveryMemberHasCalledIt) {
  Machine& m = this->machine();
  this->run(gather(m, rank0, 2 * mib, 3), gather(m, rank1, 2 * mib, 3));
  m.step_ended();
  // each member sends (G-1)/G of the whole, three times: 2 x 3 x 1 MiB
  EXPECT_EQ(m.recorder().steps()[0].network, 6 * mib);
}

Task<> exchange(Machine& m, Rank rank, std::uint64_t bytes) {
  Buffer out = gpu_buffer(m, rank, bytes);
  Buffer in = gpu_buffer(m, rank, bytes);
  co_await m.collective(rank, m.topology().world(), Collective::all_to_all, out.view(), in.view());
}

TYPED_TEST(MachineCollective, AllToAllSendsWhatIsNotTheMembersOwn) {
  Machine& m = this->machine();
  this->run(exchange(m, rank0, 2 * mib), exchange(m, rank1, 2 * mib));
  m.step_ended();
  EXPECT_EQ(m.recorder().steps()[0].network, 2 * mib);  // each sends half of its own
}

Task<> early(Machine& m, std::vector<int>* log) {
  Buffer gpu = gpu_buffer(m, rank0, mib);
  // two rounds are open before the other member has joined one
  Op first =
      m.collective(rank0, m.topology().world(), Collective::all_reduce, gpu.view(), gpu.view());
  Buffer sum = gpu_buffer(m, rank0, mib / 2);
  Op second =
      m.collective(rank0, m.topology().world(), Collective::reduce_scatter, gpu.view(), sum.view());
  std::vector<Task<>> watchers;
  watchers.push_back(note_end(second, log, 2));
  watchers.push_back(note_end(first, log, 1));
  co_await when_all(m.scheduler(), std::move(watchers));
}

Task<> late(Machine& m, std::vector<int>* log) {
  Buffer gpu = gpu_buffer(m, rank1, mib);
  co_await m.run(rank1, std::vector<GpuKernel>(3, kernel_of(1e9)));
  EXPECT_TRUE(log->empty());
  co_await m.collective(rank1, m.topology().world(), Collective::all_reduce, gpu.view(),
                        gpu.view());
  Buffer sum = gpu_buffer(m, rank1, mib / 2);
  co_await m.collective(rank1, m.topology().world(), Collective::reduce_scatter, gpu.view(),
                        sum.view());
}

TYPED_TEST(MachineCollective, AMemberMayRunAheadByWholeRounds) {
  std::vector<int> log;
  Machine& m = this->machine();
  this->run(early(m, &log), late(m, &log));
  EXPECT_THAT(log, ::testing::ElementsAre(1, 2));
}

Task<> after_and_stream(Machine& m, Rank rank) {
  Buffer host = host_buffer(m, 4 * mib);
  Buffer gpu = gpu_buffer(m, rank, 4 * mib);
  Op up = m.copy(rank, gpu.view(), host.view());
  const View own = gpu.view(rank.index * 2 * mib, 2 * mib);
  Op reduced =
      m.collective(rank, m.topology().world(), Collective::reduce_scatter, gpu.view(), own, up);
  // the collective stream orders them, though they work on the same bytes
  Op gathered = m.collective(rank, m.topology().world(), Collective::all_gather, own, gpu.view());
  co_await gathered;
  EXPECT_TRUE(up.done());
  EXPECT_TRUE(reduced.done());
}

TYPED_TEST(MachineCollective, HasItsOwnInOrderStreamAndWaitsForItsAfter) {
  Machine& m = this->machine();
  this->run(after_and_stream(m, rank0), after_and_stream(m, rank1));
}

Task<> two_groups(Machine& m, Event* both_called) {
  Buffer one = gpu_buffer(m, rank0, mib);
  Buffer two = gpu_buffer(m, rank0, mib);
  Op everybody =
      m.collective(rank0, m.topology().world(), Collective::all_reduce, one.view(), one.view());
  co_await m.collective(rank0, Group{2}, Collective::all_reduce, two.view(), two.view());
  EXPECT_FALSE(everybody.done());  // rank 1 has not called yet
  both_called->set();
  co_await everybody;
}

Task<> joins_when(Machine& m, Event* called) {
  Buffer gpu = gpu_buffer(m, rank1, mib);
  co_await *called;
  co_await m.collective(rank1, m.topology().world(), Collective::all_reduce, gpu.view(),
                        gpu.view());
}

TYPED_TEST(MachineCollective, AGroupThatWaitsHoldsUpNoOtherGroup) {
  Machine& m = this->machine();
  Event called(m.scheduler());
  this->run(two_groups(m, &called), joins_when(m, &called));
}

Task<> same_bytes_in_two_groups(Machine& m) {
  Buffer gpu = gpu_buffer(m, rank0, mib);
  Op everybody =
      m.collective(rank0, m.topology().world(), Collective::all_reduce, gpu.view(), gpu.view());
  co_await m.collective(rank0, Group{2}, Collective::all_reduce, gpu.view(), gpu.view());
}

TYPED_TEST(MachineCollective, StreamsOfTwoGroupsOrderNothingBetweenThem) {
  EXPECT_THAT(
      message_of<InternalError>([&] { this->run(same_bytes_in_two_groups(this->machine())); }),
      HasSubstr("conflict"));
}

Task<> call(Machine& m, Rank rank, Collective what, std::uint64_t bytes) {
  Buffer gpu = gpu_buffer(m, rank, bytes);
  const std::uint64_t shard = bytes / m.topology().size(m.topology().world());
  const View own = gpu.view(rank.index * shard, shard);
  const View in = what == Collective::all_gather ? own : gpu.view();
  const View out = what == Collective::reduce_scatter ? own : gpu.view();
  co_await m.collective(rank, m.topology().world(), what, in, out);
}

TYPED_TEST(MachineCollective, MembersThatCallDifferentThingsAreABug) {
  Machine& m = this->machine();
  EXPECT_THAT(message_of<InternalError>([&] {
                this->run(call(m, rank0, Collective::all_reduce, mib),
                          call(m, rank1, Collective::all_gather, mib));
              }),
              HasSubstr("different collectives: all_reduce of 1048576 B and all_gather"));
  EXPECT_THAT(message_of<InternalError>([&] {
                this->run(call(m, rank0, Collective::all_reduce, mib),
                          call(m, rank1, Collective::all_reduce, 2 * mib));
              }),
              HasSubstr("1048576 B and all_reduce of 2097152 B"));
}

TYPED_TEST(MachineCollective, AMissingMemberIsABugThatSaysWhatItLacks) {
  Machine& m = this->machine();
  EXPECT_THAT(message_of<InternalError>(
                  [&] { this->run(call(m, rank0, Collective::reduce_scatter, mib)); }),
              HasSubstr("reduce_scatter lacks 1 member"));
  // and the machine is as good as new
  this->run(call(m, rank0, Collective::all_reduce, mib),
            call(m, rank1, Collective::all_reduce, mib));
}

Task<> odd_shards(Machine& m) {
  Buffer gpu = gpu_buffer(m, rank0, mib);
  const Group world = m.topology().world();
  const auto message = [&](Collective what, std::uint64_t in, std::uint64_t out) {
    return message_of<InternalError>(
        [&] { (void)m.collective(rank0, world, what, gpu.view(0, in), gpu.view(0, out)); });
  };
  EXPECT_THAT(message(Collective::all_gather, 512, 512), HasSubstr("512 B are no shard of 512 B"));
  EXPECT_THAT(message(Collective::all_gather, 64, 256), HasSubstr("no shard"));
  EXPECT_THAT(message(Collective::reduce_scatter, 512, 512), HasSubstr("among 2"));
  EXPECT_THAT(message(Collective::all_reduce, 512, 256), HasSubstr("all_reduce"));
  EXPECT_THAT(message_of<InternalError>([&] {
                (void)m.collective(rank0, world, Collective::all_gather, gpu.view(), {});
              }),
              HasSubstr("all_gather without a buffer"));
  co_return;
}

TYPED_TEST(MachineCollective, AShardIsTheWholeDividedByTheMembers) {
  this->run(odd_shards(this->machine()));
}

Task<> misplaced(Machine& m, Collective what) {
  Buffer gpu = gpu_buffer(m, rank1, mib);
  const View first = gpu.view(0, mib / 2);  // the place of rank 0
  const bool gathers = what == Collective::all_gather;
  const View in = gathers ? first : gpu.view();
  const View out = gathers ? gpu.view() : first;
  EXPECT_THAT(message_of<InternalError>(
                  [&] { (void)m.collective(rank1, m.topology().world(), what, in, out); }),
              HasSubstr("not in its own place"));
  co_return;
}

TYPED_TEST(MachineCollective, AShardInTheWholeLiesInItsOwnPlace) {
  this->run(misplaced(this->machine(), Collective::all_gather));
  this->run(misplaced(this->machine(), Collective::reduce_scatter));
}

Task<> shards_with_a_remainder(Machine& m, Rank rank) {
  Buffer gpu = gpu_buffer(m, rank, 4096);
  // 4096 / 3 = 1365; views are whole lines of 64 B: 1344
  co_await m.collective(rank, m.topology().world(), Collective::all_gather, gpu.view(0, 1344),
                        gpu.view());
}

TYPED_TEST(MachineCollective, AShardMayLackLessThanAnAlignment) {
  if (bytes_are_real) GTEST_SKIP() << "there is one server only";
  this->box.parallel.data = 3;
  this->box.machine.gpu.count = 1;
  this->box.machine.nodes = 3;
  this->run(shards_with_a_remainder(this->machine(), rank0));
}

TYPED_TEST(MachineCollective, MembersOnOtherNodesDoAsTheseDo) {
  if (bytes_are_real) GTEST_SKIP() << "there is one server only";
  this->box.parallel.data = 4;
  this->box.machine.nodes = 2;
  Machine& m = this->machine();
  this->run(call(m, rank0, Collective::all_gather, 4 * mib),
            call(m, rank1, Collective::all_gather, 4 * mib));
  m.step_ended();
  // each of both sends 3/4 of 4 MiB; half of it over its NIC, as there are two rings
  EXPECT_EQ(m.recorder().steps()[0].network, 2 * 3 * mib);
  EXPECT_EQ(m.recorder().steps()[0].between_nodes, 3 * mib);
}

TYPED_TEST(MachineCollective, AGroupOfOneInThisNodeStillSendsToTheOthers) {
  if (bytes_are_real) GTEST_SKIP() << "there is one server only";
  this->box.parallel.data = 3;
  this->box.machine.gpu.count = 1;
  this->box.machine.nodes = 3;
  Machine& m = this->machine();
  this->run(call(m, rank0, Collective::all_reduce, 3 * mib));
  m.step_ended();
  EXPECT_EQ(m.recorder().steps()[0].network, 4 * mib);
  EXPECT_EQ(m.recorder().steps()[0].between_nodes, 4 * mib);
}

Task<> joins_without_waiting(Machine& m) {
  Buffer gpu = gpu_buffer(m, rank0, mib);
  Op left =
      m.collective(rank0, m.topology().world(), Collective::all_reduce, gpu.view(), gpu.view());
  co_return;
}

TYPED_TEST(MachineCollective, AMissingMemberIsABugEvenWhenNobodyAwaitsTheCall) {
  Machine& m = this->machine();
  EXPECT_THROW(this->run(joins_without_waiting(m)), InternalError);
}

Task<> not_a_member(Machine& m) {
  Buffer gpu = gpu_buffer(m, rank1, mib);
  // groups 1 and on: data-parallel, then one tensor-parallel group for each rank
  const Group of_rank0{2};
  EXPECT_THROW((void)m.collective(rank1, of_rank0, Collective::all_reduce, gpu.view(), gpu.view()),
               InternalError);
  co_return;
}

TYPED_TEST(MachineCollective, OnlyMembersCallIt) { this->run(not_a_member(this->machine())); }

Task<> alone(Machine& m) {
  Buffer gpu = gpu_buffer(m, rank0, mib);
  co_await m.collective(rank0, Group{2}, Collective::all_reduce, gpu.view(), gpu.view());
}

TYPED_TEST(MachineCollective, AGroupOfOneSendsNothing) {
  Machine& m = this->machine();
  this->run(alone(m));
  m.step_ended();
  EXPECT_EQ(m.recorder().steps()[0].network, 0u);
}

TYPED_TEST(MachineCollective, OfZeroBytesEndsWhenAllHaveCalled) {
  Machine& m = this->machine();
  this->run(call(m, rank0, Collective::all_reduce, 0), call(m, rank1, Collective::all_reduce, 0));
}

Task<> hand_over(Machine& m) {
  Buffer from = gpu_buffer(m, rank0, mib);
  Buffer into = gpu_buffer(m, rank1, mib);
  Op sent = m.send(rank0, rank1, from.view(), into.view());
  // one-sided: the receiver's kernel follows by After, not by a call of its own
  Op used = m.run(rank1, kernel_on(into.view(), Access::read), sent);
  co_await used;
  EXPECT_TRUE(sent.done());
  EXPECT_THROW((void)m.send(rank0, rank1, from.view(), into.view(0, 64)), InternalError);
}

TYPED_TEST(MachineCollective, ASendHandsGpuMemoryToAPeer) {
  Machine& m = this->machine();
  this->run(hand_over(m));
  m.step_ended();
  EXPECT_EQ(m.recorder().steps()[0].network, mib);
}

}  // namespace
}  // namespace spillway::strategies
