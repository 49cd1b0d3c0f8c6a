#include "tests/strategies/systems/contents.hpp"

#include "tests/strategies/machine/machines.hpp"

#include <gmock/gmock.h>

namespace spillway::strategies {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// What the test does in one step; all steps of the recorder are ended by hand.
using Body = Task<> (*)(Machine&, Stored, Buffer);

Task<> with_extent(Machine& m, Purpose purpose, Body body) {
  Stored stored = co_await m.store(ssd, rank0, Bytes(16 * 4096), purpose);
  co_await body(m, stored, host_buffer(m, 16 * 4096));
}

template <class Kind>
class ContentsOf : public MachineContract<Kind> {
 protected:
  std::vector<std::string> faults(Purpose purpose, Body body) {
    Contents contents(this->machine());
    this->machine().recorder().set_watch(&contents);
    this->run(with_extent(this->machine(), purpose, body));
    return contents.faults();
  }
};
TYPED_TEST_SUITE(ContentsOf, Machines);

Op read_sectors(Machine& m, const Stored& stored, const Buffer& buffer, std::uint64_t first,
                std::uint64_t count) {
  return m.read(rank0, stored, {first * 4096, count * 4096}, buffer.view(0, count * 4096));
}
Op write_sectors(Machine& m, const Stored& stored, const Buffer& buffer, std::uint64_t first,
                 std::uint64_t count) {
  return m.write(rank0, stored, {first * 4096, count * 4096}, buffer.view(0, count * 4096));
}

Task<> reads_what_it_wrote(Machine& m, Stored stored, Buffer buffer) {
  co_await write_sectors(m, stored, buffer, 8, 8);
  co_await write_sectors(m, stored, buffer, 0, 9);  // over the first of those
  co_await read_sectors(m, stored, buffer, 0, 16);
}

TYPED_TEST(ContentsOf, WhatWasWrittenMayBeRead) {
  EXPECT_THAT(this->faults(Purpose::weights, reads_what_it_wrote), IsEmpty());
}

Task<> reads_nothing(Machine& m, Stored stored, Buffer buffer) {
  co_await read_sectors(m, stored, buffer, 0, 1);
}
Task<> reads_a_hole(Machine& m, Stored stored, Buffer buffer) {
  co_await write_sectors(m, stored, buffer, 0, 4);
  co_await write_sectors(m, stored, buffer, 5, 3);
  co_await read_sectors(m, stored, buffer, 1, 7);
}
Task<> reads_one_too_many(Machine& m, Stored stored, Buffer buffer) {
  co_await write_sectors(m, stored, buffer, 0, 4);
  co_await read_sectors(m, stored, buffer, 0, 5);
}

TYPED_TEST(ContentsOf, AReadOfWhatNobodyWroteIsAFault) {
  EXPECT_THAT(this->faults(Purpose::weights, reads_nothing),
              ElementsAre(HasSubstr("bytes 0 to 4096, which nobody wrote, of weights")));
  EXPECT_THAT(this->faults(Purpose::weights, reads_a_hole),
              ElementsAre(HasSubstr("bytes 16384 to 32768, which nobody wrote")));
  EXPECT_THAT(this->faults(Purpose::weights, reads_one_too_many),
              ElementsAre(HasSubstr("bytes 16384 to 20480, which nobody wrote")));
}

Task<> renewed_each_step(Machine& m, Stored stored, Buffer buffer) {
  for (int step = 0; step < 3; ++step) {
    co_await write_sectors(m, stored, buffer, 0, 16);
    m.step_ended();
    co_await read_sectors(m, stored, buffer, 0, 16);
  }
}
Task<> half_renewed(Machine& m, Stored stored, Buffer buffer) {
  co_await write_sectors(m, stored, buffer, 0, 16);
  m.step_ended();
  co_await write_sectors(m, stored, buffer, 0, 8);
  m.step_ended();
  co_await read_sectors(m, stored, buffer, 0, 8);
  co_await read_sectors(m, stored, buffer, 0, 16);
}

TYPED_TEST(ContentsOf, AStateOfTheLastUpdateMayBeRead) {
  EXPECT_THAT(this->faults(Purpose::optimizer_states, renewed_each_step), IsEmpty());
}

TYPED_TEST(ContentsOf, AStateThatTheLastUpdateForgotIsAFault) {
  EXPECT_THAT(this->faults(Purpose::optimizer_states, half_renewed),
              ElementsAre("step 2, rank 0 reads bytes of step 0 of optimizer_states"));
}

TYPED_TEST(ContentsOf, AGradientOfTheLastStepIsAFault) {
  EXPECT_THAT(this->faults(Purpose::gradients, renewed_each_step),
              ::testing::Contains("step 1, rank 0 reads bytes of step 0 of gradients"));
}

}  // namespace
}  // namespace spillway::strategies
