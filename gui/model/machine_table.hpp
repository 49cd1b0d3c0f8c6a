#pragma once

#include "gui/model/text_table.hpp"

#include <nlohmann/json_fwd.hpp>

namespace spillway::gui {

/// Every number of a machine by path, with its value and where it comes from.
///   machine  as machine files are written, defaults filled in
///   filter   words that path, value or source must hold
///   Result   how many are assumed
int put_machine(const nlohmann::json& machine, const QString& filter, TextTable& table);

}  // namespace spillway::gui
