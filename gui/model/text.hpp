#pragma once

#include "reports/text/text.hpp"

#include <QString>

#include <string>

namespace spillway::gui {

/// Text of the libraries, which is UTF-8, as Qt has it.
inline QString qt(const std::string& text) { return QString::fromStdString(text); }
inline QString qt(const char* text) { return QString::fromUtf8(text); }
inline QString qt(const text::Text& text) { return qt(words(text)); }

}  // namespace spillway::gui
