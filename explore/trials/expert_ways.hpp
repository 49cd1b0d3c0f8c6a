#pragma once

#include "explore/trials/card_splits.hpp"
#include "explore/trials/ways.hpp"
#include "scenarios/description/scenario.hpp"

namespace spillway::explore {

/// Ways to train a model of routed experts that leave these, and nothing else, outside the GPU:
/// of a trainer's own loop in host memory, where the CPU multiplies by them, beside adapters and
/// where the machine has a rate for that; and of zero_infinity in host memory or on drives, from
/// where they come for each layer, with and without a cache of them on the GPU. None of other
/// models.
///   job      names model, machine and training; its strategy does not count
///   systems  as ways_of has them: of which systems; empty: all
std::vector<Way> expert_ways(const description::Scenario& job,
                             const std::vector<std::string>& systems = {});

/// Of splits with several data-parallel ranks the same where these share the routed experts of each
/// layer, as many of a node as divide them.
///   own      cards of each node
///   experts  of a layer; 0: none, and no split
std::vector<CardSplit> splits_of_experts(const std::vector<CardSplit>& splits, std::uint64_t own,
                                         std::uint64_t experts);

}  // namespace spillway::explore
