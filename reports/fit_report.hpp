#pragma once

#include "reports/answer/fit.hpp"
#include "reports/screen.hpp"
#include "reports/view/document.hpp"

#include <ctime>
#include <string>

namespace spillway::reports {

/// What was asked, as it is said back.
struct FitWords {
  std::string model, box;
  std::string out;        ///< the file that was written; "" for none
  bool runnable = false;  ///< only what people can run was asked for
  std::time_t now = 0;    ///< the days that a training reaches are counted from here
};

/// `spillway fit` for a person: a table of what is best, or of what is needed, and what helps most.
view::Document fit_document(const FitWords& words, const answer::FitAnswer& answer);
std::string fit_report(const FitWords& words, const answer::FitAnswer& answer,
                       const Screen& screen);

}  // namespace spillway::reports
