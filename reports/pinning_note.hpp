#pragma once

#include "reports/answer/deepspeed.hpp"

#include <string>

namespace spillway::reports {

/// That two versions of DeepSpeed differ in whether they pin host memory, and what it costs; "" for
/// a configuration that says it.
std::string pinning_note(const answer::ImportedScenario& imported);

}  // namespace spillway::reports
