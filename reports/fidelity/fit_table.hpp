#pragma once

#include "reports/result/fit.hpp"
#include "reports/view/document.hpp"
#include "reports/words/screen.hpp"

#include <string>

namespace spillway::reports {

/// Parameters, then figures with their errors before and after and what moves them, then what was
/// chosen and what was left out.
view::Document fit_table_document(const result::Fit& fit);
std::string fit_table(const result::Fit& fit, const Screen& screen);

}  // namespace spillway::reports
