#pragma once

#include "reports/text/text.hpp"

#include <filesystem>
#include <string>

namespace spillway::hw_backend {

/// Processor time so far, in seconds of one core.
struct ProcessorTimes {
  double all_s = 0;   ///< of every core, busy or not
  double busy_s = 0;  ///< of them, spent on whatever there is; on a virtual machine, also elsewhere
  double own_s = 0;   ///< of them, spent by this process
};

/// Zeros where there is no /proc/stat.
ProcessorTimes processor_times(const std::filesystem::path& root = "/");

/// What was busy with others between the two, as a share of all cores.
double other_share(const ProcessorTimes& before, const ProcessorTimes& after);

/// "other processes took 43 % of the processors while ...: ..."; empty when it is under a tenth,
/// which rates bear.
///   during  "this machine was measured"
text::Text other_work(const ProcessorTimes& before, const ProcessorTimes& after,
                      const std::string& during);

}  // namespace spillway::hw_backend
