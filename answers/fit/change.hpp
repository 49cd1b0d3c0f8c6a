#pragma once

#include "answers/fit/search.hpp"

namespace spillway::answers {

/// Micro-batches a step where more samples a step than one of them are looked at: a step of as many
/// is one that people train with. Of many cards all together run no more than `most_of_all_cards`:
/// steps of still more samples are for few.
inline constexpr std::uint64_t many_micro_batches = 16, most_of_all_cards = 128;

/// What the user says of the ways to train.
struct Wishes {
  std::vector<std::string> systems;    ///< only these; none: all
  std::vector<std::string> overrides;  ///< "path=value": what they name stays as they say
};

/// The answer with several micro-batches before each update, in its own system or in another, each
/// with explore::smaller_gradients_of where it has no room: that costs nothing, memory does.
///   wishes     the other systems that are tried, and what stays
///   simulated  grows by the scenarios that were simulated
///   Result     nothing where that does not make it 10 % faster
std::optional<MoreSamples> more_samples(const explore::Backend& backend,
                                        const result::Result& answer, const Wishes& wishes,
                                        std::uint64_t& simulated);

/// Of the sizes of host memory that the board takes up to about four times today's, one more drive
/// and one more card, the one with which the answer trains most tokens a second, or a cheaper
/// one that comes near; also what costs nothing, saved tensors in the host memory that is there. It
/// comes with a larger micro-batch where that is faster, unless the user says which. With more
/// memory, systems that hold their states there are tried as well, with one more drive those that
/// do not; where they would not fit with a smaller micro-batch, and where none fits with
/// explore::smaller_gradients_of. Where `more` is nothing, more samples a step
/// beside each of them too, which then are in its words and overrides, but not with such gradients:
/// sums of many micro-batches lose in 16 bits. Only what people can run.
///   wishes     the other systems that are tried
///   more       the answer is to be changed so beside it, which gets what comes of both
///   simulated  grows by the scenarios that were simulated
///   Result     nothing where none of them makes it 2 % faster
std::optional<FitChange> best_change(const explore::Backend& backend, const result::Result& answer,
                                     const Wishes& wishes, std::optional<MoreSamples>& more,
                                     std::uint64_t& simulated);

}  // namespace spillway::answers
