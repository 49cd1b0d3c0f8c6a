#include "hw_backend/probe/transfer_stream.hpp"

#include "hw_backend/device/interrupt.hpp"

#include <algorithm>
#include <cstring>
#include <random>

namespace spillway::hw_backend {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t sector = 4096;
constexpr double look_s = 0.002;  // few bytes pass between two looks at what has moved

/// What no drive can compress, nor find twice in a transfer.
void fill_randomly(std::byte* memory, std::uint64_t bytes) {
  std::mt19937_64 random(bytes);
  for (std::uint64_t i = 0; i < bytes; i += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(memory + i, &word, sizeof word);
  }
}

}  // namespace

TransferStream::TransferStream(IoEngine& engine, std::uint64_t written)
    : engine_(engine),
      reads_(window * transfer_bytes, nullptr, &engine),
      writes_(window * transfer_bytes, nullptr, &engine),
      stamps_(written / sector),
      written_(written) {
  fill_randomly(writes_.data(), writes_.bytes());
}

/// A number in every sector tells it from all others that were written.
void TransferStream::stamp(std::byte* memory, std::uint64_t bytes) {
  for (std::uint64_t i = 0; i + sector <= bytes; i += sector) {
    ++stamps_;
    std::memcpy(memory + i, &stamps_, sizeof stamps_);
  }
}

void TransferStream::submit(Slot& slot) {
  const TargetOffset place = slot.flow->places[(*slot.next)++ % slot.flow->places.size()];
  if (slot.flow->write) {
    stamp(slot.memory, transfer_bytes);
    written_ += transfer_bytes;
  }
  engine_.submit(
      {place.target, slot.flow->write, place.offset, slot.memory, transfer_bytes, &slot});
  ++in_flight_;
}

void TransferStream::wait(double timeout_s, std::vector<Slot*>& ended) {
  for (const Completion& completion : engine_.wait(timeout_s)) {
    --in_flight_;
    if (completion.error) std::rethrow_exception(completion.error);
    ended.push_back(static_cast<Slot*>(completion.tag));
  }
}

/// After an error or when the user stops: the kernel must let go of memory and files first.
void TransferStream::drain() {
  if (in_flight_ == 0) return;
  in_flight_ = 0;
  if (engine_.cancel_all()) return;
  reads_.abandon();
  writes_.abandon();
}

std::vector<Interval> TransferStream::run(
    const std::vector<Flow>& flows, double interval_s, double interval_bytes,
    const std::function<bool(const std::vector<Interval>&)>& enough) {
  std::vector<std::size_t> next(flows.size(), 0);
  std::vector<Slot> slots;
  std::size_t reading = 0, writing = 0;
  for (std::size_t i = 0; i < flows.size(); ++i)
    for (std::size_t k = 0; k < flows[i].in_flight; ++k) {
      // several flows of one direction share its memory: what they read is of no interest
      std::size_t& used = flows[i].write ? writing : reading;
      std::byte* const memory = (flows[i].write ? writes_ : reads_).data();
      slots.push_back({&flows[i], &next[i], memory + used++ % window * transfer_bytes});
    }
  std::vector<Interval> intervals;
  std::vector<Slot*> ended;
  for (Slot& slot : slots) ended.push_back(&slot);
  bool first = true;
  try {
    auto begin = Clock::now();
    IoCounters before = engine_.counters();
    while (!enough(intervals)) {
      stop_if_interrupted();
      for (Slot* slot : ended) submit(*slot);
      ended.clear();
      const double length_s = first ? interval_s / 4 : interval_s;
      wait(std::clamp(length_s - seconds_since(begin), 0.0, look_s), ended);
      const IoCounters now = engine_.counters();
      const Interval moved{static_cast<double>(now.bytes_read - before.bytes_read),
                           static_cast<double>(now.bytes_written - before.bytes_written),
                           seconds_since(begin)};
      const bool full = moved.read + moved.written >= (first ? interval_bytes / 4 : interval_bytes);
      if (moved.seconds < length_s && !full) continue;
      if (moved.read + moved.written == 0) continue;  // a slow drive: wait for something
      if (!first) intervals.push_back(moved);
      first = false;
      before = now;
      begin = Clock::now();
    }
    while (in_flight_ > 0) {
      stop_if_interrupted();
      wait(0.1, ended);
    }
  } catch (...) {
    drain();
    throw;
  }
  return intervals;
}

std::size_t TransferStream::fill(const Flow& flow, double limit_s) {
  const auto begin = Clock::now();
  std::size_t next = 0;
  std::vector<Slot> slots;
  for (std::size_t k = 0; k < window; ++k)
    slots.push_back({&flow, &next, writes_.data() + k * transfer_bytes});
  std::vector<Slot*> ended;
  for (Slot& slot : slots) ended.push_back(&slot);
  try {
    do {
      stop_if_interrupted();
      for (Slot* slot : ended)
        if (next < flow.places.size() && seconds_since(begin) < limit_s) submit(*slot);
      ended.clear();
      if (in_flight_ > 0) wait(0.1, ended);
    } while (in_flight_ > 0 || (next < flow.places.size() && seconds_since(begin) < limit_s));
  } catch (...) {
    drain();
    throw;
  }
  return next;
}

double TransferStream::one(TargetOffset place, bool write, std::uint64_t bytes) {
  stop_if_interrupted();
  std::byte* const memory = (write ? writes_ : reads_).data();
  if (write) {
    stamp(memory, bytes);
    written_ += bytes;
  }
  Slot slot;
  std::vector<Slot*> ended;
  const auto begin = Clock::now();
  engine_.submit({place.target, write, place.offset, memory, bytes, &slot});
  ++in_flight_;
  try {
    while (ended.empty()) wait(1.0, ended);
  } catch (...) {
    drain();
    throw;
  }
  return seconds_since(begin);
}

}  // namespace spillway::hw_backend
