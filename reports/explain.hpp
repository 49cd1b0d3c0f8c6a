#pragma once

#include "reports/result/result.hpp"
#include "reports/screen.hpp"

#include <span>
#include <string>

namespace spillway::reports {

/// A value the run used and where it came from.
struct Setting {
  std::string path;    ///< "training.micro_batch"
  std::string value;   ///< as a scenario would say it
  std::string source;  ///< "scenario", "preset deepspeed_0.9.3", "default", ...
};

/// Where each setting, each gigabyte and each second comes from.
///   settings  in the order in which they are to be printed
std::string explain(const result::Result& result, std::span<const Setting> settings,
                    const Screen& screen);

}  // namespace spillway::reports
