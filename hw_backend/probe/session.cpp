#include "hw_backend/probe/session.hpp"

#include "hw_backend/device/interrupt.hpp"

#include <fmt/chrono.h>
#include <algorithm>
#include <cmath>
#include <ctime>

namespace spillway::hw_backend {

namespace {

using Clock = std::chrono::steady_clock;

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return fmt::format("{:%Y-%m-%d}", local);
}

}  // namespace

Measurement measurement_of(std::string path, std::string what, Unit unit,
                           std::vector<double> samples) {
  ENSURE(!samples.empty(), "a measurement without samples: " + path);
  std::sort(samples.begin(), samples.end());
  const std::size_t middle = samples.size() / 2;
  const double median =
      samples.size() % 2 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
  return {std::move(path), std::move(what), unit,          median,
          samples.front(), samples.back(),  samples.size()};
}

std::string source_of(const Measurement& measurement) {
  return fmt::format("measured: {}, median of {} runs, +-{:.1f} %, {}", measurement.what,
                     measurement.runs, 100 * measurement.spread(), today());
}

double four_digits(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  // the last digit that stays is that of 10^(exponent - 3)
  const double exponent = std::floor(std::log10(std::abs(value)));
  const double unit = std::pow(10.0, std::abs(exponent - 3));
  return exponent < 3 ? std::round(value * unit) / unit : std::round(value / unit) * unit;
}

Session::Session(const ProbeOptions& options, const ProbeProgress& progress, Probed& out)
    : options_(options), progress_(progress), out_(out) {}

void Session::begin(const std::string& what, double seconds) {
  stop_if_interrupted();
  if (progress_) progress_(planned_s_ > 0 ? std::min(1.0, begun_s_ / planned_s_) : 0, what);
  begun_s_ += seconds;
}

Measurement Session::rate(std::string path, std::string what, Unit unit,
                          const std::function<double()>& work) const {
  work();
  std::vector<double> samples;
  for (std::size_t i = 0; i < intervals; ++i) {
    const auto begin = Clock::now();
    double amount = 0, seconds = 0;
    do {
      stop_if_interrupted();
      amount += work();
      seconds = seconds_since(begin);
    } while (seconds < interval_s());
    samples.push_back(amount / seconds);
  }
  return measurement_of(std::move(path), std::move(what), unit, std::move(samples));
}

Measurement Session::steady_rate(std::string path, std::string what, Unit unit, double amount,
                                 const std::function<void(unsigned)>& trip) const {
  constexpr unsigned most = 1u << 20;
  unsigned times = 1;
  const auto timed = [&] {
    stop_if_interrupted();
    const auto begin = Clock::now();
    trip(times);
    return seconds_since(begin);
  };
  // the shortest of a few: who is interrupted once took long for no reason of the work's
  const auto shortest = [&] {
    double least = timed();
    for (int i = 0; i < 2 && least >= least_trip_s; ++i) least = std::min(least, timed());
    return least;
  };
  timed();  // a device loads a kernel when it is used for the first time
  if (timed() < 10 * least_trip_s)
    for (double took = shortest(); took < least_trip_s && times < most; took = shortest()) {
      const double more = std::max(2.0, 1.2 * least_trip_s / std::max(took, 1e-9));
      times = static_cast<unsigned>(std::min<double>(most, std::ceil(times * more)));
    }
  if (times > 1) what += fmt::format(", {} a round trip", times);
  return rate(std::move(path), std::move(what), unit, [&] {
    trip(times);
    return amount * times;
  });
}

Measurement Session::time(std::string path, std::string what,
                          const std::function<void()>& work) const {
  const Measurement calls = rate(path, what, Unit::share, [&] {
    work();
    return 1.0;
  });
  return {std::move(path), std::move(what), Unit::seconds, 1 / calls.median,
          1 / calls.most,  1 / calls.least, calls.runs};
}

double Session::keep(const Measurement& measurement) {
  out_.measurements.push_back(measurement);
  source(measurement.path, source_of(measurement));
  return four_digits(measurement.median);
}

void Session::source(const std::string& path, const std::string& text) {
  out_.machine.sources[path] = text;
}

}  // namespace spillway::hw_backend
