#pragma once

#include "reports/answer/calibration.hpp"
#include "reports/view/document.hpp"
#include "reports/words/screen.hpp"

#include <string>

namespace spillway::reports {

/// What people's own measurements say of a machine: numbers before and after, hardware below its
/// rating, logged runs beside their prediction, when drives are worn out, what nothing was said of.
view::Document calibration_document(const answer::Calibration& calibration);
std::string calibration_report(const answer::Calibration& calibration, const Screen& screen);

}  // namespace spillway::reports
