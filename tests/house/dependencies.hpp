#pragma once

#include "tests/house/repository.hpp"

namespace spillway::house {

/// Packages of a list such as setup/packages that no row of a table in `readme` names in its first
/// cell, in backticks, or whose row says in its last cell of no licence.
Findings licence_findings(const SourceFile& packages, const SourceFile& readme);

}  // namespace spillway::house
