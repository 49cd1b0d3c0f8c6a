#pragma once

#include "hw_backend/device/device.hpp"

#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace spillway::hw_backend {

/// What a check found out.
struct Report {
  std::vector<std::string> faults;  ///< empty: it passed
  std::vector<std::string> notes;   ///< measured numbers
  std::string skipped;              ///< why it could not be done here

  void expect(bool holds, const std::string& fault) {
    if (!holds) faults.push_back(fault);
  }
};

/// One question to a CUDA device. The same questions go to an emulated device where there is none,
/// to a real one in a test, and to a bare machine's by hw_backend/gpu_checks.
struct Check {
  const char* name;
  void (*ask)(Device& device, Report& report);
  bool timed = false;  ///< of rates, which an emulated device has not, or too large for one
  bool whole_training = false;
};

/// For GoogleTest.
inline void PrintTo(const Check& check, std::ostream* out) { *out << check.name; }

std::span<const Check> matrix_checks();
std::span<const Check> element_checks();
std::span<const Check> row_checks();
std::span<const Check> expert_checks();
std::span<const Check> attention_checks();
std::span<const Check> state_checks();
std::span<const Check> training_checks();
std::span<const Check> device_checks();
std::span<const Check> rate_checks();
std::vector<Check> all_checks();

}  // namespace spillway::hw_backend
