#pragma once

#include "reports/answer/lifetimes.hpp"
#include "reports/view/document.hpp"
#include "reports/words/screen.hpp"

#include <string>

namespace spillway::reports {

/// `spillway lifetimes`: what lies idle, what is moved meanwhile, what the step takes then.
view::Document lifetimes_document(const answer::MigrationPlan& plan);
std::string lifetimes_report(const answer::MigrationPlan& plan, const Screen& screen);

}  // namespace spillway::reports
