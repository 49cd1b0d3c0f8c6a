#pragma once

#include <vector>

#include "models/model.hpp"
#include "scenarios/description/errors.hpp"
#include "scenarios/description/scenario.hpp"
#include "scenarios/located_json.hpp"

namespace spillway::scenarios {

/// Parts that cannot work together, whatever the system: each complaint names the two, why they
/// exclude each other and what to change. It stands at the part that the scenario wrote.
///   model    nullptr while nothing is trained (`run.io_bench`)
///   written  the scenario as a person wrote it
std::vector<description::Complaint> contradictions(const description::Scenario& scenario,
                                                   const models::Model* model,
                                                   const LocatedJson& written);

/// `complaint` with file, line and column of its path in `written`, or of what lies around it.
description::Complaint placed_in(const LocatedJson& written, description::Complaint complaint);

}  // namespace spillway::scenarios
