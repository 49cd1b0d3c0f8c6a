#pragma once

#include "reports/answer/probe.hpp"
#include "reports/view/document.hpp"
#include "reports/words/screen.hpp"

#include <string>

namespace spillway::reports {

/// What `spillway probe` measured, a line each. How each was measured stands in the machine file's
/// sources.
view::Document probe_document(const answer::Probe& probe);
std::string probe_report(const answer::Probe& probe, const Screen& screen);

}  // namespace spillway::reports
