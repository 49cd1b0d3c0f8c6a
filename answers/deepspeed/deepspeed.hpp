#pragma once

#include "explore/outcome/outcomes.hpp"
#include "reports/answer/deepspeed.hpp"
#include "scenarios/deepspeed/export_deepspeed.hpp"
#include "scenarios/deepspeed/import_deepspeed.hpp"

#include <string>
#include <vector>

namespace spillway::answers {

/// Which scenario does this configuration of DeepSpeed describe? Where two versions differ in a
/// default that it leaves out, both are simulated and a note says what that costs.
///   file       ds_config.json
///   overrides  "training.loss=fused": what the file does not say, in place of what is assumed
///   Throws     ScenarioError
answer::ImportedScenario import_configuration(const explore::Backend& backend,
                                              const std::string& file,
                                              const scenarios::ImportOptions& options,
                                              const std::vector<std::string>& overrides = {});

/// Which configuration of DeepSpeed trains as this scenario? Where it would not fit on the
/// scenario's machine, the first note says which buffer finds no room in which phase, and how much
/// memory is enough: both are simulated, as long as `backend` goes on.
///   Throws  ScenarioError naming every part that DeepSpeed does not have
answer::ExportedConfiguration export_configuration(const explore::Backend& backend,
                                                   const description::Scenario& scenario,
                                                   const scenarios::ExportOptions& options);

}  // namespace spillway::answers
