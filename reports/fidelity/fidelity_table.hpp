#pragma once

#include "reports/result/fidelity.hpp"
#include "reports/view/document.hpp"
#include "reports/words/screen.hpp"

#include <string>

namespace spillway::reports {

/// Published against simulated, a table for each paper with the reasons below it, then what each
/// paper's figures amount to.
view::Document fidelity_document(const result::Fidelity& fidelity);
std::string fidelity_table(const result::Fidelity& fidelity, const Screen& screen);

/// "237 figures: 120 ok, 4 open, 113 SKIP", and what fails when something does.
view::Document fidelity_headline_document(const result::Fidelity& fidelity);
std::string fidelity_headline(const result::Fidelity& fidelity);

}  // namespace spillway::reports
