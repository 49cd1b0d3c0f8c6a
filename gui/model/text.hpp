#pragma once

#include <QString>

#include <string>

namespace spillway::gui {

/// Text of the libraries, which is UTF-8, as Qt has it.
inline QString qt(const std::string& text) { return QString::fromStdString(text); }

}  // namespace spillway::gui
