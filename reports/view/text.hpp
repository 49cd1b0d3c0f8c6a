#pragma once

#include "reports/text/human.hpp"
#include "reports/text/text.hpp"

namespace spillway::view {

// A document is made of typed numbers and of text with them: view::Text is text::Text.
using namespace text;

}  // namespace spillway::view
