#pragma once

#include "gui/model/link.hpp"
#include "gui/model/text_table.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace spillway::gui {

/// Every number of a machine by path, with its value and where it comes from.
///   machine  as machine files are written, defaults filled in
///   filter   words that path, value or source must hold
///   Result   how many are assumed
int put_machine(const nlohmann::json& machine, const QString& filter, TextTable& table);

/// A copy of a machine with another value of one number, whose source then says so.
///   path     as put_machine shows it: "storage.nvme.read"
///   value    as machine files have it: "7 GB/s"
///   Throws   ScenarioError: the value cannot be read, or the machine cannot be so
nlohmann::json changed_machine(const nlohmann::json& machine, const std::string& path,
                               const std::string& value);

/// A copy of a machine whose cards are behind that link, both ways; copies of pageable memory are
/// no faster.
///   Throws   ScenarioError, as changed_machine
nlohmann::json with_card_link(const nlohmann::json& machine, const Link& link);

/// Some number of it was changed by hand.
bool is_changed(const nlohmann::json& machine);

}  // namespace spillway::gui
