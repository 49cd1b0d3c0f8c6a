#pragma once

#include "reports/view/document.hpp"
#include "reports/view/screen.hpp"

#include <string>

namespace spillway::view {

/// The document on a terminal or in a pipe. Charts are tables of what they show; lanes and data,
/// which are for a page, are left out.
std::string to_text(const Document& document, const Screen& screen);

}  // namespace spillway::view
