#pragma once

#include "answers/fit/fit.hpp"

namespace spillway::cli {

/// What was asked, as it is said back.
struct FitWords {
  std::string model, box;
  std::string out;        ///< the file that was written; "" for none
  bool runnable = false;  ///< only what people can run was asked for
};

/// Prints the answer: a table of what is best, or of what is needed, and what helps most.
void print_fit(const FitWords& words, const answers::FitAnswer& answer);

}  // namespace spillway::cli
