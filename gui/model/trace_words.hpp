#pragma once

#include "gui/model/track_filter.hpp"

#include <optional>
#include <string>
#include <vector>

namespace spillway::gui {

/// Tracks that only say what others do: steps and phases of the run.
bool is_overview(const Track& track);

/// What ends at the very instant at which the slice begins, on another lane: what it waited for.
/// Of several the longest.
std::optional<SliceAt> cause_of(const Trace& trace, const SliceAt& place);

/// How long nothing was open on the slice's track before it began.
Instant idle_before(const Trace& trace, const SliceAt& place);

/// What a person wants to know of a slice, a sentence or number a line: name, phase and track, when
/// and how long, bytes and rate, what it waited for.
std::vector<std::string> words_of(const Trace& trace, const SliceAt& place);

/// "layers.*.ffn.gate" of "layers.12.ffn.gate": operations of one kind.
std::string kind_of(const std::string& name);

/// The first slice that is shown whose name holds `text`, regardless of case, after `from` in time;
/// around the end once. Nothing where there is none.
std::optional<SliceAt> find_slice(const Trace& trace, const std::string& text,
                                  const std::optional<SliceAt>& from, bool backwards,
                                  const ShownTracks& shown = {});

/// The slice of the track that is open at `at`, else the nearest within `reach`.
std::optional<SliceAt> slice_near(const Trace& trace, std::uint32_t track, std::uint32_t lane,
                                  Instant at, Instant reach);

/// Seconds and bytes of a time span by track and kind of operation.
struct AreaRow {
  std::string track, kind;
  std::uint64_t count = 0, bytes = 0;
  Instant time = 0;  ///< inside the span
};
/// The rows with the most time first; of a track with parallel operations times add up.
std::vector<AreaRow> area_rows(const Trace& trace, Instant from, Instant to,
                               const ShownTracks& shown = {});

/// From the first step's begin to its end, after the set-up; the whole without steps.
std::pair<Instant, Instant> steady_step(const Trace& trace);

}  // namespace spillway::gui
