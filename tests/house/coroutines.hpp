#pragma once

#include <vector>

#include "tests/house/repository.hpp"

namespace spillway::house {

/// A co_await right behind && or ||, or in the condition of a loop: g++ 12 frees temporaries there
/// that it must not. Not of tests, which await numbers and flags there.
Findings coroutine_findings(const std::vector<SourceFile>& files);

}  // namespace spillway::house
