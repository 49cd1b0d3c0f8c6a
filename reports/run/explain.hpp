#pragma once

#include "reports/answer/simulation.hpp"
#include "reports/view/document.hpp"
#include "reports/words/screen.hpp"

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace spillway::reports {

using answer::Setting;

/// What `explain` tells of: all of it in short, or one thing in full.
enum class Topic : unsigned char { all, memory, time, settings };
/// The words for them, in that order.
inline constexpr std::array<std::string_view, 4> topic_names{"all", "memory", "time", "settings"};

/// Where each setting, each gigabyte and each second comes from.
///   settings  in the order in which they are to be printed
///   memory    a tree of each tier at its fullest instant: purposes, the buffers of each with their
///             ranks, and the settings that decide how large they are
view::Document explain_document(const result::Result& result, Topic topic = Topic::all);
/// The settings and what a planner decided, which `explain_document` does not have: a line a key
/// where text is searched.
view::Document settings_document(const result::Result& result, std::span<const Setting> settings);
/// Both as text.
std::string explain(const result::Result& result, std::span<const Setting> settings,
                    const Screen& screen, Topic topic = Topic::all);

}  // namespace spillway::reports
