#pragma once

#include "answers/fit/search.hpp"

namespace spillway::answers {

/// Micro-batches a step where more samples a step than one of them are looked at: a step of as many
/// is one that people train with. Of many cards all together run no more than `most_of_all_cards`:
/// steps of still more samples are for few.
inline constexpr std::uint64_t many_micro_batches = 16, most_of_all_cards = 128;

/// Names of systems; none: all.
using Systems = std::vector<std::string>;

/// The answer with several micro-batches before each update.
///   among      the other systems that are tried where they leave no room
///   simulated  grows by the scenarios that were simulated
///   Result     nothing where that does not make it 10 % faster
std::optional<MoreSamples> more_samples(const explore::Backend& backend,
                                        const result::Result& answer, const Systems& among,
                                        std::uint64_t& simulated);

/// Of the sizes of host memory that the board takes up to about four times today's, one more drive
/// and one more card, the one with which the answer trains most tokens a second, or a cheaper
/// one that comes near. With more memory, systems that hold their states there are tried as well,
/// with one more drive those that do not; with a smaller micro-batch where it would not fit. Where
/// `more` is nothing, more samples a step beside each of them too, which then are in its words and
/// overrides. Only what people can run.
///   among      the other systems that are tried
///   more       the answer is to be changed so beside it, which gets what comes of both
///   simulated  grows by the scenarios that were simulated
///   Result     nothing where none of them makes it 2 % faster
std::optional<FitChange> best_change(const explore::Backend& backend, const result::Result& answer,
                                     const Systems& among, std::optional<MoreSamples>& more,
                                     std::uint64_t& simulated);

}  // namespace spillway::answers
