#pragma once

#include "hw_backend/probe/probe.hpp"
#include "hw_backend/storage/io_engine.hpp"

#include <chrono>

namespace spillway::hw_backend {

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Median and range of samples, one at least.
Measurement measurement_of(std::string path, std::string what, Unit unit,
                           std::vector<double> samples);

/// "measured: copies of 128 MiB, median of 5 runs, +-1.2 %, 2026-11-21"
std::string source_of(const Measurement& measurement);

/// `value` with four significant digits: more would be noise in the file.
double four_digits(double value);

/// What all measurements of one probe share: how long each may take, progress, the wish to stop,
/// and where numbers go.
class Session {
 public:
  Session(const ProbeOptions& options, const ProbeProgress& progress, Probed& out);

  const ProbeOptions& options() const { return options_; }
  Probed& out() { return out_; }

  /// Of the progress: what all `begin` together will announce.
  void plan(double seconds) { planned_s_ += seconds; }
  /// The next part, which takes about so long.
  void begin(const std::string& what, double seconds);

  /// Amount per second: calls `work`, which returns the amount it has done, in `intervals` of
  /// `interval_s`, after one call that does not count.
  Measurement rate(std::string path, std::string what, Unit unit,
                   const std::function<double()>& work) const;
  /// The same of work that comes in parts of `amount`: trip(n) does n of them and waits, and n is
  /// such that a trip takes least_trip_s. So the way to a device and back is no part of its rate.
  Measurement steady_rate(std::string path, std::string what, Unit unit, double amount,
                          const std::function<void(unsigned)>& trip) const;
  /// Seconds of a call of `work`: each interval gives a mean.
  Measurement time(std::string path, std::string what, const std::function<void()>& work) const;

  /// The measurement joins the answer, its path gets a source, and its median, rounded, comes back.
  double keep(const Measurement& measurement);
  void source(const std::string& path, const std::string& text);
  void warn(text::Text warning) { out_.warnings.push_back(std::move(warning)); }

  static constexpr std::size_t intervals = 5;
  static constexpr double least_trip_s = 5e-3;
  double interval_s() const { return options_.quick ? 0.02 : 0.12; }

 private:
  const ProbeOptions& options_;
  const ProbeProgress& progress_;
  Probed& out_;
  double planned_s_ = 0, begun_s_ = 0;
};

}  // namespace spillway::hw_backend
