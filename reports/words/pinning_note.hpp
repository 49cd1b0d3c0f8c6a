#pragma once

#include "reports/answer/deepspeed.hpp"
#include "reports/view/text.hpp"

#include <string>

namespace spillway::reports {

/// That two versions of DeepSpeed differ in whether they pin host memory, and what it costs; "" for
/// a configuration that says it.
view::Text pinning_text(const answer::ImportedScenario& imported);
/// The same in words.
std::string pinning_note(const answer::ImportedScenario& imported);

}  // namespace spillway::reports
