#pragma once

#include "reports/answer/simulation.hpp"
#include "reports/view/document.hpp"
#include "reports/words/screen.hpp"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace spillway::reports {

/// One result for a person: the answer in words, tiers, phases, traffic, wear, what would help.
view::Document simulate_document(const result::Result& result);
/// The same as text.
std::string simulate_report(const result::Result& result, const Screen& screen);
/// "For nothing 34.9 s a step, -10.3 %: strategy.weights.home host".
view::Text faster_words(const answer::FasterSettings& settings, double step_time_s);

/// Settings that cost nothing, as text below an empty line, and the command for the best of them;
/// "" where there are none.
///   scenario   the file that was asked about; "": no command
///   overrides  that were asked for with it
std::string faster_report(std::span<const answer::FasterSettings> faster,
                          const result::Result& result, const std::string& scenario,
                          const std::vector<std::string>& overrides, const Screen& screen);

// Its parts, each of which adds what there is to say, or nothing.

/// "simulated", "measured", "counted".
std::string backend_words(const std::string& backend);
/// Peaks; of a run that does not fit what each tier needs, reserves included.
void add_tiers(view::Document& document, const result::Result& result);
/// Phases of a step, and what the GPU waits for.
void add_phases(view::Document& document, const result::Result& result);
/// Of all links, and beside it what each node's memory and drives hold and do where nodes differ.
void add_traffic(view::Document& document, const result::Result& result);
/// Where optimizer states lie, and how late updates come.
void add_states(view::Document& document, const result::Result& result);
void add_wear(view::Document& document, const result::Result& result);
/// What-ifs, the shortest step first; those that do not fit last.
std::vector<std::pair<std::string, result::WhatIf>> best_first(const result::Result& result);
/// What each next piece of hardware would bring.
void add_what_ifs(view::Document& document, const result::Result& result);
/// Settings that cost nothing and make a step shorter.
void add_faster(view::Document& document, std::span<const answer::FasterSettings> faster,
                const result::Result& result);
/// The command for the best of them; there is one.
void add_faster_command(view::Document& document, std::span<const answer::FasterSettings> faster,
                        const std::string& scenario, const std::vector<std::string>& overrides);
/// Price, notes, the program that runs so, what ranges cover.
void add_remarks(view::Document& document, const result::Result& result);

}  // namespace spillway::reports
