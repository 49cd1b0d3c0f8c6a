#include "hw_backend/probe/mix_probe.hpp"

#include "scenarios/description/mixed_traffic.hpp"

#include <fmt/format.h>

namespace spillway::hw_backend {

namespace {

constexpr double unbounded = 1e18;

std::string path_of(const MixedTraffic& traffic, const std::string& field) {
  return "storage." + traffic.storage + "." + field;
}

/// `bytes` of the file from `first` on.
Flow half_of(const MixedTraffic& traffic, bool write, std::uint64_t first, std::uint64_t bytes) {
  constexpr std::uint64_t step = TransferStream::transfer_bytes;
  Flow flow;
  flow.write = write;
  for (std::uint64_t at = 0; at + step <= bytes; at += step)
    flow.places.push_back({traffic.target, first + at});
  return flow;
}

bool is_enough(const std::vector<Interval>& intervals) {
  return intervals.size() >= Session::intervals;
}

double rate_alone(Session& session, TransferStream& stream, const MixedTraffic& traffic,
                  bool write) {
  const std::string requests = requests_of(traffic.request_bytes);
  session.begin(fmt::format("{}: {}, {}", traffic.storage, write ? "writing" : "reading", requests),
                traffic.interval_s * Session::intervals);
  std::vector<double> rates;
  for (const Interval& interval :
       stream.run({half_of(traffic, write, 0, traffic.filled)}, traffic.interval_s,
                  write ? traffic.interval_bytes : unbounded, is_enough))
    rates.push_back(write ? interval.write_rate() : interval.read_rate());
  const Measurement measured =
      measurement_of(path_of(traffic, fmt::format("{}, {}", write ? "write" : "read", requests)),
                     "sequential, with " + requests, Unit::bytes_per_second, rates);
  session.out().measurements.push_back(measured);
  return measured.median;
}

std::vector<Interval> intervals_of(TransferStream& stream, const MixedTraffic& traffic,
                                   const Mixture& mixture) {
  const std::uint64_t half =
      traffic.filled / 2 / TransferStream::transfer_bytes * TransferStream::transfer_bytes;
  Flow reads = half_of(traffic, false, 0, half), writes = half_of(traffic, true, half, half);
  reads.in_flight = mixture.reads;
  writes.in_flight = mixture.writes;
  return stream.run({reads, writes}, traffic.interval_s, traffic.interval_bytes, is_enough);
}

}  // namespace

std::string requests_of(std::uint64_t request_bytes) {
  return fmt::format("{} KiB requests", request_bytes / 1024);
}

RatesAlone measure_alone(Session& session, TransferStream& stream, const MixedTraffic& traffic) {
  RatesAlone alone;
  alone.read = rate_alone(session, stream, traffic, false);
  alone.write = rate_alone(session, stream, traffic, true);
  return alone;
}

Measurement measure_mixes(Session& session, TransferStream& stream, const MixedTraffic& traffic,
                          const RatesAlone& alone) {
  const std::string requests = requests_of(traffic.request_bytes);
  const std::uint64_t kib = traffic.request_bytes / 1024;
  std::vector<std::vector<description::MeasuredMix>> by_interval(Session::intervals);
  for (const Mixture& mixture : mixtures) {
    const std::size_t percent = 100 * mixture.reads / (mixture.reads + mixture.writes);
    session.begin(fmt::format("{}: {} % reads, {}", traffic.storage, percent, requests),
                  traffic.interval_s * Session::intervals);
    std::vector<double> efficiencies;
    for (const Interval& interval : intervals_of(stream, traffic, mixture)) {
      const description::MeasuredMix mix{interval.read_rate() / alone.read,
                                         interval.write_rate() / alone.write};
      by_interval[efficiencies.size()].push_back(mix);
      efficiencies.push_back(mix.efficiency());
    }
    session.out().measurements.push_back(
        measurement_of(path_of(traffic, fmt::format("r/R + w/W, {} % reads, {} KiB", percent, kib)),
                       "reads and writes at once, over the rates of each alone, with " + requests,
                       Unit::share, efficiencies));
  }
  std::vector<double> fitted;
  for (const auto& mixes : by_interval)
    fitted.push_back(description::fitted_mixed_efficiency(mixes));
  return measurement_of(
      path_of(traffic, "mixed_efficiency"),
      "r/R + w/W with " + requests + ", by least squares over 25, 50 and 75 % reads", Unit::share,
      fitted);
}

}  // namespace spillway::hw_backend
