#pragma once

#include "reports/result/validation.hpp"
#include "reports/view/document.hpp"
#include "reports/words/screen.hpp"

namespace spillway::reports {

/// What a validation compares, in words: "peak_bytes.gpu.total" is "GPU peak",
/// "io_bytes_per_step.by_storage.nvme.read" is "nvme read a step"; the path where there are none.
std::string compared_words(const std::string& path);

/// Predicted against measured, for a person: what was real, the table, the totals of each storage,
/// the suspects.
view::Document validation_document(const result::Validation& validation);
/// The same as text.
std::string validation_report(const result::Validation& validation, const Screen& screen);

/// Both runs on one time line: tracks and counters of each under its own name, times from the
/// beginning of its first step.
///   starts  seconds at which each run's first step began
result::Trace on_one_timeline(const result::Trace& measured, double measured_start_s,
                              const result::Trace& predicted, double predicted_start_s);

}  // namespace spillway::reports
