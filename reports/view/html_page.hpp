#pragma once

#include "reports/view/document.hpp"

#include <string>

namespace spillway::view {

/// The document as one file of HTML that asks for nothing: style, script and data are in it, and
/// its content security policy forbids every request.
///   Numbers   <span data-value="EXACT">words</span>; what is assumed is marked
///   Charts    lanes and series are drawn by the script; all else is there without it
///   Data      as JSON in the page, its "<" escaped; charts over a megabyte as zlib in base64
///   language  of the page: "en"
std::string to_html(const Document& document);

}  // namespace spillway::view
