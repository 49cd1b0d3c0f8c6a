#include "strategies/run/io_bench.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::strategies {

namespace {

using description::IoDirection;

/// The requests, handed out in order, and what they took.
struct Stream {
  description::IoBench ask;
  std::uint64_t next = 0;
  double latency_s = 0;  ///< sum
  double first_s = 0, last_s = 0;
  double read = 0, written = 0;  ///< bytes

  bool reads(std::uint64_t request) const {
    if (ask.op != IoDirection::mixed) return ask.op == IoDirection::read;
    const double at = static_cast<double>(request);
    return std::floor((at + 1) * ask.read_share) > std::floor(at * ask.read_share);
  }
};

struct Slot {
  Stored extent;
  Buffer buffer;
};

/// One place of the queue: the next request as soon as its last one is done.
Task<> work(Machine& machine, Rank rank, Slot* slot, Stream* stream) {
  const View view = slot->buffer.view();
  const double bytes = static_cast<double>(stream->ask.bytes.value());
  while (stream->next < stream->ask.requests) {
    const bool read = stream->reads(stream->next++);
    const Op op = read ? machine.read(rank, slot->extent, {0, view.bytes}, view)
                       : machine.write(rank, slot->extent, {0, view.bytes}, view);
    co_await op;
    const Timing& timing = op.timing();
    if (stream->read + stream->written == 0) stream->first_s = timing.started_s;
    stream->first_s = std::min(stream->first_s, timing.started_s);
    stream->last_s = std::max(stream->last_s, timing.finished_s);
    stream->latency_s += timing.seconds();
    (read ? stream->read : stream->written) += bytes;
  }
}

StorageId target(const Topology& topology, Rank rank) {
  return topology.drives(rank).empty() ? StorageId{0} : topology.home(rank);
}

Task<> send_stream(Machine& machine, Rank rank, Stream* stream) {
  if (rank.index > 0) co_return;
  const StorageId storage = target(machine.topology(), rank);
  const std::uint64_t padded = rounded(Rounding::sector, stream->ask.bytes.value());
  std::vector<Slot> slots(std::min(stream->ask.queue_depth, stream->ask.requests));
  for (Slot& slot : slots) {
    slot.extent = co_await machine.store(storage, rank, stream->ask.bytes, Purpose::weights);
    slot.buffer =
        machine.allocate_now(TierId::pinned, rank, Bytes(padded), Purpose::bounce_buffers);
    if (stream->ask.op == IoDirection::write) continue;
    co_await machine.write(rank, slot.extent, {0, padded}, slot.buffer.view());
  }
  machine.step_ended();
  std::vector<Pending<>> working;
  for (Slot& slot : slots) working.push_back(machine.spawn(work(machine, rank, &slot, stream)));
  for (Pending<>& each : working) co_await each;
  machine.step_ended();
}

nlohmann::json answer(const Stream& stream) {
  const double seconds = stream.last_s - stream.first_s;
  const auto rate = [&](double bytes) { return seconds > 0 ? bytes / seconds : 0; };
  return {{"latency_s", stream.latency_s / static_cast<double>(stream.ask.requests)},
          {"rate_bytes_per_s", rate(stream.read + stream.written)},
          {"read_bytes_per_s", rate(stream.read)},
          {"write_bytes_per_s", rate(stream.written)}};
}

}  // namespace

result::Result measure_io(Machine& machine, const description::Scenario& scenario,
                          const std::string& backend) {
  result::Result result;
  result.backend = backend;
  result.system = scenario.strategy.system;
  result.scenario = scenario;
  result.price_usd = scenario.machine.price();
  Stream stream;
  stream.ask = *scenario.run.io_bench;
  std::vector<Task<>> ranks;
  for (std::uint32_t rank = 0; rank < machine.topology().ranks; ++rank)
    ranks.push_back(send_stream(machine, Rank{rank}, &stream));
  try {
    machine.run_ranks(std::move(ranks));
    result.infeasible = machine.shortage();
  } catch (const OutOfMemory& failure) {
    result.infeasible = failure.request();
  }
  if (!result.feasible()) return result;
  result.io_bench = answer(stream);
  const StepRecord& step = machine.recorder().steps().back();
  result.operations = step.operations;
  const auto& storages = machine.topology().storages;
  for (std::size_t i = 0; i < storages.size(); ++i) {
    result.io.by_storage[storages[i].name] = step.by_storage[i];
    if (!storages[i].wears) continue;
    result.io.ssd_read += step.by_storage[i].read;
    result.io.ssd_write += step.by_storage[i].write;
  }
  return result;
}

}  // namespace spillway::strategies
