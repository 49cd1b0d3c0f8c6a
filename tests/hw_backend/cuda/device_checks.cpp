#include "scenarios/description/errors.hpp"
#include "tests/hw_backend/cuda/session.hpp"

#include <cmath>
#include <future>
#include <mutex>

namespace spillway::hw_backend {

namespace {

using strategies::Collective;

constexpr std::size_t members = 3;
constexpr const char* names[] = {"all_gather", "reduce_scatter", "all_reduce"};

/// Collectives of three ranks on one device; `in_place`: an output is its member's input, for a
/// gathered shard its place in the output.
void check_collective(Device& device, Report& report, Collective what, Element type,
                      bool in_place) {
  constexpr std::uint64_t each = 1003, whole = members * each;
  const bool shards_in = what == Collective::all_gather;
  const bool shards_out = what == Collective::reduce_scatter;
  std::vector<std::unique_ptr<Operand>> in, out;
  PeerCall call{what, type, whole * size_of(type), {}, {}, {}, {}};
  for (std::uint32_t member = 0; member < members; ++member) {
    in.push_back(std::make_unique<Operand>(device, shards_in ? each : whole, type, member + 1));
    out.push_back(std::make_unique<Operand>(device, shards_out ? each : whole, type, member + 9));
    call.in.push_back(in.back()->data(Side::device));
    call.out.push_back(in_place && !shards_in ? in.back()->data(Side::device)
                                              : out.back()->data(Side::device));
    if (!in_place || !shards_in) continue;
    std::byte* const place = call.out.back() + member * each * size_of(type);
    copy_now(device, place, call.in.back(), each * size_of(type));
    call.in.back() = place;
  }
  std::vector<std::vector<std::byte>> got(members);
  wait_for([&](Done done) { device.collective(0, call, std::move(done)); });
  std::uint64_t wrong = 0;
  for (std::size_t member = 0; member < members; ++member) {
    const std::uint64_t elements = shards_out ? each : whole;
    std::vector<std::byte> values(elements * size_of(type));
    copy_now(device, values.data(), call.out[member], values.size());
    for (std::uint64_t i = 0; i < elements; ++i) {
      const std::uint64_t from = shards_out ? member * each + i : i;
      float expected = load(in[0]->array(Side::host), shards_in ? from % each : from);
      if (shards_in) expected = load(in[from / each]->array(Side::host), from % each);
      for (std::size_t other = 1; other < members; ++other)
        if (what == Collective::all_reduce || shards_out)
          expected += load(in[other]->array(Side::host), from);
      alignas(4) std::byte rounded[4] = {};
      store({rounded, type}, 0, expected);
      wrong += load({rounded, type}, 0) != load({values.data(), type}, i);
    }
  }
  report.expect(wrong == 0, std::string(names[static_cast<std::size_t>(what)]) + " of " +
                                std::string(to_string(type)) + (in_place ? ", in place" : "") +
                                ": " + std::to_string(wrong) + " elements are wrong");
}

/// Where element `i` of part `part` lies, parts of `each` elements in `pieces` that take turns.
std::uint64_t place_of(std::uint64_t part, std::uint64_t i, std::uint64_t each,
                       std::uint64_t pieces) {
  const std::uint64_t piece = each / pieces;
  return (i / piece * members + part) * piece + i % piece;
}

/// Three ranks on one device, each with a part for each.
void check_exchange(Device& device, Report& report, Element type,
                    const strategies::PartPieces& pieces) {
  constexpr std::uint64_t each = 1008, whole = members * each;
  std::vector<std::unique_ptr<Operand>> in, out;
  PeerCall call{Collective::all_to_all, type, whole * size_of(type), pieces, {}, {}, {}};
  for (std::uint32_t member = 0; member < members; ++member) {
    in.push_back(std::make_unique<Operand>(device, whole, type, member + 1));
    out.push_back(std::make_unique<Operand>(device, whole, type, member + 9));
    call.in.push_back(in.back()->data(Side::device));
    call.out.push_back(out.back()->data(Side::device));
  }
  wait_for([&](Done done) { device.collective(0, call, std::move(done)); });
  std::uint64_t wrong = 0;
  for (std::size_t member = 0; member < members; ++member) {
    std::vector<std::byte> values(whole * size_of(type));
    copy_now(device, values.data(), call.out[member], values.size());
    for (std::uint64_t i = 0; i < whole; ++i)
      wrong += load({values.data(), type}, place_of(i / each, i % each, each, pieces.out)) !=
               load(in[i / each]->array(Side::host), place_of(member, i % each, each, pieces.in));
  }
  report.expect(wrong == 0, "all_to_all of " + std::string(to_string(type)) + ": " +
                                std::to_string(wrong) + " elements are wrong");
}

/// Three ranks, whose experts get 5, 0 and 2 copies of each rank's 7: there and back.
void check_dispatch(Device& device, Report& report, Element type) {
  constexpr std::uint64_t width = 24, own = 7 * width, room = members * 5 * width;
  const std::vector<std::uint64_t> shares{5, 0, 2};
  std::vector<std::unique_ptr<Operand>> there, here, back;
  PeerCall away{Collective::all_to_all, type, room * size_of(type), {}, {}, {}, {}};
  away.pieces.shares = shares;
  for (const std::uint64_t share : shares) away.parts.push_back(share * width * size_of(type));
  PeerCall returns = away;
  returns.pieces.returns = true;
  for (std::uint32_t member = 0; member < members; ++member) {
    there.push_back(std::make_unique<Operand>(device, own, type, member + 1));
    here.push_back(std::make_unique<Operand>(device, room, type, member + 9));
    back.push_back(std::make_unique<Operand>(device, own, type, member + 17));
    away.in.push_back(there.back()->data(Side::device));
    away.out.push_back(here.back()->data(Side::device));
    returns.in.push_back(here.back()->data(Side::device));
    returns.out.push_back(back.back()->data(Side::device));
  }
  wait_for([&](Done done) { device.collective(0, away, std::move(done)); });
  wait_for([&](Done done) { device.collective(0, returns, std::move(done)); });
  std::uint64_t wrong = 0, before = 0;
  std::vector<std::byte> values(room * size_of(type));
  for (std::size_t member = 0; member < members; ++member) {
    const std::uint64_t part = shares[member] * width;
    copy_now(device, values.data(), away.out[member], values.size());
    for (std::uint64_t i = 0; i < members * part; ++i)
      wrong += load({values.data(), type}, i) !=
               load(there[i / part]->array(Side::host), before + i % part);
    copy_now(device, values.data(), returns.out[member], own * size_of(type));
    for (std::uint64_t i = 0; i < own; ++i)
      wrong += load({values.data(), type}, i) != load(there[member]->array(Side::host), i);
    before += part;
  }
  report.expect(wrong == 0, "all_to_all of unequal parts of " + std::string(to_string(type)) +
                                ": " + std::to_string(wrong) + " elements are wrong");
}

void collectives(Device& device, Report& report) {
  for (const Element type : all_types) check_dispatch(device, report, type);
  for (const Element type : all_types)
    for (const strategies::PartPieces& pieces :
         {strategies::PartPieces{}, {12, 2}, {2, 12}, {1, 4}, {6, 6}})
      check_exchange(device, report, type, pieces);

  for (const Element type : all_types)
    for (const bool in_place : {false, true})
      for (const Collective what :
           {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce})
        check_collective(device, report, what, type, in_place);
}

/// Copies of every size and place, through pageable and pinned memory, between devices' own too.
void copies(Device& device, Report& report) {
  constexpr std::uint64_t most = 3 << 20;
  Operand from(device, most / 2, Element::bf16, 1);
  std::vector<std::byte> pinned(most + 4096);
  device.pin(pinned.data(), pinned.size());
  DeviceBytes first(device, most), second(device, most);
  for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{4097}, most}) {
    copy_now(device, pinned.data() + 3, from.data(Side::host), bytes);
    copy_now(device, first.data(), pinned.data() + 3, bytes);
    copy_now(device, second.data(), first.data(), bytes);
    std::vector<std::byte> back(bytes);
    copy_now(device, back.data(), second.data(), bytes);
    const std::byte* const expected = from.data(Side::host);
    report.expect(std::equal(back.begin(), back.end(), expected),
                  std::to_string(bytes) + " bytes came back as others");
  }
  copy_now(device, first.data(), second.data(), 0);
  device.unpin(pinned.data());
}

void fetches(Device& device, Report& report) {
  DeviceBytes memory(device, 4);
  const float value = -1.5f;
  copy_now(device, memory.data(), reinterpret_cast<const std::byte*>(&value), 4);
  report.expect(device.fetch(memory.data()) == value, "another number is fetched");
}

/// A stream's work is done, and told, in the order in which it was given.
void order(Device& device, Report& report) {
  std::mutex mutex;
  std::vector<int> told;
  Operand x(device, 1000, Element::fp32, 1);
  std::promise<void> last;
  for (int i = 0; i < 50; ++i) {
    const Done done = [&, i](const JobEnd& end) {
      const std::lock_guard lock(mutex);
      told.push_back(end.error ? -1 : i);
      if (i == 49) last.set_value();
    };
    if (i % 2 == 0)
      device.run(
          Stream::side, 0,
          [&](Primitives& p) {
            p.add(1000, x.in(Side::device), x.in(Side::device), x.out(Side::device));
          },
          done);
    else
      device.copy(Stream::side, 0, x.data(Side::device), x.data(Side::host), 4000, done);
  }
  last.get_future().get();
  const std::lock_guard lock(mutex);
  for (int i = 0; i < 50; ++i)
    report.expect(told[static_cast<std::size_t>(i)] == i, "an operation overtakes another");
}

/// An error of work that cannot be enqueued reaches who asked for it, and the stream goes on.
void errors(Device& device, Report& report) {
  std::string message;
  try {
    run_on(device, [](Primitives&) { throw description::DeviceError("as expected"); });
  } catch (const description::DeviceError& error) {
    message = error.what();
  }
  report.expect(message == "as expected", "an error is lost: \"" + message + "\"");
  bool ran = false;
  run_on(device, [&](Primitives&) { ran = true; });
  report.expect(ran, "after an error the stream does nothing");
}

void full_memory(Device& device, Report& report) {
  std::string message;
  try {
    device.allocate(std::uint64_t{1} << 50);
  } catch (const description::DeviceError& error) {
    message = error.what();
  }
  report.expect(message.find("cudaErrorMemoryAllocation") != std::string::npos,
                "a petabyte is to be had: \"" + message + "\"");
  Session session(device, report);
  Operand x(device, 100, Element::fp32, 1);
  session.both([&](Primitives& p, Side side) { p.add(100, x.in(side), x.in(side), x.out(side)); });
  session.equal("a sum after memory was full", x);
}

/// Two ranks pin the same memory; the second still has it when the first is done.
void pins(Device& device, Report& report) {
  std::vector<std::byte> memory(1 << 16);
  device.pin(memory.data(), memory.size());
  device.pin(memory.data(), memory.size());
  device.unpin(memory.data());
  DeviceBytes there(device, memory.size());
  copy_now(device, there.data(), memory.data(), memory.size());
  device.unpin(memory.data());
  device.pin(memory.data(), memory.size());
  device.unpin(memory.data());
  report.expect(true, "");
}

void quiescence(Device& device, Report& report) {
  Operand x(device, 1 << 16, Element::fp32, 1);
  auto told = std::make_shared<std::atomic<int>>(0);
  for (int i = 0; i < 20; ++i)
    device.run(
        Stream::compute, 0,
        [&](Primitives& p) {
          p.add(1 << 16, x.in(Side::device), x.in(Side::device), x.out(Side::device));
        },
        [told](const JobEnd&) { ++*told; });
  report.expect(!device.quiesce(60), "the device does not come to rest");
  const int at_rest = *told;
  run_on(device, [](Primitives&) {});
  report.expect(*told == at_rest, "somebody is told of work after the device came to rest");
}

/// Copies and kernels on two streams that only follow each other, all given at once: x takes the
/// values 1 to 40, one after the other, and each is added to a sum before the next one comes.
void chains(Device& device, Report& report) {
  constexpr std::uint64_t n = 1 << 18, times = 40;
  std::vector<float> values(n * times);
  for (std::uint64_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i / n + 1);
  auto* const bytes = reinterpret_cast<std::byte*>(values.data());
  device.pin(bytes, values.size() * 4);
  {
    Operand x(device, n, Element::fp32, 1), sum(device, n, Element::fp32, 2);
    run_on(device, [&](Primitives& p) { p.zero(sum.data(Side::device), 4 * n); });
    std::promise<void> last;
    for (std::uint64_t i = 0; i < times; ++i) {
      if (i > 0)
        device.wait_for(Stream::to_device, Stream::compute, device.last_call(Stream::compute));
      device.copy(Stream::to_device, 0, x.data(Side::device), bytes + 4 * n * i, 4 * n,
                  [](const JobEnd&) {});
      device.wait_for(Stream::compute, Stream::to_device, device.last_call(Stream::to_device));
      device.run(
          Stream::compute, 0,
          [&](Primitives& p) {
            p.add(n, sum.in(Side::device), x.in(Side::device), sum.out(Side::device));
          },
          [&, i](const JobEnd&) {
            if (i + 1 == times) last.set_value();
          });
    }
    report.expect(device.last_call(Stream::compute) > 0, "its calls have no numbers");
    last.get_future().get();
    const std::vector<std::byte> got = sum.download();
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < n; ++i)
      wrong += load({got.data(), Element::fp32}, i) != times * (times + 1) / 2;
    report.expect(wrong == 0, std::to_string(wrong) + " sums miss a value or have one twice");
  }
  device.unpin(bytes);
}

}  // namespace

std::span<const Check> device_checks() {
  static constexpr Check checks[] = {
      {"CallsFollowThoseOfOtherStreams", chains},
      {"CollectivesAddInRankOrder", collectives},
      {"CopiesArriveWhole", copies},
      {"FetchReadsANumber", fetches},
      {"AStreamKeepsItsOrder", order},
      {"ErrorsReachWhoAsked", errors},
      {"FullMemoryIsAnErrorAndNoMore", full_memory},
      {"MemoryMayBePinnedTwice", pins},
      {"NothingRunsAfterQuiescence", quiescence},
  };
  return checks;
}

}  // namespace spillway::hw_backend
