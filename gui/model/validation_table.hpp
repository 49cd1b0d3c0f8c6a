#pragma once

#include "gui/model/text_table.hpp"

#include <nlohmann/json_fwd.hpp>

namespace spillway::gui {

struct Trace;

/// Predicted beside measured, the largest error first; of each path that the validation compares.
void put_validation(const nlohmann::json& validation, TextTable& table);

/// The trace may be that of this validation: it has both sides, and a step of each.
bool is_of(const nlohmann::json& validation, const Trace& trace);

/// The words in the list at `key`: what was real, suspects, notes.
QStringList words_in(const nlohmann::json& object, const char* key);

}  // namespace spillway::gui
